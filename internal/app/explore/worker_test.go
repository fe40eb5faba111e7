package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
)

// hasFreshControl reports whether a replica that peeked a moment ago may not know a control.
func (w *world) hasFreshControl() bool {
	all := w.messages(controls)
	return len(all) > 0 && w.clock.Sub(all[len(all)-1].EnqueuedAt) < message.ControlMaxAge
}

// revokes reports whether a control revokes a job, as far as a replica knows.
func (w *world) revokes(j message.Job, late bool) bool {
	return slices.ContainsFunc(w.messages(controls), func(m bus.Received) bool {
		var c message.Control
		if err := json.Unmarshal(m.Body, &c); err != nil {
			w.problem("the control %s is not JSON: %v", m.ID, err)
		}
		known := !late || w.clock.Sub(m.EnqueuedAt) >= message.ControlMaxAge
		return known && c.BatchID == j.BatchID && c.Revokes(j)
	})
}

// takeJob has the worker take a job, as package message asks of workers.
func (w *world) takeJob(a action) {
	late := a.kind == takesLate
	m, err := w.bus.Take(jobs.topic, jobs.subscription, a.sequence)
	if err != nil {
		w.problem("%v", err)
		return
	}
	var j message.Job
	if err := json.Unmarshal(m.Body, &j); err != nil || m.ID != j.ID() {
		w.problem("the job %s is not as it must be: %s, %v", m.ID, m.Body, err)
		return
	}
	name := w.jobName(j.BatchID, j.CorrelationData.StepExecutionID, j.JobID)
	redelivered := m.DeliveryCount > 1 || m.Properties[message.PropertyRedelivered] == true
	refuse := func(why string) {
		w.tell("The worker refuses job %s: %s.", name, why)
		w.answer(j, message.Result{Status: message.StatusFailure, Error: &message.JobError{Message: "not begun", Type: why, Redelivered: redelivered}})
		w.settleJob(a.sequence)
	}
	switch {
	case slices.ContainsFunc(w.running, func(e execution) bool { return e.message == m.ID }):
		w.tell("The worker is already at job %s.", name)
		w.settleJob(a.sequence)
	case w.hasEnded(m.ID):
		w.tell("The worker remembers job %s, and its result is already sent.", name)
		w.settleJob(a.sequence)
	case j.ExpiresAt != nil && !w.clock.Before(*j.ExpiresAt):
		refuse(message.ErrorJobExpired)
	case w.revokes(j, late):
		refuse(message.ErrorJobRevoked)
	default:
		w.tell("The worker begins job %s.", name)
		_, member, _, _ := model.ParseStepID(j.CorrelationData.StepExecutionID)
		e := execution{sequence: a.sequence, message: m.ID, job: j, owner: member, again: m.DeliveryCount > 1}
		w.checkBegin(e, late)
		w.begun[j.EffectID]++
		w.running = append(w.running, e)
		w.hold(jobs, a.sequence, 1000*invocationTime)
	}
}

// endJob ends an execution and sends its result.
func (w *world) endJob(a action) {
	e := w.running[a.index]
	w.running = slices.Delete(w.running, a.index, a.index+1)
	name := w.jobName(e.job.BatchID, e.job.CorrelationData.StepExecutionID, e.job.JobID)
	r := message.Result{Status: message.StatusSuccess, Result: json.RawMessage("true")}
	if strings.HasPrefix(e.job.FunctionName, "Await-") && strings.Contains(e.job.JobID, "-attempt-") {
		r.Result = json.RawMessage(`{"complete":false}`) // it is complete with its first poll
	}
	if a.kind == fails {
		w.left.failures--
		r = message.Result{Status: message.StatusFailure, Error: &message.JobError{Message: "it failed", Type: "Explored"}}
	}
	w.tell("Job %s ends with %s %s%s.", name, r.Status, r.Result, w.end(a))
	w.checkWaits(e.job, "ends")
	w.answer(e.job, r)
	w.ended[e.message] = a.kind == succeeds
	if a.keeps {
		w.left.repeats--
		w.hold(jobs, e.sequence, 0)
		return
	}
	w.settleJob(e.sequence)
}

// endJobs ends all executions with success and sends their results in one message. Each result has
// a trace of its own, by which the process tells the parts of the invocation apart.
func (w *world) endJobs() {
	var group message.ResultsBuilder
	w.tell("All jobs end with success, and their results come together.")
	slices.SortFunc(w.running, func(a, b execution) int { return strings.Compare(a.message, b.message) }) // states do not differ by their order
	for i, e := range w.running {
		w.checkWaits(e.job, "ends")
		m := w.resultMessage(e.job, message.Result{Status: message.StatusSuccess, Result: json.RawMessage("true")})
		trace := fmt.Sprintf("00-%032x-%016x-01", i+1, i+1)
		if fits, err := group.Add(message.GroupedResult{MessageID: m.ID, Body: m.Body, Properties: map[string]string{"traceparent": trace}}); !fits {
			w.problem("the results do not fit into a group: %v", err)
		}
		w.ended[e.message] = true
		w.settleJob(e.sequence)
	}
	w.running = nil
	id, body := group.Message()
	w.sendResult(bus.Message{ID: id, Body: body, Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerResults}})
}

func (w *world) hasEnded(message string) bool {
	_, ok := w.ended[message]
	return ok
}

func (w *world) settleJob(sequence int64) {
	if err := w.bus.Complete(jobs.topic, jobs.subscription, sequence); err != nil {
		w.problem("%v", err)
	}
}

func (w *world) answer(j message.Job, r message.Result) { w.sendResult(w.resultMessage(j, r)) }

func (w *world) resultMessage(j message.Job, r message.Result) bus.Message {
	r.JobID, r.CorrelationData, r.Timestamp = j.JobID, j.CorrelationData, w.clock
	body, err := json.Marshal(r)
	if err != nil {
		w.problem("%v", err)
	}
	return bus.Message{ID: r.ID(), Body: body}
}

func (w *world) sendResult(m bus.Message) {
	if err := w.send(context.Background(), message.TopicWorkerResults, m); err != nil {
		w.problem("%v", err)
	}
}
