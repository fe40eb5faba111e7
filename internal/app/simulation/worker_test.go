package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine/enginetest"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// worker is all replicas of the one worker: they take jobs, carry them out as the plan
// says, and answer. It holds what it is given against the oracle: the jobs of each
// sequence must come in the oracle's order, none left out and none besides, however
// often each is delivered.
type worker struct {
	w        *world
	rng      *rand.Rand
	locks    *rand.Rand // for loseLock
	expected *outcome
	rounds   map[string]int            // how often each sequence was seen to begin again
	init     int                       // the latest init execution that a job was of
	at       map[string]int            // the place in each sequence of the next job
	polling  map[string]bool           // the job at that place goes on, and has come
	repolls  map[string]bool           // a poll was not begun
	answers  map[string]message.Result // by message id, of jobs that were begun before
	begun    map[string]beginning      // by message id
	ended    map[string]bool           // by message id: a replica has carried the job out
	declines map[string]declined       // by sequence: the latest, of a job that was carried out before
	latest   map[string]int            // by owner, the number of the job begun last
	// of jobs with a short deadline, by message id
	lost   map[string]bool
	delays map[string]time.Duration
	done   map[string]bool            // by decision: some job of it was answered as done
	tries  map[string]map[string]bool // by decision: the jobs of it that were begun

	groups   *grouping
	replicas []*replica
	started  int          // replicas that ever were
	running  []*execution // in the order in which they were begun
	silent   silence
	beatAt   time.Time // when the next heartbeats are due
	absent   bool      // no replica ran for longer than heartbeats may be missing
}

// replica is one process of the worker.
type replica struct {
	id        int
	startedAt time.Time
	memory    map[string]message.Result // by message id, of jobs that it has carried out
	peekedAt  time.Time                 // how recent the controls are that it knows
	taken     *time.Time                // when the latest job that it took was dispatched
}

// execution is a job that a replica carries out. What the job changes at its tenant may
// appear at any moment until it ends.
type execution struct {
	replica *replica
	message *held
	job     message.Job
	owner   string
	begins  time.Time
	ends    time.Time
	result  message.Result
	lag     time.Duration // of the result, on its way
	lost    bool          // the result
	cut     bool          // at the job's expiry, before its work was done
}

// beginning is where a job's sequence stood before the job.
type beginning struct {
	name    string
	at      int
	polling bool
}

// declined is the refusal of a job that another replica carried out before. Which of the two
// results comes first shows in the next job of the sequence.
type declined struct {
	step   int64
	before beginning
}

// silence is a time in which the worker takes no job.
type silence struct {
	kind  silenceKind
	until time.Time
}

type silenceKind string

const (
	throttled silenceKind = "throttled" // its replicas live, and wait for the tenant
	gone      silenceKind = "gone"      // no replica runs
)

// heartbeats is whether replicas send them.
const heartbeats = true

// unheard is for how long a worker may send no heartbeat before it is taken to be gone.
const unheard = 2 * time.Minute

// abort is the longest that a function takes to end once its job has expired.
const abort = 3 * time.Second

func newWorker(w *world) *worker {
	k := &worker{
		w: w, rng: w.plan.rng("worker"), locks: w.plan.rng("locks"), rounds: map[string]int{}, at: map[string]int{}, polling: map[string]bool{}, repolls: map[string]bool{},
		answers: map[string]message.Result{}, begun: map[string]beginning{}, ended: map[string]bool{}, declines: map[string]declined{}, latest: map[string]int{},
		groups: newGrouping(w.plan), lost: map[string]bool{}, delays: map[string]time.Duration{}, done: map[string]bool{}, tries: map[string]map[string]bool{},
	}
	for range w.plan.work.replicas {
		k.start()
	}
	return k
}

// start starts a replica.
func (k *worker) start() {
	k.started++
	k.replicas = append(k.replicas, &replica{id: k.started, startedAt: k.w.now(), memory: map[string]message.Result{}, peekedAt: k.w.now()})
	k.beatAt = k.w.now()
}

// takes tells whether the worker takes jobs now.
func (k *worker) takes() bool { return k.silent.kind == "" }

// due is when the first execution or the silence ends.
func (k *worker) due() (time.Time, bool) {
	first := k.silent.until
	for _, e := range k.running {
		if first.IsZero() || e.ends.Before(first) {
			first = e.ends
		}
	}
	if k.beats() && (first.IsZero() || k.beatAt.Before(first)) {
		first = k.beatAt
	}
	return first, !first.IsZero()
}

// beats tells whether heartbeats matter: they are left out while no job waits for the
// worker, as those of a worker that was scaled to zero, and in plans without a deadline.
func (k *worker) beats() bool {
	return heartbeats && k.w.plan.hasDeadlines() && len(k.replicas) > 0 && (len(k.running) > 0 || k.w.broker.holds(message.TopicWorkerJobs))
}

// beat sends the heartbeats that are due.
func (k *worker) beat() {
	if k.beats() && !k.w.now().Before(k.beatAt) {
		k.sendBeats()
	}
}

// sendBeats sends a heartbeat of each replica.
func (k *worker) sendBeats() {
	k.flush() // the jobs whose results wait are not in hand any more
	now := k.w.now()
	since := k.beatAt // from then on the broker has heartbeats, of which this one is the last
	k.beatAt = now.Add(message.HeartbeatInterval)
	for _, r := range k.replicas {
		h := message.Heartbeat{
			WorkerID: "worker-01", ReplicaID: fmt.Sprintf("r%d", r.id), StartedAt: r.startedAt, Timestamp: now, MaxParallelism: 8, TakenThrough: r.taken,
		}
		for _, e := range k.running {
			if e.replica == r {
				h.JobsInFlight = append(h.JobsInFlight, e.message.id)
				h.InFlight++
				if h.OldestJobAt == nil {
					h.OldestJobAt = &e.begins
				}
			}
		}
		if k.silent.kind == throttled {
			h.ThrottledUntil = &k.silent.until
		}
		encoded, err := json.Marshal(h)
		if err != nil {
			k.w.problem("%v", err)
			return
		}
		k.w.broker.take(message.TopicWorkerResults, bus.Message{
			ID: h.ID(), Body: encoded, Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerHeartbeat},
		}, since)
	}
}

// catchUp ends what has ended by now.
func (k *worker) catchUp() {
	for len(k.running) > 0 {
		first := slices.MinFunc(k.running, func(a, b *execution) int { return a.ends.Compare(b.ends) })
		if first.ends.After(k.w.now()) {
			break
		}
		k.running = slices.DeleteFunc(k.running, func(e *execution) bool { return e == first })
		k.finish(first)
	}
	if k.silent.kind != "" && !k.silent.until.After(k.w.now()) {
		k.w.trace("the worker is no longer %s", k.silent.kind)
		for len(k.replicas) < k.w.plan.work.replicas {
			k.start()
		}
		k.silent = silence{}
	}
	k.beat()
}

// falter has a replica die, or the worker fall silent, and tells whether it did.
func (k *worker) falter() bool {
	c := k.w.plan.work
	switch {
	case !k.takes():
		return false
	case k.loseLock():
	case k.mayDie(k.running) && k.w.chance(c.die):
		r := k.replicas[k.rng.IntN(len(k.replicas))]
		k.die(r)
		k.start()
	case k.w.chance(c.silent):
		k.silent = silence{kind: throttled, until: k.w.now().Add(k.drawSilence())}
		if k.rng.IntN(3) == 0 && k.mayDie(k.running) {
			k.silent.kind = gone
			k.absent = k.absent || k.silent.until.Sub(k.w.now()) > unheard
			for len(k.replicas) > 0 {
				k.die(k.replicas[0])
			}
		}
		k.w.trace("the worker is %s until %v", k.silent.kind, k.silent.until.Sub(epoch))
	default:
		return false
	}
	return true
}

// loseLock has a replica lose the lock of a job that it runs, and reports whether it did. The
// broker delivers the job again while the replica goes on with it.
func (k *worker) loseLock() bool {
	if odds := k.w.plan.work.unlock; odds == 0 || k.locks.Float64() >= odds {
		return false
	}
	for _, e := range k.running {
		if m := e.message; k.isShort(e.job) && m.inHand == 1 && !m.gone && m.deliveries < gentle {
			k.w.trace("replica %d loses the lock of %s", e.replica.id, m.id)
			m.inHand = 0
			k.w.repeated = true
			return true
		}
	}
	return false
}

func (k *worker) drawSilence() time.Duration {
	most := pick(k.rng, 3*time.Minute, 15*time.Minute, 40*time.Minute)
	if len(k.w.plan.members) > 40 { // of which each look costs many actions
		most = 3 * time.Minute
	}
	return time.Second * time.Duration(1+k.rng.IntN(int(most/time.Second)))
}

// mayDie tells whether jobs can be delivered again without coming near the broker's
// limit.
func (k *worker) mayDie(running []*execution) bool {
	return !slices.ContainsFunc(running, func(e *execution) bool { return e.message.deliveries >= gentle })
}

// die ends a replica with all that it has in hand: the jobs come again when their locks
// have expired.
func (k *worker) die(r *replica) {
	k.w.trace("replica %d of the worker dies", r.id)
	k.replicas = slices.DeleteFunc(k.replicas, func(q *replica) bool { return q == r })
	k.running = slices.DeleteFunc(k.running, func(e *execution) bool {
		if e.replica != r {
			return false
		}
		k.w.trace("  with %s in hand", e.message.id)
		e.message.inHand = 0
		e.message.visibleAt = k.w.now().Add(time.Duration(k.rng.IntN(60)) * time.Second) // as long as a job is locked
		k.w.repeated = true
		return true
	})
}

// execute hands a job message to a replica.
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
	r := k.replicas[k.rng.IntN(len(k.replicas))]
	if lag := k.peekLag(); k.w.now().Add(-lag).After(r.peekedAt) {
		r.peekedAt = k.w.now().Add(-lag)
	}
	before, remembered := r.memory[m.id]
	why := k.refusal(r, j)
	at := slices.IndexFunc(k.running, func(e *execution) bool { return e.message.id == m.id })
	switch {
	case at >= 0 && (why == "" || k.running[at].replica == r || !k.isShort(j)): // a second run would do what the first does
		k.w.trace("%s is already being carried out", m.id)
		if k.running[at].message == m {
			m.inHand = 1 // until that run ends
			return
		}
		k.w.broker.settle(m)
		return
	case remembered:
		k.w.trace("replica %d remembers %s", r.id, m.id)
		if !k.lost[m.id] {
			k.sendResult(before, 0)
		}
		k.w.broker.settle(m)
		return
	case why != "":
		k.refuse(r, m, j, why)
		return
	}
	if at := j.DispatchedAt; at != nil && (r.taken == nil || at.After(*r.taken)) {
		r.taken = at
	}
	e := &execution{replica: r, message: m, job: j, owner: k.owner(j), begins: k.w.now()}
	again := k.ended[m.id]
	if !again && !k.mayBegin(e) {
		return
	}
	var known bool
	if e.result, known = k.answers[m.id]; !known {
		begun := beginning{}
		var ok bool
		if e.result, ok = k.answer(j, &begun); !ok {
			return
		}
		k.answers[m.id], k.begun[m.id] = e.result, begun
	}
	e.lost = k.lost[m.id]
	duration := k.draw(e)
	if again { // what it does it has done before
		duration = 0
	}
	e.ends = k.w.now().Add(duration)
	if j.ExpiresAt != nil && e.ends.After(*j.ExpiresAt) {
		e.ends, e.cut = j.ExpiresAt.Add(time.Duration(k.rng.Int64N(int64(abort)))), true
		e.result = message.Result{
			JobID: j.JobID, Status: message.StatusFailure, CorrelationData: j.CorrelationData,
			Error: &message.JobError{Message: "it took too long", Type: "Timeout"},
		}
	}
	k.w.trace("replica %d begins %s (delivery %d), which takes %s", r.id, m.id, m.deliveries, duration)
	if duration == 0 {
		k.finish(e)
		return
	}
	m.inHand = 1
	k.running = append(k.running, e)
}

// refusal is the type of the error with which a replica refuses a job, empty where it begins it.
func (k *worker) refusal(r *replica, j message.Job) string {
	switch {
	case j.ExpiresAt != nil && !k.w.now().Before(*j.ExpiresAt):
		return message.ErrorJobExpired
	case k.w.broker.revokes(j, r.peekedAt):
		return message.ErrorJobRevoked
	}
	return ""
}

// isShort reports whether the step of a job has a short deadline. Only such a job is refused as
// redelivered: other steps would wait for 3,000 days until the job expires.
func (k *worker) isShort(j message.Job) bool {
	place, _ := k.about(j)
	s := k.w.plan.steps()[place]
	return s != nil && s.deadline != ""
}

// peekLag is how old a replica's knowledge of controls is.
func (k *worker) peekLag() time.Duration {
	most := message.ControlPollInterval
	if k.rng.IntN(8) == 0 { // some peeks failed
		most = message.ControlMaxAge
	}
	return time.Duration(k.rng.Int64N(int64(most)))
}

// draw is how long a job takes; it also draws how long its result is on its way.
func (k *worker) draw(e *execution) time.Duration {
	d := k.delays[e.message.id]
	switch k.rng.IntN(12) {
	case 0:
		d = time.Duration(k.rng.IntN(1800)) * time.Second
	case 1, 2, 3:
		d = time.Duration(k.rng.IntN(20000)) * time.Millisecond
	}
	if k.rng.IntN(3) == 0 {
		e.lag, d = d, 0
	}
	return d
}

// finish ends an execution: its result is sent and its message acknowledged, or not.
func (k *worker) finish(e *execution) {
	m := e.message
	m.inHand = 0
	if !k.ended[m.id] {
		k.mustWait(e, "ends")
	}
	k.ended[m.id] = true
	e.result.Timestamp = k.w.now()
	e.replica.memory[m.id] = e.result
	k.w.trace("replica %d has done %s: %s %s", e.replica.id, m.id, e.result.Status, e.result.Result)
	if decision := k.decisionOf(m.id); decision != "" && e.result.Status == message.StatusSuccess && !e.lost {
		k.done[decision] = true
	}
	if !e.lost {
		k.sendResult(e.result, e.lag)
	}
	if m.deliveries < gentle && k.w.chance(k.w.plan.chaos.redeliver/2) {
		k.w.trace("%s is not acknowledged by the worker", m.id)
		k.w.broker.again(m)
		return
	}
	k.w.broker.settle(m)
}

func (k *worker) decisionOf(id string) string {
	for decision, jobs := range k.tries {
		if jobs[id] {
			return decision
		}
	}
	return ""
}

// refuse answers a job that is not begun. Where a replica had begun it, and died of
// it, its sequence is where it was before.
func (k *worker) refuse(r *replica, m *held, j message.Job, why string) {
	before, _ := m.properties[message.PropertyRedelivered].(bool)
	redelivered := k.isShort(j) && (before || m.deliveries > 1)
	k.w.trace("replica %d does not begin %s: %s, redelivered: %t", r.id, m.id, why, redelivered)
	result := message.Result{
		JobID: j.JobID, Status: message.StatusFailure, Timestamp: k.w.now(), CorrelationData: j.CorrelationData,
		Error: &message.JobError{Message: "not begun", Type: why, Redelivered: redelivered},
	}
	sent := k.sendResult(result, 0)
	k.w.broker.settle(m)
	begun, ok := k.begun[m.id]
	if k.ended[m.id] && !(sent && k.waits(j)) {
		return // its first result has counted, or will
	}
	switch {
	case !ok || begun.name == "":
	case k.ended[m.id]:
		k.declines[begun.name] = declined{j.CorrelationData.StepExecutionID, begun}
	default:
		k.at[begun.name], k.polling[begun.name] = begun.at, begun.polling
	}
	if strings.Contains(j.JobID, "-poll-") { // it comes again as a first attempt would
		k.repolls[k.nameOf(j)] = true
	}
}

// owner names whose jobs a job must not overlap with: a member's, the removal's among
// them, or those of init.
func (k *worker) owner(j message.Job) string { return strings.TrimSuffix(k.nameOf(j), "/removal") }

// nameOf names the sequence that a job is of.
func (k *worker) nameOf(j message.Job) string { return k.w.plan.sequenceOf(k.about(j)) }

func (k *worker) about(j message.Job) (place, who string) {
	var params struct{ Place, Who string }
	if err := json.Unmarshal(j.Parameters, &params); err != nil {
		k.w.problem("job %s: parameters: %v", j.JobID, err)
	}
	return params.Place, params.Who
}

// mayBegin holds the beginning of a job against what the system promises of work in
// flight.
func (k *worker) mayBegin(e *execution) bool {
	for _, other := range k.running {
		if other.owner == e.owner {
			k.w.problem("job %s (%s) of %s begins while %s (%s) is being carried out", e.job.JobID, e.job.FunctionName, e.owner, other.job.JobID, other.job.FunctionName)
			return false
		}
	}
	number := k.w.broker.sent[e.message.id].number
	if number < k.latest[e.owner] {
		k.w.problem("job %s (%s) of %s begins after one that was sent after it", e.job.JobID, e.job.FunctionName, e.owner)
		return false
	}
	k.latest[e.owner] = number
	place, _ := k.about(e.job)
	if at := k.w.pausedAt; !at.IsZero() && k.w.now().After(at.Add(message.ControlMaxAge)) && k.w.isPaused() {
		k.w.problem("job %s (%s) of %s begins %s after the batch was paused", e.job.JobID, e.job.FunctionName, e.owner, k.w.now().Sub(at))
		return false
	}
	if at := k.w.stoppedAt; !at.IsZero() && !undoes(place) && k.w.now().After(at.Add(message.ControlMaxAge)) {
		k.w.problem("job %s (%s) of %s begins %s after the batch was cancelled", e.job.JobID, e.job.FunctionName, e.owner, k.w.now().Sub(at))
		return false
	}
	return k.mustWait(e, "begins")
}

// mustWait sees to it that the step of a job waits for it.
func (k *worker) mustWait(e *execution, what string) bool {
	if strings.HasSuffix(e.owner, checksOf("")) && !k.w.plan.holdsMembers() { // the end of the batch cancels them
		return true
	}
	if !k.waits(e.job) {
		k.w.problem("job %s (%s) of %s %s, and its step does not wait for it any more", e.job.JobID, e.job.FunctionName, e.owner, what)
		return false
	}
	return true
}

// waits reports whether the step of a job waits for its result.
func (k *worker) waits(j message.Job) bool {
	phase, member, index, err := model.ParseStepID(j.CorrelationData.StepExecutionID)
	if err != nil {
		k.w.problem("job %s: %v", j.JobID, err)
		return false
	}
	run, err := store.Read[model.Run](context.Background(), k.w.store, store.RunKey(k.w.batch, phase, member))
	if err != nil {
		k.w.problem("job %s: %v", j.JobID, err)
		return false
	}
	return enginetest.AwaitsJob(&run.Doc, index, j.IDInBatch())
}

// undoes tells whether a step undoes something or cleans up.
func undoes(place string) bool {
	return strings.Contains(place, "undo") || strings.HasPrefix(place, "removed")
}

// sendResult sends a result; false where the broker drops it.
func (k *worker) sendResult(r message.Result, after time.Duration) bool {
	encoded, err := json.Marshal(r)
	if err != nil {
		k.w.problem("%v", err)
		return false
	}
	m := bus.Message{ID: r.ID(), Body: encoded}
	if after > 0 {
		m.At = k.w.now().Add(after)
	}
	return k.send(m)
}

// answer is for a job that is begun for the first time.
func (k *worker) answer(j message.Job, before *beginning) (message.Result, bool) {
	var params map[string]any
	if err := json.Unmarshal(j.Parameters, &params); err != nil {
		k.w.problem("job %s: parameters: %v", j.JobID, err)
		return message.Result{}, false
	}
	place, _ := params["Place"].(string)
	who, _ := params["Who"].(string)
	name := k.w.plan.sequenceOf(place, who)
	if begin := k.expected.sequences["init"]; begin != nil && name != "init" && !strings.HasSuffix(name, "/removal") && name != checksOf(who) && !k.through("init") {
		k.w.problem("job %s (%s) of %s begins before the init sequence has ended", j.JobID, j.FunctionName, name)
		return message.Result{}, false
	}
	if k.w.plan.holdsMembers() && name == who && !k.through(checksOf(who)) {
		k.w.problem("job %s (%s) of %s begins before the checks have ended", j.JobID, j.FunctionName, name)
		return message.Result{}, false
	}
	k.w.decidePhases()
	next, ok := k.deadline(name, j)
	if !ok {
		*before = beginning{name, k.at[name], k.polling[name]}
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
		next.answer, k.delays[j.ID()], k.lost[j.ID()] = k.w.plan.attempt(who, next.step, j.IDInBatch())
		if k.tries[next.decision] == nil {
			k.tries[next.decision] = map[string]bool{}
		}
		k.tries[next.decision][j.ID()] = true
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

// verifyDispatch sees to it that no job is dispatched in a batch that is paused or
// cancelled. An invocation that began before may dispatch what it has in hand.
func (w *world) verifyDispatch(body []byte) {
	var j message.Job
	var params struct{ Place, Who string }
	if json.Unmarshal(body, &j) != nil || json.Unmarshal(j.Parameters, &params) != nil || j.ExpiresAt == nil || j.DispatchedAt == nil {
		w.problem("a job cannot be read: %s", body)
		return
	}
	s := w.plan.steps()[params.Place]
	if s == nil {
		w.problem("there is no step for job %s", j.JobID)
		return
	}
	at := *j.DispatchedAt // the job of a poll is sent ahead: it was decided on before it is visible
	const slack = invocation + longestWait
	if !w.pausedAt.IsZero() && at.After(w.pausedAt.Add(slack)) && w.isPaused() {
		w.problem("job %s (%s) was dispatched %s after the batch was paused", j.JobID, j.FunctionName, at.Sub(w.pausedAt))
	}
	undoes := undoes(params.Place)
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

// inferOutcome decides how the steps with a short deadline ended that come, from a place of the
// sequence on, before a function, and reports whether the function comes after them. The
// next job tells how they ended. A step can end without a job that was begun: its worker was
// gone. Whether it was, verifyTries sees.
func (k *worker) inferOutcome(name, function string, at, steps int) bool {
	q := k.expected.sequences[name]
	if at < len(q.jobs) && q.jobs[at].step.function == function {
		k.at[name] = at
		return true
	}
	if steps == 0 || at >= len(q.jobs) || q.jobs[at].decision == "" {
		return false
	}
	decision := q.jobs[at].decision
	before, known := k.w.plan.decided[decision]
	for _, end := range k.ends(name, q.jobs[at], function) {
		k.w.plan.decided[decision] = end
		k.expected = k.w.plan.outcome(k.w.batch, k.rounds)
		if k.inferOutcome(name, function, at+1, steps-1) {
			return true
		}
	}
	if delete(k.w.plan.decided, decision); known {
		k.w.plan.decided[decision] = before
	}
	k.expected = k.w.plan.outcome(k.w.batch, k.rounds)
	return false
}

// ends returns how a step with a short deadline can have ended if the next job calls a function.
// Several steps can have the same rollback: its job does not tell which of them failed, so the
// stored run decides.
func (k *worker) ends(name string, of job, function string) []string {
	if !k.done[of.decision] {
		return []string{"failed"}
	}
	if undoes(function) {
		if status := k.storedEnd(name, of.step); status != "" {
			return []string{status}
		}
	}
	return []string{"succeeded", "failed"}
}

// storedEnd returns the status of a member's step in the store, or an empty text if the step has
// not ended. A plan that has rollbacks and steps with a short deadline has no retries, so the
// step ends once.
func (k *worker) storedEnd(key string, s *step) string {
	d, err := k.w.read(context.Background())
	if err != nil {
		k.w.problem("reading how %s of %s ended: %v", s.place, key, err)
		return ""
	}
	for _, run := range d.runs {
		ph := slices.IndexFunc(k.w.plan.phases, func(ph *phase) bool { return ph.name == run.PhaseName })
		if run.Key != key || run.Kind != model.KindPhase || ph < 0 {
			continue
		}
		for i, of := range k.w.plan.phases[ph].steps {
			if status := run.Steps[i].Status; of.function == s.function && (status == model.StepSucceeded || status == model.StepFailed) {
				return string(status)
			}
		}
	}
	return ""
}

// next is the job that the oracle has for a sequence at this point.
func (k *worker) next(name string, j message.Job) (job, bool) {
	q := k.expected.sequences[name]
	if q == nil {
		k.w.problem("job %s (%s) is of %s, who has none", j.JobID, j.FunctionName, name)
		return job{}, false
	}
	if r, ok := k.declines[name]; ok && r.step == j.CorrelationData.StepExecutionID && strings.Contains(j.JobID, "-attempt-") {
		k.at[name], k.polling[name] = r.before.at, r.before.polling
	}
	delete(k.declines, name)
	for steps := 1; steps <= 3 && !k.inferOutcome(name, j.FunctionName, k.at[name], steps); steps++ {
	}
	q = k.expected.sequences[name]
	fresh := name == "init" && k.newInit(j)
	polls := strings.Contains(j.JobID, "-poll-") || k.repolls[name] && !fresh
	k.repolls[name] = false
	if at := k.at[name]; k.polling[name] && (q.jobs[at].step.function != j.FunctionName || !polls) { // it was polled for the last time
		k.at[name], k.polling[name] = at+1, false
	}
	switch {
	case k.at[name] != len(q.jobs) || !q.failed:
	case fresh && len(k.w.plan.replaced) < k.w.versions-1:
		k.w.plan.replaced = append(k.w.plan.replaced, k.rounds[name])
		k.rounds[name] = 0
		k.expected = k.w.plan.outcome(k.w.batch, k.rounds)
		q = k.expected.sequences[name]
	case !fresh && k.rounds[name] < k.w.retries:
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

// newInit reports whether a job is the first of an init execution after another one. Only a
// newer version of the runbook has its own, and only where init had failed, or had not begun.
// A removal can keep the batch open for so long.
func (k *worker) newInit(j message.Job) bool {
	phase, _, _, err := model.ParseStepID(j.CorrelationData.StepExecutionID)
	if err != nil {
		k.w.problem("job %s: %v", j.JobID, err)
	}
	before := k.init
	k.init = phase
	return before != 0 && phase != before
}

// through tells whether all jobs of a sequence were done.
func (k *worker) through(name string) bool {
	at := k.at[name]
	jobs := k.expected.sequences[name].jobs
	if k.polling[name] {
		at++
	}
	for at < len(jobs) && jobs[at].decision != "" { // of which no later job told
		at++
	}
	return at >= len(jobs)
}
