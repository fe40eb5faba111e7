package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	busmemory "github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// world is one state of a system: the store, the broker, the jobs at the worker, and the
// faults that may still occur.
type world struct {
	system  *system
	runbook *runbook.Runbook // the first version
	clock   time.Time
	store   *memory.Store
	bus     *busmemory.Broker
	running []execution     // jobs in the worker's hands
	ended   map[string]bool // ids of job messages that were carried out, and whether with success
	begun   map[string]int  // executions by effect id
	called  map[string]int  // the batch in which a function was called last, by function and person
	list    list            // of the data source; it does not change once a search has begun
	parked  []parked        // invocations that wait before a write
	left    budget          // what may still go wrong
	open    []int           // commands that have not been answered
	tries   map[int]int     // how often a command was begun
	stopped map[int]bool    // batches whose cancellation was answered
	paused  map[int]bool    // batches whose pause was answered, until they are to be resumed

	verbose  bool
	story    []string
	problems []string
}

// budget is how often each kind of fault can happen.
type budget struct {
	repeats  int // a message is handled and not settled: it is delivered again
	crashes  int // a process dies between two effects
	parks    int // an invocation waits before a write, while others go on
	failures int // a job fails
	deaths   int // a worker dies with a job in its hands
	ticks    int // the scheduler ticks although other things could happen
	late     int // the worker comes to a job after its time
}

// execution is a job in the worker's hands.
type execution struct {
	sequence int64
	message  string // its id
	job      message.Job
	owner    int  // the member, 0 for none
	again    bool // the message was delivered before
}

var epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

const (
	runbookName = "move"
	workerName  = "w1"
)

// queue is a subscription that something receives from.
type queue struct{ topic, subscription string }

var (
	orchestrated = []queue{
		{message.TopicOrchestratorEvents, message.SubscriptionOrchestrator},
		{message.TopicWorkerResults, message.SubscriptionOrchestrator},
	}
	jobs     = queue{message.TopicWorkerJobs, message.WorkerSubscription(workerName)}
	controls = queue{message.TopicWorkerControl, message.WorkerSubscription(workerName)}
)

func newWorld(s *system) (*world, error) {
	w := &world{
		system: s, clock: epoch, store: memory.New(memory.Config{}), left: s.budget,
		begun: map[string]int{}, called: map[string]int{}, tries: map[int]int{}, stopped: map[int]bool{}, paused: map[int]bool{}, ended: map[string]bool{},
	}
	for i := range s.commands {
		w.open = append(w.open, i)
	}
	var diagnostics runbook.Diagnostics
	if w.runbook, diagnostics = runbook.Parse([]byte(s.versions[0])); w.runbook == nil {
		return nil, diagnostics.Err()
	}
	var err error
	if w.bus, err = busmemory.New(busmemory.Config{Now: w.now, Topics: busmemory.Deployment(workerName)}); err != nil {
		return nil, err
	}
	return w, s.begin(context.Background(), w)
}

func (w *world) now() time.Time { return w.clock }

// clone returns the same state again, to go on from there in another way.
func (w *world) clone() *world {
	c := *w
	c.store = w.store.Clone()
	c.bus = w.bus.Clone(c.now)
	c.running, c.parked, c.open = slices.Clone(w.running), slices.Clone(w.parked), slices.Clone(w.open)
	c.begun, c.called, c.tries, c.ended, c.stopped, c.paused = maps.Clone(w.begun), maps.Clone(w.called), maps.Clone(w.tries), maps.Clone(w.ended), maps.Clone(w.stopped), maps.Clone(w.paused)
	c.story, c.problems = nil, nil
	return &c
}

func (w *world) problem(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

func (w *world) tell(format string, args ...any) {
	if w.verbose {
		w.story = append(w.story, fmt.Sprintf(format, args...))
	}
}

// send has the broker accept a message, unless the system loses it.
func (w *world) send(ctx context.Context, topic string, m bus.Message) error {
	if w.system.loses != nil && w.system.loses(topic, m) {
		return nil
	}
	return w.bus.Client(nil).Send(ctx, topic, m)
}

// messages are those of a queue that can be delivered.
func (w *world) messages(q queue) []bus.Received {
	all, err := w.bus.Messages(q.topic, q.subscription)
	if err != nil {
		w.problem("%v", err)
	}
	var free []bus.Received
	for _, m := range all {
		if !m.Locked {
			free = append(free, m.Received)
		}
	}
	return free
}

// timer returns when the next scheduled message or the end of a job's time falls due.
func (w *world) timer() (at time.Time, ok bool) {
	earlier := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	for _, q := range append(slices.Clone(orchestrated), jobs) {
		scheduled, err := w.bus.Scheduled(q.topic)
		if err != nil {
			w.problem("%v", err)
		}
		if len(scheduled) > 0 {
			earlier(scheduled[0].At)
		}
	}
	for _, e := range w.running {
		if w.system.deadlines && e.job.ExpiresAt != nil {
			earlier(*e.job.ExpiresAt)
		}
	}
	return at, ok
}

// invocationTime is how long an invocation can take, and parkedTime for how long one waits before
// a write while the clock moves.
const (
	invocationTime = 4 * time.Minute
	parkedTime     = time.Minute
)

// mayAdvance reports whether the clock can be moved to a time: no invocation and no job takes
// longer than it may, and no more jobs wait for the worker beyond their time than may. Beyond
// the horizon it moves only where nothing else can happen: the stop of a cancelled batch asks
// every five seconds whether its jobs have ended.
func (w *world) mayAdvance(to time.Time) bool {
	if to.After(epoch.Add(horizon)) && !w.system.deadlines && w.busy() {
		return false
	}
	return w.lateJobs(to) <= w.left.late && !slices.ContainsFunc(w.parked, func(p parked) bool { return to.Sub(p.since) > parkedTime }) &&
		!slices.ContainsFunc(w.running, func(e execution) bool { return e.job.ExpiresAt != nil && to.After(*e.job.ExpiresAt) })
}

// horizon is a little after all phases of the systems are due.
const horizon = 5*time.Minute + 40*time.Second

// lateJobs counts the jobs that wait for the worker and whose time ends when the clock is moved.
func (w *world) lateJobs(to time.Time) (n int) {
	for _, m := range w.messages(jobs) {
		var j message.Job
		if err := json.Unmarshal(m.Body, &j); err != nil {
			w.problem("the job %s is not JSON: %v", m.ID, err)
		}
		if j.ExpiresAt != nil && j.ExpiresAt.After(w.clock) && !j.ExpiresAt.After(to) {
			n++
		}
	}
	return n
}

// invoke runs an invocation, or the rest of one that was parked.
func (w *world) invoke(in invocation, past []view, dieAfter, parkBefore int) *process {
	name := in.what
	if in.command >= 0 {
		if past == nil {
			w.tries[in.command]++
		}
		if c := w.system.commands[in.command]; c.ends != 0 {
			delete(w.paused, c.ends)
		}
		name = fmt.Sprintf("%s %d", name, w.tries[in.command])
	}
	var delivery *bus.Received
	if in.topic != "" {
		var err error
		if delivery, err = w.take(in, past != nil); err != nil {
			w.problem("%v", err)
			return &process{}
		}
		name = fmt.Sprintf("%s %d", delivery.ID, delivery.DeliveryCount)
	}
	began := time.Now() // by the clock of the bubble, which only passes where somebody sleeps
	ctx, p := w.start(name, past, dieAfter, parkBefore)
	a := newApp(w, p, p, p.now, p.newID)
	var err error
	switch {
	case delivery != nil:
		err = p.inTurns(delivery, func() error { return testenv.Handle(ctx, a, in.topic, testenv.Delivery(delivery)) })
	case in.command >= 0:
		err = w.system.commands[in.command].run(ctx, a)
	default:
		err = tick(ctx, a)
	}
	p.cancel()
	if d := time.Since(began); d > invocationTime/8 {
		w.problem("%s goes on for %s and repeats what it does", in.what, d)
	}
	w.story = append(w.story, p.story...)
	switch {
	case p.parked:
		for i := range p.views {
			p.views[i].describe(w)
		}
		w.parked = append(w.parked, parked{invocation: in, since: w.clock, views: p.views})
		if past != nil {
			w.parked[len(w.parked)-1].since = past[0].now
		}
	case p.ended:
	case in.command >= 0:
		if err != nil && !refused(err) {
			w.problem("%s: %v", in.what, err)
		}
		if err != nil {
			w.tell("is refused: %v", err)
		}
		w.open = slices.DeleteFunc(w.open, func(c int) bool { return c == in.command })
		if err == nil {
			w.confirmed(w.system.commands[in.command])
		}
	case err != nil && !(delivery == nil && errors.Is(err, store.ErrChanged)): // a lost race is made up for by the next tick
		w.problem("%s: %v", in.what, err)
	}
	return p
}

// confirmed notes what the answer to a command promises.
func (w *world) confirmed(c command) {
	if c.cancels != 0 {
		w.stopped[c.cancels] = true
	}
	ended := slices.ContainsFunc(w.system.commands, func(other command) bool {
		return other.ends == c.pauses && w.tries[slices.IndexFunc(w.system.commands, func(o command) bool { return o.name == other.name })] > 0
	})
	if c.pauses != 0 && !ended {
		w.paused[c.pauses] = true
	}
}

// take delivers the message of an invocation. The one of an invocation that was parked is
// locked.
func (w *world) take(in invocation, locked bool) (*bus.Received, error) {
	subscription := message.SubscriptionOrchestrator
	if !locked {
		return w.bus.Take(in.topic, subscription, in.sequence)
	}
	all, err := w.bus.Messages(in.topic, subscription)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(m busmemory.Message) bool { return m.Sequence == in.sequence })
	if i < 0 {
		return nil, fmt.Errorf("the message of %s is gone", in.what)
	}
	return &all[i].Received, nil
}

// settle ends the delivery of an invocation: the message is gone, or comes again.
func (w *world) settle(in invocation, completes bool) {
	if in.topic == "" {
		return
	}
	var err error
	if completes {
		err = w.bus.Complete(in.topic, message.SubscriptionOrchestrator, in.sequence)
	} else {
		err = w.bus.EndLock(in.topic, message.SubscriptionOrchestrator, in.sequence, w.clock)
	}
	if err != nil {
		w.problem("%s: %v", in.what, err)
	}
}

// hold keeps a message locked for as long as its handler, or a worker, may have it.
func (w *world) hold(q queue, sequence int64, d time.Duration) {
	if err := w.bus.EndLock(q.topic, q.subscription, sequence, w.clock.Add(d)); err != nil {
		w.problem("%v", err)
	}
}

// run returns the stored run of a step execution and the index of the step.
func (w *world) run(batch int, stepExecution int64) (run model.Run, index int, ok bool) {
	phase, member, index, err := model.ParseStepID(stepExecution)
	if err != nil {
		return run, 0, false
	}
	item, err := store.Read[model.Run](context.Background(), w.store, store.RunKey(batch, phase, member))
	return item.Doc, index, err == nil && index < len(item.Doc.Steps)
}

// definition is the one of a run's step, which all versions of the runbook have.
func (w *world) definition(run *model.Run, index int) runbook.Step {
	d, err := run.Definition(w.runbook, index)
	if err != nil {
		w.problem("%v", err)
	}
	return d
}

// describe names a message in a story.
func (w *world) describe(topic string, m bus.Message) string {
	text := m.ID
	switch topic {
	case message.TopicWorkerJobs:
		var j message.Job
		if json.Unmarshal(m.Body, &j) == nil {
			text = "job " + w.jobName(j.BatchID, j.CorrelationData.StepExecutionID, j.JobID)
		}
	case message.TopicWorkerResults:
		if m.Properties[message.PropertyMessageType] == message.TypeWorkerResults {
			results, err := message.Delivery{ID: m.ID, Body: m.Body}.Results()
			if err != nil {
				w.problem("the group %s: %v", m.ID, err)
			}
			var all []string
			for _, r := range results {
				all = append(all, w.describe(topic, bus.Message{ID: r.ID, Body: r.Body}))
			}
			return strings.Join(all, " and ")
		}
		var r message.Result
		if json.Unmarshal(m.Body, &r) == nil {
			text = "result " + r.Status + " of job " + w.jobName(r.CorrelationData.BatchID, r.CorrelationData.StepExecutionID, r.JobID)
			if r.Error != nil {
				text += " (" + r.Error.Type + ")"
			}
		}
	}
	if m.At.After(w.clock) {
		text += fmt.Sprintf(" for %s", at(m.At))
	}
	return text
}

// jobName names a job by its member, phase and step, and by what follows the step's number in
// its id: the attempt, the retry or the poll.
func (w *world) jobName(batch int, stepExecution int64, jobID string) string {
	run, index, ok := w.run(batch, stepExecution)
	if !ok {
		return jobID
	}
	_, attempt, _ := strings.Cut(jobID, fmt.Sprintf("-%d-", stepExecution))
	who := "the batch"
	if run.Member != 0 {
		who = run.Key
	}
	return fmt.Sprintf("%s of %s in %s, %s", w.definition(&run, index).Name, who, run.PhaseName, attempt)
}

// at writes a time as what has passed since the beginning.
func at(t time.Time) string { return "+" + t.Sub(epoch).String() }
