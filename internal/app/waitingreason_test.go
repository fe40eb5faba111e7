package app_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// wantWaiting compares what the batch waits for, which the list says as well.
func (s *stage) wantWaiting(id int, want string) {
	s.t.Helper()
	text := func(v api.Batch) string {
		w := v.WaitingReason
		if w == nil {
			return ""
		}
		if !slices.Contains(api.WaitingCodes, w.Code) {
			s.t.Errorf("unknown code %q", w.Code)
		}
		text := w.Code + "|" + w.Phase + w.WorkerID + "|"
		if w.Until != nil {
			text += w.Until.UTC().Format(time.RFC3339)
		}
		return text + "|" + w.Reason
	}
	if got := text(s.batchOf(id)); got != want {
		s.t.Fatalf("the batch waits for %q, want %q", got, want)
	}
	for _, v := range must(s.app.Batches(s.ctx, api.ListOptions{}))(s.t).Items {
		if got := text(v); v.ID == id && got != want {
			s.t.Errorf("in the list it waits for %q, want %q", got, want)
		}
	}
}

func TestManualBatchSaysWhatItWaitsFor(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(gated("approval: required"), people(2))
		s.wantWaiting(b.ID, "advance|first||phase first: an administrator starts the phases of a manual batch")
		s.advance(b.ID)
		s.deliverAll()
		s.wantWaiting(b.ID, "gate|second||phase second: it waits for an administrator's approval")
		s.pause(b.ID)
		s.wantWaiting(b.ID, "paused|||paused by ada: wait")
		must(s.app.Resume(s.ctx, ada, b.ID, ""))(t)
		s.approve(b.ID, "second")
		s.wantWaiting(b.ID, "advance|second||phase second: an administrator starts the phases of a manual batch")
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
		s.wantWaiting(b.ID, "")
	})
}

func TestScheduledBatchSaysWhatItWaitsFor(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		yaml := strings.Replace(overlapping, "{name: b, offset: T-1d,", "{name: b, offset: T-1d, approval: required,", 1)
		s.publish(yaml)
		const id = 100
		s.schedule(id, yaml, 2, dawn.Add(10*day))
		s.tick()
		s.wantWaiting(id, "scheduled|a|2026-03-09T09:00:00Z|phase a starts at 2026-03-09T09:00:00Z")
		s.tickAfter(8 * day)
		s.wantWaiting(id, "gate|b|2026-03-10T09:00:00Z|phase b, due at 2026-03-10T09:00:00Z: it waits for an administrator's approval")
		s.tickAfter(day)
		s.wantWaiting(id, "gate|b|2026-03-10T09:00:00Z|phase b: it waits for an administrator's approval")
		s.approve(id, "b")
		s.tickAfter(day)
		s.wantStatus(id, "completed")
		s.wantWaiting(id, "")
	})
}

func TestBatchSaysThatRemovalsAreHeld(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		threeHeld(s)
		s.wantWaiting(1, "removals_held|||the removal of 3 members waits for confirmation")
		if b := s.batchOf(1); b.ActiveCount != 10 {
			t.Errorf("%d active", b.ActiveCount)
		}
	})
}

func TestListSaysWhichWorkerABatchWaitsFor(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.starting()
		s.script = script{"Do": fails(errLost)}
		b := s.createBatch(oneStep(", timeout: 1h"), people(45))
		s.advance(b.ID)
		s.wantWaiting(b.ID, "")
		s.pass(time.Minute)
		s.wantWaiting(b.ID, "worker_starting|worker-01||45 jobs wait for worker worker-01: starting, until 2026-03-01T09:10:00Z at most")
		r := s.replica("r1")
		until := dawn.Add(5 * time.Minute)
		r.takes(8)
		r.ThrottledUntil = &until
		s.pass(time.Minute)
		r.beat()
		s.wantWaiting(b.ID, "throttled|worker-01|2026-03-01T09:05:00Z|37 jobs wait for worker worker-01: throttled until 2026-03-01T09:05:00Z")
		s.pass(3 * time.Minute)
		s.wantWaiting(b.ID, "worker_silent|worker-01||45 jobs wait for worker worker-01: last seen at 2026-03-01T09:02:00Z")
	})
}

// A list of batches that wait for nothing but a person or the time costs one query, however many there
// are. A batch in progress costs a few more, every ten seconds at most.
func TestCostOfAListOfBatches(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	s.publish(gated("approval: required"))
	for range 5 {
		s.batch("two", people(3), api.AllowInOtherBatches)
	}
	cost := func() int64 {
		before := s.store.Counts()
		must(s.app.Batches(s.ctx, api.ListOptions{}))(t)
		after := s.store.Counts()
		return after.Reads - before.Reads + after.Queries - before.Queries + after.Writes - before.Writes
	}
	if n := cost(); n != 1 {
		t.Errorf("a list of batches that wait costs %d operations", n)
	}
	s.script = script{"New": fails(errLost)}
	for id := range 2 {
		s.advance(id + 1)
	}
	if n := cost(); n > 1+2*4 { // the workers that each has jobs for, and of each worker the record and the number of jobs
		t.Errorf("a list with two batches in progress costs %d operations", n)
	}
	if n := cost(); n != 1 {
		t.Errorf("soon after it costs %d operations", n)
	}
}
