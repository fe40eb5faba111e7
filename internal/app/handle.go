package app

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
)

// unprocessable is a message that no repetition can make sense of. It is kept for
// an administrator and then settled.
type unprocessable struct{ reason string }

func (u *unprocessable) Error() string { return u.reason }

func reject(format string, args ...any) error {
	return &unprocessable{reason: fmt.Sprintf(format, args...)}
}

// HandleEvent processes a message of the topic orchestrator-events. An error asks
// for its redelivery.
func (a *App) HandleEvent(ctx context.Context, m Message) error {
	return a.handle(ctx, message.TopicOrchestratorEvents, m, func(ctx context.Context) error {
		switch strings.ToLower(m.Type) {
		case message.TypeBatchInit:
			return decodeThen(ctx, m, a.batchInit)
		case message.TypePhaseDue:
			return decodeThen(ctx, m, a.phaseDue)
		case message.TypePollCheck:
			return decodeThen(ctx, m, a.pollCheck)
		case message.TypeRetryCheck:
			return decodeThen(ctx, m, a.retryCheck)
		case message.TypeDeadlineCheck:
			return decodeThen(ctx, m, a.deadlineCheck)
		case message.TypeMemberAdded:
			return decodeThen(ctx, m, a.memberAdded)
		case message.TypeMemberRemoved:
			return decodeThen(ctx, m, a.memberRemoved)
		case message.TypeBatchWork:
			return decodeThen(ctx, m, a.batchWork)
		case "":
			return reject("the message has no application property %s", message.PropertyMessageType)
		}
		return reject("no handler for messages of type %q", m.Type)
	})
}

// HandleResult processes a message of the topic worker-results: a result, a worker's
// announcement or a heartbeat. An error asks for its redelivery.
func (a *App) HandleResult(ctx context.Context, m Message) error {
	return a.handle(ctx, message.TopicWorkerResults, m, func(ctx context.Context) error {
		switch {
		case strings.EqualFold(m.Type, message.TypeWorkerCatalog):
			return decodeThen(ctx, m, func(ctx context.Context, c message.Catalog) error { return a.announced(ctx, m, c) })
		case strings.EqualFold(m.Type, message.TypeWorkerHeartbeat):
			return decodeThen(ctx, m, func(ctx context.Context, h message.Heartbeat) error { return a.heartbeat(ctx, m, h) })
		}
		return decodeThen(ctx, m, a.result)
	})
}

func decodeThen[T any](ctx context.Context, m Message, next func(context.Context, T) error) error {
	var body T
	if err := json.Unmarshal(m.Body, &body); err != nil {
		return reject("the body is not the JSON of a %T: %v", body, err)
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
func (a *App) handle(ctx context.Context, topic string, m Message, process func(context.Context) error) error {
	if suspect(m.DeliveryCount) {
		release, err := a.enterLane(ctx)
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
			if exhausted, last = a.beginAttempt(waiting, topic, m); exhausted || last != nil {
				return struct{}{}, retryable(last)
			}
			counted = true
		}
		last = a.try(waiting, m, process)
		var bad *unprocessable
		switch {
		case errors.As(last, &bad):
			last = a.keep(waiting, topic, m, bad.reason)
		case permanent(last):
			last = a.keep(waiting, topic, m, fmt.Sprintf("the store refuses what follows from it: %v", last))
		}
		return struct{}{}, retryable(last)
	}, backoff.WithBackOff(pace()), backoff.WithMaxElapsedTime(0))

	outcome := last
	switch {
	case err == nil:
	case waiting.Err() != nil && ctx.Err() == nil:
		outcome = a.putBack(ctx, topic, m, putBack, last)
	case errors.Is(last, engine.ErrNotYet) && ctx.Err() == nil:
		outcome = a.putBack(ctx, topic, m, notYet, last)
	case errors.Is(last, errBehind) && ctx.Err() == nil: // put back, the checks of all ticks would add up
		a.log.InfoContext(ctx, "deadline left to the next tick", logkey.Topic, topic, logkey.MessageID, m.ID, logkey.Error, last)
		outcome = nil
	case errors.Is(last, store.ErrLater) && ctx.Err() == nil: // the later version takes it up, once it is back or everywhere
		outcome = a.putBack(ctx, topic, m, putBack, last)
	case ctx.Err() == nil:
		return a.failAttempt(ctx, topic, m, last)
	}
	if outcome == nil {
		a.clearAttempts(ctx, topic, m)
		return nil
	}
	a.log.ErrorContext(ctx, "message failed", logkey.Topic, topic, logkey.MessageID, m.ID, logkey.Type, m.Type, logkey.DeliveryCount, m.DeliveryCount, logkey.Error, outcome)
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
func (a *App) try(ctx context.Context, m Message, process func(context.Context) error) error {
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
func patience(ctx context.Context, m Message) time.Duration {
	limit := time.Duration(math.MaxInt64)
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) * (margin - 1) / margin
	}
	if suspect(m.DeliveryCount) {
		limit = min(limit, haste)
	}
	return limit
}

func pace() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 5*time.Millisecond, 5*time.Second
	return b
}

func (a *App) putBack(ctx context.Context, topic string, m Message, delay time.Duration, cause error) error {
	at := a.now().Add(delay)
	first := m.firstID()
	if first == "" { // a digest of the body would let a secret in it be guessed
		first = rand.Text()
	}
	again := bus.Message{ID: fmt.Sprintf("%s%s%d", first, mark, at.Unix()), Body: m.Body, Properties: withType(m.Properties, m.Type), At: at}
	if err := a.bus.Send(ctx, topic, again); err != nil {
		return errors.Join(cause, err)
	}
	if topic == message.TopicWorkerResults && delay == putBack {
		a.resultsReturned.Store(&at)
	}
	a.log.WarnContext(ctx, "message put back for later", logkey.Topic, topic, logkey.MessageID, m.ID, logkey.Error, cause)
	return nil
}

// withType gives a message's properties with the type that routes it.
func withType(properties map[string]any, kind string) map[string]any {
	out := maps.Clone(properties)
	if out == nil {
		out = map[string]any{}
	}
	if kind != "" {
		out[message.PropertyMessageType] = kind
	}
	return out
}

// mark stands between a message's id and the time of its being put back.
const mark = "-again-"

// firstID is the id that a message had before it was ever put back, so that ids do not grow
// with each time. An id that leaves no room, for the broker takes 128 characters, is replaced
// by its digest. It is empty where the sender gave none.
func (m Message) firstID() string {
	id := m.ID
	if i := strings.LastIndex(id, mark); i >= 0 {
		id = id[:i]
	}
	if len(id) <= 100 {
		return id
	}
	digest := sha256.Sum256([]byte(id))
	return hex.EncodeToString(digest[:16])
}
