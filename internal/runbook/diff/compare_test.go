package diff

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
	expression "github.com/matoolkit/matoolkit/internal/runbook/condition"
)

var update = flag.Bool("update", false, "write the changes of testdata/*.yaml into changes.golden")

func condition(text string) *expression.Condition {
	c, err := expression.Parse(text, nil)
	if err != nil {
		panic(err)
	}
	return c
}

// sample has a value in every field of the format, and more than one in every list.
func sample() *runbook.Runbook {
	when := condition("Kind == 1")
	step := func(name string) runbook.Step {
		return runbook.Step{
			When: when,
			Name: name, WorkerID: "w1", Function: "New", OnFailure: "undo", Timeout: time.Hour, Require: true, Detached: true, Cache: &runbook.Cache{Key: "{{Mail}}", TTL: time.Hour},
			Params:       map[string]any{"Mail": "{{email}}", "Options": map[string]any{"Days": json.Number("3")}},
			OutputParams: map[string]string{"UserId": "id"},
			Poll:         &runbook.Poll{Interval: time.Minute, Timeout: 24 * time.Hour},
			Retry:        &runbook.Retry{MaxRetries: 3, Interval: time.Second, Backoff: runbook.BackoffExponential, MaxInterval: time.Minute, Jitter: 10},
		}
	}
	steps := func(names ...string) []runbook.Step {
		var list []runbook.Step
		for _, name := range names {
			list = append(list, step(name))
		}
		return list
	}
	phase := func(name string) runbook.Phase {
		return runbook.Phase{Name: name, Offset: 1440, When: when, Steps: steps("a", "b"), Approval: true, SecondApprover: true, RequireSuccess: 97.5, StopWhen: &runbook.StopWhen{FailedPercent: 10, Failed: 25}, OnComplete: steps("c")}
	}
	return &runbook.Runbook{
		Name: "moves", Description: "d",
		DataSource: runbook.DataSource{
			Type: runbook.SourceDatabricks, Connection: "C", WarehouseID: "W", Query: "q", Graph: &runbook.Graph{
				Groups: []string{"g", "h"}, Users: "u", Columns: []runbook.GraphColumn{{Name: "Mail", Property: "mail"}, {Name: "Name", Property: "displayName"}},
				List:     &runbook.GraphList{Site: "s", Name: "l", Filter: "f"},
				Workbook: &runbook.GraphWorkbook{Site: "s", Library: "l", Path: "p", Sheet: "s"},
			},
			PrimaryKey: "email", BatchTimeColumn: "wave", BatchTime: runbook.BatchTimeImmediate,
			TimeZone: "UTC", MultiValued: []runbook.MultiValued{{Name: "groups", Format: runbook.FormatJSONArray}}, Timeout: time.Minute, RemovalGuard: 20, AdditionGuard: runbook.AdditionGuard{Share: 20, Number: 100},
		},
		Request:    &runbook.Request{MaxItems: 5, Expires: time.Hour, Source: &runbook.ItemSource{Step: step("items"), Output: "Items"}},
		QuietHours: &runbook.QuietHours{TimeZone: "UTC", Windows: []runbook.Window{{Days: []time.Weekday{1, 2}, From: 60, To: 120}}},
		Retry:      &runbook.Retry{MaxRetries: 1, Interval: time.Minute, Backoff: runbook.BackoffExponential, MaxInterval: time.Hour, Jitter: 5},
		Display:    "Name",
		Secret:     []string{"Password", "Token"},
		Checks:     steps("k", "l"),
		Init:       steps("i", "j"),
		Phases:     []runbook.Phase{phase("one"), phase("two"), phase("three")},

		OnMemberRemoved: steps("r"),
		Rollbacks:       map[string][]runbook.Step{"undo": steps("u"), "other": steps("o", "p")},
	}
}

// identity are the fields that tell one item of a list from another: with another
// name it is another item.
var identity = []string{"Phase.Name", "Step.Name", "MultiValued.Name", "GraphColumn.Name"}

// mutation changes one value of a runbook.
type mutation struct {
	field string // type and field
	apply func(*runbook.Runbook)
}

// mutations walks through the type of a runbook, so that no field of the format can be
// forgotten: one change for each value that the sample holds.
func mutations(t *testing.T) []mutation {
	t.Helper()
	var all []mutation
	var walk func(field string, v reflect.Value, of func(*runbook.Runbook) reflect.Value)
	walk = func(field string, v reflect.Value, of func(*runbook.Runbook) reflect.Value) {
		if v.IsZero() {
			t.Fatalf("the sample has no %s: give it one", field)
		}
		set := func(change func(reflect.Value)) {
			all = append(all, mutation{field, func(rb *runbook.Runbook) { change(of(rb)) }})
		}
		switch v.Kind() {
		case reflect.Pointer:
			if v.Type() == reflect.TypeFor[*expression.Condition]() {
				set(func(v reflect.Value) { v.SetZero() })
				set(func(v reflect.Value) { v.Set(reflect.ValueOf(condition("Kind == 2"))) })
				return
			}
			set(func(v reflect.Value) { v.SetZero() })
			walk(field, v.Elem(), func(rb *runbook.Runbook) reflect.Value { return of(rb).Elem() })
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Type().Name()+"."+v.Type().Field(i).Name, v.Field(i), func(rb *runbook.Runbook) reflect.Value { return of(rb).Field(i) })
			}
		case reflect.Slice:
			if v.Type().Elem().Kind() != reflect.Struct || v.Type().Elem() == reflect.TypeFor[runbook.Window]() && field != "QuietHours.Windows" {
				set(func(v reflect.Value) { v.Set(v.Slice(0, v.Len()-1)) })
				return
			}
			if field != "QuietHours.Windows" {
				set(func(v reflect.Value) { v.Set(v.Slice(0, v.Len()-1)) })
			}
			for i := range v.Len() {
				walk(field, v.Index(i), func(rb *runbook.Runbook) reflect.Value { return of(rb).Index(i) })
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				set(func(v reflect.Value) { v.SetMapIndex(key, reflect.Value{}) })
				if steps, ok := v.MapIndex(key).Interface().([]runbook.Step); ok {
					for i := range steps {
						walk(field, reflect.ValueOf(&steps[i]).Elem(), func(rb *runbook.Runbook) reflect.Value { return of(rb).MapIndex(key).Index(i) })
					}
					continue
				}
				changed := reflect.ValueOf("changed")
				set(func(v reflect.Value) { v.SetMapIndex(key, changed) })
			}
		case reflect.String:
			set(func(v reflect.Value) { v.SetString(v.String() + "x") })
		case reflect.Bool:
			set(func(v reflect.Value) { v.SetBool(!v.Bool()) })
		case reflect.Float64:
			set(func(v reflect.Value) { v.SetFloat(v.Float() + 0.25) })
		case reflect.Int, reflect.Int64:
			step := int64(1)
			if v.Type() == reflect.TypeFor[time.Duration]() {
				step = int64(time.Second)
			}
			set(func(v reflect.Value) { v.SetInt(v.Int() + step) })
		default:
			t.Fatalf("%s is a %s, which this test does not know", field, v.Kind())
		}
	}
	walk("Runbook", reflect.ValueOf(sample()).Elem(), func(rb *runbook.Runbook) reflect.Value { return reflect.ValueOf(rb).Elem() })
	return all
}

func TestEveryFieldThatChangesIsReportedOnce(t *testing.T) {
	t.Parallel()
	all := mutations(t)
	if len(all) < 200 {
		t.Fatalf("only %d mutations", len(all))
	}
	for _, m := range all {
		changed := sample()
		m.apply(changed)
		want := 1
		if slices.Contains(identity, m.field) {
			want = 2 // one item gone, another there
		}
		there, back := Compare(sample(), changed), Compare(changed, sample())
		for i, c := range there {
			mirrored := Change{Kind: map[Kind]Kind{Added: Removed, Removed: Added, Changed: Changed}[c.Kind], Path: c.Path, From: c.To, To: c.From}
			if i >= len(back) || !slices.Contains(back, mirrored) {
				t.Errorf("%s: %+v is not taken back:\n%s", m.field, c, back)
			}
		}
		for _, c := range []Changes{there, back} {
			if len(c) != want {
				t.Errorf("%s: %d changes, want %d:\n%s", m.field, len(c), want, c)
			}
			for _, c := range c {
				if c.From == c.To || c.Path == "" || strings.Contains(c.String(), "\n") {
					t.Errorf("%s: %+v", m.field, c)
				}
			}
		}
	}
}

func TestRunbookIsNoChangeToItself(t *testing.T) {
	t.Parallel()
	if c := Compare(sample(), sample()); len(c) > 0 {
		t.Errorf("%s", c)
	}
	for _, path := range []string{"testdata/old.yaml", "testdata/new.yaml", "../testdata/contoso-mailbox-migration.yaml"} {
		a, b := readRunbook(t, path), readRunbook(t, path)
		if c := Compare(a, b); len(c) > 0 {
			t.Errorf("%s: %s", path, c)
		}
	}
}

func TestSeveralChangesAreReportedTogether(t *testing.T) {
	t.Parallel()
	all := slices.DeleteFunc(mutations(t), func(m mutation) bool {
		return !strings.HasPrefix(m.field, "DataSource.") || slices.Contains(identity, m.field) || m.field == "DataSource.MultiValued"
	})
	changed := sample()
	for _, m := range all {
		m.apply(changed)
	}
	if c := Compare(sample(), changed); len(c) != len(all) {
		t.Errorf("%d changes of %d:\n%s", len(c), len(all), c)
	}
}

// The changes of a list lead from the older to the newer one, after any edits.
func TestChangesOfAListLeadToTheNewerOne(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	list := func() []runbook.Phase {
		names := strings.Split("abcdefghij", "")
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		var phases []runbook.Phase
		for _, n := range names[:r.IntN(len(names)+1)] {
			phases = append(phases, runbook.Phase{Name: n})
		}
		return phases
	}
	names := func(phases []runbook.Phase) []string {
		var all []string
		for _, p := range phases {
			all = append(all, p.Name)
		}
		return all
	}
	for range 2000 {
		from, to := list(), list()
		pairs := pair(from, to, func(p runbook.Phase) string { return p.Name })
		var newer, stayed []string
		kinds := map[Kind]int{}
		seen := map[string]int{}
		for _, p := range pairs {
			kinds[p.kind]++
			seen[p.name]++
			if p.kind != Removed {
				newer = append(newer, p.name)
			}
			if p.kind == "" {
				stayed = append(stayed, p.name)
			}
		}
		if !slices.Equal(newer, names(to)) {
			t.Fatalf("%v to %v: %v", names(from), names(to), pairs)
		}
		for _, n := range slices.Concat(names(from), names(to)) {
			if seen[n] != 1 {
				t.Fatalf("%v to %v: %q is told %d times", names(from), names(to), n, seen[n])
			}
		}
		at := -1
		for _, n := range stayed { // in the older order too
			next := slices.Index(names(from), n)
			if next <= at {
				t.Fatalf("%v to %v: %q did not stay", names(from), names(to), n)
			}
			at = next
		}
		if want := longest(names(from), names(to)); kinds[""] != want {
			t.Fatalf("%v to %v: %d stay, %d could", names(from), names(to), kinds[""], want)
		}
	}
}

// longest is the length of the longest common subsequence.
func longest(a, b []string) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	row := make([]int, len(b)+1)
	for i := range a {
		corner := 0
		for j := range b {
			above := row[j+1]
			if a[i] == b[j] {
				row[j+1] = corner + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			corner = above
		}
	}
	return row[len(b)]
}

func TestChangesAsText(t *testing.T) {
	t.Parallel()
	older, newer := readRunbook(t, "testdata/old.yaml"), readRunbook(t, "testdata/new.yaml")
	got := Compare(older, newer).String()
	const golden = "testdata/changes.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("changes:\n%s\nwant:\n%s", got, want)
	}
}

// Without it the two would look the same.
func TestLongTextIsClippedToWhereItDiffers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("SELECT a, b\n", 100)
	got := Change{Kind: Changed, Path: "data_source.query", From: long + "FROM x", To: long + "FROM y"}.String()
	if !strings.Contains(got, "FROM x → …") || !strings.HasSuffix(got, "FROM y") || len(got) > 200 {
		t.Errorf("%s", got)
	}
	if got := (Change{Kind: Changed, Path: "p", From: "a b", To: "a\n  b\n"}).String(); got != "~ p: white space only" {
		t.Errorf("%s", got)
	}
	if got := (Change{Kind: Changed, Path: "p", From: "a" + long, To: "b" + long}).String(); !strings.Contains(got, "p: aSELECT") || !strings.Contains(got, "→ bSELECT") {
		t.Errorf("%s", got)
	}
}

func readRunbook(t *testing.T, path string) *runbook.Runbook {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rb, found := runbook.Parse(src)
	if rb == nil {
		t.Fatalf("%s: %v", path, found)
	}
	return rb
}
