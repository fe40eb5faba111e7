package dispatch

import (
	"encoding/json"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// received is one delivery of a job.
type received struct {
	message  *bus.Received
	job      message.Job
	came     json.RawMessage // the job's correlation as it came
	err      error           // why the job cannot be done, of readJob
	identity string          // of the job, where there is no err
	slot     bool            // whether it has one, and may call a function
	held     bool            // whether it counts among those that wait for one
	begun    bool            // whether the job's function was called for it, or may have been
	waited   bool            // whether it was taken without a slot
	lock     lock
}

// again reports whether an earlier delivery of the job may have been carried out: of this
// message, or of the one that was dead-lettered and is sent again as this.
func (d *received) again() bool {
	before, _ := d.message.Properties[message.PropertyRedelivered].(bool)
	return before || d.tries() > 1
}

// sentAt is when the job was sent. The broker has the time of each message: for a job that is sent again as another
// one it is when the orchestrator decided on the job, shortly before the first.
func (d *received) sentAt() time.Time {
	if before, _ := d.message.Properties[message.PropertyRedelivered].(bool); before && d.job.DispatchedAt != nil {
		return *d.job.DispatchedAt
	}
	return d.message.EnqueuedAt
}

// tries counts the deliveries of the message, with this one, for which the job may have
// been begun: all but those that a worker gave back before that.
func (d *received) tries() int { return d.message.DeliveryCount - d.notBegun() }

func (d *received) notBegun() int {
	switch n := d.message.Properties[message.PropertyNotBegun].(type) {
	case int64:
		return int(n)
	case int32:
		return int(n)
	}
	return 0
}

// accept begins to handle messages for which room was taken, gives back the room that is
// left and returns how many of the jobs are refused. What calls no function leaves the
// slots to the others.
func (l *Loop) accept(messages []*bus.Received, slots, extra int) (refused int) {
	for _, m := range messages {
		d := &received{message: m}
		d.lock.set(m.LockedUntil)
		d.job, d.came, d.err = readJob(m.Body, l.config.WorkerID)
		calls := d.err == nil
		if calls {
			d.identity = identity(d.job)
			if !l.memory.knows(d.identity) && l.refusal(d) != nil {
				calls = false
				refused++
			}
		}
		if d.slot = slots > 0 && (calls || extra == 0); d.slot {
			slots--
		} else {
			extra--
		}
		l.begin(d, calls)
	}
	l.room.give(slots, extra)
	return refused
}

// begin handles a delivery for which there is room.
func (l *Loop) begin(d *received, calls bool) {
	l.touch()
	l.jobs.Add(1)
	l.running.Add(1)
	if calls {
		l.inHand.add(d.job)
		if d.held = !d.slot; d.held {
			d.waited = true
			l.room.held.Add(1)
		} else {
			l.inHand.take(d.job)
		}
	}
	l.crew.do(l.work, func() {
		defer l.jobs.Done()
		stop := l.keepLock(d)
		defer stop()
		tell := l.handle(d)
		// Telling a broker that was lost takes its whole time limit. The next job
		// need not wait for that.
		l.touch()
		l.running.Add(-1)
		if calls {
			l.inHand.remove(d.job)
			l.room.release(d)
		}
		if d.slot {
			l.room.give(1, 0)
		} else {
			l.room.give(0, 1)
		}
		tell()
	})
}
