package app_test

import (
	"encoding/json"
	"testing"
	"time"
)

func TestSpecificationAStepShowsHowItPollsAndRetriesAndWhatItsFailureStarts(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Copy": inTurn(always(unfinished), always(unfinished), fails(errNo), always(unfinished))}
		b := s.startBatch(polling, people(1))
		began := s.now().UTC()
		s.pass(30 * time.Second)
		v := s.step(b.ID, 1, "copy")
		if v.TimeoutSeconds != 1800 || v.MaxRetries != 3 || v.RetryInterval != 1 || v.OnFailure != "undo" {
			t.Errorf("timeout %d, retries %d after %d, on failure %q", v.TimeoutSeconds, v.MaxRetries, v.RetryInterval, v.OnFailure)
		}
		if p := v.Poll; p == nil || p.IntervalSeconds != 30 || p.TimeoutSeconds != 600 || p.StartedAt == nil || p.StartedAt.Sub(began).Abs() > time.Second || p.LastPolledAt.Sub(began).Abs() < 29*time.Second {
			text, _ := json.Marshal(p)
			t.Errorf("poll %s; it began at %s", text, began)
		}
		if v := s.step(b.ID, 1, "tell"); v.Poll != nil || v.OnFailure != "" || v.MaxRetries != 3 {
			t.Errorf("a step without a poll: %+v", v)
		}
		s.pass(30 * time.Second) // the poll fails
		if p := s.step(b.ID, 1, "copy").Poll; p.StartedAt != nil || p.LastPolledAt != nil {
			t.Errorf("a step that waits for a retry has polled since %s, last %s", p.StartedAt, p.LastPolledAt)
		}
	})
}

func TestAStepShowsWhatItsPollsAnsweredBefore(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		waits := func(reason string) worker { return always(`{"complete":false,"reason":"` + reason + `"}`) }
		s.script = script{"Copy": inTurn(waits("no mailbox"), waits("no mailbox"), waits("10 of 90 items"))}
		b := s.startBatch(polling, people(1))
		began := s.now().UTC()
		s.pass(30 * time.Second)
		s.pass(30 * time.Second)
		v := s.step(b.ID, 1, "copy")
		earlier := v.Poll.EarlierAnswers
		if v.Error != "10 of 90 items" || len(earlier) != 1 || earlier[0].Text != "no mailbox" || earlier[0].LastAt.Sub(began).Abs() < 29*time.Second || earlier[0].LastAt.Sub(began) > 40*time.Second {
			text, _ := json.Marshal(v)
			t.Errorf("the step does not show its answers: %s", text)
		}
	})
}
