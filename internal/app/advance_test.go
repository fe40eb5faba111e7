package app_test

import (
	"errors"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// A host repeats a request up to 80 times, also long after the phase has ended.
func TestAdvanceThatIsRepeatedStartsOnePhase(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errNo)}
		b := s.createBatch(twoSteps, people(3))
		for i := range 80 {
			v, err := []*app.App{s.app, s.other}[i%2].Advance(s.ctx, ada, b.ID, "first")
			if err != nil || v.Advanced != "first" || v.Repeated != (i > 0) {
				t.Fatalf("request %d: %+v, %v", i, v, err)
			}
			if i > 20 {
				s.deliverAll()
			}
		}
		s.wantPhases(b.ID, "first failed 0/3/0, second pending 0/0/0")
		v := must(s.app.Advance(s.ctx, ada, b.ID, "first"))(t)
		if v.Phase.Name != "first" || v.Phase.Status != "failed" || v.Phase.Failed != 3 || v.NextPhase != "second" {
			t.Errorf("%+v", v)
		}
		s.advance(b.ID)
		_, err := s.app.Advance(s.ctx, ada, b.ID, "first")
		var e *problem.Error
		if !errors.As(err, &e) || e.Code != api.CodeConflict || e.CurrentPhase != "second" || e.NextPhase != "" {
			t.Errorf("%+v", err)
		}
	})
}

// The answer to a repeated advance shows how the phase is going and which one comes next.
func TestRepeatedAdvanceHasTheCountsOfThePhase(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": func(j message.Job) (string, error) {
			if who(j) == 1 {
				return "", errLost
			}
			return moverOf(true)(j)
		}}
		b := s.createBatch(twoSteps, people(3))
		first := must(s.app.Advance(s.ctx, ada, b.ID, "first"))(t)
		if first.Phase.Name != "first" || first.Phase.Status != "dispatched" || first.Phase.Members != 3 || first.Phase.Waiting != 3 || first.NextPhase != "second" {
			t.Fatalf("%+v", first)
		}
		s.deliverAll()
		again := must(s.app.Advance(s.ctx, ada, b.ID, "first"))(t)
		if !again.Repeated || again.Phase.Succeeded != 2 || again.Phase.Running != 1 || again.NextPhase != "second" {
			t.Fatalf("%+v", again)
		}
	})
}

func TestAdvanceOfABatchThatHasChangedIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	b := s.createBatch(twoSteps, people(3))
	seen := must(s.app.Batch(s.ctx, ada, b.ID))(t)
	s.pause(b.ID)
	s.resume(b.ID)
	if _, err := s.app.Advance(s.ctx, ada, b.ID, "first", seen.ETag); problem.CodeOf(err) != api.CodeChanged {
		t.Fatalf("%v", err)
	}
	if _, err := s.app.Advance(s.ctx, ada, b.ID, "second", seen.ETag); problem.CodeOf(err) != api.CodeConflict {
		t.Fatalf("%v", err) // a precondition is not looked at where the request fails without it
	}
	s.wantPhases(b.ID, "first pending 0/0/0, second pending 0/0/0")
	seen = must(s.app.Batch(s.ctx, ada, b.ID))(t)
	for i := range 3 { // the first one changes the batch
		v, err := s.app.Advance(s.ctx, ada, b.ID, "first", seen.ETag)
		if err != nil || v.Repeated != (i > 0) {
			t.Fatalf("%+v, %v", v, err)
		}
		if now := must(s.app.Batch(s.ctx, ada, b.ID))(t); v.Batch.ETag != now.ETag || now.ETag == seen.ETag {
			t.Errorf("ETag %q after %q, and %q in the answer", now.ETag, seen.ETag, v.Batch.ETag)
		}
	}
	// So does a newer version of the runbook, which the batch follows at its next advance.
	s.deliverAll()
	seen = must(s.app.Batch(s.ctx, ada, b.ID))(t)
	s.publishNew(twoSteps+"# newer\n", api.PublishOptions{})
	if _, err := s.app.Advance(s.ctx, ada, b.ID, "second", seen.ETag); problem.CodeOf(err) != api.CodeChanged {
		t.Fatalf("%v", err)
	}
}
