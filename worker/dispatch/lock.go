package dispatch

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
)

// lock is the lock of a delivery, as far as this process knows. Its zero value is a lock that
// does not end.
type lock struct{ ends atomic.Pointer[time.Time] }

// set notes until when the broker keeps the lock. A time that has passed is that of another clock: the broker has only
// just given it. For a delivery it can also be that of a process which stood still after it came: see doubtful.
func (k *lock) set(until time.Time) {
	if passed(until) {
		k.ends.Store(nil)
		return
	}
	ends := time.Now().Add(time.Until(until)) // on the clock that is never set
	k.ends.Store(&ends)
}

func passed(until time.Time) bool { return time.Until(until) <= 0 }

func (k *lock) lost() {
	now := time.Now()
	k.ends.Store(&now)
}

// holds reports whether the lock lasts for some more time.
func (k *lock) holds(more time.Duration) bool {
	ends := k.ends.Load()
	return ends == nil || time.Until(*ends) > more
}

// keepLock renews a delivery's lock until stop is called. A short job costs it
// one timer.
func (l *Loop) keepLock(d *received) (stop func()) {
	m := d.message
	if m.LockedUntil.IsZero() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(l.settle)
	timer := time.AfterFunc(renewIn(m.LockedUntil), func() { l.renew(ctx, d) })
	return func() {
		timer.Stop()
		cancel()
	}
}

// renew keeps on renewing until ctx ends or the lock is lost. Then the job will
// come again; meanwhile it goes on here, and the second delivery joins it.
func (l *Loop) renew(ctx context.Context, d *received) {
	m := d.message
	for ctx.Err() == nil {
		until, err := l.receiver.Renew(ctx, m)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, bus.ErrLockLost):
			d.lock.lost()
			l.log.Warn("lost the lock of a job: the broker will redeliver it", logkey.MessageID, m.ID)
			return
		case err != nil:
			l.log.Warn("cannot renew the lock of a job: retrying", logkey.MessageID, m.ID, logkey.Error, err)
			pause(ctx, time.Second)
		default:
			d.lock.set(until)
			pause(ctx, renewIn(until))
		}
	}
}

// doubtful reports whether a delivery's lock may have ended though no renewal has told so: the delivery waited for a slot,
// or came with a lock that had passed.
func (d *received) doubtful() bool {
	until := d.message.LockedUntil
	return d.waited || !until.IsZero() && passed(until)
}

// confirmLock asks the broker whether a doubtful delivery still has its lock: without it another
// replica may have begun the job. If the broker does not answer, the known
// expiry decides; a delivery without one is not begun.
func (l *Loop) confirmLock(d *received) bool {
	err := l.settleInTime(func(ctx context.Context) error {
		until, err := l.receiver.Renew(ctx, d.message)
		if err == nil {
			d.lock.set(until)
		}
		return err
	})
	switch {
	case errors.Is(err, bus.ErrLockLost):
		d.lock.lost()
	case err != nil && d.lock.ends.Load() == nil: // no expiry is known
		return false
	}
	return d.lock.holds(0)
}

// renewIn is half of the time that is left, so that one renewal may fail.
func renewIn(until time.Time) time.Duration {
	return max(time.Until(until)/2, 100*time.Millisecond)
}
