package schedule_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/schedule"
)

func TestColumnsAreMatched(t *testing.T) {
	t.Parallel()
	rb := parse(t, scheduled)
	for _, c := range []struct {
		name    string
		columns []string
		want    string // empty: they are enough
	}{
		{"exactly, in any order, with others between", []string{"x", "Start", "Groups", "", "Mail", "UserId", "x"}, ""},
		{"in capitals, where one can be meant", []string{"USERID", "MAIL", "GROUPS", "START"}, ""},
		{"exactly before in capitals", []string{"USERID", "UserId", "Mail", "Groups", "Start"}, ""},
		{
			"missing",
			[]string{"UserId", "e-mail", "Start"},
			`column "Groups", which the runbook uses, is not in the result; column "Mail", which the runbook uses, is not in the result; the query returns "UserId", "e-mail", "Start"`,
		},
		{
			"the batch time is missing",
			[]string{"UserId", "Mail", "Groups"},
			`column "Start", which the runbook uses, is not in the result; the query returns "UserId", "Mail", "Groups"`,
		},
		{
			"twice",
			[]string{"UserId", "UserId", "Mail", "Groups", "Start"},
			`column "UserId", which the runbook uses, is in the result 2 times; the query returns "UserId", "UserId", "Mail", "Groups", "Start"`,
		},
		{
			"in capitals, and two can be meant",
			[]string{"USERID", "userid", "Mail", "Groups", "Start"},
			`column "UserId", which the runbook uses, is in the result 2 times; the query returns "USERID", "userid", "Mail", "Groups", "Start"`,
		},
		{
			"none", nil,
			`column "Groups", which the runbook uses, is not in the result; column "Mail", which the runbook uses, is not in the result; column "UserId", which the runbook uses, is not in the result; column "Start", which the runbook uses, is not in the result; the query returns no columns`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := schedule.NewResult(rb, c.columns)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var bad *schedule.ColumnsError
			if !errors.As(err, &bad) || err.Error() != c.want {
				t.Errorf("the error is\n\t%v\nand should be\n\t%s", err, c.want)
			}
		})
	}

	uploaded := *rb
	uploaded.DataSource.BatchTimeColumn = ""
	if _, err := schedule.NewResult(&uploaded, columns); err == nil || !strings.Contains(err.Error(), "neither batch_time_column nor batch_time") {
		t.Errorf("a runbook whose members are uploaded: %v", err)
	}
	wide := make([]string, 30)
	for i := range wide {
		wide[i] = fmt.Sprintf("%02d%s", i, strings.Repeat("x", 100))
	}
	if _, err := schedule.NewResult(rb, wide); err == nil || !strings.HasSuffix(err.Error(), `…", and 10 more`) || len(err.Error()) > 2000 {
		t.Errorf("a wide result: %v", err)
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// TestRowsAreRead reads one row each and compares the parsed row or its problem.
func TestRowsAreRead(t *testing.T) {
	t.Parallel()
	good := func(key, mail, groups string) string {
		return fmt.Sprintf(`%s: Groups=%s Mail=%s UserId=%s`, key, groups, mail, "%s")
	}
	plain := func(groups string) string { return fmt.Sprintf(good("a", `"m"`, groups), `"a"`) }
	for _, c := range []struct {
		name string
		row  []any
		want []string
	}{
		{"text", []any{"a", "m", "x; y ;;", "2026-03-02"}, []string{plain(`["x","y"]`)}},
		{"values stay as they are", []any{"a", raw(`[1, {"b":null}]`), "", "2026-03-02"}, []string{fmt.Sprintf(good("a", `[1,{"b":null}]`, `[]`), `"a"`)}},
		{"null stays null", []any{"a", nil, "", "2026-03-02"}, []string{fmt.Sprintf(good("a", `null`, `[]`), `"a"`)}},
		{"a line end in a value", []any{"a", "m\nn", "", "2026-03-02"}, []string{fmt.Sprintf(good("a", `"m\nn"`, `[]`), `"a"`)}},
		{"a number is a key by its digits", []any{raw("900719925474099312345"), "m", "", "2026-03-02"}, []string{fmt.Sprintf(good("900719925474099312345", `"m"`, `[]`), `"900719925474099312345"`)}},
		{"a number beyond a double", []any{"a", raw("1e400"), "", "2026-03-02"}, []string{`bad-row "a": column Mail: the value cannot be stored: the number 1e400 is beyond the range of a double`}},
		{"a decimal with more digits than a double keeps", []any{"a", raw("0.12345678901234567890"), `["1"]`, "2026-03-02"}, []string{fmt.Sprintf(good("a", `"0.12345678901234567890"`, `["[\"1\"]"]`), `"a"`)}},
		{"a list that is an array already", []any{"a", "m", raw(` [ "x;y" , 1 ] `), "2026-03-02"}, []string{plain(`["x;y",1]`)}},
		{"no list is an empty list", []any{"a", "m", nil, "2026-03-02"}, []string{plain(`[]`)}},

		{"an empty key", []any{"", "m", "", "2026-03-02"}, []string{`empty-key "": column UserId: the value is empty; it must identify the member`}},
		{"a blank key", []any{" \t", "m", "", "2026-03-02"}, []string{`empty-key "": column UserId: the value is empty; it must identify the member`}},
		{"no key", []any{nil, "m", "", "2026-03-02"}, []string{`empty-key "": column UserId: the value is empty; it must identify the member`}},
		{"a key with spaces around it", []any{"a ", "m", "", "2026-03-02"}, []string{`bad-key "a": column UserId: "a " has spaces around it`}},
		{"a key of 255 characters", []any{strings.Repeat("ä", 255), "m", "", "2026-03-02"}, []string{fmt.Sprintf(good(strings.Repeat("ä", 255), `"m"`, `[]`), `"`+strings.Repeat("ä", 255)+`"`)}},
		{"a key of 256", []any{strings.Repeat("ä", 256), "m", "", "2026-03-02"}, []string{`bad-key "": column UserId: the key has 256 characters; at most 255 are allowed`}},
		{"a key with a control character", []any{"a\x00b", "m", "", "2026-03-02"}, []string{`bad-key "": column UserId: "a\x00b" has a character that cannot be in a key`}},
		{"a key that was no text", []any{raw(`"a\ud800"`), "m", "", "2026-03-02"}, []string{`bad-key "": column UserId: "a�" has a character that cannot be in a key`}},
		{"a key that is a fraction", []any{raw("1.0"), "m", "", "2026-03-02"}, []string{`bad-key "": column UserId: 1.0 is neither text nor a whole number, so it cannot identify a member`}},
		{"a key that is a list", []any{raw(`["` + strings.Repeat("secret", 20) + `"]`), "m", "", "2026-03-02"}, []string{`bad-key "": column UserId: ["` + strings.Repeat("secret", 9) + `secr… is neither text nor a whole number, so it cannot identify a member`}},

		{"no time", []any{"a", "m", "", nil}, []string{`missing-time "a": column Start: the batch time is missing`}},
		{"a blank time", []any{"a", "m", "", "  "}, []string{`missing-time "a": column Start: the batch time is missing`}},
		{"a number for a time", []any{"a", "m", "", 1772384400}, []string{`bad-time "a": column Start: the batch time is 1772384400, which is not text; ` + expected}},
		{"a truth for a time", []any{"a", "m", "", true}, []string{`bad-time "a": column Start: the batch time is true, which is not text; ` + expected}},
		{"a list for a time", []any{"a", "m", "", []string{"2026-03-02"}}, []string{`bad-time "a": column Start: the batch time is a list or an object; ` + expected}},
		{"a German date", []any{"a", "m", "", "02.03.2026"}, []string{`bad-time "a": column Start: "02.03.2026" is not a time; ` + expected}},

		{"a number for a list", []any{"a", "m", 5, "2026-03-02"}, []string{`bad-list "a": column Groups: 5 is neither text nor an array, so it is not a list in the format semicolon_delimited`}},
		{"an object for a list", []any{"a", "m", raw(`{}`), "2026-03-02"}, []string{`bad-list "a": column Groups: {} is neither text nor an array, so it is not a list in the format semicolon_delimited`}},
		{"no JSON", []any{"a", raw(`{`), "", "2026-03-02"}, []string{`bad-row "a": column Mail: the value cannot be stored: is not JSON`}},
		{"nothing at all", []any{raw(""), raw(""), raw(""), raw("")}, []string{
			`empty-key "": column UserId: the value is empty; it must identify the member`,
			`missing-time "": column Start: the batch time is missing`,
			`bad-row "": column Mail: the value cannot be stored: is not JSON`,
			`bad-row "": column UserId: the value cannot be stored: is not JSON`,
		}},
		{"too few values", []any{"a", "m"}, []string{`bad-row "": the row has 2 values, and the result has 4 columns`}},
		{"a long row", []any{"a", strings.Repeat("x", schedule.MaxRow-len(`[]`+"\n"+`""`+"\n"+`"a"`)), "", "2026-03-02"}, []string{fmt.Sprintf(good("a", `"`+strings.Repeat("x", schedule.MaxRow-9)+`"`, `[]`), `"a"`)}},
		{"too long a row", []any{"a", strings.Repeat("x", schedule.MaxRow), "", "2026-03-02"}, []string{`row-too-long "a": the row has 128009 bytes in the columns that the runbook uses; at most 128000 are allowed`}},
		{"all that is wrong at once", []any{"a ", "m", 1, "x"}, []string{
			`bad-key "a": column UserId: "a " has spaces around it`,
			`bad-time "a": column Start: "x" is not a time; ` + expected,
			`bad-list "a": column Groups: 1 is neither text nor an array, so it is not a list in the format semicolon_delimited`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := answer(t, parse(t, scheduled), c.row)
			var got []string
			for row := range r.Rows() {
				text := row.Key + ":"
				for _, name := range parse(t, scheduled).Columns() {
					text += fmt.Sprintf(" %s=%s", name, row.Data[name])
				}
				got = append(got, text)
			}
			problems, total := r.Problems()
			if total != len(problems) {
				t.Errorf("%d problems, and it says %d", len(problems), total)
			}
			for _, p := range problems {
				if p.Row != 1 {
					t.Errorf("a problem is said to be in row %d", p.Row)
				}
				got = append(got, fmt.Sprintf("%s %q: %s", p.Code, p.Key, p.Message))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n\t%s\nand not\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
			if r.Len() != 1 {
				t.Errorf("%d rows", r.Len())
			}
		})
	}
}

const expected = `use a time such as "2026-03-01T18:00:00+01:00", "2026-03-01 18:00" or "2026-03-01"`

// TestHash: it changes with what the runbook uses of a row, and with nothing else.
func TestHash(t *testing.T) {
	t.Parallel()
	of := func(timing string, columns []string, values ...any) string {
		t.Helper()
		rb := parse(t, timing)
		r, err := schedule.NewResult(rb, columns)
		if err != nil {
			t.Fatal(err)
		}
		r.Add(encode(t, values...))
		for row := range r.Rows() {
			return row.Hash
		}
		t.Fatal("the row is not used")
		return ""
	}
	first := of(scheduled, columns, "a", "m", "x;y", "2026-03-02")
	if len(first) != 32 || strings.Trim(first, "0123456789abcdef") != "" {
		t.Errorf("the hash is %q", first)
	}
	for name, same := range map[string]string{
		"another order of columns, and one that is not used": of(scheduled, []string{"Start", "Groups", "z", "MAIL", "UserId"}, "2026-03-02", "x;y", "z", "m", "a"),
		"another time":                 of(scheduled, columns, "a", "m", "x;y", "2026-03-03"),
		"batch_time: immediate":        of(immediate, columns, "a", "m", "x;y", ""),
		"the list written otherwise":   of(scheduled, columns, "a", "m", " x ;; y", "2026-03-02"),
		"the list as a list":           of(scheduled, columns, "a", "m", raw(`[ "x", "y" ]`), "2026-03-02"),
		"spaces between JSON's tokens": of(scheduled, columns, raw(` "a"`), raw(`"m" `), "x;y", "2026-03-02"),
	} {
		if same != first {
			t.Errorf("%s: the hash changes", name)
		}
	}
	for name, other := range map[string]string{
		"another key":      of(scheduled, columns, "b", "m", "x;y", "2026-03-02"),
		"another mail":     of(scheduled, columns, "a", "n", "x;y", "2026-03-02"),
		"a shorter list":   of(scheduled, columns, "a", "m", "x", "2026-03-02"),
		"null for a value": of(scheduled, columns, "a", nil, "x;y", "2026-03-02"),
		"a key as number":  of(scheduled, columns, 1, "m", "x;y", "2026-03-02"),
	} {
		if other == first {
			t.Errorf("%s: the hash is the same", name)
		}
	}
	// In the same order, so that only the name differs.
	renamed := parse(t, scheduled)
	renamed.Phases[0].Steps[0].Params["Mail"] = "{{Nail}}"
	r, err := schedule.NewResult(renamed, []string{"UserId", "Nail", "Groups", "Start"})
	if err != nil {
		t.Fatal(err)
	}
	r.Add(encode(t, "a", "m", "x;y", "2026-03-02"))
	for row := range r.Rows() {
		if row.Hash == first {
			t.Error("a runbook that calls a column otherwise: the hash is the same")
		}
	}
}

// TestResultKeepsNothingThatItWasGiven: a source reads every row into the same memory.
func TestResultKeepsNothingThatItWasGiven(t *testing.T) {
	t.Parallel()
	r := answer(t, parse(t, scheduled))
	shared := encode(t, "anna", "anna@contoso.com", "a;b", "2026-03-02")
	r.Add(shared)
	for _, value := range shared {
		for i := range value {
			value[i] = '#'
		}
	}
	for row := range r.Rows() {
		got := fmt.Sprintf("%s %s %s %s", row.Key, row.Start.Format(time.DateOnly), row.Data["Mail"], row.Data["Groups"])
		if got != `anna 2026-03-02 "anna@contoso.com" ["a","b"]` {
			t.Error(got)
		}
		row.Data["Mail"][1] = '#' // a caller's own copy
		row.Data["Groups"] = append(row.Data["Groups"], "xxxxxxxxxxxx"...)
	}
	for row := range r.Rows() {
		if got := string(row.Data["Mail"]) + string(row.Data["UserId"]); got != `"anna@contoso.com""anna"` {
			t.Error(got)
		}
	}
}

func TestStartsOfAResult(t *testing.T) {
	t.Parallel()
	rows := []string{"a tue", "b mon", "c tue", "d never", "e wed", "e wed", "f 2026-03-03T01:00:00+01:00"}
	var got []string
	for _, start := range people(t, parse(t, scheduled), rows...).Starts(now) {
		got = append(got, named(start))
	}
	if !slices.Equal(got, []string{"mon", "tue"}) {
		t.Errorf("scheduled: %v", got)
	}
	if got := people(t, parse(t, immediate), rows...).Starts(now); !slices.Equal(got, []time.Time{time.Date(2026, 3, 1, 12, 5, 0, 0, time.UTC)}) {
		t.Errorf("immediate: %v", got)
	}
	if got := people(t, parse(t, immediate)).Starts(now); len(got) != 0 {
		t.Errorf("no rows: %v", got)
	}
}

func TestProblemsAreCapped(t *testing.T) {
	t.Parallel()
	rb := parse(t, scheduled)
	r := answer(t, rb)
	const rows = schedule.MaxProblems + 500
	for i := range rows {
		r.Add(encode(t, fmt.Sprint("k", i), "", "", "never"))
	}
	r.Add(encode(t, "old", "", "", days["long-ago"]))
	problems, total := r.Problems()
	if len(problems) != schedule.MaxProblems || total != rows {
		t.Errorf("%d problems of %d", len(problems), total)
	}
	plan := schedule.Make(rb, r, situation(t, rb))
	if len(plan.Problems) != schedule.MaxProblems || plan.Counts.Problems != rows+1 || plan.Counts.Bad != rows {
		t.Errorf("%d problems of %d, %d bad rows", len(plan.Problems), plan.Counts.Problems, plan.Counts.Bad)
	}
	if first := plan.Problems[0]; first.Code != schedule.CodeLongPast || first.Row != 0 {
		t.Errorf("what is about a whole batch is lost behind single rows: %+v", first)
	}
}

func TestProblemsOfThePlanInWords(t *testing.T) {
	t.Parallel()
	rb := parse(t, scheduled)
	r := people(t, rb, "a long-ago", "b long-ago", "CC mon", "d tue", "e tue")
	plan := schedule.Make(rb, r, situation(t, rb, "7 mon: cc cC d! e", "8 tue: e"))
	var got []string
	for _, p := range plan.Problems {
		got = append(got, fmt.Sprintf("%d %s %s", p.Row, p.Column, p.Message))
	}
	want := []string{
		"0 Start no batch is created for 2026-01-01T00:00:00Z (2 rows): its last phase was due at 2026-01-01T00:00:00Z, more than a day ago; members of other batches with this time stay there",
		`3 UserId column UserId: "CC" differs only in case from the key of the member "cC": correct the keys; until then no member is added or removed`,
		`4 Start "d" failed in batch 7 of 2026-03-02T00:00:00Z, and the batch time is now 2026-03-03T00:00:00Z; they stay in that batch until it has ended`,
		`5  "e" is a member of the batches 7, 8 at the same time`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s", strings.Join(got, "\n\t"))
	}
}
