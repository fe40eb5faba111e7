package databricks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/matoolkit/matoolkit/internal/testenv"
	server "github.com/matoolkit/matoolkit/local/databricks"
)

var operations = []server.Operation{server.Execute, server.Get, server.Chunk, server.Cancel, server.Download}

// Each request of a query fails once, in each way. Most failures pass unnoticed; none
// of them makes the result another one, and no statement that has a name is left
// running.
func TestOneFault(t *testing.T) {
	t.Parallel()
	result, want := people(23, 5)
	result.Pending, result.Running = 1, 1
	faults := map[string]struct {
		fault server.Fault
		// fatal says for which requests the query ends with an error.
		fatal func(server.Operation) bool
	}{
		"too many":     {server.Fault{Status: 429}, nobody},
		"unavailable":  {server.Fault{Status: 503}, nobody},
		"broken":       {server.Fault{Status: 500}, nobody},
		"reset":        {server.Fault{Drop: true}, nobody},
		"reset after":  {server.Fault{DropAfter: true}, nobody},
		"cut at once":  {server.Fault{Cut: 1}, only(server.Execute)},
		"cut":          {server.Fault{Cut: 60}, only(server.Execute)},
		"cut at last":  {server.Fault{Cut: 1 << 20}, only(server.Execute)},
		"not JSON":     {server.Fault{Body: "<html>"}, everybody},
		"empty object": {server.Fault{Body: "{}"}, everybody},
		"no rows":      {server.Fault{Body: "[]"}, everybody},
		"one row":      {server.Fault{Body: `[["user0@contoso.com","0"]]`}, everybody},
		"refused":      {server.Fault{Status: 403}, not(server.Download)},
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for op, n := range map[server.Operation]int{server.Execute: 1, server.Get: 3, server.Chunk: 4, server.Download: 5} {
				for skip := range n {
					s := start(t, result)
					fault := f.fault
					fault.On, fault.Skip, fault.Count = []server.Operation{op}, skip, 1
					s.Inject(fault)
					got, err := read(t.Context(), openAt(t, s))
					where := fmt.Sprintf("%s %d", op, skip)
					switch {
					case err == nil && !slices.Equal(got, want):
						t.Errorf("%s: the rows are %q", where, got)
					case err != nil && name != "one row" && !slices.Equal(got, want[:len(got)]):
						t.Errorf("%s: the rows were %q", where, got)
					case f.fatal(op) && err == nil:
						t.Errorf("%s: no error", where)
					case !f.fatal(op) && err != nil:
						t.Errorf("%s: %v", where, err)
					}
					if op != server.Execute {
						noneLive(t, s)
					}
				}
			}
		})
	}
}

func nobody(server.Operation) bool    { return false }
func everybody(server.Operation) bool { return true }

func only(these ...server.Operation) func(server.Operation) bool {
	return func(op server.Operation) bool { return slices.Contains(these, op) }
}

func not(these ...server.Operation) func(server.Operation) bool {
	return func(op server.Operation) bool { return !slices.Contains(these, op) }
}

func noneLive(t interface{ Errorf(string, ...any) }, s *server.Server) {
	for id, state := range s.States() {
		if state == "PENDING" || state == "RUNNING" {
			t.Errorf("the statement %s is still %s", id, state)
		}
	}
}

// A statement that may have been started is started once more and then no more; one
// that was not is tried for longer.
func TestSparing(t *testing.T) {
	t.Parallel()
	result, _ := people(1, 0)
	for name, tt := range map[string]struct {
		fault server.Fault
		sent  int
	}{
		"lost":         {server.Fault{DropAfter: true}, 2},
		"broken":       {server.Fault{Status: 500}, 2},
		"a gateway":    {server.Fault{Status: 504}, 2},
		"too many":     {server.Fault{Status: 429}, 6},
		"unavailable":  {server.Fault{Status: 503}, 6},
		"a bad one":    {server.Fault{Status: 400}, 1},
		"half of it":   {server.Fault{Cut: 20}, 1},
		"not signed":   {server.Fault{Status: 401}, 1},
		"now and then": {server.Fault{DropAfter: true, Skip: 1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, result)
			tt.fault.On = []server.Operation{server.Execute}
			s.Inject(tt.fault)
			_, err := openAt(t, s).Query(t.Context())
			if (err == nil) != (tt.fault.Skip > 0) {
				t.Errorf("error %v", err)
			}
			if n := len(s.Requests(server.Execute)); n != tt.sent {
				t.Errorf("sent %d times, want %d", n, tt.sent)
			}
		})
	}
}

// Under any faults a result is either complete or an error, and the rows read before
// the error are the beginning of the complete result.
func TestAnyFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		result, want := people(rapid.IntRange(0, 40).Draw(t, "rows"), rapid.IntRange(1, 15).Draw(t, "chunk rows"))
		result.Pending = rapid.IntRange(0, 2).Draw(t, "pending")
		result.Running = rapid.IntRange(0, 2).Draw(t, "running")
		result.ClosesAtEnd = rapid.Bool().Draw(t, "closes at end")
		s := start(t, result)
		defer s.Close()
		started := true
		for range rapid.IntRange(0, 4).Draw(t, "faults") {
			f := server.Fault{
				On:    []server.Operation{rapid.SampledFrom(operations).Draw(t, "on")},
				Skip:  rapid.IntRange(0, 5).Draw(t, "skip"),
				Count: rapid.IntRange(0, 3).Draw(t, "count"),
			}
			switch rapid.IntRange(0, 7).Draw(t, "kind") {
			case 0:
				f.Status = rapid.SampledFrom([]int{302, 400, 401, 403, 404, 408, 429, 500, 502, 503, 504}).Draw(t, "status")
			case 1:
				f.Drop = true
			case 2:
				f.DropAfter = true
			case 3:
				f.Cut = rapid.IntRange(1, 400).Draw(t, "cut")
			case 4:
				f.Body = rapid.SampledFrom([]string{"", "{}", "[]", "null", "[null]", "[[]]", `[["a"]]`, "[", "[[", "}", "x"}).Draw(t, "body") + " "
			case 5:
				if f.On[0] != server.Download {
					f.Alter = alteration(t)
				}
			case 6:
				s.ExpireLinks()
			case 7:
				f.Status, f.RetryAfter = 429, "0"
			}
			// An answer that is lost or changed takes the name of the statement along.
			started = started && f.On[0] != server.Execute
			if f.Drop || f.DropAfter || f.Status != 0 || f.Body != "" || f.Cut != 0 || f.Alter != nil {
				s.Inject(f)
			}
		}
		source := testenv.Must(open(spec(s), hasty()))(t)
		ctx := t.Context()
		got, err := read(ctx, source)
		switch {
		case err == nil && !slices.Equal(got, want):
			t.Errorf("the rows are %q", got)
		case err != nil && (len(got) > len(want) || !slices.Equal(got, want[:len(got)])):
			t.Errorf("the rows were %q", got)
		case err != nil && strings.Contains(err.Error(), "sig="):
			t.Errorf("the error tells a link: %v", err)
		}
		if started && len(s.Requests(server.Cancel)) == 0 {
			noneLive(t, s)
		}
	})
}

// alteration removes a field somewhere in an answer, or makes it another value.
func alteration(t *rapid.T) func(map[string]any) {
	name := rapid.SampledFrom([]string{
		"status", "state", "manifest", "result", "schema", "columns", "column_count", "format", "total_row_count",
		"total_chunk_count", "chunks", "chunk_index", "row_offset", "row_count", "external_links", "external_link",
		"position", "type_name", "truncated",
	}).Draw(t, "field")
	value := rapid.SampledFrom([]any{nil, "", "x", 0.0, 1.0, 2.0, true, []any{}, map[string]any{}}).Draw(t, "value")
	remove := rapid.Bool().Draw(t, "remove")
	return func(answer map[string]any) {
		alter(answer, name, func(m map[string]any) {
			if remove {
				delete(m, name)
			} else {
				m[name] = value
			}
		})
	}
}

// alter does something to every object below v that has a field of the name.
func alter(v any, name string, do func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[name]; ok {
			do(v)
		}
		for _, below := range v {
			alter(below, name, do)
		}
	case []any:
		for _, below := range v {
			alter(below, name, do)
		}
	}
}

// What the workspace says of a result has to fit together, and with its rows.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	manifest := func(change func(m map[string]any)) server.Fault {
		return server.Fault{On: []server.Operation{server.Get}, Alter: func(a map[string]any) {
			if m, ok := a["manifest"].(map[string]any); ok {
				change(m)
			}
		}}
	}
	set := func(name string, value any) server.Fault {
		return manifest(func(m map[string]any) { m[name] = value })
	}
	chunkField := func(name string, value any) server.Fault {
		return manifest(func(m map[string]any) { m["chunks"].([]any)[1].(map[string]any)[name] = value })
	}
	linkField := func(name string, value any) server.Fault {
		return server.Fault{On: []server.Operation{server.Chunk}, Alter: func(a map[string]any) {
			a["external_links"].([]any)[0].(map[string]any)[name] = value
		}}
	}
	chunkBody := func(body string) server.Fault {
		return server.Fault{On: []server.Operation{server.Download}, Skip: 1, Body: body}
	}
	for name, tt := range map[string]struct {
		fault server.Fault
		want  string
	}{
		"truncated":             {set("truncated", true), "it was truncated"},
		"another format":        {set("format", "ARROW_STREAM"), `its format is "ARROW_STREAM"`},
		"more rows":             {set("total_row_count", 7), "it has 7 rows and its chunks have 6"},
		"fewer rows":            {set("total_row_count", 5), "it has 5 rows and its chunks have 6"},
		"no number of rows":     {set("total_row_count", nil), "number of rows or chunks is missing"},
		"more chunks":           {set("total_chunk_count", 4), "it has 4 chunks and describes 3"},
		"no number of chunks":   {set("total_chunk_count", nil), "number of rows or chunks is missing"},
		"no chunks":             {set("chunks", nil), "it has 3 chunks and describes 0"},
		"no columns":            {set("schema", map[string]any{}), "it has no columns"},
		"a number too high":     {set("schema", map[string]any{"column_count": 2, "columns": []any{map[string]any{"name": "a", "type_name": "STRING", "position": 0}}}), "it has 2 columns and describes 1"},
		"a column elsewhere":    {set("schema", map[string]any{"columns": []any{map[string]any{"name": "a", "type_name": "STRING", "position": 1}}}), "column 1 of 1 is not described in its place"},
		"a chunk twice":         {chunkField("chunk_index", 0), "chunk 2 of 3 does not follow"},
		"a gap":                 {chunkField("row_offset", 3), "chunk 2 of 3 does not follow"},
		"a chunk without rows":  {chunkField("row_count", nil), "chunk 2 of 3 does not follow"},
		"a negative chunk":      {chunkField("row_count", -2), "chunk 2 of 3 does not follow"},
		"a link to another":     {linkField("chunk_index", 2), "chunk 2 of 3 of the result: the workspace returned no link"},
		"a link to other rows":  {linkField("row_offset", 4), "chunk 2 of 3 of the result: its link describes other rows"},
		"a link with more":      {linkField("row_count", 3), "chunk 2 of 3 of the result: its link describes other rows"},
		"a link to elsewhere":   {linkField("external_link", "http://storage.example/results?sig=abc"), "chunk 2 of 3 of the result: its link is not a trusted address"},
		"a link to a file":      {linkField("external_link", "file:///etc/passwd"), "not a trusted address"},
		"a chunk that is short": {chunkBody(`[["a","1"]]`), "chunk 2 of 3 of the result: it has fewer rows"},
		"a chunk that is empty": {chunkBody(`[]`), "chunk 2 of 3 of the result: it has fewer rows"},
		"a chunk that is long":  {chunkBody(`[["a","1"],["b","2"],["c","3"]]`), "chunk 2 of 3 of the result: it has more rows"},
		"a chunk that goes on":  {chunkBody(`[["a","1"],["b","2"]] []`), "chunk 2 of 3 of the result: data follows its last row"},
		"a chunk that ends":     {chunkBody(`[["a","1"],["b","2"]`), "chunk 2 of 3 of the result: it is truncated"},
		"a chunk of objects":    {chunkBody(`{"a":1}`), "it is not a list of rows"},
		"a row of objects":      {chunkBody(`[{"a":1}]`), "one of its rows is not a list of strings"},
		"a row of numbers":      {chunkBody(`[["a",1]]`), "one of its rows is not a list of strings"},
		"a row that is null":    {chunkBody(`[null]`), "one of its rows is not a list of strings"},
		"a row that is short":   {chunkBody(`[["a"],["b","2"]]`), "row 3 of the result has 1 values and not 2"},
		"a row that is long":    {chunkBody(`[["a","1","x"],["b","2"]]`), "row 3 of the result has 3 values and not 2"},
		"text that is no UTF-8": {chunkBody("[[\"a\xff\",\"1\"],[\"b\",\"2\"]]"), "it contains text that is not UTF-8"},
		"a wrong value":         {chunkBody(`[["a","1"],["b","2.5"]]`), `row 4 of the result, column "Number" of the type LONG: it is not a whole number of 64 bits`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, _ := people(6, 2)
			s := start(t, result)
			s.Inject(tt.fault)
			_, err := read(t.Context(), openAt(t, s))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "storage.example") {
				t.Errorf("the error quotes the link: %v", err)
			}
		})
	}
}

// An error is the same one however often the rows are asked again, closed or not.
func TestErrorStays(t *testing.T) {
	t.Parallel()
	result, _ := people(6, 2)
	s := start(t, result)
	s.Inject(server.Fault{On: []server.Operation{server.Download}, Skip: 1, Status: 404})
	rows, err := openAt(t, s).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for range 2 {
		if _, err := rows.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, first := rows.Next(t.Context())
	_, second := rows.Next(t.Context())
	rows.Close()
	_, third := rows.Next(t.Context())
	if first == nil || !errors.Is(second, first) || !errors.Is(third, first) {
		t.Errorf("first %v, then %v, closed %v", first, second, third)
	}
}
