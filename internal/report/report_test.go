package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"html"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/report"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	nine = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	ten  = nine.Add(time.Hour)
)

func batch() report.Batch {
	return report.Batch{
		ID: 42, Name: "=wave <3>", Owner: "bea", Display: true, Runbook: "moves", Version: 3, Status: "active", CreatedBy: "ada@contoso", Start: &ten, Members: 4, Removed: 1, AsOf: ten,
		Notes:   []string{"Paused by ada: <throttled>."},
		Columns: []string{"=Groups", "Mail", "Size"},
		Checks:  &report.Checks{Names: []string{"free", "=licence"}, Passed: 1, Failed: 1, NotRun: 2},
		Phases: []report.Phase{
			{Name: "init", Status: "completed", Members: 1, Succeeded: 1},
			{Name: "move", Status: "superseded", Steps: []string{"new"}},
			{
				Name: "move", Status: "dispatched", Due: &nine, Steps: []string{"new", "=copy"}, Undoes: true, Note: "a \"note\" & more",
				Members: 5, Succeeded: 1, Failed: 2, Cancelled: 1, Running: 1,
			},
			{Name: "on_member_removed", Status: "dispatched", Steps: []string{"close"}, Members: 1, Succeeded: 1},
		},
	}
}

func members() []report.Member {
	return []report.Member{
		{
			ID: 2, Key: "=cmd|' /C calc'!A0", Status: "failed", FailedIn: "move", FailedStep: "=copy", Error: "no,\n\"way\" </td><script>alert(1)</script>", AddedAt: nine, FailedAt: &ten, ReadAt: ten,
			Checks: []report.Check{{Name: "free", Status: "failed", Error: "taken by <b>"}, {Name: "=licence", Status: "passed"}, {Name: "of version 2", Status: "failed"}},
			Runs:   []report.Run{{Phase: 2, Status: "failed", Ended: &ten, Steps: []string{"succeeded", "failed"}, Undone: []report.Undone{{"undo", "stop", "succeeded"}, {"undo", "delete", "failed"}, {"other", "tell", "pending"}}}},
		},
		{ID: 1, Data: row(`{"Mail":"p1@x","=Groups":["a", "b"],"Size":12,"Room":"=4","Team":null}`), Key: "p1@x", Display: "<Ann> =1", Status: "active", Phase: "move", AddedAt: nine, ReadAt: ten, Checks: []report.Check{{Name: "free", Status: "passed"}, {Name: "=licence", Status: "skipped"}}, Runs: []report.Run{{Phase: 2, Status: "running", Steps: []string{"succeeded", "polling"}}}},
		{
			ID: 3, Key: "Zoë", Status: "removed", AddedAt: nine, RemovedAt: &ten, RemovedBy: "ada", ReadAt: ten,
			Runs: []report.Run{{Phase: 3, Status: "succeeded", Ended: &ten, Steps: []string{"succeeded"}}, {Phase: 1, Status: "cancelled", Ended: &nine, Steps: []string{"cancelled"}}},
		},
		{ID: 4, Data: row(`{"Mail":"=p4@x","Size":null}`), Key: "p4@x", Status: "active", AddedAt: nine, ReadAt: ten},
	}
}

func row(text string) (data map[string]json.RawMessage) {
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		panic(err)
	}
	return data
}

func render(t *testing.T, f report.Format, b report.Batch, all []report.Member) string {
	t.Helper()
	var out bytes.Buffer
	w, err := report.New(f, &out, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if err := w.Member(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(ten.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, f := range report.Formats {
		path := "testdata/report." + string(f)
		got := render(t, f, batch(), members())
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
		}
	}
}

// The outcome of a member is done, failed at a step or removed, not the status "active".
func TestOutcome(t *testing.T) {
	t.Parallel()
	ended := []report.Run{{Phase: 2, Status: "succeeded", Steps: []string{"succeeded", "succeeded"}}}
	for want, tt := range map[string]struct {
		batch  string
		member report.Member
	}{
		"done":             {"completed", report.Member{Status: "active", Runs: ended}},
		"not finished":     {"cancelled", report.Member{Status: "active", Runs: ended}},
		"in move":          {"active", report.Member{Status: "active", Phase: "move", Runs: ended}},
		"in progress":      {"active", report.Member{Status: "active", Runs: ended}},
		"not started":      {"active", report.Member{Status: "active"}},
		"removed":          {"completed", report.Member{Status: "removed"}},
		"failed at move/a": {"completed", report.Member{Status: "failed", FailedIn: "move", FailedStep: "a"}},
		"failed at move":   {"active", report.Member{Status: "failed", FailedIn: "move"}},
	} {
		b := batch()
		b.Status = tt.batch
		if got := tt.member.Outcome(b); got != want {
			t.Errorf("outcome %q, want %q", got, want)
		}
		tt.member.ReadAt = ten
		for _, f := range report.Formats {
			if text := render(t, f, b, []report.Member{tt.member}); !strings.Contains(text, want) {
				t.Errorf("%s: no outcome %q in %s", f, want, text)
			}
		}
	}
}

// The page has a column for each phase in which members took part, and none that is empty. Its
// tables are as wide as the page, and it has a format for paper.
func TestHTMLHasAColumnForEachPhase(t *testing.T) {
	t.Parallel()
	text := render(t, report.HTML, batch(), members())
	_, table, _ := strings.Cut(text, `<div class="rows">`)
	head, body, _ := strings.Cut(table, "</thead>")
	var columns []string
	for _, found := range regexp.MustCompile(`<th scope="col">([^<]*)</th>`).FindAllStringSubmatch(head, -1) {
		columns = append(columns, found[1])
	}
	if got := strings.Join(columns, ", "); got != "Member, No., Outcome, Details, Checks, move (2), on_member_removed" {
		t.Errorf("columns %s", got)
	}
	for row := range strings.SplitSeq(strings.TrimSpace(body), "</tr>\n") {
		if n := strings.Count(row, "<td"); strings.HasPrefix(strings.TrimSpace(row), "<tr") && n != len(columns)-1 {
			t.Errorf("%d cells beside the name, want %d: %s", n, len(columns)-1, row)
		}
	}
	_, phases, _ := strings.Cut(text, `<table class="phases">`)
	phases, _, _ = strings.Cut(phases, "</table>")
	if strings.Contains(phases, "Waiting") || !strings.Contains(phases, "Failed") {
		t.Errorf("the table of phases has empty columns, or not all others: %s", phases)
	}
	for _, want := range []string{"max-width:1280px", "table-layout:fixed;width:100%", "@page{size:A4"} {
		if !strings.Contains(text, want) {
			t.Errorf("the style has no %s", want)
		}
	}
	if strings.Contains(text, "max-content") {
		t.Error("a table is wider than the page")
	}
}

// A batch without checks has no columns for them, and says nothing about them.
func TestBatchWithoutChecks(t *testing.T) {
	t.Parallel()
	b := batch()
	b.Checks = nil
	var without []report.Member
	for _, m := range members() {
		m.Checks = nil
		without = append(without, m)
	}
	for _, f := range report.Formats {
		_, body, _ := strings.Cut(strings.ReplaceAll(render(t, f, b, without), "checked", ""), "</style>")
		if f == report.CSV {
			body = render(t, f, b, without)
		}
		if strings.Contains(strings.ToLower(body), "check") {
			t.Errorf("%s: %s", f, body)
		}
	}
	if text := render(t, report.HTML, batch(), members()); !strings.Contains(text, "Checks of the members: 1 passed, 1 failed, 2 not run.") {
		t.Error("the page does not count the members by their checks")
	}
}

// Every row of the CSV has a cell for every column, also where a member took part in
// nothing.
func TestCSVRoundTrips(t *testing.T) {
	t.Parallel()
	text, found := strings.CutPrefix(render(t, report.CSV, batch(), members()), "\ufeff")
	if !found {
		t.Fatal("there is no byte order mark")
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll() // refuses rows of another length
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		if _, twice := column[name]; twice {
			t.Errorf("two columns are named %s", name)
		}
		column[name] = i
	}
	for _, want := range []struct {
		row        int
		name, cell string
	}{
		{1, "key", "'=cmd|' /C calc'!A0"},
		{1, "move (2) / =copy", "failed"},
		{1, "move (2) rolled back", "undo: stop succeeded, delete failed; other: tell pending"},
		{1, "move / new", ""},
		{1, "checks", "failed"},
		{1, "check errors", "free: taken by <b>; of version 2"},
		{1, "checks / free", "failed"},
		{1, "checks / =licence", "passed"},
		{2, "checks", "passed"},
		{2, "checks / =licence", "skipped"},
		{4, "checks", ""},
		{2, "move (2)", "running"},
		{3, "move / new", "cancelled"},
		{3, "on_member_removed / close", "succeeded"},
		{3, "removed at", "2026-03-01T10:00:00Z"},
		{4, "move (2)", ""},
		{4, "read at", "2026-03-01T10:00:00Z"},
	} {
		i, ok := column[want.name]
		if !ok || rows[want.row][i] != want.cell {
			t.Errorf("row %d, %s: %q, want %q", want.row, want.name, rows[want.row][i], want.cell)
		}
	}
}

func TestHTMLNeedsNothingButItself(t *testing.T) {
	t.Parallel()
	text := render(t, report.HTML, batch(), members())
	// The policy allows the style that the page has, by its hash, and nothing else.
	_, style, _ := strings.Cut(text, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	if !strings.Contains(html.UnescapeString(text), `http-equiv="Content-Security-Policy" content="`+policy+`"`) {
		t.Error("the policy does not allow the page as it is")
	}
	for _, bad := range []string{"<script", "<link", "<img", "<iframe", "src=", "href=", "url(", "@import", "style=\"", "ZgotmplZ"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if !strings.HasSuffix(text, "</html>\n") {
		t.Error("it has no end")
	}
}

func TestHarmless(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"":                       "",
		"p1@x":                   "p1@x",
		"a=b+c-d@e":              "a=b+c-d@e",
		"2026-03-01":             "2026-03-01",
		"=1+1":                   "'=1+1",
		"+1":                     "'+1",
		"-1":                     "'-1",
		"@SUM(A1)":               "'@SUM(A1)",
		"＝1":                     "'＝1",
		"\tx":                    "'\tx",
		"\rx":                    "'\rx",
		"\nx":                    "'\nx",
		"\t=1":                   "'\t'=1",
		" =1":                    "' =1",
		"\"=1":                   "'\"=1",
		"\ufeff=1":               "'\ufeff=1",
		"\x00=1":                 "'\ufffd=1",
		"a\x07b":                 "a\ufffdb",
		"a;=1":                   "a;'=1",
		"a; \"=1;b":              "a;' \"=1;b",
		"a|-1":                   "a|'-1",
		"one\n=two\r\n@three":    "one\n'=two\r\n'@three",
		"a,=1":                   "a,=1", // a reader of CSV knows the comma for part of the cell
		"'=1":                    "'=1",
		"in step \"x\": no; yes": "in step \"x\": no; yes",
		"\xff=1":                 "'\ufffd=1",
		"x \t":                   "x \t",
		"-- ":                    "'-- ",
	} {
		if got := report.Harmless(cell); got != want {
			t.Errorf("%q became %q, want %q", cell, got, want)
		}
	}
}

func FuzzHarmless(f *testing.F) {
	for _, s := range []string{"=1", " \t;=|\n-1", "a", "'=1", "\"@x", "\x00\xff＝"} {
		f.Add(s)
	}
	dangerous := regexp.MustCompile(`(?:^|[;|\t\r\n])[\s\p{Z}\p{Cf}"\x{85}\x{fffd}]*[=+\-@＝＋－＠]`)
	f.Fuzz(func(t *testing.T, cell string) {
		got := report.Harmless(cell)
		if m := dangerous.FindString(got); m != "" {
			t.Errorf("%q became %q, which has %q", cell, got, m)
		}
		if got != "" && strings.ContainsRune("\t\r\n", rune(got[0])) {
			t.Errorf("%q became %q, which begins with a control character", cell, got)
		}
		if again := report.Harmless(got); again != got {
			t.Errorf("%q became %q and then %q", cell, got, again)
		}
		plain := strings.NewReplacer("'", "").Replace
		if plain(got) != plain(strings.Map(func(r rune) rune {
			if r < ' ' && !strings.ContainsRune("\t\r\n", r) || r == 0x7f {
				return '\ufffd'
			}
			return r
		}, strings.ToValidUTF8(each(cell), "\ufffd"))) {
			t.Errorf("%q became %q: more than apostrophes has changed", cell, got)
		}
		// A cell comes back out of a file as it went in.
		var out bytes.Buffer
		w := csv.NewWriter(&out)
		_ = w.Write([]string{"x", got})
		w.Flush()
		row, err := csv.NewReader(&out).Read()
		if err != nil || row[1] != strings.ReplaceAll(got, "\r\n", "\n") {
			t.Errorf("%q was read as %q: %v", got, row, err)
		}
	})
}

// each replaces every byte that is no text by itself, as a loop over runes does.
func each(s string) string { return string([]rune(s)) }

func TestMemberOfOtherColumnsIsRefused(t *testing.T) {
	t.Parallel()
	for _, f := range report.Formats {
		for name, runs := range map[string][]report.Run{
			"a step too many":  {{Phase: 1, Steps: []string{"a", "b"}}},
			"a step too few":   {{Phase: 2, Steps: []string{"a"}}},
			"no such phase":    {{Phase: 4}},
			"before the first": {{Phase: -1}},
			"twice in a phase": {{Phase: 1, Steps: []string{"a"}}, {Phase: 1, Steps: []string{"a"}}},
		} {
			w, err := report.New(f, io.Discard, batch())
			if err != nil {
				t.Fatal(err)
			}
			if w.Member(report.Member{ID: 7, Runs: runs}) == nil {
				t.Errorf("%s: %s was taken", f, name)
			}
		}
	}
	if _, err := report.New("pdf", io.Discard, batch()); err == nil {
		t.Error("an unknown format was taken")
	}
}

// failing takes so many bytes.
type failing int

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if *f -= failing(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteErrorsAreReported(t *testing.T) {
	t.Parallel()
	for _, f := range report.Formats {
		whole := len(render(t, f, batch(), members()))
		for room := 0; room < whole; room += 97 {
			left := failing(room)
			w, err := report.New(f, &left, batch())
			for _, m := range members() {
				if err == nil {
					err = w.Member(m)
				}
			}
			if err == nil {
				err = w.Close(ten)
			}
			if !errors.Is(err, errFull) {
				t.Fatalf("%s with room for %d of %d bytes: %v", f, room, whole, err)
			}
		}
	}
}

// counter counts what it is given.
type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// Rows are written on as they come: at no time is more held back than a few of them.
func TestRowsAreNotHeldBack(t *testing.T) {
	t.Parallel()
	for _, f := range report.Formats {
		var given counter
		w, err := report.New(f, &given, batch())
		if err != nil {
			t.Fatal(err)
		}
		row := members()[0]
		row.Error = strings.Repeat("x", 1000)
		for n := range 1000 {
			if err := w.Member(row); err != nil {
				t.Fatal(err)
			}
			if held := (n+1)*1000 - int(given); held > 10_000 {
				t.Fatalf("%s: after %d rows %d bytes are held back", f, n+1, held)
			}
		}
	}
}
