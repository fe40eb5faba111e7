package explore

import (
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// action is one step from a state to the next one. Where it refers to a message, an execution
// or a parked invocation, it does so by its place, which is the same whenever the same actions
// led to the state.
type action struct {
	kind       kind
	topic      string
	sequence   int64
	index      int  // of a command, an execution or a parked invocation
	dieAfter   int  // effects; 0: the process goes on to the end
	parkBefore int  // the number of a write; 0: it does not wait
	keeps      bool // the message is not settled
}

type kind int

const (
	delivers        kind = iota // an orchestrator message is handled
	ticks                       // the scheduler ticks
	waits                       // five minutes pass, in which nothing else can happen, and the scheduler ticks
	commands                    // the administrator does something
	resumesParked               // a parked invocation goes on
	takes                       // the worker takes a job
	takesLate                   // the worker takes a job, and has not yet seen the latest control
	succeeds                    // a job ends with success
	fails                       // a job ends with failure
	succeedTogether             // all jobs end with success, and their results come in one message
	dies                        // the worker dies with a job
	advances                    // the clock moves to the next timer
)

// mostWaits is for how many ticks nothing may move in a batch that has not ended: more than
// any timeout of the systems.
const mostWaits = 24

// expand calls each with every state that follows from this one by one action.
func (w *world) expand(each func(action, *world)) {
	do := func(a action) *process {
		c := w.clone()
		p := c.do(a)
		each(a, c)
		return p
	}
	// invoked tries an invocation to its end, with a death after each of its effects and with
	// a wait before each of its writes.
	invoked := func(a action) {
		p := do(a)
		writes, effects, waited := p.at, p.effects, len(p.past)
		// Where nothing was done, a second delivery is a later first one.
		if w.left.repeats > 0 && effects > 0 && w.topicOf(a) != "" {
			b := a
			b.keeps = true
			do(b)
		}
		for n := 1; n < effects && w.left.crashes > 0; n++ {
			b := a
			b.dieAfter = n
			do(b)
		}
		for n := waited + 1; n <= writes && w.left.parks > 0; n++ {
			b := a
			b.parkBefore = n
			do(b)
		}
	}
	for _, q := range orchestrated {
		for _, m := range w.messages(q) {
			invoked(action{kind: delivers, topic: q.topic, sequence: m.Sequence})
		}
	}
	for i := range w.parked {
		invoked(action{kind: resumesParked, index: i})
	}
	for _, c := range w.open {
		if !w.isParked(c) {
			invoked(action{kind: commands, index: c})
		}
	}
	if w.left.ticks > 0 {
		invoked(action{kind: ticks})
	}
	for _, m := range w.messages(jobs) {
		do(action{kind: takes, topic: jobs.topic, sequence: m.Sequence})
		if w.hasFreshControl() {
			do(action{kind: takesLate, topic: jobs.topic, sequence: m.Sequence})
		}
	}
	for i := range w.running {
		do(action{kind: succeeds, index: i})
		if w.left.repeats > 0 {
			do(action{kind: succeeds, index: i, keeps: true})
		}
		if w.left.failures > 0 {
			do(action{kind: fails, index: i})
		}
		if w.left.deaths > 0 {
			do(action{kind: dies, index: i})
		}
	}
	if w.system.groups && len(w.running) > 1 {
		do(action{kind: succeedTogether})
	}
	if to, ok := w.timer(); ok && w.mayAdvance(to) && to.After(w.clock) {
		do(action{kind: advances})
	}
	if w.quiet() && !w.atRest() {
		do(action{kind: waits})
	}
}

func (w *world) topicOf(a action) string {
	if a.kind == resumesParked {
		return w.parked[a.index].topic
	}
	return a.topic
}

func (w *world) isParked(command int) bool {
	return slices.ContainsFunc(w.parked, func(p parked) bool { return p.command == command })
}

// quiet reports whether nothing is under way and nothing is scheduled.
func (w *world) quiet() bool {
	_, scheduled := w.timer()
	return !scheduled && !w.busy()
}

// busy reports whether something can happen at this moment.
func (w *world) busy() bool {
	for _, q := range append(slices.Clone(orchestrated), jobs) {
		if len(w.messages(q)) > 0 {
			return true
		}
	}
	return len(w.running)+len(w.parked) > 0
}

// do carries out an action. The process is the one that it ran in, if any.
func (w *world) do(a action) *process {
	switch a.kind {
	case delivers:
		m := w.find(queue{a.topic, message.SubscriptionOrchestrator}, a.sequence)
		w.tell("The orchestrator handles %s%s.", w.describe(a.topic, sent(m)), w.end(a))
		return w.invokeAction(a, invocation{what: m.ID, topic: a.topic, sequence: a.sequence, command: -1}, nil)
	case resumesParked:
		p := w.parked[a.index]
		w.parked = slices.Delete(w.parked, a.index, a.index+1)
		w.tell("The invocation for %s goes on with its write%s.", p.what, w.end(a))
		return w.invokeAction(a, p.invocation, p.views)
	case commands:
		c := w.system.commands[a.index]
		w.tell("The administrator asks to %s%s.", c.name, w.end(a))
		return w.invokeAction(a, invocation{what: c.name, command: a.index}, nil)
	case ticks:
		in := invocation{what: fmt.Sprintf("tick %d", w.left.ticks), command: -1} // a name of its own: its ids follow from that
		w.left.ticks--
		w.tell("The scheduler ticks%s.", w.end(a))
		return w.invokeAction(a, in, nil)
	case waits:
		return w.wait()
	case takes, takesLate:
		w.takeJob(a)
	case succeeds, fails:
		w.endJob(a)
	case succeedTogether:
		w.endJobs()
	case dies:
		e := w.running[a.index]
		w.left.deaths--
		w.tell("The worker dies with job %s.", w.jobName(e.job.BatchID, e.job.CorrelationData.StepExecutionID, e.job.JobID))
		w.running = slices.Delete(w.running, a.index, a.index+1)
		w.hold(jobs, e.sequence, 0)
	case advances:
		to, _ := w.timer()
		w.left.late -= w.lateJobs(to)
		w.clock = to
		w.bus.Tick()
		w.tell("The clock moves to %s.", at(w.clock))
	}
	return nil
}

// wait has the scheduler tick until something can happen, or the batches have ended.
func (w *world) wait() (p *process) {
	for range mostWaits {
		w.clock = w.clock.Add(tickInterval)
		w.bus.Tick()
		w.story = nil // of the tick before, in which nothing came of it
		w.tell("Nothing is left to do. The scheduler ticks, at last at %s.", at(w.clock))
		p = w.invoke(invocation{what: fmt.Sprintf("the tick at %s", at(w.clock)), command: -1}, nil, 0, 0)
		if !w.quiet() || w.atRest() {
			return p
		}
	}
	w.problem("nothing has moved for %s, and a batch has not ended", mostWaits*tickInterval)
	return p
}

// invokeAction runs an invocation as an action says, and settles its message.
func (w *world) invokeAction(a action, in invocation, past []view) *process {
	p := w.invoke(in, past, a.dieAfter, a.parkBefore)
	switch {
	case p.parked:
		w.left.parks--
		if in.topic != "" {
			w.hold(queue{in.topic, message.SubscriptionOrchestrator}, in.sequence, time.Hour)
		}
	case p.ended:
		w.left.crashes--
		w.settle(in, false)
	case a.keeps:
		w.left.repeats--
		w.settle(in, false)
	default:
		w.settle(in, true)
	}
	return p
}

// end says how an invocation ends, where it does so otherwise than at its end.
func (w *world) end(a action) string {
	switch {
	case a.dieAfter > 0:
		return fmt.Sprintf(", and its process dies after %d of its effects", a.dieAfter)
	case a.parkBefore > 0:
		return fmt.Sprintf(", and is held up before write %d", a.parkBefore)
	case a.keeps:
		return ", and does not settle the message"
	}
	return ""
}

func (w *world) find(q queue, sequence int64) *bus.Received {
	all, err := w.bus.Messages(q.topic, q.subscription)
	if err != nil {
		w.problem("%v", err)
	}
	for _, m := range all {
		if m.Sequence == sequence {
			return &m.Received
		}
	}
	w.problem("there is no message %d in %s", sequence, q.topic)
	return &bus.Received{}
}

// sent is a received message as it was sent.
func sent(m *bus.Received) bus.Message {
	return bus.Message{ID: m.ID, Body: m.Body, Properties: m.Properties}
}
