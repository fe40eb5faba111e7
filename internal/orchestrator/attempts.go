package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/deadletter"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
)

const (
	// maxAttempts is how many attempts a message has. After that it is kept.
	maxAttempts = 5
	// suspectAfter is how many deliveries may have come to nothing before the message is
	// suspected of ending the process. One crash costs each message in hand up to two.
	suspectAfter = 3
)

// suspect tells whether a delivery's message may be what ends the process. Its attempt is
// counted before it begins, for afterwards there may be nobody to do so. Suspects are
// processed one after the other, so that a message is not charged with what another does.
func suspect(delivery int) bool { return delivery > suspectAfter }

// exhausted tells whether a message with this many counted attempts is kept.
func exhausted(count int) bool { return count >= maxAttempts }

// enterLane waits until no other suspect is processed in this process. The caller calls
// leave when it is done.
func (or *Orchestrator) enterLane(ctx context.Context) (leave func(), err error) {
	select {
	case or.lane <- struct{}{}:
		return func() { <-or.lane }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// attemptsKey identifies a message however often it is delivered or put back.
func (or *Orchestrator) attemptsKey(ctx context.Context, topic string, m message.Delivery) (store.Key, error) {
	if id, n, ok := deadletter.Replayed(m.FirstID()); ok {
		return store.AttemptsKey(fmt.Sprintf("%s-%d", id, n)), nil
	}
	id, err := or.deadLetters.ItemID(ctx, topic, m)
	return store.AttemptsKey(id), err
}

// readAttempts reads the attempts of a message, and where they are counted. There is no
// ETag where none is counted yet.
func (or *Orchestrator) readAttempts(ctx context.Context, topic string, m message.Delivery) (found store.Item[store.Attempts], key store.Key, err error) {
	if key, err = or.attemptsKey(ctx, topic, m); err != nil {
		return found, key, err
	}
	found, err = store.OrNone(store.Read[store.Attempts](ctx, or.store, key))
	return found, key, err
}

// beginAttempt counts an attempt before it begins. If the message has had all of its
// attempts, beginAttempt keeps it.
func (or *Orchestrator) beginAttempt(ctx context.Context, topic string, m message.Delivery) (kept bool, err error) {
	found, key, err := or.readAttempts(ctx, topic, m)
	if err != nil {
		return false, err
	}
	if exhausted(found.Doc.Count) {
		reason := found.Doc.Reason
		if reason == "" {
			reason = "the handler's process ended"
		}
		err := or.deadLetters.Keep(ctx, topic, m, attemptsReason(found.Doc.Count, reason))
		return err == nil, err
	}
	return false, or.writeAttempts(ctx, key, topic, m, found, found.Doc.Count+1, "")
}

func attemptsReason(count int, last string) string {
	return fmt.Sprintf("none of %d attempts succeeded; the last one: %s", count, last)
}

// failAttempt counts an attempt that failed, unless beginAttempt did, and keeps the
// message if it was the last. Otherwise it returns the cause, for another delivery.
func (or *Orchestrator) failAttempt(ctx context.Context, topic string, m message.Delivery, cause error) error {
	for {
		err := or.failAttemptOnce(ctx, topic, m, cause)
		switch {
		case errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists):
			continue
		case errors.Is(err, store.ErrUnavailable), errors.Is(err, bus.ErrUnavailable), errors.Is(err, secret.ErrUnavailable):
			return or.putBack(ctx, topic, m, putBack, err)
		}
		return err
	}
}

func (or *Orchestrator) failAttemptOnce(ctx context.Context, topic string, m message.Delivery, cause error) error {
	found, key, err := or.readAttempts(ctx, topic, m)
	if err != nil {
		return err
	}
	count := found.Doc.Count
	if !suspect(m.DeliveryCount) {
		count++
	}
	if exhausted(count) {
		if err := or.deadLetters.Keep(ctx, topic, m, attemptsReason(count, cause.Error())); err != nil {
			return err
		}
		or.clearAttempts(ctx, topic, m)
		return nil
	}
	if err := or.writeAttempts(ctx, key, topic, m, found, count, cause.Error()); err != nil {
		return err
	}
	or.log.ErrorContext(ctx, "message failed", logkey.Topic, topic, logkey.MessageID, m.ID, logkey.Type, m.Type, logkey.DeliveryCount, m.DeliveryCount, logkey.Attempt, count, logkey.Error, cause)
	return cause
}

func (or *Orchestrator) writeAttempts(ctx context.Context, key store.Key, topic string, m message.Delivery, found store.Item[store.Attempts], count int, reason string) error {
	next := store.Attempts{Topic: topic, MessageID: m.ID, Count: count, Reason: reason, At: or.now().UTC()}
	write := store.Create(key, next)
	if found.ETag != "" {
		write = store.Replace(key, next, found.Version)
	}
	_, err := or.store.Apply(ctx, store.Writes{write})
	if errors.Is(err, store.ErrExists) {
		return fmt.Errorf("%w: another delivery counted its attempt first", store.ErrChanged)
	}
	return err
}

// clearAttempts forgets the attempts of a message that is done with, or was put back. A
// first delivery costs nothing. If it fails, it leaves one small document, which counts
// against this message only.
func (or *Orchestrator) clearAttempts(ctx context.Context, topic string, m message.Delivery) {
	if m.DeliveryCount <= 1 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, haste)
	defer cancel()
	err := untilDone(ctx, func() error {
		found, key, err := or.readAttempts(ctx, topic, m)
		if err != nil || found.ETag == "" {
			return err
		}
		_, err = or.store.Apply(ctx, store.Writes{store.Delete(key, found.ETag)})
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		or.log.WarnContext(ctx, "the attempts of a message were not cleared", logkey.Topic, topic, logkey.MessageID, m.ID, logkey.Error, err)
	}
}
