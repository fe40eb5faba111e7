package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// keepLock renews a delivery's lock until stop is called. A short job costs it
// one timer.
func (l *Loop) keepLock(m *azservicebus.ReceivedMessage) (stop func()) {
	if m.LockedUntil == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(l.settle)
	timer := time.AfterFunc(renewIn(*m.LockedUntil), func() { l.renew(ctx, m) })
	return func() {
		timer.Stop()
		cancel()
	}
}

// renew keeps on renewing until ctx ends or the lock is lost. Then the job will
// come again; meanwhile it goes on here, and the second delivery joins it.
func (l *Loop) renew(ctx context.Context, m *azservicebus.ReceivedMessage) {
	for ctx.Err() == nil {
		// The lock belongs to a copy: the SDK writes LockedUntil while others read m.
		held := *m
		err := l.receiver.RenewMessageLock(ctx, &held, nil)
		var lost *azservicebus.Error
		switch {
		case ctx.Err() != nil:
			return
		case errors.As(err, &lost) && lost.Code == azservicebus.CodeLockLost:
			l.log.Warn("the lock of a running job is lost: it will come again", "MessageId", m.MessageID)
			return
		case err != nil:
			l.log.Warn("the lock of a running job could not be renewed yet", "MessageId", m.MessageID, "Error", err)
			pause(ctx, time.Second)
		default:
			pause(ctx, renewIn(*held.LockedUntil))
		}
	}
}

// renewIn is half of the time that is left, so that one renewal may fail.
func renewIn(until time.Time) time.Duration {
	return max(time.Until(until)/2, 100*time.Millisecond)
}
