package engine_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

// trying is a member in a phase of one step with the retry policy.
func trying(t *testing.T, policy string) *person {
	t.Helper()
	p := enterOf(t, read(t, header+fmt.Sprintf(`
retry: {max_retries: 2, interval: 1m}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: copy, worker_id: w1, function: Copy%s}
`, policy)), 1, `{"Upn":"ann@x"}`)
	p.on(model.RunStarted{})
	return p
}

// waits fails the step until it has failed for good, and gives the wait before
// each retry.
func (p *person) waits(after time.Duration) []time.Duration {
	p.t.Helper()
	var waits []time.Duration
	for {
		d := p.on(model.StepResult{Step: 0, JobID: p.jobID(), Error: "busy", RetryAfter: after})
		if p.run.Status.Terminal() {
			return waits
		}
		retry, ok := outcome(d)[0].(model.Retry)
		if !ok || len(outcome(d)) != 1 || !p.run.WakeAt.Equal(retry.At) {
			p.t.Fatalf("effects %v, to wake at %v", d.Messages, p.run.WakeAt)
		}
		waits = append(waits, retry.At.Sub(p.at))
		p.at = retry.At
		p.on(model.RetryDue{Step: 0, Count: p.step().RetryCount})
	}
}

func TestWaitsBetweenRetriesAreThePolicys(t *testing.T) {
	t.Parallel()
	const m, h = time.Minute, time.Hour
	for _, tt := range []struct {
		name, policy string
		after        time.Duration
		want         []time.Duration
	}{
		{"the runbook's, where the step has none", "", 0, []time.Duration{m, m}},
		{"the step's replaces the runbook's", ", retry: {max_retries: 1, interval: 2m}", 0, []time.Duration{2 * m}},
		{"longer than a day", ", retry: {max_retries: 2, interval: 2d}", 0, []time.Duration{48 * h, 48 * h}},
		{"growing beyond a day", ", retry: {max_retries: 3, interval: 20h, backoff: exponential, max_interval: 3d}", 0, []time.Duration{20 * h, 40 * h, 72 * h}},
		{"growing from more than a day", ", retry: {max_retries: 2, interval: 30h, backoff: exponential}", 0, []time.Duration{30 * h, 30 * h}},
		{"max_retries 0 turns it off", ", retry: {max_retries: 0}", 0, nil},
		{"max_retries 0 whatever the worker asks for", ", retry: {max_retries: 0}", m, nil},
		{"exponential doubles", ", retry: {max_retries: 4, interval: 1m, backoff: exponential}", 0, []time.Duration{m, 2 * m, 4 * m, 8 * m}},
		{"exponential up to max_interval", ", retry: {max_retries: 4, interval: 1m, backoff: exponential, max_interval: 3m}", 0, []time.Duration{m, 2 * m, 3 * m, 3 * m}},
		{"exponential never beyond a day", ", retry: {max_retries: 4, interval: 10h, backoff: exponential}", 0, []time.Duration{10 * h, 20 * h, 24 * h, 24 * h}},
		{"a worker's wish for longer is honoured", "", 5 * m, []time.Duration{5 * m, 5 * m}},
		{"a worker's wish for shorter is not", "", time.Second, []time.Duration{m, m}},
		{"a worker's wish is bounded by a day", "", 1000 * h, []time.Duration{24 * h, 24 * h}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := trying(t, tt.policy)
			if got := p.waits(tt.after); fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Fatalf("waits %v, want %v", got, tt.want)
			}
			p.want(model.RunFailed, model.StepFailed)
		})
	}
}

func TestHundredExponentialRetriesDoNotOverflow(t *testing.T) {
	t.Parallel()
	waits := trying(t, ", retry: {max_retries: 100, interval: 1s, backoff: exponential}").waits(0)
	if len(waits) != 100 || waits[99] != 24*time.Hour {
		t.Fatalf("%d waits, the last %s", len(waits), waits[len(waits)-1])
	}
}

func TestJitterLengthensWithinItsShareAndIsTheSameWhenDecidedAgain(t *testing.T) {
	t.Parallel()
	rb := read(t, header+`
phases:
  - name: move
    offset: T-0
    steps:
      - {name: copy, worker_id: w1, function: Copy, retry: {max_retries: 3, interval: 100s, jitter: 20%}}
`)
	different := map[time.Duration]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		member := model.Member{ID: rapid.IntRange(1, 100_000).Draw(rt, "member"), Page: 1, Status: model.MemberActive, OpenPhase: 1}
		batch := engine.NewBatch(rapid.IntRange(1, 1000).Draw(rt, "batch"), rb, 1, 1, nil, "", now)
		run, err := runstate.New(&batch, batch.Phases[0], &member, rb, now)
		if err != nil {
			rt.Fatal(err)
		}
		state := model.MemoryState{Runs: []*model.Run{&run}, Members: []*model.Member{&member}, Runbook: rb}
		d, err := engine.Decide(state, on(&run, model.RunStarted{}), now)
		if err != nil {
			rt.Fatal(err)
		}
		state.Runs = d.Runs
		failure := model.StepResult{JobID: d.Runs[0].JobID(0), Error: "busy"}
		first, err1 := engine.Decide(state, on(&run, failure), now)
		again, err2 := engine.Decide(state, on(&run, failure), now)
		if err1 != nil || err2 != nil || outcome(first)[0] != outcome(again)[0] {
			rt.Fatalf("%v, then %v", first.Messages, again.Messages)
		}
		wait := first.Messages[0].(model.Retry).At.Sub(now)
		if wait < 100*time.Second || wait >= 120*time.Second {
			rt.Fatalf("a wait of %s", wait)
		}
		different[wait] = true
	})
	if len(different) < 10 {
		t.Fatalf("members are not spread: %d different waits", len(different))
	}
}

func TestRetryThatComesAgainIsTheSameJob(t *testing.T) {
	t.Parallel()
	p := trying(t, "")
	p.refuse("busy")
	p.after(time.Minute)
	p.on(model.RetryDue{Step: 0, Count: 1})
	job := p.jobID()
	d := p.on(model.RetryDue{Step: 0, Count: 1})
	if !d.Repeated || p.jobID() != job {
		t.Fatalf("%+v", d)
	}
	wantOutcome(t, d, model.Dispatch{Step: 0})
	p.answer(`true`)
	p.nothing(model.RetryDue{Step: 0, Count: 1})
}

func TestAnswerThatIsIncompleteOfAStepThatDoesNotPollIsAFailure(t *testing.T) {
	t.Parallel()
	p := trying(t, "")
	p.answer(`{"complete":false}`)
	p.want(model.RunRunning, model.StepPending)
	if p.step().RetryCount != 1 {
		t.Fatalf("%+v", p.step())
	}
}
