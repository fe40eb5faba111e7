package deadletter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// system is who replays and discards messages without being asked.
const system = "system"

// deadLettersAtOnce is how many dead letters are received at a time, and tickReturns for
// how long a tick reads dead-letter queues at most: the sweep waits for it.
const (
	deadLettersAtOnce = 20
	tickReturns       = time.Minute
)

// returnDelays are how long each automatic replay of a message waits, and how many there
// are: a handler that fails again and again, or whose host does, gets longer and longer
// to recover.
var returnDelays = []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}

// Deadlines wait for results that may be in a dead-letter queue, or were put back: until this
// process has read the dead-letter queue of the results once, for firstReturn at most, and for
// settleReturn after results come that it sent again.
const (
	firstReturn  = 2 * time.Minute
	settleReturn = 30 * time.Second
)

// isDeadLetter reports whether d is the dead letter of.
func isDeadLetter(d *store.DeadLetterSource, of bus.DeadLetter) bool {
	return d != nil && d.Subscription == of.Subscription && d.Sequence == of.Sequence
}

// ReturnDeadLetters reads the dead-letter queues when a process starts, as soon as it is
// healthy: the store and the broker answer. Ticks do so afterwards. It returns when the
// queues are empty, or ctx has ended.
func (ms *Messages) ReturnDeadLetters(ctx context.Context) {
	if ms.dead == nil {
		return
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = time.Second, 30*time.Second
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		asking, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if err := errors.Join(ms.store.Ping(asking), ms.bus.Ping(asking)); err != nil {
			return struct{}{}, err
		}
		err := ms.returnDeadLetters(ctx)
		if err != nil && ms.firstReturned.Load() {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(firstReturn)) // what is left then is the ticks'
	if err != nil && ctx.Err() == nil {
		ms.log.WarnContext(ctx, "not all dead-letter queues were read at the start; the next tick does so", logkey.Error, err)
	}
}

// Return reads the dead-letter queues in a tick. A tick goes on without it.
func (ms *Messages) Return(ctx context.Context) {
	if ms.dead == nil {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, tickReturns)
	defer cancel()
	if err := ms.returnDeadLetters(bounded); err != nil {
		ms.log.WarnContext(ctx, "dead-letter queues were not read, or not to their end", logkey.Error, err)
	}
}

// ResultsMayCome reports whether results may be on their way, so that a deadline is not judged
// yet: those of a dead-letter queue, and those that this process put back in an outage.
func (ms *Messages) ResultsMayCome() bool {
	now := ms.now()
	if ms.dead != nil && !ms.firstReturned.Load() && now.Sub(ms.born) < firstReturn {
		return true
	}
	returned := ms.resultsReturned.Load()
	return returned != nil && now.Sub(*returned) < settleReturn
}

// ExpectResults notes that results are sent again at a time: see resultsMayCome.
func (ms *Messages) ExpectResults(at time.Time) { ms.resultsReturned.Store(&at) }

// returnDeadLetters reads the dead-letter queues until they are empty: first the results,
// which deadlines wait for.
func (ms *Messages) returnDeadLetters(ctx context.Context) error {
	workers, err := ms.store.WorkerAnnouncements(ctx)
	if err != nil {
		return err
	}
	results := ms.emptyDeadLetters(ctx, message.TopicWorkerResults, message.SubscriptionOrchestrator)
	if results == nil {
		ms.firstReturned.Store(true)
	}
	failures := []error{results, ms.emptyDeadLetters(ctx, message.TopicOrchestratorEvents, message.SubscriptionOrchestrator)}
	for _, w := range workers {
		failures = append(failures, ms.emptyDeadLetters(ctx, message.TopicWorkerJobs, message.WorkerSubscription(w.ID)))
	}
	return errors.Join(failures...)
}

func (ms *Messages) emptyDeadLetters(ctx context.Context, topic, subscription string) error {
	total := 0
	for {
		removed, err := ms.dead.TakeDeadLetters(ctx, topic, subscription, deadLettersAtOnce, ms.takeDeadLetter)
		if removed > 0 && topic == message.TopicWorkerResults {
			now := ms.now()
			ms.resultsReturned.Store(&now)
		}
		if total += removed; err != nil || removed == 0 {
			if total > 0 {
				ms.log.WarnContext(ctx, "dead letters were taken from their queue", logkey.Topic, topic, logkey.Subscription, subscription, logkey.Count, total)
			}
			if err != nil {
				return fmt.Errorf("dead letters of %s/%s: %w", topic, subscription, err)
			}
			return nil
		}
	}
}

// fate is what becomes of a dead letter.
type fate int

const (
	fateReturn fate = iota // it is sent again
	fateHold               // it waits for an administrator
	fateDrop               // it is recorded as discarded: nothing is to be done with it
	fateForget             // it is not even recorded
)

// deadLetterCase is what the fate of a dead letter depends on.
type deadLetterCase struct {
	topic, kind string
	reason      string
	returns     int  // how often in a row it was sent again without being asked for
	whole       bool // all of its body is kept
	job         jobCase
}

// jobCase is what is known of a job that was dead-lettered.
type jobCase struct {
	unreadable string // why it is no job
	waits      bool   // its step waits for it
	expiresAt  *time.Time
}

// decide gives the fate of a dead letter, and why.
func (c deadLetterCase) decide(now time.Time) (fate, string) {
	judged := c.reason != bus.ReasonDeliveries && c.reason != bus.ReasonExpired
	job := c.topic == message.TopicWorkerJobs
	switch {
	case c.kind == message.TypeWorkerHeartbeat:
		return fateForget, "a heartbeat is of its moment"
	case judged:
		return fateHold, "a receiver or an administrator dead-lettered it"
	case job && c.job.unreadable != "":
		return fateHold, c.job.unreadable
	case job && !c.job.waits:
		return fateDrop, "its step does not wait for it any more"
	case job && c.job.expiresAt != nil && !now.Before(*c.job.expiresAt):
		return fateDrop, "it has expired; the deadline of its step decides what follows"
	case !c.whole:
		return fateHold, "it is too large to be kept whole"
	case c.returns >= len(returnDelays):
		return fateHold, fmt.Sprintf("it has been sent again %d times", c.returns)
	}
	return fateReturn, "it was never processed"
}

// takeDeadLetter records a dead letter as a kept message and then does what its fate is.
// If the process dies in between, the dead letter comes again and finds the record: what
// is sent has the same id, and consumers take it twice without harm.
func (ms *Messages) takeDeadLetter(ctx context.Context, d bus.DeadLetter) error {
	kind, _ := d.Properties[message.PropertyMessageType].(string)
	m := message.Delivery{ID: d.ID, Type: kind, Body: d.Body, Properties: d.Properties, DeliveryCount: d.DeliveryCount, EnqueuedAt: d.EnqueuedAt}
	of, err := ms.deadLetterCase(ctx, d, m)
	if err != nil {
		return err
	}
	for {
		item, recorded, err := ms.recordDeadLetter(ctx, d, m, of)
		switch {
		case errors.Is(err, store.ErrChanged), errors.Is(err, store.ErrExists):
			continue
		case err != nil || !recorded:
			return err
		}
		return ms.returnRecorded(ctx, item)
	}
}

func (ms *Messages) deadLetterCase(ctx context.Context, d bus.DeadLetter, m message.Delivery) (deadLetterCase, error) {
	c := deadLetterCase{topic: d.Topic, kind: m.Type, reason: d.Reason, whole: len(d.Body) <= sealing.MaxBody}
	if d.Topic != message.TopicWorkerJobs {
		return c, nil
	}
	var job message.Job
	if err := json.Unmarshal(d.Body, &job); err != nil {
		c.job.unreadable = fmt.Sprintf("the body is not the JSON of a job: %v", err)
		return c, nil
	}
	phase, member, index, err := model.ParseStepID(job.CorrelationData.StepExecutionID)
	if err != nil {
		c.job.unreadable = err.Error()
		return c, nil
	}
	c.job.expiresAt = job.ExpiresAt
	run, err := store.OrNone(store.Read[model.Run](ctx, ms.store, store.RunKey(job.CorrelationData.BatchID, phase, member)))
	if err != nil {
		return c, err
	}
	if index < len(run.Doc.Steps) {
		step := run.Doc.Steps[index]
		c.job.waits = step.Status == model.StepDispatched && step.JobID == job.JobID
	}
	return c, nil
}

// recordDeadLetter writes what becomes of a dead letter. It gives nothing to do where the
// message was dealt with before.
func (ms *Messages) recordDeadLetter(ctx context.Context, d bus.DeadLetter, m message.Delivery, c deadLetterCase) (item store.Item[store.Unprocessable], todo bool, err error) {
	item, replay, err := ms.keptAs(ctx, d.Topic, m)
	if err != nil {
		return item, false, err
	}
	known := item.ETag != ""
	u := &item.Doc
	switch {
	case known && isDeadLetter(u.DeadLetter, d): // the process that recorded it died, or could not remove it
		return item, u.Asked > u.Failed, nil
	case known && !failsAnew(u, m, replay): // it is kept, and its settlement was lost
		return item, false, nil
	}
	now := ms.now().UTC()
	c.returns = u.Returns
	fate, why := c.decide(now)
	if fate == fateForget {
		return item, false, nil
	}
	failUnprocessable(u, m, d.Topic, replay, "dead-lettered: "+cmp.Or(d.Reason, "no reason was given")+suffix(d.Description), item.ID, now)
	if err := ms.sealer.SealBody(ctx, u, item.ID, m); err != nil {
		return item, false, err
	}
	u.DeadLetter = &store.DeadLetterSource{Subscription: d.Subscription, Sequence: d.Sequence, Reason: d.Reason, Description: d.Description}
	switch fate {
	case fateReturn:
		u.Returns++
		u.Asked, u.Handled = u.Replays+1, &model.Mark{By: system, At: now, Why: why}
	case fateDrop:
		u.Status, u.Handled = store.UnprocessableDiscarded, &model.Mark{By: system, At: now, Why: why}
	case fateHold:
		u.Reason += "; " + why
	}
	write := store.Create(store.UnprocessedKey(item.ID), u)
	if known {
		write = store.Replace(store.UnprocessedKey(item.ID), u, item.Version)
	}
	applied, err := ms.store.Apply(ctx, store.Writes{write})
	if err != nil {
		return item, false, err
	}
	item.Version = applied.Version(0)
	if fate == fateHold {
		ms.logKept(ctx, d.Topic, m, u.Reason)
	}
	return item, fate == fateReturn, nil
}

func suffix(description string) string {
	if description == "" {
		return ""
	}
	return ": " + description
}

// returnRecorded sends the replay that is recorded, and marks it as sent.
func (ms *Messages) returnRecorded(ctx context.Context, item store.Item[store.Unprocessable]) error {
	u := item.Doc
	body, err := ms.sealer.OpenBody(ctx, item)
	if err != nil {
		return err
	}
	again := replayOf(&u, item.ID, body)
	if n := min(u.Returns, len(returnDelays)); n > 0 && returnDelays[n-1] > 0 {
		again.At = ms.now().Add(returnDelays[n-1])
	}
	if err := ms.bus.Send(ctx, u.Topic, again); err != nil {
		return err
	}
	ms.log.InfoContext(ctx, "a dead letter was sent again", logkey.Topic, u.Topic, logkey.KeptID, item.ID, logkey.MessageID, again.ID, logkey.Reason, u.Reason)
	_, err = ms.markReplayed(ctx, item, u.Asked)
	return err
}

// replayOf is the message of the replay that is asked for. The broker counts the deliveries
// of a job that is sent again from one, so that the job itself says that it may have been
// begun before.
func replayOf(u *store.Unprocessable, id string, body []byte) bus.Message {
	properties := message.WithType(u.Properties, u.Type)
	if u.Topic == message.TopicWorkerJobs {
		properties = maps.Clone(properties)
		properties[message.PropertyRedelivered] = true
		delete(properties, message.PropertyNotBegun) // it counts deliveries of the message before
	}
	return bus.Message{ID: replayID(id, u.Asked), Body: body, Properties: properties}
}
