package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const header = `
name: move
data_source: {type: csv, connection: PEOPLE_CSV, query: people.csv, primary_key: Upn, batch_time: immediate}
`

const source = header + `
retry: {max_retries: 1, interval: 30s}
init:
  - name: prepare
    worker_id: w1
    function: Prepare
    params: {Batch: "{{_batch_id}}"}
phases:
  - name: create
    offset: T-1d
    steps:
      - name: new
        worker_id: w1
        function: New-{{Kind}}
        params: {Name: "{{Upn}}"}
        output_params: {UserId: id}
      - name: join
        worker_id: w1
        function: Join
        params: {User: "{{UserId}}"}
        retry: {max_retries: 0}
  - name: verify
    offset: T-0
    steps:
      - name: check
        worker_id: w1
        function: Check
        params: {User: "{{UserId}}"}
        poll: {interval: 30s, timeout: 70s}
`

func parse(t *testing.T) *runbook.Runbook {
	t.Helper()
	return read(t, source)
}

func read(t *testing.T, source string) *runbook.Runbook {
	t.Helper()
	rb, diagnostics := runbook.Parse([]byte(source))
	if rb == nil {
		t.Fatal(diagnostics.Err())
	}
	return rb
}

// person is a member's state through a test: each call is one event.
type person struct {
	t      *testing.T
	rb     *runbook.Runbook
	batch  model.Batch
	run    model.Run
	member model.Member
	mode   model.DispatchMode
	at     time.Time
}

func enter(t *testing.T, phase int, data string) *person {
	t.Helper()
	return enterOf(t, parse(t), phase, data)
}

func enterOf(t *testing.T, rb *runbook.Runbook, phase int, data string) *person {
	t.Helper()
	p := &person{t: t, rb: rb, at: now, batch: engine.NewBatch(42, rb, 3, 1, nil, "ada", now)}
	p.member = model.Member{ID: 17, Page: 1, Key: "ann", Status: model.MemberActive, OpenPhase: phase}
	if err := json.Unmarshal([]byte(data), &p.member.Data); err != nil {
		t.Fatal(err)
	}
	var err error
	if p.run, err = runstate.New(&p.batch, p.batch.Phases[phase-1], &p.member, rb, now); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *person) on(e model.RunEvent) model.Decision {
	p.t.Helper()
	d, err := p.try(e)
	if err != nil {
		p.t.Fatalf("%T: %v", e, err)
	}
	return d
}

// try lets an event happen, which must change nothing that the decision is taken on.
func (p *person) try(e model.RunEvent) (model.Decision, error) {
	p.t.Helper()
	state := model.MemoryState{Runs: []*model.Run{&p.run}, Runbook: p.rb, DispatchMode: p.mode, Members: []*model.Member{&p.member}}
	switch e.(type) {
	case model.RunReleased, model.RunMended, model.RunCancelRequested: // the other events on a member's run do without the batch
		state.Batch = &p.batch
	}
	if p.run.Member == 0 {
		state.Members, state.Batch = nil, &p.batch
	}
	before := text(p.t, state)
	d, err := engine.Decide(state, on(&p.run, e), p.at)
	if after := text(p.t, state); after != before {
		p.t.Fatalf("%T changed what it was decided on: before %s, after %s", e, before, after)
	}
	if err != nil {
		return d, err
	}
	if len(d.Runs) > 0 {
		p.run = *d.Runs[0]
	}
	if len(d.Members) > 0 {
		p.member = *d.Members[0]
	}
	if d.Batch != nil {
		p.batch = *d.Batch
	}
	return d, nil
}

func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// step is the one in hand.
// jobID is that of the step in hand.
func (p *person) jobID() string { return p.run.JobID(p.run.Current) }

func (p *person) step() model.Step { return p.run.Steps[p.run.Current] }

// timeout is that of the step in hand.
func (p *person) timeout() time.Duration {
	p.t.Helper()
	definition, err := p.run.Definition(p.rb, p.run.Current)
	if err != nil {
		p.t.Fatal(err)
	}
	return definition.Timeout
}

// outstanding gives the messages that the run depends on.
func (p *person) outstanding() []model.Message {
	p.t.Helper()
	messages, err := runstate.Outstanding(&p.run, p.rb)
	if err != nil {
		p.t.Fatal(err)
	}
	return messages
}

// nothing checks that an event that is out of date changes nothing.
func (p *person) nothing(e model.RunEvent) {
	p.t.Helper()
	if d := p.on(e); !d.Stale || !d.Empty() || len(d.Messages)+len(d.Next) > 0 {
		p.t.Fatalf("%#v was not out of date: %+v", e, d)
	}
}

// after moves the clock on.
func (p *person) after(d time.Duration) { p.at = p.at.Add(d) }

// on makes an event one of a run.
func on(run *model.Run, e model.RunEvent) model.OnRun {
	return model.OnRun{Phase: run.Phase, Member: run.Member, RunEvent: e}
}

// start is that the run of an execution is to start, as wantOutcome has it.
func start(phase int) any { return model.OnRun{Phase: phase, RunEvent: model.RunStarted{}} }

// released is that a paused run is to be released, as wantOutcome has it.
func released() any { return model.OnRun{RunEvent: model.RunReleased{}} }

// wantOutcome checks what a decision counts, sends and has decided next, without the
// places that are the same for all: the run's own, its member and its page. The events
// that only carry counts on are left out.
func wantOutcome(t *testing.T, d model.Decision, want ...any) {
	t.Helper()
	if got := outcome(d); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Fatalf("got %#v, want %#v", got, want)
	}
}

func outcome(d model.Decision) []any {
	var got []any
	for _, c := range d.Counts {
		switch c := c.(type) {
		case model.CountRun:
			if c.Outcome != "" {
				got = append(got, model.CountRun{Outcome: c.Outcome})
			}
		case model.CountFailures:
			got = append(got, model.CountFailures{})
		case model.CountRemoval:
			got = append(got, model.CountRemoval{Outcome: c.Outcome})
		}
	}
	for _, m := range d.Messages {
		switch m := m.(type) {
		case model.Dispatch:
			got = append(got, model.Dispatch{Step: m.Step, At: m.At})
		case model.Poll:
			got = append(got, model.Poll{Step: m.Step, At: m.At})
		case model.Retry:
			got = append(got, model.Retry{Step: m.Step, At: m.At})
		case model.Deadline:
			got = append(got, model.Deadline{Step: m.Step, At: m.At})
		case model.Announce:
			if m.Page == 1 {
				m.Page = 0
			}
			got = append(got, m)
		case model.Remove:
			got = append(got, model.Remove{})
		default:
			got = append(got, m)
		}
	}
	for _, e := range d.Next {
		if on, ok := e.(model.OnRun); ok {
			if on.Member = 0; on.RunEvent == (model.RunReleased{}) {
				on.Phase = 0
			}
			got = append(got, on)
		}
	}
	return got
}

func wantRefusal(t *testing.T, err error, part string) {
	t.Helper()
	var refusal *model.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, part) {
		t.Fatalf("got %v, want a refusal with %q", err, part)
	}
}

func (p *person) answer(result string) model.Decision {
	p.t.Helper()
	return p.on(model.StepResult{Step: p.run.Current, JobID: p.jobID(), OK: true, Result: json.RawMessage(result)})
}

func (p *person) refuse(reason string) model.Decision {
	p.t.Helper()
	return p.on(model.StepResult{Step: p.run.Current, JobID: p.jobID(), Error: reason})
}

func (p *person) want(status model.RunStatus, steps ...model.StepStatus) {
	p.t.Helper()
	if p.run.Status != status {
		p.t.Fatalf("the run is %s, want %s (%s)", p.run.Status, status, p.run.Error)
	}
	for i, s := range steps {
		if p.run.Steps[i].Status != s {
			p.t.Fatalf("step %d is %s, want %s", i, p.run.Steps[i].Status, s)
		}
	}
}

func TestMemberGoesThroughItsStepsInOrder(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	d := p.on(model.RunStarted{})
	p.want(model.RunRunning, model.StepDispatched, model.StepPending)
	if got := p.run.Steps[0]; got.Function != "New-User" || string(got.Params) != `{"Name":"ann@x"}` || p.jobID() != "step-20000017000-attempt-1" {
		t.Fatalf("dispatched %s %s as %s", got.Function, got.Params, p.jobID())
	}
	if len(outcome(d)) != 1 || outcome(d)[0] != any(model.Dispatch{Step: 0}) {
		t.Fatalf("effects %v", d.Messages)
	}

	p.answer(`{"id":"u-1","other":2}`)
	p.want(model.RunRunning, model.StepSucceeded, model.StepDispatched)
	if got := string(p.run.Steps[1].Params); got != `{"User":"u-1"}` {
		t.Fatalf("the second step did not get the first one's output: %s", got)
	}

	d = p.answer(`true`)
	p.want(model.RunSucceeded, model.StepSucceeded, model.StepSucceeded)
	if len(outcome(d)) != 1 || outcome(d)[0] != any(model.CountRun{Outcome: model.RunSucceeded}) {
		t.Fatalf("effects %v", d.Messages)
	}
	if p.member.OpenPhase != 0 || string(p.member.WorkerData["UserId"]) != `"u-1"` || p.member.Status != model.MemberActive {
		t.Fatalf("member after the phase: %+v", p.member)
	}
}

func TestOutputsAreTakenFromDataWhereTheAnswerFollowsThePollingConvention(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	p.answer(`{"Complete":true,"data":{"Id":"u-2"}}`)
	if got := string(p.run.Outputs["UserId"]); got != `"u-2"` {
		t.Fatalf("output %s", got)
	}
}

func TestOutputMissingFromTheResultFailsTheMember(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	p.answer(`{"name":"ann"}`)
	p.want(model.RunFailed, model.StepFailed, model.StepCancelled)
	if !strings.Contains(p.member.Error, "the result lacks id") {
		t.Fatalf("error %q", p.member.Error)
	}
}

func TestUnresolvedVariableFailsTheMemberAndIsNeverSent(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x"}`)
	d := p.on(model.RunStarted{})
	p.want(model.RunFailed, model.StepFailed, model.StepCancelled)
	for _, e := range outcome(d) {
		if _, sent := e.(model.Dispatch); sent {
			t.Fatal("a job was dispatched")
		}
	}
	if p.member.Status != model.MemberFailed || !strings.Contains(p.member.Error, "Kind") {
		t.Fatalf("member %s: %s", p.member.Status, p.member.Error)
	}
}

func TestFailureIsRetriedAsThePolicySaysAndThenFailsTheMember(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	d := p.refuse("busy")
	p.want(model.RunRunning, model.StepPending)
	if len(outcome(d)) != 1 || outcome(d)[0] != any(model.Retry{Step: 0, At: now.Add(30 * time.Second)}) {
		t.Fatalf("effects %v", d.Messages)
	}
	if d := p.on(model.RetryDue{Step: 0, Count: 2}); !d.Stale {
		t.Fatal("a retry that was not scheduled was taken")
	}
	p.at = now.Add(30 * time.Second)
	p.on(model.RetryDue{Step: 0, Count: 1})
	p.want(model.RunRunning, model.StepDispatched)
	if got := p.run.JobID(0); got != "step-20000017000-retry-1" {
		t.Fatalf("job %s", got)
	}
	p.refuse("still busy")
	p.want(model.RunFailed, model.StepFailed, model.StepCancelled)
	if p.member.Status != model.MemberFailed || p.member.Error != `phase create: step "new": still busy` {
		t.Fatalf("member %s: %s", p.member.Status, p.member.Error)
	}
}

func TestStepPolicyReplacesTheGlobalOne(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	p.answer(`{"id":1}`)
	p.refuse("no")
	p.want(model.RunFailed, model.StepSucceeded, model.StepFailed)
}

func TestPollingRepeatsAtItsIntervalUntilComplete(t *testing.T) {
	t.Parallel()
	p := enter(t, 3, `{"UserId":"u"}`)
	p.on(model.RunStarted{})
	d := p.answer(`{"complete":false}`)
	p.want(model.RunRunning, model.StepPolling)
	if outcome(d)[0] != any(model.Dispatch{Step: 0, At: now.Add(30 * time.Second)}) {
		t.Fatalf("effects %v", d.Messages)
	}
	p.at = now.Add(30 * time.Second)
	if got := p.run.JobID(0); got != "step-30000017000-poll-1" {
		t.Fatalf("job %s", got)
	}
	p.answer(`{"complete":true,"data":{}}`)
	p.want(model.RunSucceeded, model.StepSucceeded)
}

func TestPollTimeoutFailsWithoutRetry(t *testing.T) {
	t.Parallel()
	p := enter(t, 3, `{"UserId":"u"}`)
	p.on(model.RunStarted{})
	p.answer(`{"complete":false}`)
	p.at = now.Add(60 * time.Second)
	d := p.answer(`{"complete":false}`)
	if outcome(d)[0] != any(model.Poll{Step: 0, At: now.Add(70 * time.Second)}) {
		t.Fatalf("the last poll is not at the timeout: %v", d.Messages)
	}
	p.at = now.Add(70 * time.Second)
	p.on(model.PollDue{Step: 0, Count: 2})
	p.want(model.RunFailed, model.StepPollTimeout)
	if p.member.Status != model.MemberFailed {
		t.Fatalf("member %s", p.member.Status)
	}
}

func TestEventsThatComeAgainRepeatTheirEffectsAndChangeNothing(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	first := model.StepResult{Step: 0, JobID: p.run.JobID(0), OK: true, Result: json.RawMessage(`{"id":1}`)}
	p.on(first)
	d := p.on(first)
	if !d.Repeated || len(d.Runs) > 0 || len(outcome(d)) != 1 || outcome(d)[0] != any(model.Dispatch{Step: 1}) {
		t.Fatalf("the result again: %+v", d)
	}
	p.answer(`true`)
	if d := p.on(first); !d.Stale || len(outcome(d)) != 0 {
		t.Fatalf("the result once more, late: %+v", d)
	}
	if d := p.on(model.RunStarted{}); !d.Stale {
		t.Fatalf("a start of what has ended: %+v", d)
	}
}

func TestResultOfAJobThatWasNotSentIsStale(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	if d := p.on(model.StepResult{Step: 0, JobID: "step-1-attempt-9", OK: true}); !d.Stale {
		t.Fatalf("%+v", d)
	}
	if d := p.on(model.StepResult{Step: 1, JobID: p.run.JobID(0), OK: true}); !d.Stale {
		t.Fatalf("%+v", d)
	}
}

func TestMemberWaitsForItsEarlierPhase(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	var free bool
	if p.member, free = runstate.Enter(p.member, 3); free {
		t.Fatal("the member is in two phases at once")
	}
	p.answer(`{"id":1}`)
	d := p.answer(`true`)
	if len(outcome(d)) != 2 || outcome(d)[1] != start(3) || p.member.OpenPhase != 3 || len(p.member.Queue) != 0 {
		t.Fatalf("effects %v, member %+v", d.Messages, p.member)
	}
}

func TestRunOfAFailedMemberIsCancelledAndCounted(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.member.Status = model.MemberFailed
	d := p.on(model.RunStarted{})
	p.want(model.RunCancelled, model.StepCancelled, model.StepCancelled)
	if outcome(d)[0] != any(model.CountRun{Outcome: model.RunCancelled}) {
		t.Fatalf("effects %v", d.Messages)
	}
}

func TestPayloadsBeyondALimitFailTheStepWithTheirSize(t *testing.T) {
	t.Parallel()
	const head = "name: move\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - name: move\n    offset: T-0\n    steps:\n"
	step := func(i int, rest string) string {
		return fmt.Sprintf("      - {name: step-%d, worker_id: worker-01, function: \"%s\"}\n", i, rest)
	}
	plain := strings.Builder{}
	outputs := strings.Builder{}
	for i := range 9 {
		plain.WriteString(step(i, "No-Op"))
		fmt.Fprintf(&outputs, "      - {name: step-%d, worker_id: worker-01, function: No-Op, output_params: {Out%d: id}}\n", i, i)
	}
	text := func(bytes int) string { return `{"id":"` + strings.Repeat("x", bytes) + `"}` }
	for name, c := range map[string]struct {
		steps   string
		data    string
		answers []string
		want    string
	}{
		"a result":             {plain.String(), `{}`, []string{text(model.MaxPayload)}, "the size of its result is 131081 bytes; at most 131072 are allowed"},
		"parameters":           {"      - {name: s, worker_id: w, function: No-Op, params: {A: \"{{Name}}\"}}\n", `{"Name":"` + strings.Repeat("x", model.MaxPayload) + `"}`, nil, "the size of its parameters is 131080 bytes; at most 131072 are allowed"},
		"the steps of a phase": {plain.String(), `{}`, slices.Repeat([]string{text(120_000)}, 7), "with its result the steps of this phase would take 840077 bytes; at most 786432 can be stored"},
		"a function name":      {step(0, "{{Name}}"), `{"Name":"` + strings.Repeat("x", 5000) + `"}`, nil, "the function name has 5000 bytes; at most 4096 are allowed"},
		"outputs of a phase":   {outputs.String(), `{}`, []string{text(100_000), text(100_000)}, "the outputs of this phase take 200012 bytes; at most 131072 can be stored"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enterOf(t, read(t, head+c.steps), 1, c.data)
			p.on(model.RunStarted{})
			for _, answer := range c.answers {
				p.answer(answer)
			}
			if p.run.Status != model.RunFailed || !strings.Contains(p.run.Error, c.want) {
				t.Errorf("%s: %q, want %q", p.run.Status, p.run.Error, c.want)
			}
		})
	}
}

func TestOutputsBeyondWhatAMemberCanCarryFailTheStep(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.member.WorkerData = map[string]json.RawMessage{"Old": json.RawMessage(`"` + strings.Repeat("x", model.MaxWorkerData-100) + `"`)}
	p.on(model.RunStarted{})
	p.answer(`{"id":"` + strings.Repeat("y", 200) + `"}`)
	p.answer(`true`)
	p.want(model.RunFailed, model.StepSucceeded, model.StepFailed)
	if p.member.Status != model.MemberFailed || len(p.member.WorkerData) != 1 || !strings.Contains(p.member.Error, "with its outputs the member would have 262257 bytes of outputs; at most 262144 can be stored") {
		t.Fatalf("member %s: %s", p.member.Status, p.member.Error)
	}
}

func TestReasonsAreStoredAtALengthThatFits(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	for range 2 {
		p.refuse(strings.Repeat("é", model.MaxReason))
		if n := len(p.run.Steps[0].Error); n > model.MaxReason+3 {
			t.Fatalf("%d bytes of error", n)
		}
		p.on(model.RetryDue{Step: 0, Count: 1})
	}
	p.want(model.RunFailed, model.StepFailed)
}

func TestMemberIsAskedForOnlyWhereItsDataAreUsed(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	result := model.StepResult{Step: 0, JobID: p.run.JobID(0), OK: true, Result: json.RawMessage(`{"id":1}`)}
	if _, err := engine.Decide(model.MemoryState{Runs: []*model.Run{&p.run}, Runbook: p.rb}, on(&p.run, result), now); err != nil {
		t.Fatalf("the next step uses only an output of this run: %v", err)
	}
	p.on(result)
	last := model.StepResult{Step: 1, JobID: p.run.JobID(1), OK: true, Result: json.RawMessage(`true`)}
	if _, err := engine.Decide(model.MemoryState{Runs: []*model.Run{&p.run}, Runbook: p.rb}, on(&p.run, last), now); err == nil {
		t.Fatalf("the end of the run concerns the member: %v", err)
	}
}
