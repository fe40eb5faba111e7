package app_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// novelty is a field that only a later version knows.
const novelty = "novelty"

// rewrite changes a document beside the processes.
func (s *stage) rewrite(k store.Key, change func(doc map[string]any)) {
	s.t.Helper()
	item := must(store.Read[map[string]any](s.ctx, s.store, k))(s.t)
	change(item.Doc)
	s.commit(store.Replace(k, item.Doc, item.Version))
}

func (s *stage) later(k store.Key) {
	s.t.Helper()
	s.rewrite(k, func(doc map[string]any) { doc[novelty] = "yes" })
}

// restoreDocument has a document as this version knows it.
func (s *stage) restoreDocument(k store.Key) {
	s.t.Helper()
	s.rewrite(k, func(doc map[string]any) {
		if doc[novelty] != "yes" {
			s.t.Errorf("%s has lost what a later version wrote: %v", k, doc)
		}
		delete(doc, novelty)
	})
}

// A handler that was set back finds documents with fields that it does not know. It
// changes nothing of them, messages wait for the later version, all else goes on.
func TestWhatALaterVersionWroteWaitsForIt(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]func(batch int) store.Key{
		"run":   func(batch int) store.Key { return store.RunKey(batch, 1, 1) },
		"shard": func(batch int) store.Key { return store.ShardKey(batch, 1, 1) },
		"batch": store.BatchKey,
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"Join": fails(errLost)}
				s.publish(twoSteps)
				b, other := s.batch("two", people(1)), s.batch("two", "Upn,Name\nother@x,Other\n")
				s.advance(b.ID)
				first := s.jobs[len(s.jobs)-1]
				s.advance(other.ID)
				s.later(key(b.ID))
				s.answersJob(first, "true", nil)
				s.answers(1, "Join", "true", nil)
				s.wantPhases(other.ID, "first completed 1/0/0, second pending 0/0/0")
				for range 20 { // more often than the broker would deliver a message
					s.pass(31 * time.Second)
				}
				s.wantPhases(b.ID, "first dispatched 0/0/0+1, second pending 0/0/0", "first dispatched 1/0/0, second pending 0/0/0")
				_, err := s.app.Pause(s.ctx, ada, b.ID, "")
				if name == "batch" {
					s.wantRefused(err, api.CodeUnavailable, "a later version of the handler wrote this")
				} else {
					noError(t, err)
					s.resume(b.ID)
				}
				s.restoreDocument(key(b.ID))
				for range 3 {
					s.pass(31 * time.Second)
				}
				s.wantPhases(b.ID, "first completed 1/0/0, second pending 0/0/0")
				s.advance(b.ID)
				s.wantStatus(b.ID, "completed")
				if messages := s.listUnprocessable(api.ListOptions{}); len(messages) > 0 {
					t.Errorf("kept: %+v", messages)
				}
			})
		})
	}
}

// A tick leaves such a batch alone, says which and why, and sees to the others.
func TestATickGoesOnBesideWhatALaterVersionWrote(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(twoSteps)
	b, other := s.batch("two", people(1)), s.batch("two", "Upn,Name\nother@x,Other\n")
	s.later(store.BatchKey(b.ID))
	s.publishNew(second(twoSteps), api.PublishOptions{})
	err := s.app.Tick(s.ctx)
	if !errors.Is(err, store.ErrLater) || !strings.Contains(err.Error(), "batch:1/batch: ") || !strings.Contains(err.Error(), novelty) {
		t.Errorf("%v", err)
	}
	if got, of := s.batchOf(b.ID).RunbookVersion, s.batchOf(other.ID).RunbookVersion; got != 1 || of != 2 {
		t.Errorf("the batches are at versions %d and %d of their runbook", got, of)
	}
	s.restoreDocument(store.BatchKey(b.ID))
	s.tick()
	if got := s.batchOf(b.ID).RunbookVersion; got != 2 {
		t.Errorf("then it is at version %d", got)
	}
	s.verify()
}

// What a later version tells beside what this one knows is passed over: a message is not
// written again.
func TestMessagesOfALaterVersionAreUnderstood(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"New": fails(errLost)}
	b := s.startBatch(twoSteps, people(1))
	j := s.jobs[0]
	more := func(v any) []byte {
		text := must(json.Marshal(v))(t)
		return append([]byte(`{"Novelty":{"of":["a","later"]},`), text[1:]...)
	}
	noError(t, s.app.HandleResult(s.ctx, message.Delivery{
		ID: "later-1", Type: message.TypeWorkerResult, DeliveryCount: 1, EnqueuedAt: s.clock.Now(),
		Body: more(message.Result{JobID: j.JobID, Status: message.StatusSuccess, Result: json.RawMessage("true"), Timestamp: s.clock.Now(), CorrelationData: j.CorrelationData}),
	}))
	s.deliverAll()
	s.wantSteps(b.ID, 1, "new succeeded, join succeeded")
	noError(t, s.app.HandleEvent(s.ctx, message.Delivery{
		ID: "later-2", Type: message.TypePhaseDue, DeliveryCount: 1, EnqueuedAt: s.clock.Now(),
		Body: more(message.PhaseDue{BatchID: b.ID, RunbookName: "two", RunbookVersion: 1, PhaseName: "first", PhaseExecutionID: 1, Page: 1}),
	}))
	s.verify()
}

// A decision on held removals is written in place of the hold that was read, and so never
// drops what a later version wrote there.
func TestHoldOfALaterVersionIsNotReplaced(t *testing.T) {
	t.Parallel()
	s, people := held(t)
	shown := must(s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{}))(t)
	s.later(store.HoldKey(1))
	s.wantRefused(errorOf(s.app.ConfirmRemovals(s.ctx, ada, 1, shown.Revision, "")), api.CodeUnavailable, "a later version of the handler wrote this")
	s.wantRefused(errorOf(s.app.DiscardRemovals(s.ctx, ada, 1, "", "")), api.CodeUnavailable, "a later version of the handler wrote this")
	people.drop("p003")
	s.tick()
	s.restoreDocument(store.HoldKey(1))
	s.tick()
	shown = must(s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{}))(t)
	if len(shown.Items) != 4 {
		t.Errorf("%d removals are held", len(shown.Items))
	}
	s.verify()
}
