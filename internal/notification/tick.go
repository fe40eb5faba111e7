package notification

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/workers"
)

const (
	// endedWithin is how long after its end a batch is announced.
	endedWithin = 3 * 24 * time.Hour
	// openShards is how many pages with members in progress are read for the failures of a phase. Pages
	// beyond are counted when all of their members have ended.
	openShards = 20
	// openMessages is how many unprocessable messages are read.
	openMessages = 50
	// sendsAtOnce is the number of notifications that a tick sends concurrently.
	sendsAtOnce = 4
	// sendTime bounds the sending of all notifications of a tick.
	sendTime = 2 * time.Minute
)

// Watch collects the events of one tick. Its AddBatch is safe for concurrent use.
type Watch struct {
	*Notifier
	at    time.Time
	rules []store.Item[store.NotificationRule]

	mu         sync.Mutex
	events     []Event
	incomplete bool // an event may be missing
}

// Watch begins the notifications of a tick. If it fails, nothing is to be delivered.
func (n *Notifier) Watch(ctx context.Context) (*Watch, error) {
	rules, err := n.store.NotificationRules(ctx)
	if err != nil {
		err = fmt.Errorf("notification rules: %w", err)
	}
	return &Watch{Notifier: n, at: n.now().UTC(), rules: rules}, err
}

// wants reports whether a rule announces events of any of some kinds.
func (w *Watch) wants(kinds ...string) bool {
	return slices.ContainsFunc(w.rules, func(r store.Item[store.NotificationRule]) bool {
		return slices.ContainsFunc(kinds, func(kind string) bool { return slices.Contains(r.Doc.Events, kind) })
	})
}

// AddBatch adds the events of a batch that the tick has read.
func (w *Watch) AddBatch(ctx context.Context, b *model.Batch) {
	if b.HasEnded() || b.IsShadow() || !w.wants(api.EventGateWaiting, api.EventRemovalsHeld, api.EventFailures) {
		return
	}
	failed, err := w.openFailures(ctx, b)
	events := BatchEvents(b, failed, w.at)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, events...)
	if err != nil {
		w.incomplete = true
		w.log.WarnContext(ctx, "failed to count the failed members of a batch", logkey.BatchID, b.ID, logkey.Error, err)
	}
}

// openFailures counts the failed members on pages that their phase has not counted, by phase.
func (w *Watch) openFailures(ctx context.Context, b *model.Batch) (map[int]int, error) {
	if !w.wants(api.EventFailures) {
		return nil, nil
	}
	failed := map[int]int{}
	for _, p := range b.Phases {
		if p.Kind != model.KindPhase || p.Status != model.PhaseDispatched {
			continue
		}
		shards, err := w.store.Shards(ctx, b.ID, store.ShardFilter{Phase: p.ID, Open: true, Limit: openShards})
		if err != nil {
			return failed, err
		}
		for _, s := range shards {
			failed[p.ID] += s.Doc.Failed
		}
	}
	return failed, nil
}

// Situation has the findings of a tick beside its batches.
type Situation struct {
	Runbooks []string                     // that were synced
	Absent   []workers.Absent             // workers without a sign of life while jobs wait
	Complete bool                         // the tick has read all batches
	Returned map[string]store.ShareReturn // shares that returned to 0, by pipeline
}

// Deliver sends the new events of this tick, and deliveries of earlier
// ticks that were held back or not received. It drops those whose event has ended.
func (w *Watch) Deliver(ctx context.Context, s Situation) error {
	due, err := w.store.DueDeliveries(ctx, w.at)
	if err != nil {
		return fmt.Errorf("notifications: %w", err)
	}
	if len(w.rules) == 0 && len(due) == 0 {
		return nil
	}
	err = w.collect(ctx, s)
	complete := err == nil && s.Complete && !w.incomplete
	sending, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	return errors.Join(err, w.deliver(sending, due, complete))
}

// collect adds the events that are not of open batches.
func (w *Watch) collect(ctx context.Context, s Situation) error {
	if w.wants(api.EventWorkerSilent) {
		for _, absent := range s.Absent {
			w.events = append(w.events, workerEvent(absent))
		}
	}
	for name, r := range s.Returned {
		w.events = append(w.events, shareEvent(name, r))
	}
	if w.wants(api.EventBatchEnded) {
		ended, err := w.store.BatchesEndedSince(ctx, w.at.Add(-endedWithin))
		if err != nil {
			return fmt.Errorf("notifications: ended batches: %w", err)
		}
		for _, b := range ended {
			if b.Doc.Status.Terminal() && !b.Doc.Shadow {
				w.events = append(w.events, endEvent(b.Doc))
			}
		}
	}
	if w.wants(api.EventAdditionsHeld, api.EventSourceFailing) && len(s.Runbooks) > 0 {
		records, err := w.store.SyncRecords(ctx, s.Runbooks)
		if err != nil {
			return fmt.Errorf("notifications: data sources: %w", err)
		}
		for _, r := range records {
			w.events = append(w.events, SourceEvents(r.Doc)...)
		}
	}
	if w.wants(api.EventMessageUnprocessable) {
		open, err := w.store.UnprocessableMessages(ctx, store.MessageFilter{Statuses: []store.UnprocessableStatus{store.UnprocessableOpen}}, store.Paging{Limit: openMessages})
		if err != nil {
			return fmt.Errorf("notifications: unprocessable messages: %w", err)
		}
		w.events = append(w.events, MessageEvents(open.Items)...)
	}
	if w.wants(api.EventContainersLost) {
		record, err := store.OrNone(store.Read[scaler.Record](ctx, w.store, store.ScalerKey()))
		if err != nil {
			return fmt.Errorf("notifications: lost containers: %w", err)
		}
		w.events = append(w.events, LossEvents(&record.Doc)...)
	}
	return nil
}

// match is an event that a rule announces.
type match struct {
	rule  *store.NotificationRule
	event *Event
}

// matches returns what the rules announce, by the key of the delivery.
func (w *Watch) matches() map[store.Key]match {
	found := map[store.Key]match{}
	for i := range w.rules {
		r := &w.rules[i].Doc
		for j := range w.events {
			if e := &w.events[j]; matches(r, e) {
				found[store.DeliveryKey(r.Name, deliveryID(r, e.Key))] = match{r, e}
			}
		}
	}
	return found
}

// deliver sends new events and due deliveries. Complete reports whether an event that is missing has
// ended.
func (w *Watch) deliver(ctx context.Context, due []store.Item[store.Delivery], complete bool) error {
	current := w.matches()
	keys := make([]store.Key, 0, len(current))
	for key := range current {
		keys = append(keys, key)
	}
	known, err := w.store.DeliveriesByKey(ctx, keys)
	if err != nil {
		return fmt.Errorf("notifications: %w", err)
	}
	fresh := current
	current = make(map[store.Key]match, len(fresh))
	for key, m := range fresh {
		current[key] = m
	}
	for _, d := range known {
		delete(fresh, d.Key)
	}
	var failures []error
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(sendsAtOnce)
	run := func(do func() error) {
		all.Go(func() error {
			if err := panics.Catch(ctx, do); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, err)
			}
			return nil
		})
	}
	for key, m := range fresh {
		run(func() error { return w.announce(ctx, key, m) })
	}
	for _, d := range due {
		_, holds := current[d.Key]
		run(func() error { return w.revisit(ctx, d, holds, complete) })
	}
	_ = all.Wait()
	return errors.Join(failures...)
}

// announce creates the delivery of a new event, and sends it unless quiet hours hold it back.
func (w *Watch) announce(ctx context.Context, key store.Key, m match) error {
	d := newDelivery(m.rule, m.event, deliveryID(m.rule, m.event.Key), w.at)
	send := begin(&d, m.rule, w.at)
	applied, err := w.store.Apply(ctx, store.Writes{store.Create(key, d)})
	if errors.Is(err, store.ErrExists) { // another tick created it
		return nil
	}
	if err != nil {
		return fmt.Errorf("notification %s: %w", key.ID, err)
	}
	if !send {
		return nil
	}
	return w.send(ctx, m.rule, store.Item[store.Delivery]{Key: key, Doc: d, Version: applied.Version(0)})
}

// revisit attempts a delivery again, or deletes it. Holds reports whether its
// event has not ended.
func (w *Watch) revisit(ctx context.Context, d store.Item[store.Delivery], holds, complete bool) error {
	rule := w.rule(d.Doc.Rule)
	switch {
	case rule == nil, d.Doc.Status != store.DeliveryPending && !holds && complete:
		return w.write(ctx, store.Delete(d.Key, d.ETag))
	case d.Doc.Status != store.DeliveryPending:
		d.Doc.WakeAt = w.at.Add(keptFor)
		return w.write(ctx, store.Replace(d.Key, d.Doc, d.Version))
	case !holds && !complete: // it may have ended: the next tick will know
		return nil
	case !holds:
		end(&d.Doc, store.DeliveryDropped, w.at)
		return w.write(ctx, store.Replace(d.Key, d.Doc, d.Version))
	}
	send := begin(&d.Doc, rule, w.at)
	applied, err := w.store.Apply(ctx, store.Writes{store.Replace(d.Key, d.Doc, d.Version)})
	if err != nil || !send {
		return ignoreOvertaken(err)
	}
	d.Version = applied.Version(0)
	return w.send(ctx, rule, d)
}

func (w *Watch) rule(name string) *store.NotificationRule {
	for i := range w.rules {
		if w.rules[i].Doc.Name == name {
			return &w.rules[i].Doc
		}
	}
	return nil
}

// write applies one write, unless another tick came first.
func (n *Notifier) write(ctx context.Context, write store.Write) error {
	_, err := n.store.Apply(ctx, store.Writes{write})
	return ignoreOvertaken(err)
}

// ignoreOvertaken returns nil for the refusal of a write because another process came first.
func ignoreOvertaken(err error) error {
	if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// send makes an attempt that is stored, and stores its result. The next attempt follows a failure, and
// also a crash: then the target gets the delivery twice, with the same id.
func (n *Notifier) send(ctx context.Context, r *store.NotificationRule, d store.Item[store.Delivery]) error {
	err := n.transmit(ctx, r, d)
	now := n.now().UTC()
	if err != nil {
		n.log.WarnContext(ctx, "failed to send a notification", logkey.Target, r.Name, logkey.EventType, d.Doc.Event, logkey.Error, err)
		d.Doc.Error = shorten(err.Error())
		if d.Doc.Attempts >= maxAttempts || d.Doc.Event == api.EventTest {
			end(&d.Doc, store.DeliveryFailed, now)
		}
	} else {
		end(&d.Doc, store.DeliverySent, now)
	}
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return n.write(storing, store.Replace(d.Key, d.Doc, d.Version))
}

// shorten bounds the error of an attempt.
func shorten(text string) string {
	const limit = 500
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return text
}
