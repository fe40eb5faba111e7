package simulation

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// worker takes jobs and answers them as the plan says. It holds what it is given
// against the oracle: each member's jobs must come in the oracle's order, none left
// out and none besides, however often each is delivered.
type worker struct {
	w        *world
	expected *outcome
	at       map[int]int               // the member's next job in the oracle's list
	answers  map[string]message.Result // by message id, of jobs that were done before
	executed map[string]int            // how often, by message id
}

func newWorker(w *world) *worker {
	return &worker{w: w, at: map[int]int{}, answers: map[string]message.Result{}, executed: map[string]int{}}
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
	k.executed[m.id]++
	r, known := k.answers[m.id]
	if !known {
		var ok bool
		if r, ok = k.answer(j); !ok {
			return
		}
		k.answers[m.id] = r
	}
	encoded, err := json.Marshal(r)
	if err != nil {
		k.w.problem("%v", err)
		return
	}
	k.w.trace("the worker does %s (delivery %d): %s %s", m.id, m.deliveries, r.Status, r.Result)
	var after time.Duration
	switch k.w.rng.IntN(12) {
	case 0:
		after = time.Duration(k.w.rng.IntN(1800)) * time.Second
	case 1, 2, 3:
		after = time.Duration(k.w.rng.IntN(20000)) * time.Millisecond
	}
	k.w.broker.take(message.TopicWorkerResults, bus.Message{ID: r.ID(), Body: encoded, At: k.w.now().Add(after)}, k.w.now())
	if m.deliveries < gentle && k.w.chance(k.w.plan.chaos.redeliver/2) {
		k.w.trace("%s is not acknowledged by the worker", m.id)
		k.w.broker.again(m)
		return
	}
	k.w.broker.settle(m)
}

// answer is for a job that is done for the first time.
func (k *worker) answer(j message.Job) (message.Result, bool) {
	var params map[string]any
	if err := json.Unmarshal(j.Parameters, &params); err != nil {
		k.w.problem("job %s: parameters: %v", j.JobID, err)
		return message.Result{}, false
	}
	who, _ := params["Who"].(string)
	member, _ := strconv.Atoi(strings.TrimPrefix(who, "m"))
	if begin := k.expected.members[0]; begin != nil && member != 0 && k.at[0] < len(begin.jobs) && !begin.jobs[k.at[0]].goesOn {
		k.w.problem("job %s (%s) of member %d begins before the init sequence has ended", j.JobID, j.FunctionName, member)
		return message.Result{}, false
	}
	next, ok := k.next(member, j)
	if !ok {
		return message.Result{}, false
	}
	if !reflect.DeepEqual(params, next.params) {
		k.w.problem("job %s of member %d: parameters %v, want %v", j.JobID, member, params, next.params)
		return message.Result{}, false
	}
	if init := member == 0; j.CorrelationData.IsInitStep != init {
		k.w.problem("job %s: IsInitStep is %v", j.JobID, !init)
	}
	r := message.Result{JobID: j.JobID, Status: message.StatusSuccess, Timestamp: k.w.now(), CorrelationData: j.CorrelationData}
	if next.answer.kind == fails {
		r.Status, r.Error = message.StatusFailure, &message.JobError{Message: "the worker fails", Type: "Simulated"}
		return r, true
	}
	r.Result = json.RawMessage(next.answer.result)
	return r, true
}

// next is the job that the oracle has for a member at this point.
func (k *worker) next(member int, j message.Job) (job, bool) {
	m := k.expected.members[member]
	if m == nil {
		k.w.problem("job %s is for member %d, who is not there", j.JobID, member)
		return job{}, false
	}
	at := k.at[member]
	if at < len(m.jobs) && m.jobs[at].goesOn && m.jobs[at].step.function != j.FunctionName {
		at++ // it was polled for the last time
	}
	if at >= len(m.jobs) {
		k.w.problem("job %s (%s) of member %d: the oracle has no more jobs for it", j.JobID, j.FunctionName, member)
		return job{}, false
	}
	next := m.jobs[at]
	if next.step.function != j.FunctionName {
		k.w.problem("job %s of member %d calls %s, the oracle %s", j.JobID, member, j.FunctionName, next.step.function)
		return job{}, false
	}
	if !next.goesOn {
		at++
	}
	k.at[member] = at
	return next, true
}

// finished tells, for each member whose jobs were not all done, which is missing.
func (k *worker) finished() (missing []string) {
	for id, m := range k.expected.members {
		at := k.at[id]
		if at < len(m.jobs) && m.jobs[at].goesOn {
			at++
		}
		if at < len(m.jobs) {
			missing = append(missing, "member "+strconv.Itoa(id)+" at "+m.jobs[at].step.place)
		}
	}
	return missing
}
