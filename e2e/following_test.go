package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// TestListIsFollowedWhateverIsKilled changes the list at random, tick for tick, and
// kills the handler or everything somewhere in each tick. The following ticks put
// every person where the list has them, no person is in two batches, and in the end every step ran once for each
// person concerned.
func TestListIsFollowedWhateverIsKilled(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(*seed, 7))
	l := newList(t)
	m := newMachineWith(t, []byte("{}"), environment{
		handler: map[string]string{"PEOPLE": "sqlite:" + l.file},
		worker:  map[string]string{"WORKER_NOOP": "1"},
	}, everything)
	f := &following{
		saga:   &saga{machine: m, admin: signIn(m), t: t, list: l, runbook: "following"},
		random: random, people: map[string]int{},
	}
	// The first phase of the first batch is due at once: people come and go in the
	// middle of it. The others wait.
	for _, ahead := range []time.Duration{36 * time.Hour, 20 * day, 30 * day} {
		f.starts = append(f.starts, time.Now().UTC().Add(ahead).Truncate(time.Minute))
	}
	f.must("runbook", "publish", filepath.Join("testdata", "following.yaml"), "--force")
	f.must("automation", "enable", "following")
	for range 60 {
		f.change()
	}
	for round := range 8 {
		for range 8 {
			f.change()
		}
		f.dyingTick(round)
		f.moveTo(f.clock().Add(10 * time.Minute)) // the runbook was the dead tick's until then
		f.until(fmt.Sprintf("round %d: everybody is where the list has them", round), func() (bool, any) {
			f.tick()
			wrong := f.missing()
			return len(wrong) == 0, wrong
		})
		if v := f.automation(); v.LastError != "" || v.ProblemCount != 0 || v.Rows != len(f.people) {
			t.Errorf("round %d: %+v", round, v)
		}
	}
	f.waitForSteps()
	for at, b := range f.batches() {
		f.moveTo(f.starts[at].Add(day).Add(time.Second))
		f.awaitBatch(b.ID, "completed")
	}
	f.checkSteps()
	f.checkNobodyWasTwice()
}

// following keeps what the list has.
type following struct {
	*saga
	random *rand.Rand
	starts []time.Time
	people map[string]int // the start of each, by its index
	names  []string       // of those who are on the list
	last   int
}

// change adds, removes or moves a person. Each name is used once only.
func (f *following) change() {
	f.t.Helper()
	if len(f.names) < 40 || f.random.IntN(3) == 0 {
		f.last++
		name, at := fmt.Sprintf("p%03d", f.last), f.random.IntN(len(f.starts))
		if f.last <= 2*len(f.starts) { // some in each
			at = f.last % len(f.starts)
		}
		f.list.add(f.written(at), name)
		f.people[name], f.names = at, append(f.names, name)
		return
	}
	i := f.random.IntN(len(f.names))
	name := f.names[i]
	if f.random.IntN(3) == 0 {
		f.list.remove(name)
		delete(f.people, name)
		f.names = slices.Delete(f.names, i, i+1)
		return
	}
	f.people[name] = f.random.IntN(len(f.starts))
	f.list.set(name, "CutoverTime", f.written(f.people[name]))
}

func (f *following) written(start int) string { return f.starts[start].Format("2006-01-02 15:04") }

// dyingTick kills something while a tick is under way, or has just been.
func (f *following) dyingTick(round int) {
	f.t.Helper()
	ticked := make(chan error, 1)
	go func() { ticked <- f.askLocal("POST", "functions/scheduler-timer", struct{}{}, nil) }()
	victim := []string{"handler", everything}[round%2]
	after := time.Duration(f.random.IntN(60)) * time.Millisecond
	time.Sleep(after) // the fault's own moment, not a wait for anything
	if err := f.kill(victim, 0); err != nil {
		f.t.Fatal(err)
	}
	f.t.Logf("round %d: %s killed after %s; the tick: %v", round, victim, after, <-ticked)
}

// batches are those of the starts, in their order.
func (f *following) batches() []api.Batch {
	f.t.Helper()
	var list api.Page[api.Batch]
	f.ask(&list, "batch", "list")
	byStart := make([]api.Batch, len(f.starts))
	for _, b := range list.Items {
		at := slices.IndexFunc(f.starts, b.BatchStartTime.Equal)
		if at < 0 || byStart[at].ID != 0 {
			f.t.Fatalf("there is one batch too many: %+v", b)
		}
		byStart[at] = b
	}
	return byStart
}

// missing compares the batches with the list and returns the differences.
func (f *following) missing() (wrong []string) {
	f.t.Helper()
	found := map[string]int{}
	for at, b := range f.batches() {
		for _, m := range f.members(b.ID) {
			if m.Status == "active" || m.Status == "done" {
				found[strings.TrimSuffix(m.Key, key(""))] = at
			}
		}
	}
	for name, at := range f.people {
		if got, ok := found[name]; !ok || got != at {
			wrong = append(wrong, fmt.Sprintf("%s is in the batch of start %d (%t), want %d", name, got, ok, at))
		}
		delete(found, name)
	}
	for name := range found {
		wrong = append(wrong, name+" is in a batch and not on the list")
	}
	return wrong
}

// checkNobodyWasTwice looks at who was when in which batch.
func (f *following) checkNobodyWasTwice() {
	f.t.Helper()
	was := map[string][]api.Member{}
	for _, b := range f.batches() {
		for _, m := range f.members(b.ID) {
			was[m.Key] = append(was[m.Key], m)
		}
	}
	for name, times := range was {
		slices.SortFunc(times, func(a, b api.Member) int { return a.AddedAt.Compare(b.AddedAt) })
		for i, m := range times[1:] {
			if before := times[i]; before.RemovedAt == nil || before.RemovedAt.After(m.AddedAt) {
				f.t.Errorf("%s was in two batches, or twice in one: %+v and %+v", name, before, m)
			}
		}
	}
}

// waitForSteps waits until no job is under way: a day that passes now would be too long for
// it.
func (f *following) waitForSteps() {
	f.t.Helper()
	for _, b := range f.batches() {
		f.until("every step has ended", func() (bool, any) {
			var steps api.Page[api.Step]
			f.ask(&steps, "batch", "steps", strconv.Itoa(b.ID), "--all")
			open := slices.DeleteFunc(steps.Items, func(s api.Step) bool { return s.CompletedAt != nil || s.Status == "cancelled" })
			return len(open) == 0, open
		})
	}
}

// checkSteps counts the steps of each person: every phase once for those who stayed,
// the removal steps once for those who left, and none twice.
func (f *following) checkSteps() {
	f.t.Helper()
	for _, b := range f.batches() {
		batch := b.ID
		var steps api.Page[api.Step]
		f.ask(&steps, "batch", "steps", strconv.Itoa(batch), "--all")
		done, sent := map[string]int{}, map[string]int{}
		for _, s := range steps.Items {
			of := fmt.Sprintf("%d %s", s.MemberID, s.Name)
			sent[of]++
			if s.Status == "succeeded" {
				done[of]++
			} else if s.Status != "cancelled" {
				f.t.Errorf("batch %d: step %s of %s is %s: %s", batch, s.Name, s.MemberKey, s.Status, s.Error)
			}
		}
		for of, n := range sent {
			if n > 1 {
				f.t.Errorf("batch %d: member and step %s are there %d times", batch, of, n)
			}
		}
		for _, m := range f.members(batch) {
			want := map[string]int{"move": 1, "wind-up": 1, "undo": 0}
			if m.Status == "removed" {
				want = map[string]int{"undo": 1, "wind-up": 0}
			}
			for step, n := range want {
				if got := done[fmt.Sprintf("%d %s", m.ID, step)]; got != n {
					f.t.Errorf("batch %d: %s was done %d times for %s (%d), who is %s", batch, step, got, m.Key, m.ID, m.Status)
				}
			}
		}
	}
}
