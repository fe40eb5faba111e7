package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// round is how long the loop waits for jobs before it looks around.
const round = time.Minute

// stuck is after how long without a round the loop is taken to stand still: a
// round, the longest delay after a failure, and what the SDK takes on top of both.
func (c Config) stuck() time.Duration { return 2*round + 2*c.MaxBackoff }

// state is how a loop fares. Its zero value is of one that has not begun.
type state struct {
	began    atomic.Int64 // when the last round did, in Unix nanoseconds; 0 before the first
	waiting  atomic.Bool  // for room: the jobs have time limits of their own
	linked   atomic.Bool  // the broker has answered since it last failed
	probing  atomic.Bool
	stopping atomic.Bool
}

func (s *state) waitForRoom() { s.waiting.Store(true) }

func (s *state) goRound() {
	s.began.Store(time.Now().UnixNano())
	s.waiting.Store(false)
}

// Alive is an error where the loop has stood still at now, and only a new process
// would help. It is safe for concurrent use, as is Ready.
func (l *Loop) Alive(now time.Time) error {
	began := l.state.began.Load()
	if began == 0 || l.state.waiting.Load() || l.state.stopping.Load() {
		return nil
	}
	if still := now.Sub(time.Unix(0, began)); still > l.config.stuck() {
		return fmt.Errorf("the dispatch loop is stuck for %s", still.Round(time.Second))
	}
	return nil
}

// Ready is an error that tells why no jobs are taken.
func (l *Loop) Ready() error {
	controls := l.config.Controls.Err()
	switch {
	case l.state.stopping.Load():
		return errors.New("stopping")
	case controls != nil:
		return controls
	case l.state.began.Load() == 0:
		return errors.New("starting")
	case !l.state.linked.Load():
		return errors.New("no connection to Service Bus")
	}
	return nil
}

// probe finds out whether the broker answers, unless that is known: while no job
// comes, waiting for one does not tell. It takes nothing from the subscription.
// A worker can be idle only from here on: before, jobs may have waited for it.
func (l *Loop) probe(ctx context.Context) {
	if l.state.linked.Load() || !l.state.probing.CompareAndSwap(false, true) {
		return
	}
	l.jobs.Go(func() {
		defer l.state.probing.Store(false)
		ctx, cancel := context.WithTimeout(ctx, round)
		defer cancel()
		if _, err := l.receiver.Peek(ctx, 0, 1); err == nil {
			l.touch()
			l.state.linked.Store(true)
		}
	})
}
