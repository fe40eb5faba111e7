package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/internal/deadletter"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

const (
	// maxAttempts is the number of attempts of a message. When all have failed, the message is
	// stored as unprocessable.
	maxAttempts = 5
	// suspectAfter is the number of deliveries without success after which a message is
	// suspected of ending the process. One crash costs each message in progress up to two.
	suspectAfter = 3
)

// suspect reports whether the message may be the one that ends the process. Its attempt is
// counted before it begins, because the process may not exist afterwards. Suspects are
// processed one after the other, so that the crash of one is not counted against another.
func (d delivery) suspect() bool { return d.message.DeliveryCount > suspectAfter }

// enterSuspectLane waits until this process has no other suspect in progress. The caller
// calls leave when it is done.
func (o *Orchestrator) enterSuspectLane(ctx context.Context) (leave func(), err error) {
	select {
	case o.suspectLane <- struct{}{}:
		return func() { <-o.suspectLane }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// beginAttempt counts an attempt before it begins. If the message has had all of its
// attempts, beginAttempt stores it as unprocessable and reports it as exhausted.
func (o *Orchestrator) beginAttempt(ctx context.Context, d delivery) (exhausted bool, err error) {
	found, err := o.readAttempts(ctx, d)
	if err != nil {
		return false, err
	}
	if found.Doc.Count >= maxAttempts {
		reason := found.Doc.Reason
		if reason == "" {
			reason = "the handler ended or lost the store before it could record the error"
		}
		err := o.deadLetters.StoreUnprocessable(ctx, d.topic, d.message, attemptsReason(found.Doc.Count, reason))
		return err == nil, err
	}
	return false, o.writeAttempts(ctx, d, found, found.Doc.Count+1, "")
}

// failAttempt counts an attempt that failed, unless beginAttempt has counted it. After the
// last attempt it stores the message as unprocessable and returns nil. Otherwise it returns
// the cause, which asks for another delivery.
func (o *Orchestrator) failAttempt(ctx context.Context, d delivery, cause error) error {
	var last bool
	err := store.RetryOnConflict(ctx, func() (err error) {
		last, err = o.failAttemptOnce(ctx, d, cause)
		return err
	})
	switch {
	case unavailable(err):
		return o.requeue(ctx, d, outageDelay, err)
	case err != nil, last:
		return err
	}
	return cause
}

// failAttemptOnce counts an attempt that failed, and reports whether it was the last one, whose
// message is stored as unprocessable. It fails with ErrChanged if another delivery counted its
// attempt first.
func (o *Orchestrator) failAttemptOnce(ctx context.Context, d delivery, cause error) (last bool, err error) {
	found, err := o.readAttempts(ctx, d)
	if err != nil {
		return false, err
	}
	count := found.Doc.Count
	if !d.suspect() {
		count++
	}
	if count >= maxAttempts {
		if err := o.deadLetters.StoreUnprocessable(ctx, d.topic, d.message, attemptsReason(count, cause.Error())); err != nil {
			return false, err
		}
		o.clearAttempts(ctx, d)
		return true, nil
	}
	if err := o.writeAttempts(ctx, d, found, count, cause.Error()); err != nil {
		return false, err
	}
	o.log.ErrorContext(ctx, "failed to process a message", logkey.Topic, d.topic, logkey.MessageID, d.message.ID, logkey.Type, d.message.Type, logkey.DeliveryCount, d.message.DeliveryCount, logkey.Attempt, count, logkey.Error, cause)
	return false, nil
}

// discountAttempt takes back the attempt that beginAttempt counted: an outage kept the message
// from being processed and from being requeued. If the store is away, too, the attempt remains
// counted.
func (o *Orchestrator) discountAttempt(ctx context.Context, d delivery) {
	ctx, cancel := context.WithTimeout(ctx, suspectTimeout)
	defer cancel()
	err := untilDone(ctx, func() error {
		found, err := o.readAttempts(ctx, d)
		if err != nil || found.Doc.Count == 0 {
			return err
		}
		return o.writeAttempts(ctx, d, found, found.Doc.Count-1, found.Doc.Reason)
	})
	if err != nil {
		o.log.WarnContext(ctx, "failed to discount an attempt that an outage interrupted", logkey.Topic, d.topic, logkey.MessageID, d.message.ID, logkey.Error, err)
	}
}

func attemptsReason(count int, last string) string {
	return fmt.Sprintf("all %d attempts failed; last error: %s", count, last)
}

// clearAttempts deletes the attempts of a message that was processed or requeued. The first
// delivery of a message that was never requeued costs no call. If clearAttempts fails, a small
// document remains, which counts against this message only.
func (o *Orchestrator) clearAttempts(ctx context.Context, d delivery) {
	if d.message.DeliveryCount <= 1 && !strings.Contains(d.message.ID, message.RequeueMark) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, suspectTimeout)
	defer cancel()
	err := untilDone(ctx, func() error {
		found, err := o.readAttempts(ctx, d)
		if err != nil || found.ETag == "" {
			return err
		}
		_, err = o.store.Apply(ctx, store.Writes{store.Delete(found.Key, found.ETag)})
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		o.log.WarnContext(ctx, "failed to clear the attempts of a message", logkey.Topic, d.topic, logkey.MessageID, d.message.ID, logkey.Error, err)
	}
}

// readAttempts reads the attempts of a message. Without an attempt it returns an item that
// has the key and no ETag.
func (o *Orchestrator) readAttempts(ctx context.Context, d delivery) (store.Item[store.Attempts], error) {
	key, err := o.attemptsKey(ctx, d)
	if err != nil {
		return store.Item[store.Attempts]{}, err
	}
	found, err := store.OrNone(store.Read[store.Attempts](ctx, o.store, key))
	found.Key = key
	return found, err
}

// attemptsKey returns the key of the attempts of a message: the same for each delivery, and
// after a requeue.
func (o *Orchestrator) attemptsKey(ctx context.Context, d delivery) (store.Key, error) {
	if id, n, ok := deadletter.ParseReplayID(d.message.FirstID()); ok {
		return store.AttemptsKey(fmt.Sprintf("%s-%d", id, n)), nil
	}
	id, err := o.deadLetters.ItemID(ctx, d.topic, d.message)
	return store.AttemptsKey(id), err
}

// writeAttempts writes the count of attempts over found. Errors: store.ErrChanged if another
// delivery wrote it first.
func (o *Orchestrator) writeAttempts(ctx context.Context, d delivery, found store.Item[store.Attempts], count int, reason string) error {
	next := store.Attempts{Topic: d.topic, MessageID: d.message.ID, Count: count, Reason: reason, At: o.now().UTC()}
	write := store.Create(found.Key, next)
	if found.ETag != "" {
		write = store.Replace(found.Key, next, found.Version)
	}
	_, err := o.store.Apply(ctx, store.Writes{write})
	if errors.Is(err, store.ErrExists) {
		return fmt.Errorf("%w: another delivery counted its attempt first", store.ErrChanged)
	}
	return err
}
