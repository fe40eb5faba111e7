package orchestrator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
)

// HandleEvent processes a message of the topic orchestrator-events. An error asks
// for its redelivery.
func (or *Orchestrator) HandleEvent(ctx context.Context, m message.Delivery) error {
	return or.handle(ctx, message.TopicOrchestratorEvents, m, func(ctx context.Context) error {
		switch strings.ToLower(m.Type) {
		case message.TypeBatchInit:
			return decodeThen(ctx, m, or.onBatchInit)
		case message.TypePhaseDue:
			return decodeThen(ctx, m, or.onPhaseDue)
		case message.TypePollCheck:
			return decodeThen(ctx, m, or.onPollCheck)
		case message.TypeRetryCheck:
			return decodeThen(ctx, m, or.onRetryCheck)
		case message.TypeDeadlineCheck:
			return decodeThen(ctx, m, or.onDeadlineCheck)
		case message.TypeMemberAdded:
			return decodeThen(ctx, m, or.onMemberAdded)
		case message.TypeMemberRemoved:
			return decodeThen(ctx, m, or.onMemberRemoved)
		case message.TypeBatchWork:
			return decodeThen(ctx, m, or.onBatchWork)
		case "":
			return message.Reject("the message has no application property %s", message.PropertyMessageType)
		}
		return message.Reject("no handler for messages of type %q", m.Type)
	})
}

// HandleResult processes a message of the topic worker-results: a result, a worker's
// announcement or a heartbeat. An error asks for its redelivery.
func (or *Orchestrator) HandleResult(ctx context.Context, m message.Delivery) error {
	return or.handle(ctx, message.TopicWorkerResults, m, func(ctx context.Context) error {
		switch {
		case strings.EqualFold(m.Type, message.TypeWorkerCatalog):
			return decodeThen(ctx, m, func(ctx context.Context, c message.Catalog) error { return or.workers.OnCatalog(ctx, m, c) })
		case strings.EqualFold(m.Type, message.TypeWorkerHeartbeat):
			return decodeThen(ctx, m, func(ctx context.Context, h message.Heartbeat) error { return or.workers.OnHeartbeat(ctx, m, h) })
		}
		return decodeThen(ctx, m, or.onResult)
	})
}

func decodeThen[T any](ctx context.Context, m message.Delivery, next func(context.Context, T) error) error {
	var body T
	if err := json.Unmarshal(m.Body, &body); err != nil {
		return message.Reject("the body is not the JSON of a %T: %v", body, err)
	}
	return next(ctx, body)
}

// putBack is how long a message that could not be processed for an outage stays
// away, and margin the part of the invocation's time that is kept to send it there.
const (
	putBack = 30 * time.Second
	notYet  = 5 * time.Second // where it is not an outage that is waited for, but another message
	margin  = 5               // a fifth
)

// haste is how long a suspect message is tried. It holds the lane, and its wait for an
// outage to end may itself be cut short by the end of the process.
const haste = time.Second

// handle runs a handler to its end: it waits out outages, reloads after lost
// races, keeps what cannot be processed. An outage that outlasts the invocation
// puts the message back with a delay.
//
// Whether a message is bad is judged by the attempts that this app counts, not by the
// broker's deliveries: a handler that is away costs a message its deliveries, and says
// nothing of the message. See attempts.
func (or *Orchestrator) handle(ctx context.Context, topic string, m message.Delivery, process func(context.Context) error) error {
	if suspect(m.DeliveryCount) {
		release, err := or.enterLane(ctx)
		if err != nil {
			return err
		}
		defer release()
	}
	waiting, cancel := context.WithTimeout(ctx, patience(ctx, m))
	defer cancel()
	var last error
	counted := !suspect(m.DeliveryCount)
	_, err := backoff.Retry(waiting, func() (struct{}, error) {
		if !counted {
			var exhausted bool
			if exhausted, last = or.beginAttempt(waiting, topic, m); exhausted || last != nil {
				return struct{}{}, retryable(last)
			}
			counted = true
		}
		last = or.try(waiting, m, process)
		var bad *message.Unprocessable
		switch {
		case errors.As(last, &bad):
			last = or.deadLetters.Keep(waiting, topic, m, bad.Reason)
		case permanent(last):
			last = or.deadLetters.Keep(waiting, topic, m, fmt.Sprintf("the store refuses what follows from it: %v", last))
		}
		return struct{}{}, retryable(last)
	}, backoff.WithBackOff(applier.Backoff()), backoff.WithMaxElapsedTime(0))

	outcome := last
	switch {
	case err == nil:
	case waiting.Err() != nil && ctx.Err() == nil:
		outcome = or.putBack(ctx, topic, m, putBack, last)
	case errors.Is(last, model.ErrNotYet) && ctx.Err() == nil:
		outcome = or.putBack(ctx, topic, m, notYet, last)
	case errors.Is(last, errBehind) && ctx.Err() == nil: // put back, the checks of all ticks would add up
		or.log.InfoContext(ctx, "deadline left to the next tick", logkey.Topic, topic, logkey.MessageID, m.ID, logkey.Error, last)
		outcome = nil
	case errors.Is(last, store.ErrLater) && ctx.Err() == nil: // the later version takes it up, once it is back or everywhere
		outcome = or.putBack(ctx, topic, m, putBack, last)
	case ctx.Err() == nil:
		return or.failAttempt(ctx, topic, m, last)
	}
	if outcome == nil {
		or.clearAttempts(ctx, topic, m)
		return nil
	}
	or.log.ErrorContext(ctx, "message failed", logkey.Topic, topic, logkey.MessageID, m.ID, logkey.Type, m.Type, logkey.DeliveryCount, m.DeliveryCount, logkey.Error, outcome)
	return outcome
}

// retryable marks an error as one that another try within the same attempt does not mend.
func retryable(err error) error {
	if err == nil || errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrUnavailable) || errors.Is(err, bus.ErrUnavailable) || errors.Is(err, secret.ErrUnavailable) {
		return err
	}
	return backoff.Permanent(err)
}

// permanent tells whether the store refuses a write for good: repeating it, which is what
// an outage asks for, does not help.
func permanent(err error) bool {
	return errors.Is(err, store.ErrRefused) || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrTooLarge)
}

// try processes a message once. For a suspect message it does not wait for a call that outlasts its
// time: the store's client takes some ten seconds to find out that nobody is there,
// and whether that was told or not is the same to whoever processes the message again.
func (or *Orchestrator) try(ctx context.Context, m message.Delivery, process func(context.Context) error) error {
	if !suspect(m.DeliveryCount) {
		return process(ctx)
	}
	return untilDone(ctx, func() error { return process(ctx) })
}

// untilDone calls do and returns when it has ended, or ctx has.
func untilDone(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: it did not answer in time", store.ErrUnavailable)
	}
}

// patience is for how long a message is tried.
func patience(ctx context.Context, m message.Delivery) time.Duration {
	limit := time.Duration(math.MaxInt64)
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) * (margin - 1) / margin
	}
	if suspect(m.DeliveryCount) {
		limit = min(limit, haste)
	}
	return limit
}

func (or *Orchestrator) putBack(ctx context.Context, topic string, m message.Delivery, delay time.Duration, cause error) error {
	at := or.now().Add(delay)
	first := m.FirstID()
	if first == "" { // a digest of the body would let a secret in it be guessed
		first = rand.Text()
	}
	again := bus.Message{ID: fmt.Sprintf("%s%s%d", first, message.AgainMark, at.Unix()), Body: m.Body, Properties: message.WithType(m.Properties, m.Type), At: at}
	if err := or.bus.Send(ctx, topic, again); err != nil {
		return errors.Join(cause, err)
	}
	if topic == message.TopicWorkerResults && delay == putBack {
		or.deadLetters.ExpectResults(at)
	}
	or.log.WarnContext(ctx, "message put back for later", logkey.Topic, topic, logkey.MessageID, m.ID, logkey.Error, cause)
	return nil
}
