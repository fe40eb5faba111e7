package e2e_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// TestKilledWhileABatchIsFilled kills the handler, and everything, in the middle of a
// tick that puts two thousand people into a batch. Nothing is done for anybody before
// all are in, and in the end each is in once.
func TestKilledWhileABatchIsFilled(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"handler", everything} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			fill(t, victim)
		})
	}
}

func fill(t *testing.T, victim string) {
	t.Helper()
	const people = 2000
	l := newList(t)
	names := make([]string, people)
	for i := range names {
		names[i] = fmt.Sprintf("p%04d", i)
	}
	start := time.Now().UTC().Add(36 * time.Hour).Truncate(time.Minute)
	l.add(start.Format("2006-01-02 15:04"), names...)
	m := newMachineWith(t, []byte("{}"), environment{
		handler: map[string]string{"PEOPLE": "sqlite:" + l.file},
		worker:  map[string]string{"WORKER_NOOP": "1", "MAX_PARALLELISM": "64"},
		noTimer: true,
	}, everything)
	s := &saga{machine: m, admin: signIn(m), t: t, list: l, runbook: "filling"}
	s.must("runbook", "publish", filepath.Join("testdata", "filling.yaml"), "--force")
	s.must("automation", "enable", "filling")

	// The store takes what fills the batch up to a quarter of it, and lets the next
	// write wait: the tick is in the middle for as long as that is looked at.
	m.store(http.MethodPost, map[string]any{
		"on": []string{"Batch"}, "partition": store.BatchPartition(1), "skip": 1 + people/4/model.PageSize, "latencyMs": time.Hour.Milliseconds(),
	})
	ticked := make(chan error, 1)
	go func() { ticked <- s.askLocal("POST", "functions/scheduler-timer", struct{}{}, nil) }()
	s.every = time.Millisecond
	s.until("the batch is being filled", func() (bool, any) {
		var batches api.Page[api.Batch]
		s.ask(&batches, "batch", "list")
		if len(batches.Items) == 0 {
			return false, "no batch"
		}
		b := s.get(1)
		return b.MemberCount >= people/8, b
	})
	if err := s.kill(victim, 0); err != nil {
		t.Fatal(err)
	}
	if err := <-ticked; err == nil {
		t.Fatal("the tick was through before it was killed")
	}
	m.store(http.MethodDelete, struct{}{})
	s.every = 30 * time.Millisecond
	s.tick() // the runbook is still the dead tick's
	half := s.get(1)
	if !half.Filling || half.Status != "detected" || half.MemberCount < people/8 || half.MemberCount >= people {
		t.Errorf("the batch is %+v, want it to be half filled", half)
	}
	var steps api.Page[api.Step]
	if s.ask(&steps, "batch", "steps", "1", "--all"); len(steps.Items) > 0 {
		t.Errorf("there are steps of the half filled batch: %+v", steps.Items)
	}
	s.moveTo(s.clock().Add(10 * time.Minute))
	s.tick()
	if b := s.get(1); b.Filling || b.MemberCount != people {
		t.Errorf("the batch is %+v, want it filled", b)
	}
	s.awaitPhase(1, "move", "completed")

	seen, entered := map[string]int{}, time.Time{}
	for _, m := range s.members(1) {
		seen[m.Key]++
		if m.AddedAt.After(entered) {
			entered = m.AddedAt
		}
	}
	for _, name := range names {
		if seen[key(name)] != 1 {
			t.Errorf("%s is in the batch %d times", name, seen[key(name)])
		}
	}
	s.ask(&steps, "batch", "steps", "1", "--all")
	moved := map[string]int{}
	for _, step := range steps.Items {
		if step.DispatchedAt.Before(entered) {
			t.Errorf("step %s of %s was sent at %s, and the last member came at %s", step.Name, step.MemberKey, step.DispatchedAt, entered)
		}
		moved[step.MemberKey]++
	}
	if len(seen) != people || len(moved) != people+1 || len(steps.Items) != people+1 { // and that of init
		t.Errorf("%d members have %d steps, want %d members with one each, and one of init", len(seen), len(steps.Items), people)
	}
	if p := s.phaseOf(1, "move"); p.Members != people || p.Succeeded != people {
		t.Errorf("move: %+v", p)
	}
	s.wantBatches("1 " + start.Format(time.RFC3339))
	t.Logf("%s: killed after %d were in", time.Since(s.began).Round(time.Millisecond), half.MemberCount)
}
