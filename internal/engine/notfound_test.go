package engine_test

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// notFound answers the job in hand: the tenant does not have what it is about.
func (p *person) notFound(reason string) model.Decision {
	return p.on(model.StepResult{Step: p.run.Current, JobID: p.jobID(), Error: reason, NotFound: true})
}

func TestPollWaitsForWhatDoesNotExistYet(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, polled), 1, `{"Upn":"ann@x"}`)
	p.on(model.RunStarted{})
	p.notFound("no user ann@x")
	p.wantAhead("-poll-1", now.Add(2*time.Minute))
	if s := p.step(); s.Error != "no user ann@x" || s.RetryCount != 0 {
		t.Fatalf("the step does not say what it waits for: %s", text(t, s))
	}
	p.after(2 * time.Minute)
	p.answer(`true`)
	p.want(model.RunRunning, model.StepSucceeded, model.StepDispatched)
	if s := p.run.Steps[0]; s.Error != "" {
		t.Fatalf("the step that succeeded has the error %q", s.Error)
	}
}

func TestPollTimeoutNamesWhatDidNotExist(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, polled), 1, `{"Upn":"ann@x"}`)
	p.on(model.RunStarted{})
	for range 4 {
		p.notFound("no user ann@x")
		p.after(2 * time.Minute)
	}
	p.notFound("no user ann@x")
	p.after(time.Minute)
	p.on(model.PollDue{Step: 0, Count: 5})
	p.want(model.RunRollingBack, model.StepPollTimeout, model.StepCancelled, model.StepDispatched)
	if got, want := p.run.Steps[0].Error, "not complete after polling for 9m0s: no user ann@x"; got != want {
		t.Fatalf("the step failed with %q, want %q", got, want)
	}
}

func TestStepWithoutAPollFailsForWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	p := trying(t, "")
	p.notFound("no user ann@x")
	if s := p.step(); s.Status != model.StepPending || s.RetryCount != 1 {
		t.Fatalf("the step is not retried: %s", text(t, s))
	}
}

func TestJobThatWouldFailAgainIsNotRetried(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T) *person{
		"the first attempt": func(t *testing.T) *person { return trying(t, "") },
		"a poll":            polls,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepare(t)
			p.on(model.StepResult{Step: 0, JobID: p.jobID(), Error: "unknown parameter Upn", Permanent: true})
			if s := p.run.Steps[0]; s.Status != model.StepFailed || s.RetryCount != 0 || s.Error != "unknown parameter Upn" {
				t.Fatalf("the step is %s", text(t, s))
			}
		})
	}
}

func TestFailedCheckSaysWhatIsExpected(t *testing.T) {
	t.Parallel()
	const mismatch = `{"complete":false,"reason":"department is \"Sales\", expected \"Navy\"","data":{"Match":false}}`
	const reason = `department is "Sales", expected "Navy"`
	t.Run("with a poll", func(t *testing.T) {
		t.Parallel()
		p := enterOf(t, read(t, polled), 1, `{"Upn":"ann@x"}`)
		p.on(model.RunStarted{})
		p.answer(mismatch)
		p.wantAhead("-poll-1", now.Add(2*time.Minute))
		if s := p.step(); s.Error != reason {
			t.Fatalf("the step waits for %q", s.Error)
		}
		p.at = now.Add(8 * time.Minute)
		p.answer(mismatch)
		p.after(time.Minute)
		p.on(model.PollDue{Step: 0, Count: 2})
		if got, want := p.run.Steps[0].Error, "not complete after polling for 9m0s: "+reason; got != want {
			t.Fatalf("the step failed with %q, want %q", got, want)
		}
	})
	t.Run("without a poll", func(t *testing.T) {
		t.Parallel()
		p := trying(t, "")
		p.answer(mismatch)
		if got, want := p.step().Error, `the function returned "complete": false, but the step has no poll: `+reason; got != want {
			t.Fatalf("the step failed with %q, want %q", got, want)
		}
	})
}
