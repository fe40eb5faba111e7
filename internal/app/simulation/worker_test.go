package simulation

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// worker takes jobs and answers them as the plan says. It holds what it is given
// against the oracle: the jobs of each sequence must come in the oracle's order, none
// left out and none besides, however often each is delivered.
type worker struct {
	w        *world
	expected *outcome
	rounds   map[string]int            // how often each sequence was seen to begin again
	at       map[string]int            // the place in each sequence of the next job
	polling  map[string]bool           // the job at that place goes on, and has come
	answers  map[string]message.Result // by message id, of jobs that were done before
	executed map[string]int            // how often, by message id
	// of jobs with a short deadline, by message id
	lost   map[string]bool
	delays map[string]time.Duration
	done   map[string]bool // by decision: some job of it was answered as done
}

func newWorker(w *world) *worker {
	return &worker{
		w: w, rounds: map[string]int{}, at: map[string]int{}, polling: map[string]bool{},
		answers: map[string]message.Result{}, executed: map[string]int{},
		lost: map[string]bool{}, delays: map[string]time.Duration{}, done: map[string]bool{},
	}
}

// execute takes a job message and sends the result; it may fail to acknowledge the
// job, which is then done again.
func (k *worker) execute(m *held) {
	m.deliveries++
	var j message.Job
	if err := json.Unmarshal(m.body, &j); err != nil {
		k.w.problem("a job is not JSON: %v", err)
		return
	}
	if m.id != j.ID() || j.BatchID != k.w.batch || j.CorrelationData.BatchID != k.w.batch || m.properties[message.PropertyWorkerID] != "worker-01" {
		k.w.problem("the job %s is not addressed as it must be: %+v", m.id, j)
		return
	}
	if j.ExpiresAt != nil && k.w.now().After(*j.ExpiresAt) && k.executed[m.id] == 0 {
		k.w.trace("the worker does not begin %s, which has expired", m.id)
		r := message.Result{JobID: j.JobID, Status: message.StatusFailure, Timestamp: k.w.now(), CorrelationData: j.CorrelationData}
		r.Error = &message.JobError{Message: "too late", Type: message.ErrorJobExpired}
		k.send(r, 0)
		k.w.broker.settle(m)
		return
	}
	k.executed[m.id]++
	r, known := k.answers[m.id]
	if !known {
		var ok bool
		if r, ok = k.answer(j); !ok {
			return
		}
		k.answers[m.id] = r
	}
	k.w.trace("the worker does %s (delivery %d): %s %s", m.id, m.deliveries, r.Status, r.Result)
	after := k.delays[m.id]
	switch k.w.rng.IntN(12) {
	case 0:
		after = time.Duration(k.w.rng.IntN(1800)) * time.Second
	case 1, 2, 3:
		after = time.Duration(k.w.rng.IntN(20000)) * time.Millisecond
	}
	if !k.lost[m.id] {
		k.send(r, after)
	}
	if m.deliveries < gentle && k.w.chance(k.w.plan.chaos.redeliver/2) {
		k.w.trace("%s is not acknowledged by the worker", m.id)
		k.w.broker.again(m)
		return
	}
	k.w.broker.settle(m)
}

func (k *worker) send(r message.Result, after time.Duration) {
	encoded, err := json.Marshal(r)
	if err != nil {
		k.w.problem("%v", err)
		return
	}
	k.w.broker.take(message.TopicWorkerResults, bus.Message{ID: r.ID(), Body: encoded, At: k.w.now().Add(after)}, k.w.now())
}

// answer is for a job that is done for the first time.
func (k *worker) answer(j message.Job) (message.Result, bool) {
	var params map[string]any
	if err := json.Unmarshal(j.Parameters, &params); err != nil {
		k.w.problem("job %s: parameters: %v", j.JobID, err)
		return message.Result{}, false
	}
	place, _ := params["Place"].(string)
	who, _ := params["Who"].(string)
	name := k.w.plan.sequenceOf(place, who)
	if begin := k.expected.sequences["init"]; begin != nil && name != "init" && !strings.HasSuffix(name, "/removal") && !k.through("init") {
		k.w.problem("job %s (%s) of %s begins before the init sequence has ended", j.JobID, j.FunctionName, name)
		return message.Result{}, false
	}
	k.w.decidePhases()
	next, ok := k.deadline(name, j)
	if !ok {
		next, ok = k.next(name, j)
	}
	if !ok {
		return message.Result{}, false
	}
	if !fits(params, next.params) {
		k.w.problem("job %s of %s: parameters %v, want %v", j.JobID, name, params, next.params)
		return message.Result{}, false
	}
	if init := name == "init"; j.CorrelationData.IsInitStep != init {
		k.w.problem("job %s: IsInitStep is %v", j.JobID, !init)
	}
	r := message.Result{JobID: j.JobID, Status: message.StatusSuccess, Timestamp: k.w.now(), CorrelationData: j.CorrelationData}
	if next.decision != "" {
		next.answer, k.delays[j.ID()], k.lost[j.ID()] = k.w.plan.attempt(who, next.step, j.JobID)
		if next.answer.kind == done {
			k.done[next.decision] = true
		}
	}
	if next.answer.kind == fails {
		r.Status, r.Error = message.StatusFailure, &message.JobError{Message: "the worker fails", Type: "Simulated"}
		return r, true
	}
	r.Result = json.RawMessage(next.answer.result)
	return r, true
}

func fits(got, want map[string]any) bool {
	if len(got) != len(want) {
		return false
	}
	for name, v := range want {
		if v == (number{}) {
			if _, ok := got[name].(float64); !ok {
				return false
			}
		} else if !reflect.DeepEqual(got[name], v) {
			return false
		}
	}
	return true
}

// dispatched sees to it that no job is dispatched in a batch that is paused or
// cancelled. An invocation that began before may dispatch what it has in hand.
func (w *world) dispatched(body []byte) {
	var j message.Job
	var params struct{ Place, Who string }
	if json.Unmarshal(body, &j) != nil || json.Unmarshal(j.Parameters, &params) != nil || j.ExpiresAt == nil {
		w.problem("a job cannot be read: %s", body)
		return
	}
	s := w.plan.steps()[params.Place]
	if s == nil {
		w.problem("there is no step for job %s", j.JobID)
		return
	}
	timeout, err := runbook.ParseDuration(s.timeout())
	if err != nil {
		w.problem("%v", err)
	}
	at := j.ExpiresAt.Add(-timeout)
	const slack = invocation + longestWait
	if !w.pausedAt.IsZero() && at.After(w.pausedAt.Add(slack)) {
		w.problem("job %s (%s) was dispatched %s after the batch was paused", j.JobID, j.FunctionName, at.Sub(w.pausedAt))
	}
	undoes := strings.Contains(params.Place, "undo") || strings.HasPrefix(params.Place, "removed")
	if left, ok := w.leftAt[params.Who]; ok && !undoes && w.plan.chaos.calm && at.After(left.Add(slack)) {
		w.problem("job %s (%s) was dispatched %s after %s was removed", j.JobID, j.FunctionName, at.Sub(left), params.Who)
	}
	if !w.stoppedAt.IsZero() && !undoes && at.After(w.stoppedAt.Add(slack)) {
		w.problem("job %s (%s) was dispatched %s after the batch was cancelled", j.JobID, j.FunctionName, at.Sub(w.stoppedAt))
	}
}

// deadline finds the step of a job whose deadline is short. Such jobs come in any
// order, as long as their step has been reached.
func (k *worker) deadline(name string, j message.Job) (job, bool) {
	q := k.expected.sequences[name]
	if q == nil {
		return job{}, false
	}
	for at := min(k.at[name], len(q.jobs)-1); at >= 0; at-- {
		if next := q.jobs[at]; next.step.function == j.FunctionName {
			return next, next.decision != ""
		}
	}
	return job{}, false
}

// settled takes a sequence past a step with a short deadline: the job that came next
// tells how it ended.
func (k *worker) settled(name string, j message.Job) *sequence {
	q := k.expected.sequences[name]
	at := k.at[name]
	if at >= len(q.jobs) || q.jobs[at].decision == "" || q.jobs[at].step.function == j.FunctionName {
		return q
	}
	decision := q.jobs[at].decision
	ends := []string{"failed"}
	if k.done[decision] {
		ends = []string{"succeeded", "failed"}
	}
	for _, end := range ends {
		k.w.plan.decided[decision] = end
		k.expected = k.w.plan.outcome(k.w.batch, k.rounds)
		if q = k.expected.sequences[name]; at+1 < len(q.jobs) && q.jobs[at+1].step.function == j.FunctionName {
			break
		}
	}
	k.at[name]++
	return q
}

// next is the job that the oracle has for a sequence at this point.
func (k *worker) next(name string, j message.Job) (job, bool) {
	q := k.expected.sequences[name]
	if q == nil {
		k.w.problem("job %s (%s) is of %s, who has none", j.JobID, j.FunctionName, name)
		return job{}, false
	}
	q = k.settled(name, j)
	polls := strings.Contains(j.JobID, "-poll-")
	if at := k.at[name]; k.polling[name] && (q.jobs[at].step.function != j.FunctionName || !polls) { // it was polled for the last time
		k.at[name], k.polling[name] = at+1, false
	}
	if k.at[name] == len(q.jobs) && q.failed && k.rounds[name] < k.w.retries {
		k.rounds[name]++
		k.expected = k.w.plan.outcome(k.w.batch, k.rounds)
		q = k.expected.sequences[name]
	}
	at := k.at[name]
	if at >= len(q.jobs) {
		k.w.problem("job %s (%s) of %s: the oracle has no more jobs for it", j.JobID, j.FunctionName, name)
		return job{}, false
	}
	next := q.jobs[at]
	if next.step.function != j.FunctionName {
		k.w.problem("job %s of %s calls %s, the oracle %s", j.JobID, name, j.FunctionName, next.step.function)
		return job{}, false
	}
	if k.polling[name] = next.goesOn; !next.goesOn && next.decision == "" {
		k.at[name]++
	}
	return next, true
}

// through tells whether all jobs of a sequence were done.
func (k *worker) through(name string) bool {
	at := k.at[name]
	if jobs := k.expected.sequences[name].jobs; k.polling[name] || at < len(jobs) && jobs[at].decision != "" {
		at++
	}
	return at >= len(k.expected.sequences[name].jobs)
}
