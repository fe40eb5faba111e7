package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/schedule"
	"pgregory.net/rapid"
)

const guarded = "\naddition_guard: {share: 20%, number: 2}"

// The ends of the reasons.
const (
	overNumber = ", more than the addition_guard's number of 2 allows"
	overShare  = ", more than the addition_guard's share of 20% allows"
)

func TestAdditionsAreHeldTogether(t *testing.T) {
	t.Parallel()
	run(t, scheduled+guarded, []scene{
		{
			name:    "as many as the number",
			batches: []string{"1 mon: a"},
			rows:    on("mon", "a b c"),
			want:    []string{"batch 1: add b c"},
			counts:  schedule.Counts{Unchanged: 1},
		},
		{
			name:    "more than the number and the share",
			batches: []string{"1 mon: a~ x", "2 manual: m"},
			rows:    append(on("mon", "a b c"), "d tue", "m mon"),
			want: []string{
				"batch 1: refresh 101 with a", "batch 1: remove 102 x",
				"hold additions b to mon, c to mon, d to tue: the query returns 3 new people for 2 members" + overNumber,
			},
			counts: schedule.Counts{Waiting: 3, InManual: 1},
		},
		{
			name:    "more than the number, but not than the share",
			batches: []string{"1 mon: " + ten, "2 tue: k l m n o"},
			rows:    append(on("mon", ten+" x y"), append(on("tue", "k l m n o"), "z tue")...),
			want:    []string{"hold additions x to mon, y to mon, z to tue: the query returns 3 new people for 15 members" + overNumber},
			counts:  schedule.Counts{Unchanged: 15, Waiting: 3},
		},
		{
			name:   "the first fill",
			rows:   on("mon", "a b c"),
			want:   []string{"hold additions a to mon, b to mon, c to mon: the query returns 3 new people for 0 members" + overNumber},
			counts: schedule.Counts{Waiting: 3},
		},
		{
			name: "a first fill of as many as the number",
			rows: on("mon", "a b"),
			want: []string{"new mon: a b"},
		},
		{
			name:    "people who move, and who were members, are none",
			batches: []string{"1 mon: " + ten, "former: p q r"},
			rows:    append(on("mon", "b c d e f g h i j p q"), "a tue", "r tue", "new tue"),
			want:    []string{"new tue: a new r", "batch 1: add p q", "batch 1: remove 101 a to tue"},
			counts:  schedule.Counts{Unchanged: 9},
		},
		{
			name:    "people whose addition was discarded stay out and do not count, those who are members move",
			batches: []string{"1 mon: " + ten, "2 tue: m", "former: z", "discarded: a z p q r m"},
			rows:    append(on("mon", "b c d e f g h i j p q x y z"), "a tue", "m tue", "r tue"),
			want:    []string{"batch 1: add x y z", "batch 1: remove 101 a to tue", "batch 2: add a"},
			counts:  schedule.Counts{Unchanged: 10, Discarded: 3},
		},
		{
			name:    "without automation only those count who would enter a batch",
			batches: []string{"automation off", "1 mon: a"},
			rows:    append(on("mon", "a b c"), on("tue", "d e f")...),
			want:    []string{"batch 1: add b c"},
			counts:  schedule.Counts{Unchanged: 1, Off: 3},
		},
	})
	run(t, scheduled, []scene{
		{
			name: "a small first fill",
			rows: on("mon", ten),
			want: []string{"new mon: " + ten},
		},
		{
			name:   "a larger first fill",
			rows:   on("mon", eleven),
			want:   []string{"hold additions " + strings.ReplaceAll(eleven, " ", " to mon, ") + " to mon: the query returns 11 new people for 0 members" + overShare},
			counts: schedule.Counts{Waiting: 11},
		},
		{
			name:    "ten people join a small batch",
			batches: []string{"1 mon: m1 m2"},
			rows:    on("mon", ten+" m1 m2"),
			want:    []string{"batch 1: add " + ten},
			counts:  schedule.Counts{Unchanged: 2},
		},
		{
			name:    "eleven people join a small batch",
			batches: []string{"1 mon: m1 m2"},
			rows:    on("mon", eleven+" m1 m2"),
			want:    []string{"hold additions " + strings.ReplaceAll(eleven, " ", " to mon, ") + " to mon: the query returns 11 new people for 2 members" + overShare},
			counts:  schedule.Counts{Waiting: 11, Unchanged: 2},
		},
	})
	run(t, scheduled+"\naddition_guard: {share: 100%, number: 11}", []scene{{
		name: "a share of 100% leaves the number alone",
		rows: on("mon", eleven),
		want: []string{"new mon: " + eleven},
	}})
	run(t, immediate+guarded, []scene{{
		name:   "immediate batches",
		rows:   on("mon", "a b c"),
		want:   []string{"hold additions a to 2026-03-01T12:05:00Z, b to 2026-03-01T12:05:00Z, c to 2026-03-01T12:05:00Z: the query returns 3 new people for 0 members" + overNumber},
		counts: schedule.Counts{Waiting: 3},
	}})
}

// A query that loses its WHERE clause returns a company of a hundred people for a batch of five.
func TestSmallCompanyIsGuarded(t *testing.T) {
	t.Parallel()
	rb := parse(t, scheduled)
	s := situation(t, rb, "1 mon: a b c d e")
	rows := on("mon", "a b c d e")
	for i := range 99 {
		rows = append(rows, fmt.Sprintf("person%02d mon", i))
	}
	p := schedule.Make(rb, people(t, rb, rows...), s)
	if p.Additions == nil || len(p.Additions.People) != 99 || p.Additions.Reason != "the query returns 99 new people for 5 members"+overShare || len(p.Changes) > 0 {
		t.Fatalf("%+v", p)
	}
	s.Confirmed = p.Revision
	if p = schedule.Make(rb, people(t, rb, rows...), s); p.Additions != nil || len(p.Changes) != 1 || len(p.Changes[0].Add) != 99 {
		t.Fatalf("confirmed: %+v", p)
	}
}

// The revision names the people and their starts, and nothing else but automation: it is
// the same in the preview, at the tick, and after a crash.
func TestRevisionOfAdditions(t *testing.T) {
	t.Parallel()
	rb := parse(t, scheduled+guarded)
	revision := func(rows []string, lines ...string) string {
		return schedule.Make(rb, people(t, rb, rows...), situation(t, rb, lines...)).Revision
	}
	rows := []string{"a mon", "b mon", "c tue", "d tue"}
	first := revision(rows)
	for name, same := range map[string]string{
		"another order":  revision([]string{"d tue", "b mon", "a mon", "c tue"}),
		"some are in":    revision(rows, "1 mon: a b"),
		"all are in":     revision(rows, "1 mon: a b", "2 tue: c d"),
		"a row is wrong": revision(append([]string{"e broken"}, rows...)),
	} {
		if same != first {
			t.Errorf("%s: another revision", name)
		}
	}
	for name, other := range map[string]string{
		"another person": revision([]string{"a mon", "b mon", "c tue", "e tue"}),
		"another start":  revision([]string{"a mon", "b mon", "c tue", "d mon"}),
		"one is gone":    revision(rows[1:]),
		"automation":     revision(rows, "automation off"),
	} {
		if other == first {
			t.Errorf("%s: the same revision", name)
		}
	}
	now := parse(t, immediate+guarded)
	s := situation(t, now)
	before := schedule.Make(now, people(t, now, rows...), s).Revision
	s.Now = s.Now.Add(time.Hour)
	if schedule.Make(now, people(t, now, rows...), s).Revision != before {
		t.Error("the revision of an immediate batch changes with the time")
	}

	s = situation(t, rb, "1 mon: x")
	if s.Confirmed = first; strings.Contains(strings.Join(describePlan(schedule.Make(rb, people(t, rb, rows...), s)), ""), "hold additions") {
		t.Error("confirmed additions are held")
	}
	if s.Confirmed = first; !strings.Contains(strings.Join(describePlan(schedule.Make(rb, people(t, rb, append(rows, "e tue")...), s)), ""), "hold additions") {
		t.Error("other additions than those confirmed are not held")
	}
}

func TestNeverMoreAreAddedThanTheGuardAllows(t *testing.T) {
	check(t, func(t *rapid.T, w *world, _ []string, _ *schedule.Result, p schedule.Plan) {
		guard := w.rb.DataSource.AdditionGuard
		members, home := 0, map[string]bool{}
		for _, b := range w.s.Batches {
			for _, m := range b.Members {
				if !gone(m) {
					home[m.Key] = true
					if !b.Manual {
						members++
					}
				}
			}
		}
		added := 0
		count := func(rows []schedule.Row) {
			for _, row := range rows {
				if !home[row.Key] {
					added++
				}
			}
		}
		for _, g := range p.New {
			count(g.Rows)
		}
		for _, c := range p.Changes {
			count(c.Add)
		}
		if added > guard.Number || added > 10 && guard.Share < 100 && float64(added)*100 > guard.Share*float64(members) {
			t.Fatalf("%d people are added to %d members: %v", added, members, describePlan(p))
		}
		if p.Additions != nil && added > 0 {
			t.Fatalf("some are added, and others held: %v", describePlan(p))
		}
	})
}
