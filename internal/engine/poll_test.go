package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

const polled = header + `
retry: {max_retries: 1, interval: 30s}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: copy, worker_id: w1, function: Copy, timeout: 1m, poll: {interval: 2m, timeout: 9m}, on_failure: undo}
      - {name: next, worker_id: w1, function: Next, timeout: 10m, on_failure: undo}
rollbacks:
  undo: [{name: delete, worker_id: w1, function: Delete, timeout: 10m}]
on_member_removed:
  - {name: stop, worker_id: w1, function: Stop, timeout: 10m}
`

const incomplete = `{"complete":false}`

// polls is a member whose poll was sent ahead, for two minutes from now.
func polls(t *testing.T) *person {
	t.Helper()
	p := enterOf(t, read(t, polled), 1, `{"Upn":"ann@x"}`)
	p.on(model.RunStarted{})
	p.answer(incomplete)
	return p
}

// The times of a poll that was sent ahead now.
var (
	pollAt   = now.Add(2 * time.Minute)
	pollEnds = pollAt.Add(time.Minute + runstate.JobGracePeriod)
)

// wantAhead checks that the step in hand polls, and that the job of its poll is sent for a time.
func (p *person) wantAhead(job string, at time.Time) {
	p.t.Helper()
	s := p.step()
	if s.Status != model.StepPolling || !s.JobInFlight() || !strings.HasSuffix(p.jobID(), job) || !s.PollAt.Equal(at) || !s.VisibleAt().Equal(at) {
		p.t.Fatalf("not polled as %s at %s: %s", job, at, text(p.t, s))
	}
	if p.run.WakeAt != nil || p.run.Worker != "w1" || !p.run.SentAt.Equal(at) {
		p.t.Fatalf("the run wakes at %v, its job is visible to %q at %v", p.run.WakeAt, p.run.Worker, p.run.SentAt)
	}
}

func TestNextPollIsSentAhead(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, polled), 1, `{"Upn":"ann@x"}`)
	p.on(model.RunStarted{})
	p.after(10 * time.Second)
	at := p.at.Add(2 * time.Minute)
	wantOutcome(t, p.answer(incomplete), model.Dispatch{Step: 0, At: at}, model.Deadline{Step: 0, At: at.Add(time.Minute + runstate.JobGracePeriod)})
	p.wantAhead("-poll-1", at)
	p.wantDeadline(at.Add(time.Minute + runstate.JobGracePeriod))
	if s := p.step(); !s.DispatchedAt.Equal(p.at) || s.PollCount != 1 {
		t.Fatalf("dispatched %s", text(t, s))
	}
	p.nothing(model.PollDue{Step: 0, Count: 1})
	p.nothing(model.PollDue{Step: 0, Count: 2})
	p.at = at.Add(30 * time.Second)
	p.answer(incomplete)
	p.wantAhead("-poll-2", p.at.Add(2*time.Minute))
	p.after(2 * time.Minute)
	p.answer(`true`)
	p.want(model.RunRunning, model.StepSucceeded, model.StepDispatched)
	if s := p.run.Steps[0]; s.PollAt != nil || s.PollSent || s.PollCount != 2 {
		t.Fatalf("polled %s", text(t, s))
	}
}

// A deadline that a tick of the scheduler comes before has no message of its own.
func TestDeadlineOfAPollIsLeftToTheTickIfItIsFarAhead(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, strings.Replace(polled, "timeout: 1m, poll", "timeout: 3m, poll", 1)), 1, `{"Upn":"ann@x"}`)
	p.on(model.RunStarted{})
	wantOutcome(t, p.answer(incomplete), model.Dispatch{Step: 0, At: pollAt})
	p.wantDeadline(pollAt.Add(3*time.Minute + runstate.JobGracePeriod))
}

func TestPollThatIsNotSentAheadHasACheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		poll string
		mode model.DispatchMode
		at   time.Duration
		want func(p *person)
	}{
		"the batch is paused": {"interval: 2m, timeout: 9m", model.Paused, 2 * time.Minute, func(p *person) {
			if p.want(model.RunRunning, model.StepPolling); p.run.PausedAt == nil {
				p.t.Fatal("the run is not paused")
			}
		}},
		"the interval is long": {"interval: 301s, timeout: 9m", model.Running, 301 * time.Second, func(p *person) {
			p.want(model.RunRunning, model.StepDispatched)
		}},
		"polling ends then": {"interval: 2m, timeout: 2m", model.Running, 2 * time.Minute, func(p *person) {
			p.want(model.RunRollingBack, model.StepPollTimeout, model.StepCancelled, model.StepDispatched)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enterOf(t, read(t, strings.Replace(polled, "interval: 2m, timeout: 9m", c.poll, 1)), 1, `{"Upn":"ann@x"}`)
			p.on(model.RunStarted{})
			p.mode = c.mode
			wantOutcome(t, p.answer(incomplete), model.Poll{Step: 0, At: now.Add(c.at)})
			if s := p.step(); s.JobInFlight() || p.run.DeadlineAt != nil || p.run.SentAt != nil || !p.run.WakeAt.Equal(now.Add(c.at)) {
				t.Fatalf("a job is in flight: %s", text(t, p.run))
			}
			p.after(c.at)
			p.on(model.PollDue{Step: 0, Count: 1})
			c.want(p)
		})
	}
}

// Each way in which a poll that was sent ahead can end.
func TestPollThatWasSentAheadEndsAsAnyJob(t *testing.T) {
	t.Parallel()
	job := func(p *person) model.StepResult { return model.StepResult{Step: 0, JobID: p.jobID()} }
	answered := func(p *person, e func(*model.StepResult)) model.Decision {
		r := job(p)
		e(&r)
		return p.on(r)
	}
	revoked := func(r *model.StepResult) { r.Error, r.Revoked = "revoked", true }
	expired := func(r *model.StepResult) { r.Error, r.Expired = "expired", true }
	for name, c := range map[string]struct {
		prepare func(p *person)
		end     func(p *person) model.Decision
		outcome []any
		run     model.RunStatus
		step    model.StepStatus
		check   func(p *person)
	}{
		"a failure": {
			end:     func(p *person) model.Decision { return p.refuse("no") },
			outcome: []any{model.Retry{Step: 0, At: pollAt.Add(30 * time.Second)}}, run: model.RunRunning, step: model.StepPending,
		},
		"the last failure": {
			prepare: func(p *person) { p.run.Steps[0].RetryCount = 1 },
			end:     func(p *person) model.Decision { return p.refuse("no") },
			outcome: []any{model.Dispatch{Step: 2}}, run: model.RunRollingBack, step: model.StepFailed,
		},
		"an expiry": {
			end:     func(p *person) model.Decision { return answered(p, expired) },
			outcome: []any{model.Dispatch{Step: 0}, model.Deadline{Step: 0, At: pollEnds}}, run: model.RunRunning, step: model.StepDispatched,
		},
		"a revocation although the batch goes on": {
			end:     func(p *person) model.Decision { return answered(p, revoked) },
			outcome: []any{model.Retry{Step: 0, At: pollAt.Add(5 * time.Second)}}, run: model.RunRunning, step: model.StepPending,
		},
		"a revocation in a paused batch": {
			prepare: func(p *person) { p.mode = model.Paused },
			end:     func(p *person) model.Decision { return answered(p, revoked) },
			outcome: []any{released()}, run: model.RunRunning, step: model.StepPending,
			check: func(p *person) {
				began := *p.step().PollStartedAt
				p.after(time.Hour)
				p.mode = model.Running
				p.on(model.RunReleased{Task: "r"})
				p.want(model.RunRunning, model.StepDispatched)
				if got := p.step().PollStartedAt; !got.Equal(began.Add(time.Hour)) {
					p.t.Fatalf("polling began at %s, want an hour after %s", got, began)
				}
			},
		},
		"a revocation in a cancelled batch": {
			prepare: func(p *person) { p.mode = model.Cancelled },
			end:     func(p *person) model.Decision { return answered(p, revoked) },
			outcome: []any{model.CountRun{Outcome: model.RunCancelled}}, run: model.RunCancelled, step: model.StepCancelled,
		},
		"a result after the member was removed": {
			prepare: func(p *person) {
				p.on(model.RunCancelRequested{Reason: model.ReasonRemoved})
				p.wantAhead("-poll-1", pollAt)
			},
			end:     func(p *person) model.Decision { return p.answer(incomplete) },
			outcome: []any{model.CountRun{Outcome: model.RunCancelled}}, run: model.RunCancelled, step: model.StepCancelled,
			check: func(p *person) {
				if s := p.run.Steps[0]; len(s.Abandoned) > 0 || s.PollCount != 1 {
					p.t.Fatalf("ended as %s", text(p.t, s))
				}
			},
		},
		"the deadline after the member was removed": {
			prepare: func(p *person) { p.on(model.RunCancelRequested{Reason: model.ReasonRemoved}) },
			end: func(p *person) model.Decision {
				due := p.overdue()
				p.at = pollEnds.Add(-time.Second)
				p.early(due, time.Second)
				p.at = pollEnds
				return p.on(due)
			},
			outcome: []any{model.CountRun{Outcome: model.RunCancelled}}, run: model.RunCancelled, step: model.StepFailed,
		},
		"the deadline": {
			prepare: func(p *person) {
				p.at = now.Add(time.Minute + runstate.JobGracePeriod) // counted from the decision
				p.early(p.overdue(), pollEnds.Sub(p.at))
			},
			end: func(p *person) model.Decision {
				p.at = pollEnds
				return p.on(p.overdue())
			},
			outcome: []any{model.Retry{Step: 0, At: pollEnds.Add(30 * time.Second)}}, run: model.RunRunning, step: model.StepPending,
			check: func(p *person) {
				if a := p.step().Abandoned; len(a) != 1 || !strings.HasSuffix(a[0].JobID, "-poll-1") || !a[0].Until.Equal(pollEnds) {
					p.t.Fatalf("abandoned %+v", a)
				}
			},
		},
		"a refusal while an earlier delivery may run": {
			prepare: func(p *person) {
				d := answered(p, func(r *model.StepResult) { expired(r); r.Redelivered = true })
				wantOutcome(p.t, d, model.Deadline{Step: 0, At: pollEnds})
				if s := p.step(); s.Status != model.StepPolling || s.Refused == nil || !s.JobInFlight() {
					p.t.Fatalf("refused as %s", text(p.t, s))
				}
			},
			end: func(p *person) model.Decision {
				p.at = pollEnds
				return p.on(p.overdue())
			},
			outcome: []any{model.Dispatch{Step: 0}, model.Deadline{Step: 0, At: pollEnds.Add(time.Minute + runstate.JobGracePeriod)}}, run: model.RunRunning, step: model.StepDispatched,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := polls(t)
			p.at = pollAt
			if c.prepare != nil {
				c.prepare(p)
			}
			d := c.end(p)
			wantOutcome(t, d, c.outcome...)
			p.want(c.run, c.step)
			if s := p.run.Steps[0]; s.PollAt != nil || s.PollSent {
				t.Fatalf("a poll is still to come: %s", text(t, s))
			}
			if c.check != nil {
				c.check(p)
			}
		})
	}
}

// A cancellation and a removal wait for the poll, also before it is visible: it cannot be called back.
func TestCancelRequestWaitsForAPollThatWasSentAhead(t *testing.T) {
	t.Parallel()
	p := polls(t)
	p.mode = model.Cancelled
	p.nothing(model.RunCancelRequested{Reason: model.ReasonCancelled})
	p.wantAhead("-poll-1", pollAt)

	p = polls(t)
	wantOutcome(t, p.on(model.RunCancelRequested{Reason: model.ReasonRemoved}))
	p.nothing(model.RunCancelRequested{Reason: model.ReasonRemoved})
	p.wantAhead("-poll-1", pollAt)
	p.wantDeadline(pollEnds)
}

func TestAnswerThatComesAgainSendsThePollForTheSameTime(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, polled), 1, `{"Upn":"ann@x"}`)
	p.on(model.RunStarted{})
	answer := model.StepResult{Step: 0, JobID: p.jobID(), OK: true, Result: json.RawMessage(incomplete)}
	p.on(answer)
	again := []any{model.Dispatch{Step: 0, At: pollAt}, model.Deadline{Step: 0, At: pollEnds}}
	for _, at := range []time.Time{now.Add(time.Second), pollAt.Add(time.Second)} {
		p.at = at
		for _, mode := range []model.DispatchMode{model.Running, model.Paused, model.Cancelled} {
			p.mode = mode
			d := p.on(answer)
			if !d.Repeated || len(d.Runs) > 0 {
				t.Fatalf("at %s: %+v", at, d)
			}
			wantOutcome(t, d, again...)
		}
	}
	p.mode = model.Running
	p.at = pollEnds.Add(-time.Second) // too late for an answer before the deadline
	d := p.on(answer)
	if !d.Repeated || len(d.Runs) != 1 {
		t.Fatalf("sent late: %+v", d)
	}
	p.wantDeadline(p.at.Add(time.Minute))
	wantOutcome(t, d, model.Dispatch{Step: 0, At: pollAt}, model.Deadline{Step: 0, At: p.at.Add(time.Minute)})
}

// An administrator who resolves the step does not wait for the poll. What undoes the step does.
func TestUndoWaitsForAPollThatWasSentAhead(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]model.StepResolved{
		"skipped": {Step: 0, Skip: true, By: by},
		"done":    {Step: 0, By: by},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := polls(t)
			job := p.jobID()
			wantOutcome(t, p.on(e), model.Dispatch{Step: 1})
			if a := p.run.Steps[0].Abandoned; len(a) != 1 || a[0].JobID != job || !a[0].Until.Equal(pollEnds) || !p.member.BusyUntil.Equal(pollEnds) {
				t.Fatalf("abandoned %+v, the member is busy until %v", a, p.member.BusyUntil)
			}
			p.run.Steps[1].RetryCount = 1
			wantOutcome(t, p.refuse("no"), model.Retry{Step: 2, At: pollEnds})
			p.at = pollAt
			p.on(model.StepResult{Step: 0, JobID: job, OK: true, Result: json.RawMessage(`true`)})
			if a := p.run.Steps[0].Abandoned; a[0].Late == nil {
				t.Fatalf("the late result is not recorded: %+v", a)
			}
			p.want(model.RunRollingBack)
		})
	}
}

// The answers of polls are kept once each time they change, so that a person's history shows the reasons of a wait.
func TestAnswersOfPollsAreKeptWhenTheyChange(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, strings.Replace(polled, "timeout: 9m", "timeout: 90m", 1)), 1, `{"Upn":"ann@x"}`)
	p.on(model.RunStarted{})
	answers := func(want ...string) {
		t.Helper()
		var got []string
		for _, a := range p.run.Steps[0].Answers {
			got = append(got, a.Text+" until "+a.Last.Sub(now).String())
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Fatalf("kept %q, want %q", got, want)
		}
	}
	for _, a := range []string{"absent", "absent", "A", "absent", "A"} {
		p.notFound(a)
		p.after(2 * time.Minute)
	}
	answers("absent until 2m0s", "A until 4m0s", "absent until 6m0s")
	for _, a := range []string{"B", "C", "D", "D"} {
		p.notFound(a)
		p.after(2 * time.Minute)
	}
	answers("A until 4m0s", "absent until 6m0s", "A until 8m0s", "B until 10m0s", "C until 12m0s") // the last five
	if got := p.run.Steps[0].Error; got != "D" {
		t.Errorf("the last answer is %q, want D", got)
	}
	p.on(model.StepResult{Step: 0, JobID: p.jobID(), Error: "no connection"})
	answers() // the next attempt has answers of its own
}
