package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Each of these is a defect of the system that this one replaces.

func TestDefect01PollIntervalIsNotFlooredAtTheTick(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Copy": always(unfinished)}
		s.startBatch(polling, people(1))
		s.tries("Copy", slices.Repeat([]time.Duration{30 * time.Second}, 9)...) // no tick comes by
	})
}

func TestDefect02NewVersionDoesNotStallThePollsOfTheOneBefore(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Copy": inTurn(always(unfinished), always(unfinished), always(`{"complete":true,"data":{"size":1}}`))}
		b := s.startBatch(polling, people(3))
		s.publishNew(strings.ReplaceAll(polling, "interval: 30s", "interval: 5m"), api.PublishOptions{})
		s.tick()
		s.tries("Copy", 30*time.Second, 30*time.Second)
		s.wantSteps(b.ID, 3, "copy succeeded, tell succeeded")
		s.wantStatus(b.ID, "completed")
	})
}

func TestDefect03LateMemberIsInOnePhaseAtATimeAndHasTheOutputsOfTheOneBefore(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = chain()
		s.script["New"] = some(map[int]worker{1: always(`{"id":"u1"}`), 2: fails(errLost)})
		s.script["Copy"] = some(map[int]worker{1: always(`{"box":"b1"}`), 2: fails(errLost)})
		s.publish(chained)
		const id = 100
		s.schedule(id, chained, 1, dawn.Add(time.Minute)) // two phases are overdue
		s.add(id, "late@x")
		s.wantCalls(2, "New")
		s.answers(2, "New", `{"id":"u2"}`, nil)
		s.wantCalls(2, "New Copy")
		s.answers(2, "Copy", `{"box":"b2"}`, nil)
		s.tickAfter(time.Minute)
		s.wantCalls(2, "New Copy Check")
		if copied, checked := s.step(id, 2, "copy"), s.step(id, 2, "check"); string(copied.Params) != `{"User":"u2"}` || string(checked.Params) != `{"Box":"b2"}` {
			t.Errorf("copied with %s, checked with %s", copied.Params, checked.Params)
		}
		s.wantPhases(id, "create completed 2/0/0, fill completed 2/0/0, verify completed 2/0/0")
		s.wantStatus(id, "completed")
	})
}

func TestDefect04ResultsOfRollbackAndRemovalStepsAreRecordedAtTheirSteps(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": some(map[int]worker{1: fails(errNo), 2: fails(errLost)}), "Delete": always(`{"deleted":true}`), "Forward": always(`{"forwarded":true}`)}
		b := s.startBatch(leaving(undoable), people(2))
		s.remove(b.ID, 2)
		s.answers(2, "New", `{"id":"u2"}`, nil)
		for _, j := range s.jobs {
			c := j.CorrelationData
			if c.BatchID != b.ID || c.StepExecutionID == 0 || j.JobID == "" {
				t.Errorf("the job of %s carries %+v", j.FunctionName, c)
			}
		}
		if v := s.step(b.ID, 1, "delete"); v.Status != "succeeded" || string(v.Result) != `{"deleted":true}` {
			t.Errorf("the rollback's: %s %s", v.Status, v.Result)
		}
		if v := s.step(b.ID, 2, "forward"); v.Status != "succeeded" || string(v.Result) != `{"forwarded":true}` {
			t.Errorf("the removal's: %s %s", v.Status, v.Result)
		}
	})
}

func TestDefect05MembersOfACancelledBatchDoNotGoOn(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errLost), 1), "Join": only(fails(errLost), 2)}
		b := s.startBatch(twoSteps, people(3))
		s.cancel(b.ID)
		s.answers(1, "New", "true", nil)
		s.answers(2, "Join", "true", nil)
		s.tickAfter(time.Hour)
		s.wantCalls(1, "New")
		s.wantCalls(2, "New Join")
		s.wantCalls(3, "New Join")
		s.wantPhases(b.ID, "first cancelled 2/0/1, second cancelled 0/0/0")
		s.wantStatus(b.ID, "cancelled")
	})
}

func TestDefect06FirstMembersAreNotAnnouncedAsAdded(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		var mu sync.Mutex
		kinds := map[string]int{}
		s.park = func(kind, _ string) bool {
			mu.Lock()
			defer mu.Unlock()
			kinds[kind]++
			return false
		}
		s.publish(overlapping)
		const id = 100
		s.schedule(id, overlapping, 3, dawn.Add(48*time.Hour))
		for range 3 {
			s.tickAfter(5 * time.Minute)
		}
		s.wantCalls(1, "A")
		if kinds[message.TypePhaseDue] == 0 || kinds[message.TypeMemberAdded] != 0 {
			t.Errorf("announced: %v", kinds)
		}
		s.add(id, "late@x")
		if kinds[message.TypeMemberAdded] != 1 {
			t.Errorf("announced of the late one: %v", kinds)
		}
	})
}

func TestDefect07DuePhaseWithoutActiveMembersEnds(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"A": fails(errNo)}
		s.publish(overlapping)
		const id = 100
		s.schedule(id, overlapping, 2, dawn.Add(48*time.Hour))
		for range 2 {
			s.tickAfter(24 * time.Hour)
		}
		s.wantPhases(id, "a failed 0/2/0, b failed 0/0/0, c failed 0/0/0")
		s.wantStatus(id, "failed")
	})
}

func TestDefect08LostJobDoesNotLeaveItsStepDispatchedForEver(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": fails(errLost)}
		b := s.startBatch(oneStep(""), people(1))
		for range 7 { // half an hour is what a step has where it does not say
			s.tickAfter(5 * time.Minute)
		}
		s.wantSteps(b.ID, 1, "do failed")
		s.wantStatus(b.ID, "failed")
	})
}

func TestDefect09FunctionThatNoWorkerHasIsFoundWhenTheRunbookIsPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.app = app.New(app.Config{Store: w.store, Bus: w.bus, Log: slog.New(slog.DiscardHandler), Functions: []signature.Function{
		{Name: "New-User", Params: []signature.Parameter{{Name: "Upn", Required: true}, {Name: "Name"}}},
	}})
	view := w.publish(`name: calls
data_source: {type: csv, primary_key: Upn}
init:
  - {name: prepare, worker_id: w, function: New-Group}
phases:
  - name: only
    offset: T-0
    steps:
      - {name: good, worker_id: w, function: new-user, params: {upn: "{{Upn}}"}}
      - {name: later, worker_id: w, function: "New-{{Kind}}"}
      - name: wrong
        worker_id: w
        function: New-User
        on_failure: undo
        params:
          Nmae: "{{Upn}}"
    on_complete:
      - {name: tell, worker_id: w, function: Tell}
rollbacks:
  undo: [{name: back, worker_id: w, function: Old-User}]
on_member_removed:
  - {name: gone, worker_id: w, function: New-User, params: {Upn: "{{Upn}}"}}
`)
	var got []string
	for _, d := range view.Warnings {
		got = append(got, fmt.Sprintf("%d:%d %s %s %s", d.Line, d.Column, d.Severity, d.Code, d.Path))
	}
	want := []string{
		"4:21 warning unknown-worker init[0].worker_id",
		"4:35 warning unknown-function init[0].function",
		"15:9 warning missing-parameter phases[0].steps[2].params",
		"16:11 warning unknown-parameter phases[0].steps[2].params.Nmae",
		"18:36 warning unknown-function phases[0].on_complete[0].function",
		"20:37 warning unknown-function rollbacks.undo[0].function",
	}
	if !slices.Equal(got, want) {
		t.Errorf("warnings:\n%s", strings.Join(got, "\n"))
	}
}

func TestDefect10CompletionIsCountedAndNotLookedFor(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	m := newMeter(s)
	s.publish(oneStep(""))
	const members = 49
	b := s.batch("one", people(members))
	s.advance(b.ID)
	s.wantStatus(b.ID, "completed")
	c := m.costs["result"]
	if c.messages != members || c.queries != 0 {
		t.Errorf("%d results with %d queries", c.messages, c.queries)
	}
	if most := int64(members + 10); c.reads > most || c.writes > most { // a member's end each; the phase's, once
		t.Errorf("%d results with %d reads and %d writes", c.messages, c.reads, c.writes)
	}
	s.verify()
}

// prompt is a worker that has answered before the job's sender hears that it was
// taken: no result can be faster.
type prompt struct {
	bus.Sender
	app *app.App
	t   *testing.T
	s   *stage
}

func (p *prompt) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	if topic != message.TopicWorkerJobs {
		return p.Sender.Send(ctx, topic, messages...)
	}
	for _, m := range messages {
		var j message.Job
		if err := json.Unmarshal(m.Body, &j); err != nil {
			return err
		}
		p.s.jobs = append(p.s.jobs, j)
		phase, member, index, err := model.ParseStepID(j.CorrelationData.StepExecutionID)
		if err != nil {
			return err
		}
		run, err := store.Read[model.Run](ctx, p.s.store, store.RunKey(j.BatchID, phase, member))
		if err != nil {
			return err
		}
		if step, job := run.Doc.Steps[index], run.Doc.JobID(index); step.Status != model.StepDispatched || message.WireJobID(j.BatchID, job) != j.JobID {
			p.t.Errorf("as job %s is sent its step is %s, with job %q", j.JobID, step.Status, job)
		}
		body, err := json.Marshal(message.Result{JobID: j.JobID, Status: message.StatusSuccess, Result: json.RawMessage("true"), CorrelationData: j.CorrelationData})
		if err != nil {
			return err
		}
		if err := p.app.HandleResult(ctx, message.Delivery{ID: j.JobID, Body: body, DeliveryCount: 1}); err != nil {
			return err
		}
	}
	return nil
}

func TestDefect11ResultIsNeverFasterThanTheMarkOfItsDispatch(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	p := &prompt{Sender: s.bus, t: t, s: s}
	s.app = app.New(app.Config{Store: s.store, Bus: p, Now: s.clock.Now, Log: slog.New(slog.DiscardHandler)})
	p.app = s.app
	b := s.createBatch(strings.Replace(twoSteps, "phases:", "init: [{name: prepare, worker_id: worker-01, function: Prepare}]\nphases:", 1), people(3))
	for range 3 {
		s.advance(b.ID)
	}
	s.wantCalls(0, "Prepare")
	s.wantCalls(3, "New Join Check")
	s.wantPhases(b.ID, "init completed 1/0/0, first completed 3/0/0, second completed 3/0/0")
	s.wantStatus(b.ID, "completed")
	s.verify()
}

// Only a request for a member removes that member: not a list without them, no tick
// and no new version.
func TestDefect12TooFewRowsDoNotRemoveEveryoneAtOnce(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(leaving(twoSteps), people(5))
		if v := s.add(b.ID, "p001@x"); v.Added != 0 || len(v.Present) != 1 { // a list of one of the five
			t.Fatalf("%+v", v)
		}
		s.publishNew(leaving(second(twoSteps)), api.PublishOptions{})
		for range 3 {
			s.tickAfter(5 * time.Minute)
		}
		for member := 1; member <= 5; member++ {
			s.wantMember(b.ID, member, "active")
			s.wantCalls(member, "New Join")
		}
		s.remove(b.ID, 3)
		s.wantMember(b.ID, 3, "removed")
		s.advance(b.ID)
		s.wantCalls(2, "New Join Check2")
		s.wantStatus(b.ID, "completed")
	})
}
