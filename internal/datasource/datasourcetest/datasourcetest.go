// Package datasourcetest is the contract of a data source as tests: every kind of
// source runs them against the real thing, or a server that speaks its protocol.
package datasourcetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// Kind describes a kind of source to the tests.
type Kind struct {
	// Table opens a source whose result has these columns and these rows of text, in
	// this order. A text may contain everything that a column of people can:
	// quotation marks, line ends, letters of any script.
	Table func(t *testing.T, columns []string, rows [][]string) datasource.Source
	// Endless opens a source whose result has at least one row and no end: it goes on,
	// or stalls, until the reader gives up.
	Endless func(t *testing.T) datasource.Source
	// Stalled stands for Endless where a source reads the whole result before it gives the
	// first row: it opens a source that waits for a rest which never comes, and then closes
	// the channel.
	Stalled func(t *testing.T) (datasource.Source, <-chan struct{})
}

// patience is how long a test waits for what should happen at once.
const patience = 20 * time.Second

// Run runs the tests.
func Run(t *testing.T, k Kind) {
	t.Helper()
	tests := []struct {
		name string
		test func(*testing.T, Kind)
	}{
		{"columns and values", testValues},
		{"an empty result has columns", testEmpty},
		{"many rows come in their order", testMany},
		{"closed in the middle", testClose},
		{"cancelled before the query", testCancelledBefore},
		{"cancelled in the middle", testCancelled},
		{"a deadline in the middle", testDeadline},
		{"the query's context in the middle", testQueryCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, k)
		})
	}
}

func testValues(t *testing.T, k Kind) {
	columns := []string{"UserPrincipalName", "Display Name", "Größe"}
	table := [][]string{
		{"a@contoso.com", "Zoë \"the\" O'Hara, <b>&amp;", "1"},
		{"b@contoso.com", "two\nlines\tand a tab", "\\ \\n 007"},
		{"c@contoso.com", "日本語 \U0001f600", "null"},
	}
	rows := query(t, k.Table(t, columns, table))
	if got := rows.Columns(); !slices.Equal(got, columns) {
		t.Fatalf("columns %q, want %q", got, columns)
	}
	for i, want := range table {
		values, err := rows.Next(t.Context())
		if err != nil {
			t.Fatalf("row %d: %v", i+1, err)
		}
		compare(t, i+1, values, want)
	}
	ended(t, rows)
	for range 2 {
		if err := rows.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func testEmpty(t *testing.T, k Kind) {
	columns := []string{"Id", "Mail"}
	rows := query(t, k.Table(t, columns, nil))
	if got := rows.Columns(); !slices.Equal(got, columns) {
		t.Errorf("columns %q, want %q", got, columns)
	}
	ended(t, rows)
}

func testMany(t *testing.T, k Kind) {
	const n = 3000
	var table [][]string
	for i := range n {
		table = append(table, []string{fmt.Sprintf("user%04d@contoso.com", i), strings.Repeat("x", i%50+1)})
	}
	rows := query(t, k.Table(t, []string{"Id", "Text"}, table))
	for i := range n {
		values, err := rows.Next(t.Context())
		if err != nil {
			t.Fatalf("row %d: %v", i+1, err)
		}
		compare(t, i+1, values, table[i])
	}
	ended(t, rows)
}

// A result that was closed early must not look like one that is complete.
func testClose(t *testing.T, k Kind) {
	rows := query(t, k.Table(t, []string{"Id"}, [][]string{{"a"}, {"b"}, {"c"}}))
	if _, err := rows.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := rows.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if values, err := rows.Next(t.Context()); err == nil || err == io.EOF {
		t.Errorf("a closed result gave %s, %v", values, err)
	}
}

func testCancelledBefore(t *testing.T, k Kind) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rows, err := k.Table(t, []string{"Id"}, [][]string{{"a"}}).Query(ctx)
	if err == nil {
		_, err = rows.Next(ctx)
		_ = rows.Close()
	}
	if err == nil || err == io.EOF {
		t.Errorf("a query that was cancelled before it began: %v", err)
	}
}

func testCancelled(t *testing.T, k Kind) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	endless(t, k, ctx, ctx, cancel)
}

// The context of the query bounds the reading too, also of a reader who waits for ever.
func testQueryCancelled(t *testing.T, k Kind) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	endless(t, k, ctx, t.Context(), cancel)
}

func testDeadline(t *testing.T, k Kind) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	endless(t, k, ctx, ctx, func() {})
}

// endless queries an endless result with the context ctx and reads it with reading,
// calls stop after its first row, or when the source waits for it, and expects the reading
// to end soon, with an error that is not io.EOF.
func endless(t *testing.T, k Kind, ctx, reading context.Context, stop func()) {
	t.Helper()
	var source datasource.Source
	var waits <-chan struct{} // never, for an endless source
	if k.Stalled != nil {
		source, waits = k.Stalled(t)
	} else {
		source = k.Endless(t)
	}
	result := make(chan error, 1)
	go func() {
		rows, err := source.Query(ctx)
		if err != nil {
			result <- err
			return
		}
		defer rows.Close()
		for first := true; ; first = false {
			if _, err := rows.Next(reading); err != nil {
				// It must not look complete to one who asks once more.
				if _, again := rows.Next(reading); again == nil || again == io.EOF {
					err = io.EOF
				}
				result <- err
				return
			}
			if first {
				stop()
			}
		}
	}()
	timeout := time.After(patience)
	for {
		select {
		case <-waits:
			stop()
			waits = nil
		case err := <-result:
			if err == io.EOF || ctx.Err() == nil {
				t.Errorf("an endless result ended with %v", err)
			}
			return
		case <-timeout:
			t.Fatalf("still reading, %v after the start", patience)
		}
	}
}

func query(t *testing.T, s datasource.Source) datasource.Rows {
	t.Helper()
	rows, err := s.Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rows.Close() })
	return rows
}

// ended expects the end of the result, again and again.
func ended(t *testing.T, rows datasource.Rows) {
	t.Helper()
	for range 3 {
		if values, err := rows.Next(t.Context()); err != io.EOF {
			t.Fatalf("after the last row: %s, %v", values, err)
		}
	}
}

// compare expects each value to be the JSON that datasource.Value makes of the text.
func compare(t *testing.T, row int, values []json.RawMessage, texts []string) {
	t.Helper()
	if len(values) != len(texts) {
		t.Fatalf("row %d has %d values, want %d", row, len(values), len(texts))
	}
	for i, text := range texts {
		want, err := datasource.Value(text)
		if err != nil {
			t.Fatal(err)
		}
		if string(values[i]) != string(want) {
			t.Errorf("row %d, value %d: %s, want %s", row, i+1, values[i], want)
		}
	}
}
