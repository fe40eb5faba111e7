// Package consumer receives the messages of the handler's subscriptions where no Functions host
// does: with a broker outside Azure. It settles each message by the outcome of one call, as the
// host does. It knows no use case and no broker.
package consumer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// Config of a Run.
type Config struct {
	Client              bus.Receivers
	Topic, Subscription string
	// Handle processes one message. nil completes the message; an error, or a panic, has it
	// delivered again at once. Calls may be concurrent.
	Handle func(ctx context.Context, m message.Delivery) error
	// Concurrency is how many messages are processed at once.
	Concurrency int
	// Deadline is how long one call may take.
	Deadline time.Duration
	Log      *slog.Logger
}

const (
	// wait is how long one request waits for a message.
	wait = time.Minute
	// backOff is the pause while the broker cannot be reached.
	backOff = time.Second
	// settleTime bounds a settlement or a renewal.
	settleTime = 10 * time.Second
)

// run is a Run.
type run struct {
	Config
	receiver bus.Receiver
	slots    chan struct{} // one element for each call that may begin
	calls    sync.WaitGroup
}

// Run receives messages until ctx ends, and returns when the calls in flight have ended and their
// messages are settled. Its error is that of opening the receiver; an outage of the broker is
// waited out.
func Run(ctx context.Context, c Config) error {
	receiver, err := c.Client.Receiver(c.Topic, c.Subscription)
	if err != nil {
		return err
	}
	c.Log = c.Log.With(logkey.Topic, c.Topic, logkey.Subscription, c.Subscription)
	r := &run{Config: c, receiver: receiver, slots: make(chan struct{}, c.Concurrency)}
	r.release(c.Concurrency)
	for reachable := true; ctx.Err() == nil; {
		err := r.receive(ctx)
		if ctx.Err() != nil {
			break
		}
		switch {
		case err == nil && !reachable:
			r.Log.InfoContext(ctx, "receiving messages")
		case err != nil && reachable:
			r.Log.WarnContext(ctx, "cannot receive messages: retrying", logkey.Error, err)
		}
		if reachable = err == nil; reachable {
			continue
		}
		select {
		case <-time.After(backOff):
		case <-ctx.Done():
		}
	}
	r.calls.Wait()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	_ = receiver.Close(closing) // all messages are settled
	return nil
}

// receive takes as many messages as can be processed, and begins to.
func (r *run) receive(ctx context.Context) error {
	free, err := r.acquire(ctx)
	if err != nil {
		return err
	}
	messages, err := r.receiver.Receive(ctx, free, wait)
	r.release(free - len(messages))
	for _, m := range messages {
		r.calls.Go(func() {
			defer r.release(1)
			_ = panics.Catch(ctx, func() error { r.process(context.WithoutCancel(ctx), m); return nil })
		})
	}
	return err
}

// acquire waits for a free slot and takes each one that is free by then.
func (r *run) acquire(ctx context.Context) (n int, err error) {
	select {
	case <-r.slots:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for n = 1; ; n++ {
		select {
		case <-r.slots:
		default:
			return n, nil
		}
	}
}

func (r *run) release(n int) {
	for range n {
		r.slots <- struct{}{}
	}
}

// process calls Handle for a message while it keeps the message's lock, and settles the message.
func (r *run) process(ctx context.Context, m *bus.Received) {
	if sent := tracecontext.Extract(m.Properties); sent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, sent) // messages that are sent carry it on
	}
	bounded, cancel := context.WithTimeout(ctx, r.Deadline)
	defer cancel()
	var renewal sync.WaitGroup
	renewal.Go(func() {
		_ = panics.Catch(ctx, func() error { r.keepLock(bounded, m); return nil })
	})
	kind, _ := m.Properties[message.PropertyMessageType].(string)
	err := panics.Catch(bounded, func() error {
		return r.Handle(bounded, message.Delivery{
			ID: m.ID, Type: kind, Body: m.Body, Properties: m.Properties, DeliveryCount: m.DeliveryCount, EnqueuedAt: m.EnqueuedAt,
		})
	})
	cancel()
	renewal.Wait()
	settling, done := context.WithTimeout(ctx, settleTime)
	defer done()
	log := r.Log.With(logkey.MessageID, m.ID, logkey.DeliveryCount, m.DeliveryCount)
	if err == nil {
		if err := r.receiver.Complete(settling, m); err != nil {
			log.WarnContext(ctx, "cannot complete a message: it will be redelivered", logkey.Error, err)
		}
		return
	}
	log.WarnContext(ctx, "abandoning a message", logkey.Error, err)
	if err := r.receiver.Abandon(settling, m, nil); err != nil {
		log.WarnContext(ctx, "cannot abandon a message: it will be redelivered when its lock ends", logkey.Error, err)
	}
}

// keepLock renews the lock of a message at half of its time, until ctx ends or the lock is lost.
// The call goes on without it: another delivery of the message finds what it has done.
func (r *run) keepLock(ctx context.Context, m *bus.Received) {
	for until := m.LockedUntil; ; {
		select {
		case <-time.After(max(time.Until(until)/2, 100*time.Millisecond)):
		case <-ctx.Done():
			return
		}
		renewing, cancel := context.WithTimeout(ctx, settleTime)
		renewed, err := r.receiver.Renew(renewing, m)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, bus.ErrLockLost):
			r.Log.WarnContext(ctx, "lost the lock of a message: it will be redelivered", logkey.MessageID, m.ID)
			return
		case err == nil:
			until = renewed
		}
	}
}
