package schedule_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

// world is a runbook's batches in memory, to which plans are applied as they say.
type world struct {
	t    *rapid.T
	rb   *runbook.Runbook
	s    schedule.Situation
	last int // id given out
}

func (w *world) next() int {
	w.last++
	return w.last
}

// apply does what a plan says: who moves is removed before being added.
func (w *world) apply(p schedule.Plan) {
	for _, c := range p.Changes {
		b := w.batch(c.Batch)
		for _, r := range c.Remove {
			at := w.find(b, r.Member)
			if b.Members[at].Key != r.Key {
				w.t.Fatalf("member %d is %q and not %q", r.Member, b.Members[at].Key, r.Key)
			}
			b.Members = slices.Delete(b.Members, at, at+1)
		}
		for _, id := range c.Returned {
			b.Members[w.find(b, id)].Kept = false
		}
		for _, r := range c.Refresh {
			m := &b.Members[w.find(b, r.Member)]
			if m.Hash == r.Row.Hash {
				w.t.Fatalf("%q is refreshed with what they have", m.Key)
			}
			m.Hash = r.Row.Hash
		}
		b.HeldOf = 0
		if c.Held != nil {
			b.HeldOf = c.Held.Active
		}
	}
	for _, c := range p.Changes {
		w.add(w.batch(c.Batch), c.Add)
	}
	for _, g := range p.New {
		w.s.Batches = append(w.s.Batches, schedule.Batch{ID: w.next(), Start: g.Start})
		w.add(&w.s.Batches[len(w.s.Batches)-1], g.Rows)
	}
}

func (w *world) add(b *schedule.Batch, rows []schedule.Row) {
	for _, row := range rows {
		for _, other := range w.s.Batches {
			if slices.ContainsFunc(other.Members, func(m schedule.Member) bool { return m.Leaving && m.Key == row.Key }) {
				w.t.Fatalf("%q is added to batch %d and is still leaving batch %d", row.Key, b.ID, other.ID)
			}
		}
		if n := w.homes()[row.Key]; n > 0 {
			w.t.Fatalf("%q is added to batch %d and is in %d batches already", row.Key, b.ID, n)
		}
		b.Members = append(b.Members, schedule.Member{ID: w.next(), Key: row.Key, Hash: row.Hash})
	}
}

func (w *world) batch(id int) *schedule.Batch {
	return &w.s.Batches[slices.IndexFunc(w.s.Batches, func(b schedule.Batch) bool { return b.ID == id })]
}

func (w *world) find(b *schedule.Batch, member int) int {
	at := slices.IndexFunc(b.Members, func(m schedule.Member) bool { return m.ID == member })
	if at < 0 || gone(b.Members[at]) || b.Manual {
		w.t.Fatalf("batch %d has no member %d that could be changed", b.ID, member)
	}
	return at
}

func gone(m schedule.Member) bool { return m.RemovedByHand || m.Leaving }

// homes counts of how many batches each key is a member.
func (w *world) homes() map[string]int {
	n := map[string]int{}
	for _, b := range w.s.Batches {
		for _, m := range b.Members {
			if !gone(m) {
				n[m.Key]++
			}
		}
	}
	return n
}

var (
	someKeys  = strings.Fields("a b c d e f g h i j k l A B 7 ö")
	someDays  = rapid.SampledFrom([]string{"mon", "tue", "wed", "long-ago", "yesterday"})
	someKinds = rapid.SampledFrom([]string{scheduled, scheduled, scheduled + "\nremoval_guard: 100%", scheduled + "\nremoval_guard: 55.5%", scheduled + guarded, immediate, immediate + guarded})
)

var starts = func() map[string]time.Time {
	all := map[string]time.Time{}
	for name, date := range days {
		all[name], _ = time.Parse(time.DateOnly, date)
	}
	return all
}()

// someBatches draws batches in any state, also in those that only a fault leads to: a
// key in several batches, several batches of one time.
func someBatches(t *rapid.T, rb *runbook.Runbook, hashes map[string]string) *world {
	w := &world{t: t, rb: rb, s: schedule.Situation{Now: now, Automation: rapid.Bool().Draw(t, "automation"), Ended: map[time.Time]int{}}}
	for range rapid.IntRange(0, 4).Draw(t, "batches") {
		b := schedule.Batch{ID: w.next(), Start: starts[someDays.Draw(t, "batch of")]}
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			b.Manual = true
		case 1:
			b.Filling = true
		case 2:
			w.s.Ended[b.Start] = b.ID
			continue
		case 3:
			b.HeldOf = rapid.IntRange(1, 5).Draw(t, "held of")
		}
		for range rapid.IntRange(0, 10).Draw(t, "members") {
			m := schedule.Member{ID: w.next(), Key: rapid.SampledFrom(someKeys).Draw(t, "member")}
			if rapid.Bool().Draw(t, "up to date") {
				m.Hash = hashes[m.Key]
			}
			switch rapid.IntRange(0, 9).Draw(t, "state") {
			case 0:
				m.Failed = true
			case 1:
				m.Kept = true
			case 2:
				m.RemovedByHand = true
			case 3:
				m.Leaving = true
				m.RemovedByHand = rapid.Bool().Draw(t, "by hand")
			}
			b.Members = append(b.Members, m)
		}
		w.s.Batches = append(w.s.Batches, b)
	}
	return w
}

// someRows draws rows, some of them bad.
func someRows(t *rapid.T) []string {
	var rows []string
	for range rapid.IntRange(0, 16).Draw(t, "rows") {
		key := rapid.SampledFrom(someKeys).Draw(t, "key")
		switch rapid.IntRange(0, 12).Draw(t, "fault") {
		case 0:
			rows = append(rows, key+" broken")
		case 1:
			if rapid.IntRange(0, 3).Draw(t, "no key") == 0 {
				key = "NULL"
			}
			rows = append(rows, key+" "+someDays.Draw(t, "day"))
		default:
			if !slices.ContainsFunc(rows, func(r string) bool { return strings.HasPrefix(r, key+" ") }) {
				rows = append(rows, key+" "+someDays.Draw(t, "day"))
			}
		}
	}
	return rows
}

// check draws batches and a result, and asks for a property of the plan.
func check(t *testing.T, property func(t *rapid.T, w *world, rows []string, r *schedule.Result, p schedule.Plan)) {
	t.Helper()
	t.Parallel()
	kinds := map[string]*runbook.Runbook{}
	for _, timing := range []string{scheduled, scheduled + "\nremoval_guard: 100%", scheduled + "\nremoval_guard: 55.5%", scheduled + guarded, immediate, immediate + guarded} {
		kinds[timing] = parse(t, timing)
	}
	hashes := map[string]string{}
	for _, key := range someKeys {
		hashes[key] = hash(t, kinds[scheduled], key)
	}
	rapid.Check(t, func(rt *rapid.T) {
		rb := kinds[someKinds.Draw(rt, "runbook")]
		w := someBatches(rt, rb, hashes)
		rows := someRows(rt)
		r := people(t, rb, rows...)
		property(rt, w, rows, r, schedule.Make(rb, r, w.s))
	})
}

func TestAPlanThatWasCarriedOutLeavesNothingToDo(t *testing.T) {
	check(t, func(t *rapid.T, w *world, _ []string, r *schedule.Result, first schedule.Plan) {
		w.apply(first)
		again := schedule.Make(w.rb, r, w.s)
		if len(again.New) > 0 {
			t.Fatalf("new again: %v", describePlan(again))
		}
		held := map[int]*schedule.Held{}
		for _, c := range first.Changes {
			held[c.Batch] = c.Held
		}
		for _, c := range again.Changes {
			if len(c.Add)+len(c.Refresh)+len(c.Remove)+len(c.Returned) > 0 || held[c.Batch] == nil {
				t.Fatalf("changed again:\n%v\nafter\n%v", describePlan(again), describePlan(first))
			}
			if c.Held.Reason != held[c.Batch].Reason || removals(c.Held.Removals) != removals(held[c.Batch].Removals) {
				t.Fatalf("held otherwise: %v\nafter\n%v", describePlan(again), describePlan(first))
			}
			delete(held, c.Batch)
		}
		for batch, h := range held {
			if h != nil {
				t.Fatalf("batch %d is no longer held", batch)
			}
		}
	})
}

// TestNobodyIsInTwoBatches: apply itself fails when it adds a person who is in a
// batch. A person who was in two by a fault leaves one, if they have a row and may leave.
func TestNobodyIsInTwoBatches(t *testing.T) {
	check(t, func(t *rapid.T, w *world, _ []string, r *schedule.Result, p schedule.Plan) {
		before := w.homes()
		free := maps.Clone(before)
		for _, b := range w.s.Batches {
			for _, m := range b.Members {
				if b.Manual || m.Failed || m.Kept {
					free[m.Key] = 0 // cannot leave
				}
			}
		}
		w.apply(p)
		waits := map[string]bool{} // until their removal is confirmed, or over, or their batch takes somebody
		for _, c := range p.Changes {
			if c.Held == nil {
				continue
			}
			for _, r := range c.Held.Removals {
				waits[r.Key] = true
			}
			for _, row := range rowsOf(r) {
				if strings.Contains(c.Held.Reason, "removal_guard") && row.Start.Equal(w.batch(c.Batch).Start) {
					waits[row.Key] = true
				}
			}
		}
		for _, b := range w.s.Batches {
			waits["filling"] = waits["filling"] || b.Filling
			for _, m := range b.Members {
				waits[m.Key] = waits[m.Key] || m.Leaving
			}
		}
		problem := map[string]bool{}
		late := map[string]bool{}
		for _, pr := range p.Problems {
			problem[pr.Key] = problem[pr.Key] || pr.Code != schedule.CodeTwoBatches
			for row := range r.Rows() {
				late[row.Key] = late[row.Key] || pr.Code == schedule.CodeLongPast && strings.Contains(pr.Message, row.Start.Format(time.RFC3339)+" (")
			}
		}
		for key, n := range w.homes() {
			if n > max(1, before[key]) {
				t.Fatalf("%q is in %d batches after\n%v", key, n, describePlan(p))
			}
			for row := range r.Rows() {
				if row.Key == key && n > 1 && free[key] > 1 && !waits[key] && !waits["filling"] && !problem[key] && !late[key] {
					t.Fatalf("%q is still in %d batches after\n%v", key, n, describePlan(p))
				}
			}
		}
	})
}

func TestNobodyWithABadRowIsRemoved(t *testing.T) {
	check(t, func(t *rapid.T, w *world, _ []string, r *schedule.Result, p schedule.Plan) {
		bad := map[string]bool{}
		problems, _ := r.Problems()
		for _, pr := range problems {
			bad[pr.Key] = true
		}
		for _, pr := range p.Problems {
			if pr.Code == schedule.CodeKeyCase {
				bad[pr.Key] = true
			}
		}
		for _, c := range p.Changes {
			leaving := slices.Clone(c.Remove)
			if c.Held != nil {
				leaving = append(leaving, c.Held.Removals...)
			}
			for _, r := range leaving {
				if bad[r.Key] {
					t.Fatalf("%q leaves, and has a bad row", r.Key)
				}
			}
			for _, r := range c.Refresh {
				if bad[r.Row.Key] {
					t.Fatalf("%q is refreshed by a bad row", r.Row.Key)
				}
			}
			for _, row := range c.Add {
				if bad[row.Key] {
					t.Fatalf("%q is added by a bad row", row.Key)
				}
			}
		}
	})
}

func TestTheOrderOfRowsAndBatchesIsOfNoMatter(t *testing.T) {
	numbers := regexp.MustCompile(`[0-9]+`)
	text := func(p schedule.Plan) string {
		for i := range p.Problems {
			p.Problems[i].Row = 0
			p.Problems[i].Message = numbers.ReplaceAllString(p.Problems[i].Message, "#")
		}
		slices.SortFunc(p.Problems, func(a, b schedule.Problem) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		var out []string
		for _, line := range describePlan(p) {
			if head, _, held := strings.Cut(line, "readable key"); held {
				line = head
			}
			out = append(out, line)
		}
		return strings.Join(out, "\n") + fmt.Sprintf("%+v", p.Counts)
	}
	check(t, func(rt *rapid.T, w *world, rows []string, _ *schedule.Result, p schedule.Plan) {
		want := text(p)
		w.s.Batches = rapid.Permutation(w.s.Batches).Draw(rt, "batches in another order")
		shuffled := people(t, w.rb, rapid.Permutation(rows).Draw(rt, "rows in another order")...)
		if got := text(schedule.Make(w.rb, shuffled, w.s)); got != want {
			rt.Fatalf("in one order\n%s\nin another\n%s", want, got)
		}
	})
}

func TestNeverMoreAreRemovedThanTheGuardAllows(t *testing.T) {
	check(t, func(t *rapid.T, w *world, _ []string, r *schedule.Result, p schedule.Plan) {
		removals := 0 // from batches that are filled
		for _, c := range p.Changes {
			b := w.batch(c.Batch)
			if !b.Filling {
				removals += len(c.Remove)
			}
			if b.Manual {
				t.Fatalf("a manual batch is changed")
			}
			active := 0
			for _, m := range b.Members {
				if m.Failed || gone(m) {
					continue
				}
				active++
			}
			for _, r := range c.Remove {
				if m := b.Members[w.find(b, r.Member)]; m.Failed || m.Kept {
					t.Fatalf("%+v is removed", m)
				}
			}
			if (removals > 1 || b.Filling && len(c.Remove) > 0) && len(rowsOf(r)) == 0 {
				t.Fatal("removed on the word of a result without rows")
			}
			if len(c.Remove) > 1 && !b.Filling && float64(len(c.Remove)) > float64(active)*w.rb.DataSource.RemovalGuard/100 {
				t.Fatalf("%d of %d are removed", len(c.Remove), active)
			}
			if c.Held != nil && len(c.Add) > 0 && len(c.Held.Removals) > 1 && float64(len(c.Held.Removals)) > float64(c.Held.Active)*w.rb.DataSource.RemovalGuard/100 {
				t.Fatalf("somebody comes into a batch that most may be gone from: %v", describePlan(p))
			}
			if c.Held != nil && (len(c.Remove) > 0 || len(c.Held.Removals) == 0 || b.Filling) {
				t.Fatalf("held beside removed: %v", describePlan(p))
			}
		}
	})
}

// TestNobodyIsTakenOutToBePutNowhere: a person with a row who leaves a batch is a
// member of another afterwards, unless an administrator removed them from the row's batch.
func TestNobodyIsTakenOutToBePutNowhere(t *testing.T) {
	check(t, func(t *rapid.T, w *world, _ []string, r *schedule.Result, p schedule.Plan) {
		outside := map[string]bool{} // the batch of their row, and its time
		for _, b := range w.s.Batches {
			for _, m := range b.Members {
				if m.RemovedByHand && !b.Manual {
					outside[m.Key+b.Start.String()] = true
				}
			}
		}
		w.apply(p)
		homes := w.homes()
		rows := map[string]schedule.Row{}
		for _, row := range rowsOf(r) {
			rows[row.Key] = row
		}
		for _, c := range p.Changes {
			for _, left := range c.Remove {
				if row, usable := rows[left.Key]; usable && homes[left.Key] == 0 && !outside[left.Key+row.Start.String()] {
					t.Fatalf("%q is in no batch any more after\n%v", left.Key, describePlan(p))
				}
			}
		}
	})
}

// TestNobodyComesInUnderAKeyThatMayBeAnothers: the key of a new member differs from
// all others in more than case.
func TestNobodyComesInUnderAKeyThatMayBeAnothers(t *testing.T) {
	check(t, func(t *rapid.T, w *world, rows []string, r *schedule.Result, p schedule.Plan) {
		keys := map[string]bool{}
		for _, row := range rows {
			key, _, _ := strings.Cut(row, " ")
			keys[key] = true
		}
		known := map[string]bool{}
		for _, b := range w.s.Batches {
			for _, m := range b.Members {
				known[m.Key] = true
				if !m.RemovedByHand || m.Leaving {
					keys[m.Key] = true
				}
			}
		}
		for _, row := range rowsOf(r) {
			for key := range keys {
				if key == row.Key || !strings.EqualFold(key, row.Key) || known[row.Key] {
					continue
				}
				if !slices.ContainsFunc(p.Problems, func(pr schedule.Problem) bool { return pr.Code == schedule.CodeKeyCase && pr.Row == row.Number }) {
					t.Fatalf("%q and %q are taken for two people:\n%v", row.Key, key, describePlan(p))
				}
			}
		}
	})
}

func rowsOf(r *schedule.Result) []schedule.Row { return slices.Collect(r.Rows()) }

// TestBadRowsChangeNothingForGoodOnes: rows without a key hold removals and have no
// other effect.
func TestBadRowsChangeNothingForGoodOnes(t *testing.T) {
	check(t, func(rt *rapid.T, w *world, rows []string, r *schedule.Result, without schedule.Plan) {
		if r.Len() == 0 {
			return // no rows at all is a reason of its own
		}
		worse := slices.Clone(rows)
		for i := range rapid.IntRange(1, 5).Draw(rt, "more") {
			worse = append(worse, rapid.SampledFrom([]string{"NULL mon", fmt.Sprintf("bad%d broken", i), " mon", "bad broken"}).Draw(rt, "bad row"))
		}
		worse = rapid.Permutation(worse).Draw(rt, "order")
		with := schedule.Make(w.rb, people(t, w.rb, worse...), w.s)

		waits := map[string]bool{} // keys whose removal is held now, or left for later
		removed := map[string]bool{}
		for _, c := range with.Changes {
			for _, r := range c.Remove {
				removed[fmt.Sprint(c.Batch, r.Member)] = true
			}
		}
		for _, c := range without.Changes {
			for _, r := range c.Remove {
				if !removed[fmt.Sprint(c.Batch, r.Member)] {
					waits[r.Key] = true
				}
			}
		}
		come := func(p schedule.Plan) (out []string) {
			for _, g := range p.New {
				for _, row := range g.Rows {
					if !waits[row.Key] {
						out = append(out, fmt.Sprint(g.Start, row.Key, row.Hash))
					}
				}
			}
			for _, c := range p.Changes {
				for _, row := range c.Add {
					if !waits[row.Key] {
						out = append(out, fmt.Sprint(c.Batch, row.Key, row.Hash))
					}
				}
				for _, r := range c.Refresh {
					out = append(out, fmt.Sprint("refresh", c.Batch, r.Member, r.Row.Hash))
				}
				out = append(out, fmt.Sprint("returned", c.Batch, c.Returned))
			}
			return slices.DeleteFunc(out, func(s string) bool { return strings.HasPrefix(s, "returned") && strings.HasSuffix(s, "[]") })
		}
		if a, b := come(without), come(with); !slices.Equal(a, b) {
			rt.Fatalf("without bad rows\n%v\nwith\n%v", a, b)
		}
		leave := func(p schedule.Plan) map[string]bool {
			out := map[string]bool{}
			for _, c := range p.Changes {
				for _, r := range c.Remove {
					out[fmt.Sprint(c.Batch, r.Member)] = true
				}
			}
			return out
		}
		before := leave(without)
		for id := range leave(with) {
			if !before[id] {
				rt.Fatalf("%s is removed on account of bad rows", id)
			}
		}
	})
}

// TestManyTicks lets results, batches that end and administrators follow each other:
// no person is ever in two batches, and failed members stay.
func TestManyTicks(t *testing.T) {
	t.Parallel()
	kinds := map[string]*runbook.Runbook{}
	for _, timing := range []string{scheduled, scheduled + "\nremoval_guard: 100%", scheduled + guarded, immediate} {
		kinds[timing] = parse(t, timing)
	}
	rapid.Check(t, func(rt *rapid.T) {
		rb := kinds[rapid.SampledFrom(slices.Sorted(maps.Keys(kinds))).Draw(rt, "runbook")]
		w := &world{t: rt, rb: rb, s: schedule.Situation{Now: now, Ended: map[time.Time]int{}}}
		for range rapid.IntRange(1, 8).Draw(rt, "ticks") {
			w.s.Automation = rapid.IntRange(0, 4).Draw(rt, "automation") > 0
			w.apply(schedule.Make(rb, people(t, rb, someRows(rt)...), w.s))
			for key, n := range w.homes() {
				if n > 1 {
					rt.Fatalf("%q is in %d batches", key, n)
				}
			}
			w.meddle(rt)
			w.s.Now = w.s.Now.Add(5 * time.Minute)
		}
	})
}

// meddle has members fail and batches end, and an administrator decide.
func (w *world) meddle(t *rapid.T) {
	for range rapid.IntRange(0, 3).Draw(t, "events") {
		if len(w.s.Batches) == 0 {
			return
		}
		at := rapid.IntRange(0, len(w.s.Batches)-1).Draw(t, "batch")
		b := &w.s.Batches[at]
		what := rapid.IntRange(0, 3).Draw(t, "event")
		if what == 0 || len(b.Members) == 0 {
			w.s.Ended[b.Start] = b.ID
			w.s.Batches = slices.Delete(w.s.Batches, at, at+1)
			continue
		}
		switch m := &b.Members[rapid.IntRange(0, len(b.Members)-1).Draw(t, "member")]; {
		case m.Leaving:
			m.Leaving = what == 1
		case m.RemovedByHand:
		case what == 1:
			m.Failed = true
		case what == 2:
			m.Kept = true
		default:
			m.RemovedByHand = true
			m.Leaving = rapid.Bool().Draw(t, "leaving")
		}
	}
}
