package orchestrator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
)

const (
	// outageDelay is the requeue delay of a message that an outage kept from being processed.
	outageDelay = 30 * time.Second
	// orderDelay is the requeue delay of a message that another message has to precede.
	orderDelay = 5 * time.Second
	// requeueShare is the part of an invocation's time, one in requeueShare, that is left to
	// requeue its message.
	requeueShare = 5
	// suspectTimeout is the time limit of a suspect message. The message occupies the lane, and
	// the process may end while the message waits for the end of an outage.
	suspectTimeout = time.Second
)

// delivery is one delivery of a message of a topic.
type delivery struct {
	topic   string
	message message.Delivery
	process func(context.Context) error
}

// handle processes a delivery to its end. It waits for the end of an outage, loads the state
// again after a conflict and stores an unprocessable message. It requeues the message with a
// delay when the outage outlasts the invocation. The requeued message has the progress of this
// delivery.
//
// The attempts that this app counts decide whether a message is unprocessable, not the
// deliveries that the broker counts: the broker also counts deliveries to a handler that is
// down. See attempts.go.
func (o *Orchestrator) handle(ctx context.Context, d delivery) error {
	if d.suspect() {
		leave, err := o.enterSuspectLane(ctx)
		if err != nil {
			return err
		}
		defer leave()
	}
	ctx, done := withProgress(ctx, d.message)
	limited, cancel := context.WithTimeout(ctx, d.timeLimit(ctx))
	defer cancel()
	counted, err := o.processWithRetries(limited, d)
	d.message = d.message.WithDoneThrough(done.through())
	switch {
	case err == nil, ctx.Err() != nil:
	case d.message.Size > 0: // not requeued, because only the beginning of its body is there
	case limited.Err() != nil, errors.Is(err, store.ErrLater): // a newer version of the app can process it, once it runs everywhere
		err = o.requeue(ctx, d, outageDelay, err)
	case errors.Is(err, model.ErrNotYet):
		err = o.requeue(ctx, d, orderDelay, err)
	case errors.Is(err, errBehind): // not requeued, because the checks of all ticks would add up
		o.log.InfoContext(ctx, "deadline check postponed to the next tick", logkey.Topic, d.topic, logkey.MessageID, d.message.ID, logkey.Error, err)
		err = nil
	default:
		return o.failAttempt(ctx, d, err)
	}
	if err != nil {
		o.log.ErrorContext(ctx, "failed to process a message", logkey.Topic, d.topic, logkey.MessageID, d.message.ID, logkey.Type, d.message.Type, logkey.DeliveryCount, d.message.DeliveryCount, logkey.Error, err)
		if counted && ctx.Err() == nil { // it was not requeued
			o.discountAttempt(ctx, d)
		}
		return err
	}
	o.clearAttempts(ctx, d)
	return nil
}

// timeLimit returns the time for processing the message: the time of the invocation without
// the share for a requeue.
func (d delivery) timeLimit(ctx context.Context) time.Duration {
	limit := time.Duration(math.MaxInt64)
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) * (requeueShare - 1) / requeueShare
	}
	if d.suspect() {
		limit = min(limit, suspectTimeout)
	}
	return limit
}

// processWithRetries processes a delivery until it succeeds, fails for good or ctx ends. It
// returns the last error, and reports whether it counted an attempt of a suspect message.
func (o *Orchestrator) processWithRetries(ctx context.Context, d delivery) (counted bool, last error) {
	_, _ = backoff.Retry(ctx, func() (struct{}, error) { // it returns the last error, too, or that of ctx
		if d.suspect() && !counted {
			var exhausted bool
			if exhausted, last = o.beginAttempt(ctx, d); exhausted || last != nil {
				return struct{}{}, retryable(last)
			}
			counted = true
		}
		last = o.processOnce(ctx, d)
		return struct{}{}, retryable(last)
	}, backoff.WithBackOff(store.Backoff()), backoff.WithMaxElapsedTime(0))
	return counted, last
}

// processOnce processes a delivery once. It stores the message if it is unprocessable or if
// the store refuses for good what the message leads to.
//
// For a suspect message it returns when ctx ends, without waiting for the running call: the
// store's client takes some ten seconds to find that a server does not answer. Handling the
// message again is harmless, whether that call succeeded or not.
func (o *Orchestrator) processOnce(ctx context.Context, d delivery) error {
	if size := d.message.Size; size > 0 {
		return o.deadLetters.StoreUnprocessable(ctx, d.topic, d.message, fmt.Sprintf("the message has about %d bytes: too large to process", size))
	}
	var err error
	if d.suspect() {
		err = untilDone(ctx, func() error { return d.process(ctx) })
	} else {
		err = d.process(ctx)
	}
	var unprocessable *message.Unprocessable
	switch {
	case errors.As(err, &unprocessable):
		return o.deadLetters.StoreUnprocessable(ctx, d.topic, d.message, unprocessable.Reason)
	case permanent(err):
		return o.deadLetters.StoreUnprocessable(ctx, d.topic, d.message, fmt.Sprintf("the store refuses the changes of the message: %v", err))
	}
	return err
}

// untilDone calls do and returns when do has returned or ctx has ended.
func untilDone(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- panics.Catch(ctx, do) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: it did not answer in time", store.ErrUnavailable)
	}
}

// retryable marks an error as permanent unless another try within the same attempt can
// succeed: after a conflict or an outage.
func retryable(err error) error {
	if err == nil || errors.Is(err, store.ErrChanged) || unavailable(err) {
		return err
	}
	return backoff.Permanent(err)
}

// unavailable reports whether err is an outage of the store, the broker or the key vault.
func unavailable(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, bus.ErrUnavailable) || errors.Is(err, secret.ErrUnavailable)
}

// permanent reports whether the store refuses a write for good, so that repeating it does
// not help.
func permanent(err error) bool {
	return errors.Is(err, store.ErrRefused) || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrTooLarge)
}

// requeue sends the message of a delivery to its topic again, for a time after delay, or at once
// without one. It returns nil when the message is sent, and otherwise cause with the error.
func (o *Orchestrator) requeue(ctx context.Context, d delivery, delay time.Duration, cause error) error {
	at := o.now().Add(delay)
	first := d.message.FirstID()
	if first == "" { // not a digest of the body, from which a secret could be guessed
		first = rand.Text()
	}
	again := bus.Message{
		ID:   fmt.Sprintf("%s%s%d", first, message.RequeueMark, at.Unix()),
		Body: d.message.Body, Properties: message.WithType(d.message.Properties, d.message.Type),
	}
	if delay > 0 {
		again.At = at
	}
	if err := o.bus.Send(ctx, d.topic, again); err != nil {
		return errors.Join(cause, err)
	}
	if d.topic == message.TopicWorkerResults && delay != orderDelay {
		o.deadLetters.ExpectResults(at)
	}
	o.log.WarnContext(ctx, "message requeued", logkey.Topic, d.topic, logkey.MessageID, d.message.ID, logkey.Error, cause)
	return nil
}
