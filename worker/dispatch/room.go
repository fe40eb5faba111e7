package dispatch

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
)

// room is a worker's capacity. Functions run in slots. Beside them
// deliveries can be in hand that need no function: jobs that are refused must neither
// wait for the functions of others nor make the jobs behind them wait.
type room struct {
	slots chan struct{} // a token for each function that may be called
	extra chan struct{} // a token for each further delivery that may be in hand
	held  atomic.Int64  // deliveries that were taken without a slot and wait for one
	wake  chan struct{} // told when there are none any more
}

// maxDrain is how many jobs are taken at once, at most, to refuse those that must not be
// begun, and maxExtra how many are in hand until the broker has their answers.
const (
	maxDrain = 64
	maxExtra = 4 * maxDrain
)

func newRoom(parallelism int) *room {
	r := &room{slots: make(chan struct{}, parallelism), extra: make(chan struct{}, maxExtra), wake: make(chan struct{}, 1)}
	r.give(parallelism, maxExtra)
	return r
}

func (r *room) give(slots, extra int) {
	for range slots {
		r.slots <- struct{}{}
	}
	for range extra {
		r.extra <- struct{}{}
	}
}

// release ends a delivery's wait for a slot.
func (r *room) release(d *received) {
	if !d.held {
		return
	}
	d.held = false
	if r.held.Add(-1) == 0 {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// takeUpTo takes the tokens that are there, at most n.
func takeUpTo(tokens <-chan struct{}, n int) int {
	for taken := range n {
		select {
		case <-tokens:
		default:
			return taken
		}
	}
	return n
}

// drain says how many deliveries are taken beside those that have a slot, to find the jobs
// among them that must not be begun. It begins when one was refused, or when more jobs are
// revoked and no slot is free, grows while every job is refused, and ends with the first answer of the broker
// that has no such job.
type drain struct {
	changed <-chan struct{} // closed when more jobs are revoked
	least   int             // how many are taken at first
	size    int             // how many are taken next; 0 while nothing is drained
	refused int             // how many were refused since it began
}

func (d *drain) begin() { d.size = max(d.size, d.least) }

// next records how many jobs were received and how many of them were refused.
func (d *drain) next(taken, refused int) {
	switch {
	case refused == 0:
		d.size = 0
	case refused == taken:
		d.size = min(max(2*d.size, d.least), maxDrain)
	default:
		d.size = d.least
	}
	d.refused += refused
}

// takeRoom waits for room and takes all slots that are free and, to drain, more than those.
// While jobs wait for a slot none is taken. It takes nothing when ctx ends.
//
// A new control starts a drain only while no slot is free: otherwise the next jobs show
// whether the queue holds revoked jobs. Credit beyond the slots stays with the broker and
// would deliver jobs later, when there is no room.
func (l *Loop) takeRoom(ctx context.Context, d *drain) (slots, extra int) {
	for {
		var oneSlot, oneMore <-chan struct{}
		if l.room.held.Load() == 0 {
			slots, extra = takeUpTo(l.room.slots, l.config.MaxParallelism), takeUpTo(l.room.extra, d.size)
			if slots+extra > 0 {
				return slots, extra
			}
			if oneSlot = l.room.slots; d.size > 0 {
				oneMore = l.room.extra
			}
		}
		select {
		case <-oneSlot:
			return 1 + takeUpTo(l.room.slots, l.config.MaxParallelism), takeUpTo(l.room.extra, d.size)
		case <-oneMore:
			return 0, 1 + takeUpTo(l.room.extra, d.size-1)
		case <-l.room.wake:
		case <-d.changed:
			d.changed = l.config.Controls.Changed()
			d.begin()
		case <-ctx.Done():
			return 0, 0
		}
	}
}

// awaitSlot waits until the delivery has a slot. It is false when it gets none: because the
// job must not be begun any more, because the worker stops or because it took longer than
// HoldTime, so that a replica that has a slot can take the job.
func (l *Loop) awaitSlot(d *received) bool {
	defer l.room.release(d)
	if d.slot {
		return true
	}
	timer := time.NewTimer(l.config.HoldTime)
	defer timer.Stop()
	for l.refusal(d) == nil {
		changed := l.config.Controls.Changed()
		select {
		case <-l.room.slots:
			d.slot = true
			l.inHand.take(d.job)
			l.room.give(0, 1)
			return true
		case <-changed:
		case <-timer.C:
			return false
		case <-l.stopping:
			return false
		}
	}
	return false
}

// inHand knows which jobs a worker has: those whose functions run or are about to.
type inHand struct {
	mu    sync.Mutex
	jobs  map[string]handled // by id
	taken time.Time          // the latest DispatchedAt of a job that got a slot
	ended int                // jobs that are no longer in hand
}

type handled struct {
	since      time.Time
	deliveries int
}

// take notes that a job was taken from the subscription and has a slot. One without a slot
// may be given back, and jobs that were dispatched before it with it: they are not lost.
func (h *inHand) take(job message.Job) {
	if job.DispatchedAt == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if job.DispatchedAt.After(h.taken) {
		h.taken = *job.DispatchedAt
	}
}

func (h *inHand) add(job message.Job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.jobs == nil {
		h.jobs = map[string]handled{}
	}
	of, ok := h.jobs[job.ID()]
	if !ok {
		of.since = time.Now()
	}
	of.deliveries++
	h.jobs[job.ID()] = of
}

func (h *inHand) remove(job message.Job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.jobs[job.ID()]
	if of.deliveries--; of.deliveries <= 0 {
		delete(h.jobs, job.ID())
		h.ended++
		return
	}
	h.jobs[job.ID()] = of
}

// InHand counts the jobs that a worker has at one moment.
type InHand struct {
	Jobs         []string  // ids (message.Job.ID), oldest first
	Oldest       time.Time // when the first of them was taken; zero without any
	TakenThrough time.Time // the latest DispatchedAt of all jobs that got a slot so far; zero without any
	Ended        int       // the number of jobs that the worker no longer has in hand
}

// InHand returns the jobs that the worker has in hand. It is safe for concurrent use.
func (l *Loop) InHand() InHand {
	h := &l.inHand
	h.mu.Lock()
	defer h.mu.Unlock()
	is := InHand{TakenThrough: h.taken, Ended: h.ended}
	for id := range h.jobs {
		is.Jobs = append(is.Jobs, id)
	}
	slices.SortFunc(is.Jobs, func(a, b string) int {
		return cmp.Or(h.jobs[a].since.Compare(h.jobs[b].since), cmp.Compare(a, b))
	})
	if len(is.Jobs) > 0 {
		is.Oldest = h.jobs[is.Jobs[0]].since
	}
	return is
}
