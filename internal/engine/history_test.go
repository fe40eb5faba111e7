package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

func TestFirstAttemptThatSucceedsIsNotKept(t *testing.T) {
	t.Parallel()
	p := trying(t, "")
	p.answer("true")
	if h := p.run.Steps[0].History; len(h) > 0 {
		t.Fatalf("kept %s", text(t, h))
	}
}

func TestAttemptsOfAStepAreKept(t *testing.T) {
	t.Parallel()
	p := trying(t, "")
	p.after(time.Second)
	p.refuse("busy")
	p.after(time.Minute)
	p.on(model.RetryDue{Step: 0, Count: 1})
	p.after(time.Second)
	p.answer("true")
	h := p.run.Steps[0].History
	if len(h) != 2 || h[0].Outcome != model.StepFailed || h[0].Error != "busy" || !h[0].StartedAt.Equal(now) || !h[0].EndedAt.Equal(now.Add(time.Second)) ||
		h[1].Outcome != model.StepSucceeded || h[1].Error != "" || h[1].JobID == h[0].JobID {
		t.Fatalf("kept %s", text(t, h))
	}
}

func TestAttemptsThatAreKeptAreBounded(t *testing.T) {
	t.Parallel()
	p := trying(t, ", retry: {max_retries: 30, interval: 1s}")
	for n := range 30 {
		p.refuse(fmt.Sprintf("failure %d", n))
		p.after(time.Second)
		p.on(model.RetryDue{Step: 0, Count: n + 1})
	}
	p.refuse("the last")
	h := p.run.Steps[0].History
	if len(h) != model.MaxAttempts || h[0].Error != "failure 11" || h[len(h)-1].Error != "the last" {
		t.Fatalf("kept %d attempts, from %q to %q", len(h), h[0].Error, h[len(h)-1].Error)
	}
}

func TestAttemptThatPolledBeganWithTheFirstAnswer(t *testing.T) {
	t.Parallel()
	p := polls(t)
	p.at = pollAt
	p.answer(incomplete)
	p.at = pollAt.Add(2 * time.Minute)
	p.refuse("no")
	if h := p.run.Steps[0].History; len(h) != 1 || !h[0].StartedAt.Equal(now) {
		t.Fatalf("kept %s", text(t, h))
	}
}
