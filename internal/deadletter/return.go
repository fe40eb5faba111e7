package deadletter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

const (
	// system is the actor of automatic replays and discards.
	system = "system"
	// deadLettersAtOnce is the number of dead letters that are received at a time.
	deadLettersAtOnce = 20
	// tickTimeout is how long a tick reads dead-letter queues at most: the sweep waits for it.
	tickTimeout = time.Minute
)

// returnDelays has the delay of each automatic replay of a message. A handler or a host that fails
// repeatedly gets more and more time to recover. After the last one the message waits for an
// administrator.
var returnDelays = []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}

// Deadlines wait for results that may be in a dead-letter queue or were requeued.
const (
	// startWait is how long they wait at most for this process to empty the dead-letter queue of
	// results once.
	startWait = 2 * time.Minute
	// resultsWait is how long they wait after this process has sent results again.
	resultsWait = 30 * time.Second
)

// ReturnDeadLetters empties the dead-letter queues when a process starts, as soon as the store
// and the broker answer. It returns when the queues are empty, when ctx ends, or after two
// minutes: then the ticks continue. It logs a failure and does not return it.
func (m *Messages) ReturnDeadLetters(ctx context.Context) {
	if m.queues == nil {
		return
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = time.Second, 30*time.Second
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		pinging, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if err := errors.Join(m.store.Ping(pinging), m.bus.Ping(pinging)); err != nil {
			return struct{}{}, err
		}
		err := m.emptyQueues(ctx)
		if err != nil && m.resultsRead.Load() {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(startWait))
	if err != nil && ctx.Err() == nil {
		m.log.WarnContext(ctx, "failed to read all dead-letter queues at start; the next tick retries", logkey.Error, err)
	}
}

// ReturnDeadLettersInTick empties the dead-letter queues in a tick, in one minute at most. It logs
// a failure and does not return it.
func (m *Messages) ReturnDeadLettersInTick(ctx context.Context) {
	if m.queues == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, tickTimeout)
	defer cancel()
	if err := m.emptyQueues(limited); err != nil {
		m.log.WarnContext(ctx, "failed to empty the dead-letter queues", logkey.Error, err)
	}
}

// ResultsMayCome reports whether results may be on their way, so that a deadline has to wait:
// results in a dead-letter queue, and results that this process requeued in an outage.
func (m *Messages) ResultsMayCome() bool {
	now := m.now()
	if m.queues != nil && !m.resultsRead.Load() && now.Sub(m.startedAt) < startWait {
		return true
	}
	sent := m.resultsSent.Load()
	return sent != nil && now.Sub(*sent) < resultsWait
}

// ExpectResults records that this process sends results again for a time: see ResultsMayCome.
func (m *Messages) ExpectResults(at time.Time) { m.resultsSent.Store(&at) }

// emptyQueues reads all dead-letter queues until they are empty: first that of the results, which
// deadlines wait for.
func (m *Messages) emptyQueues(ctx context.Context) error {
	workers, err := m.store.WorkerAnnouncements(ctx)
	if err != nil {
		return err
	}
	results := m.emptyQueue(ctx, message.TopicWorkerResults, message.SubscriptionOrchestrator)
	if results == nil {
		m.resultsRead.Store(true)
	}
	failures := []error{results, m.emptyQueue(ctx, message.TopicOrchestratorEvents, message.SubscriptionOrchestrator)}
	for _, w := range workers {
		failures = append(failures, m.emptyQueue(ctx, message.TopicWorkerJobs, message.WorkerSubscription(w.ID)))
	}
	return errors.Join(failures...)
}

// emptyQueue reads the dead-letter queue of one subscription until it is empty.
func (m *Messages) emptyQueue(ctx context.Context, topic, subscription string) error {
	total := 0
	for {
		removed, err := m.queues.TakeDeadLetters(ctx, topic, subscription, deadLettersAtOnce, m.takeDeadLetter)
		if removed > 0 && topic == message.TopicWorkerResults {
			m.ExpectResults(m.now())
		}
		if total += removed; err != nil || removed == 0 {
			if total > 0 {
				m.log.WarnContext(ctx, "dead letters removed from their queue", logkey.Topic, topic, logkey.Subscription, subscription, logkey.Count, total)
			}
			if err != nil {
				return fmt.Errorf("read the dead letters of %s/%s: %w", topic, subscription, err)
			}
			return nil
		}
	}
}

// takeDeadLetter stores a dead letter with its fate and then returns it if that is its fate. If
// the process ends in between, the dead letter is received again and its record is found. Then it
// is sent with the same id, and handling it a second time is harmless.
func (m *Messages) takeDeadLetter(ctx context.Context, d bus.DeadLetter) error {
	kind, _ := d.Properties[message.PropertyMessageType].(string)
	msg := message.Delivery{ID: d.ID, Type: kind, Body: d.Body, Properties: d.Properties, DeliveryCount: d.DeliveryCount, EnqueuedAt: d.EnqueuedAt}
	var item store.Item[store.Unprocessable]
	var returns bool
	err := store.RetryOnConflict(ctx, func() error {
		c, err := m.readCase(ctx, d, msg)
		if err == nil {
			item, returns, err = m.storeDeadLetter(ctx, d, msg, c)
		}
		return err
	})
	if err != nil || !returns {
		return err
	}
	return m.sendReturn(ctx, item)
}

// storeDeadLetter stores a dead letter with its fate, unless the store has both. It reports
// whether the message is to be returned now.
func (m *Messages) storeDeadLetter(ctx context.Context, d bus.DeadLetter, msg message.Delivery, c deadLetterCase) (item store.Item[store.Unprocessable], returns bool, err error) {
	item, replay, err := m.findItem(ctx, d.Topic, msg)
	if err != nil {
		return item, false, err
	}
	known := item.ETag != ""
	u := &item.Doc
	switch {
	case known && isSource(u.DeadLetter, d): // the process that stored it ended, or could not remove it from the queue
		return item, u.Requested > u.Failed, nil
	case known && !isNewFailure(u, msg, replay): // the store has this failure, and the settlement of the message was lost
		return item, false, nil
	}
	now := m.now().UTC()
	c.returns = u.Returns
	fate, why := c.decide(now)
	if fate == fateForget {
		return item, false, nil
	}
	recordFailure(u, msg, d.Topic, replay, deadLetterReason(d), item.ID, now)
	if err := m.sealer.SealBody(ctx, u, item.ID, msg); err != nil {
		return item, false, err
	}
	u.DeadLetter = &store.DeadLetterSource{Subscription: d.Subscription, Sequence: d.Sequence, Reason: d.Reason, Description: d.Description}
	recordFate(u, fate, why, now)
	applied, err := m.store.Apply(ctx, store.Writes{writeItem(item)})
	if err != nil {
		return item, false, err
	}
	item.Version = applied.Version(0)
	if fate == fateHold {
		m.logUnprocessable(ctx, d.Topic, msg, u.Reason)
	}
	return item, fate == fateReturn, nil
}

// isSource reports whether source names the dead letter d.
func isSource(source *store.DeadLetterSource, d bus.DeadLetter) bool {
	return source != nil && source.Subscription == d.Subscription && source.Sequence == d.Sequence
}

func deadLetterReason(d bus.DeadLetter) string {
	reason := "dead-lettered: " + cmp.Or(d.Reason, "no reason was given")
	if d.Description != "" {
		reason += ": " + d.Description
	}
	return reason
}

// recordFate records the fate of a dead letter in its item.
func recordFate(u *store.Unprocessable, f fate, why string, now time.Time) {
	switch f {
	case fateReturn:
		u.Returns++
		u.Requested, u.Handled = u.Replays+1, &model.Attribution{By: system, At: now, Why: why}
	case fateDrop:
		u.Status, u.Handled = store.UnprocessableDiscarded, &model.Attribution{By: system, At: now, Why: why}
	case fateHold:
		u.Reason += "; " + why
	}
}

// sendReturn sends the replay that an item asks for, and marks it as sent.
func (m *Messages) sendReturn(ctx context.Context, item store.Item[store.Unprocessable]) error {
	u := item.Doc
	body, err := m.sealer.OpenBody(ctx, item)
	if err != nil {
		return err
	}
	again := replayMessage(&u, item.ID, body)
	if n := min(u.Returns, len(returnDelays)); n > 0 && returnDelays[n-1] > 0 {
		again.At = m.now().Add(returnDelays[n-1])
	}
	if err := m.bus.Send(ctx, u.Topic, again); err != nil {
		return err
	}
	m.log.InfoContext(ctx, "dead letter resent", logkey.Topic, u.Topic, logkey.UnprocessableID, item.ID, logkey.MessageID, again.ID, logkey.Reason, u.Reason)
	_, err = m.markReplayed(ctx, item, u.Requested)
	return err
}

// replayMessage returns the message of the replay that an item asks for. The broker counts the
// deliveries of a job that is sent again from one, so that the job itself has to say that a worker
// may have begun it before.
func replayMessage(u *store.Unprocessable, id string, body []byte) bus.Message {
	properties := message.WithType(u.Properties, u.Type)
	if u.Topic == message.TopicWorkerJobs {
		properties = maps.Clone(properties)
		properties[message.PropertyRedelivered] = true
		delete(properties, message.PropertyNotBegun) // it counts deliveries of the earlier message
	}
	return bus.Message{ID: replayID(id, u.Requested), Body: body, Properties: properties}
}
