package applier_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	busmemory "github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

const twoSteps = `
name: move
description: moves people
data_source: {type: csv, primary_key: upn}
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w1, function: New, params: {Upn: "{{upn}}"}}
      - {name: check, worker_id: w1, function: Check}
`

// process returns an applier with caches of its own, as each process has.
func process(s store.Store, sender bus.Sender, now func() time.Time) *applier.Applier {
	ids := 0
	runbooks := runbookstore.New(runbookstore.Config{Store: s})
	return applier.New(applier.Config{
		Store: s, Bus: sender, Now: now, Log: slog.New(slog.DiscardHandler),
		Audit:    audit.New(audit.Config{Store: s, Now: now, NewID: func() string { ids++; return fmt.Sprintf("%016d", ids) }}),
		Runbooks: runbooks,
		Sealer:   sealing.New(sealing.Config{Store: s, Runbooks: runbooks}),
	})
}

// world is a store and a broker in memory with a batch of one runbook, as its creation leaves it.
type world struct {
	store  *memory.Store
	broker *busmemory.Broker
	sender bus.Client
}

// newWorld makes batch 1 with some members.
func newWorld(ctx context.Context, members int, now func() time.Time) (*world, error) {
	w := &world{store: memory.New(memory.Config{})}
	var err error
	if w.broker, err = busmemory.New(busmemory.Config{Now: now, Topics: busmemory.Deployment("w1")}); err != nil {
		return nil, err
	}
	w.sender = w.broker.Client(nil)
	rb, diagnostics := runbook.Parse([]byte(twoSteps))
	if rb == nil {
		return nil, diagnostics.Err()
	}
	if _, err := w.store.Apply(ctx, store.Writes{store.Create(store.VersionKey("move", 1), store.RunbookVersion{Name: "move", Version: 1, YAML: twoSteps})}); err != nil {
		return nil, err
	}
	writes := store.Writes{store.Create(store.BatchKey(1), engine.NewBatch(1, rb, 1, members, nil, "ada", now()))}
	for id := 1; id <= members; id++ {
		upn := fmt.Sprintf("u%d@contoso.com", id)
		writes = append(writes, store.Create(store.MemberKey(1, id), model.Member{
			ID: id, Page: 1, Key: upn, Data: map[string]json.RawMessage{"upn": json.RawMessage(fmt.Sprintf("%q", upn))}, Status: model.MemberActive, AddedAt: now(),
		}))
	}
	_, err = w.store.Apply(ctx, writes)
	return w, err
}

// run reads the run of a member.
func (w *world) run(t *testing.T, phase, member int) model.Run {
	t.Helper()
	r, err := store.Read[model.Run](t.Context(), w.store, store.RunKey(1, phase, member))
	if err != nil {
		t.Fatal(err)
	}
	return r.Doc
}

func succeeded(r model.Run) model.Event {
	return model.OnRun{Phase: r.Phase, Member: r.Member, RunEvent: model.StepResult{Step: r.Current, JobID: r.JobID(r.Current), OK: true}}
}

// TestDecisionOnAnOutdatedRecalledRunIsTakenAgainAtOnce: another process has written the run since
// this process recalled it. No race is lost, so that there is nothing to wait for.
func TestDecisionOnAnOutdatedRecalledRunIsTakenAgainAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		w, err := newWorld(ctx, 1, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		one, other := process(w.store, w.sender, time.Now), process(w.store, w.sender, time.Now)
		do := func(a *applier.Applier, e model.Event) {
			t.Helper()
			if err := a.Decide(ctx, 1, e); err != nil {
				t.Fatal(err)
			}
		}
		do(one, model.Advanced{Phase: "create"})
		do(one, model.PhaseDue{Phase: 1, Page: 1})
		do(other, succeeded(w.run(t, 1, 1)))
		began := time.Now()
		do(one, succeeded(w.run(t, 1, 1)))
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the decision waited %s", waited)
		}
		if got := w.run(t, 1, 1).Status; got != model.RunSucceeded {
			t.Errorf("the run is %s", got)
		}
	})
}

// TestErrorFromAnOutdatedRecalledRunIsNotTheResult: another process has written the run since this
// process recalled it. The events of a command that fails on the recalled run are made again on
// the stored one: a handler that completes its message with the error would drop what the message
// owes.
func TestErrorFromAnOutdatedRecalledRunIsNotTheResult(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w, one := started(t, 1)
	other := process(w.store, w.sender, time.Now)
	if err := other.Decide(ctx, 1, succeeded(w.run(t, 1, 1))); err != nil {
		t.Fatal(err)
	}
	made := 0
	_, _, err := one.Run(ctx, 1, applier.Command{Events: func(s *applier.Snapshot) ([]model.Event, error) {
		made++
		run, err := s.StepRun(model.StepID(1, 1, 0), 1, 1, 0)
		if err == nil && run.Steps[0].Status == model.StepDispatched {
			err = errors.New("the job is in flight")
		}
		return nil, err
	}})
	if err != nil || made != 2 {
		t.Fatalf("after %d times: %v", made, err)
	}
}

// started returns a process that has dispatched the first step of each member, and the world.
func started(t *testing.T, members int) (*world, *applier.Applier) {
	t.Helper()
	w, err := newWorld(t.Context(), members, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	a := process(w.store, w.sender, time.Now)
	for _, e := range []model.Event{model.Advanced{Phase: "create"}, model.PhaseDue{Phase: 1, Page: 1}} {
		if err := a.Decide(t.Context(), 1, e); err != nil {
			t.Fatal(err)
		}
	}
	return w, a
}

// TestEndOfARunReadsNothing: the process remembers the run and its member, and that the batch is
// running.
func TestEndOfARunReadsNothing(t *testing.T) {
	t.Parallel()
	w, a := started(t, 4)
	for range 2 {
		result := succeeded(w.run(t, 1, 1))
		before := w.store.Counts()
		if err := a.Decide(t.Context(), 1, result); err != nil {
			t.Fatal(err)
		}
		after := w.store.Counts()
		if after.Reads != before.Reads || after.Queries != before.Queries || after.Writes != before.Writes+1 {
			t.Errorf("before: %+v, after: %+v", before, after)
		}
	}
	if got := w.run(t, 1, 1).Status; got != model.RunSucceeded {
		t.Errorf("the run is %s", got)
	}
}

// TestEndOfARunKeepsWhatAnotherProcessWroteToTheMember: this process remembers the member as it was
// before.
func TestEndOfARunKeepsWhatAnotherProcessWroteToTheMember(t *testing.T) {
	t.Parallel()
	w, a := started(t, 1)
	data := map[string]json.RawMessage{"upn": json.RawMessage(`"new@contoso.com"`)}
	if _, err := w.store.Apply(t.Context(), store.Writes{store.Patch(store.MemberKey(1, 1), "", store.Set("/data", data))}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := a.Decide(t.Context(), 1, succeeded(w.run(t, 1, 1))); err != nil {
			t.Fatal(err)
		}
	}
	m, err := store.Read[model.Member](t.Context(), w.store, store.MemberKey(1, 1))
	if err != nil || m.Doc.OpenPhase != 0 || string(m.Doc.Data["upn"]) != `"new@contoso.com"` || w.run(t, 1, 1).Status != model.RunSucceeded {
		t.Fatalf("%+v, %v; the run is %s", m.Doc, err, w.run(t, 1, 1).Status)
	}
}

// TestOnceFailsWithErrChangedAfterEachConflict: a state that changed while it was read is a lost
// race for a command that runs once. Its caller retries on ErrChanged only.
func TestOnceFailsWithErrChangedAfterEachConflict(t *testing.T) {
	t.Parallel()
	w, err := newWorld(t.Context(), 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, conflict := range []error{model.ErrOutdated, store.ErrChanged} {
		calls := 0
		_, _, err := process(w.store, w.sender, time.Now).Run(t.Context(), 1, applier.Command{
			Once:   true,
			Events: func(*applier.Snapshot) ([]model.Event, error) { calls++; return nil, conflict },
		})
		if !errors.Is(err, store.ErrChanged) || calls != 1 {
			t.Errorf("%v: %v after %d calls", conflict, err, calls)
		}
	}
}

// watched counts the summaries that are written, and refuses writes.
type watched struct {
	store.Store
	refuse    func(store.Writes) bool
	summaries []store.BatchSummary
}

var errRefused = errors.New("refused by the test")

func (w *watched) Apply(ctx context.Context, writes store.Writes) (store.Applied, error) {
	if w.refuse != nil && w.refuse(writes) {
		return nil, errRefused
	}
	applied, err := w.Store.Apply(ctx, writes)
	if err == nil && writes[0].Key == store.EntryKey(1) {
		stored, err := store.Read[store.BatchSummary](ctx, w.Store, writes[0].Key)
		if err != nil {
			return nil, err
		}
		w.summaries = append(w.summaries, stored.Doc)
	}
	return applied, err
}

// The commands of a phase that begins follow each other, and write one summary, of the last. If one of them fails for good,
// the summary shows what those before it have changed: no message may come again for them.
func TestCommandsThatFollowEachOtherShareASummary(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(store.Writes) bool{
		"all succeed":                      nil,
		"the page cannot be noted as sent": func(writes store.Writes) bool { return has(writes, theShard) && !has(writes, theRun) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := func() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) }
			w, err := newWorld(t.Context(), 3, now)
			if err != nil {
				t.Fatal(err)
			}
			s := &watched{Store: w.store, refuse: refuse}
			err = process(s, w.sender, now).Decide(t.Context(), 1, model.PhaseDue{Phase: 1})
			if (refuse != nil) != errors.Is(err, errRefused) || refuse == nil && err != nil {
				t.Fatalf("got %v", err)
			}
			if len(s.summaries) != 1 || s.summaries[0].Phases[0].Status != model.PhaseDispatched {
				t.Fatalf("the summaries are %+v", s.summaries)
			}
		})
	}
}
