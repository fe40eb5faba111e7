package notification

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// Event is something that a rule can announce. Two events with the same Key are one. No event contains
// the name of a member, or an error, which can quote the tenant.
type Event struct {
	Kind, Key     string
	Subject, Text string
	Path          string // of what the event is about, after the link URL of a rule

	Batch                         int
	Runbook, Owner, Phase, Worker string

	At time.Time // of an event of a moment: a rule that was added later does not announce it

	Failed, Of int // with api.EventFailures: members of the phase

	BatchName string
	Count     int        // of members or people who are held, or of messages
	DueAt     *time.Time // of a gate: when its phase is due
}

// BatchEvents returns the events of a batch that has not ended. Failed has failed members of phases,
// by id, on pages that the phase has not counted. A shadow has none: the other orchestrator answers.
func BatchEvents(b *model.Batch, failed map[int]int, now time.Time) []Event {
	if b.HasEnded() || b.IsShadow() {
		return nil
	}
	var events []Event
	about := func(kind, key, phase, subject, text string) *Event {
		events = append(events, Event{
			Kind: kind, Key: fmt.Sprintf("batch/%d/%s/%s", b.ID, kind, key), Subject: subject, Text: text, Path: "/batches/" + strconv.Itoa(b.ID),
			Batch: b.ID, BatchName: b.Name, Runbook: b.Runbook, Owner: b.Owner, Phase: phase,
		})
		return &events[len(events)-1]
	}
	name := batchName(b.ID, b.Name)
	if p, reason, since := engine.WaitingGate(b, now); p != nil {
		e := about(api.EventGateWaiting, fmt.Sprintf("%d/%d", p.ID, since.Unix()), p.Name,
			fmt.Sprintf("%s: phase %s waits", name, p.Name),
			fmt.Sprintf("Phase %s of %s of runbook %s waits since %s: %s.", p.Name, name, b.Runbook, stamp(since), reason))
		e.DueAt = p.DueAt
	}
	if h := b.RemovalHold; h != nil && h.Confirmed == nil && h.Members > 0 {
		text := fmt.Sprintf("The data source of runbook %s no longer has %d of %d members of %s. Confirm or discard the removals.", b.Runbook, h.Members, h.Of, name)
		if h.Moving > 0 {
			text = fmt.Sprintf("The data source of runbook %s moves %d of %d members of %s to %s. Reschedule the batch, or move, remove or keep them.", b.Runbook, h.Moving, h.Of, name, stamp(h.MovesTo))
			if h.MovesInto != 0 {
				text = fmt.Sprintf("The data source of runbook %s moves %d of %d members of %s to %s, the start of batch %d. Move, remove or keep them.", b.Runbook, h.Moving, h.Of, name, stamp(h.MovesTo), h.MovesInto)
			}
		}
		e := about(api.EventRemovalsHeld, strconv.FormatInt(h.Since.Unix(), 10), "",
			fmt.Sprintf("%s: %s wait for confirmation", name, humanize.Count(h.Members, "removal")),
			text)
		e.Count = h.Members
	}
	for _, p := range b.Phases {
		n, of := max(p.Failed+failed[p.ID], p.FailedSoFar), b.Members-b.Removed
		begun := p.Status == model.PhaseDispatched || p.Status == model.PhaseCompleted || p.Status == model.PhaseFailed
		if p.Kind == model.KindPhase && n > 0 && of > 0 && begun {
			e := about(api.EventFailures, strconv.Itoa(p.ID), p.Name,
				fmt.Sprintf("%s: %s failed in phase %s", name, humanize.Count(n, "member"), p.Name),
				fmt.Sprintf("%d of %d members of %s of runbook %s failed in phase %s.", n, of, name, b.Runbook, p.Name))
			e.Failed, e.Of = n, of
		}
	}
	return events
}

// GateAhead returns the event of a phase that is not due and needs an approval. No rule announces it before
// the phase is due.
func GateAhead(b *model.Batch, p *model.Phase) Event {
	name := batchName(b.ID, b.Name)
	return Event{
		Kind: api.EventGateWaiting, Subject: fmt.Sprintf("%s: phase %s needs an approval", name, p.Name),
		Text:  fmt.Sprintf("Phase %s of %s of runbook %s is due on %s and needs an approval.", p.Name, name, b.Runbook, stamp(*p.DueAt)),
		Batch: b.ID, BatchName: b.Name, Runbook: b.Runbook, Owner: b.Owner, Phase: p.Name, DueAt: p.DueAt,
	}
}

// endEvent returns the event of a batch that has ended.
func endEvent(b store.BatchSummary) Event {
	name := batchName(b.ID, b.Name)
	return Event{
		Kind: api.EventBatchEnded, Key: fmt.Sprintf("batch/%d/%s/%d", b.ID, api.EventBatchEnded, b.CompletedAt.Unix()),
		Subject: fmt.Sprintf("%s: %s", name, b.Status), At: *b.CompletedAt,
		Text: fmt.Sprintf("%s of runbook %s, with %s, has ended with the status %s.", name, b.RunbookName, humanize.Count(b.MemberCount-b.RemovedCount, "member"), b.Status),
		Path: "/batches/" + strconv.Itoa(b.ID), Batch: b.ID, Runbook: b.RunbookName, Owner: b.Owner,
	}
}

// SourceEvents returns the events of the data source of a runbook. A hold of additions is one event for
// each day: its people can change with each sync.
func SourceEvents(s store.SyncRecord) []Event {
	var events []Event
	about := func(kind, key, subject, text string) *Event {
		events = append(events, Event{
			Kind: kind, Key: fmt.Sprintf("runbook/%s/%s/%s", s.Runbook, kind, key), Subject: subject, Text: text, Path: "/runbooks/" + s.Runbook, Runbook: s.Runbook,
		})
		return &events[len(events)-1]
	}
	if h := s.Additions; h != nil {
		e := about(api.EventAdditionsHeld, day(h.Since), fmt.Sprintf("%s: %s wait for confirmation", s.Runbook, humanize.Count(h.People, "addition")),
			fmt.Sprintf("The data source of runbook %s has %s whose addition is held. Confirm the additions, or correct the data source.", s.Runbook, humanize.Count(h.People, "new member")))
		e.Count = h.People
	}
	if s.LastError != "" {
		key, since := "first", ""
		if s.LastGoodAt != nil {
			key, since = strconv.FormatInt(s.LastGoodAt.Unix(), 10), " since "+stamp(*s.LastGoodAt)
		}
		about(api.EventSourceFailing, key, s.Runbook+": the data source cannot be read",
			fmt.Sprintf("The data source of runbook %s has not been read%s. Show the error with matoolkit automation status %s.", s.Runbook, since, s.Runbook))
	}
	return events
}

// workerEvent returns the event of a worker that gives no sign of life while jobs wait.
func workerEvent(w workers.Absent) Event {
	key, since := "never", ""
	if !w.LastSeen.IsZero() {
		key, since = strconv.FormatInt(w.LastSeen.Unix(), 10), " since "+stamp(w.LastSeen)
	}
	return Event{
		Kind: api.EventWorkerSilent, Key: fmt.Sprintf("worker/%s/%s", w.ID, key), Worker: w.ID, Path: "/workers/" + w.ID,
		Subject: w.ID + ": jobs wait for the worker",
		Text:    fmt.Sprintf("The worker %s has given no sign of life%s. Jobs wait for it since %s.", w.ID, since, stamp(w.OldestJob)),
	}
}

// shareEvent returns the event of a share of a pipeline that has returned to 0.
func shareEvent(pipeline string, r store.ShareReturn) Event {
	return Event{
		Kind: api.EventShareReturned, Key: fmt.Sprintf("runbook/%s/%s/%d", pipeline, api.EventShareReturned, r.At.UnixNano()), Runbook: pipeline, Path: "/runbooks/" + pipeline,
		Subject: pipeline + ": the share of requests returned to 0",
		Text:    fmt.Sprintf("%d of %d requests to %s failed. Its share returned from %d %% to 0 at %s. Show the routing with matoolkit pipeline routing %s.", r.Failed, r.Requests, pipeline, r.Percent, stamp(r.At), pipeline),
	}
}

// MessageEvents returns the events of unprocessable messages that are open: one for each topic, type
// and day. One cause can make many messages unprocessable.
func MessageEvents(messages []store.Item[store.Unprocessable]) []Event {
	var events []Event
	for _, m := range messages {
		u := m.Doc
		e := Event{
			Kind: api.EventMessageUnprocessable, Key: fmt.Sprintf("message/%s/%s/%s", u.Topic, u.Type, day(u.StoredAt)), Path: "/messages/unprocessed",
			Subject: "Unprocessable messages of " + u.Topic,
			Text:    fmt.Sprintf("Messages of the topic %s and the type %q cannot be processed. Show them with matoolkit messages list.", u.Topic, u.Type),
		}
		if !slices.ContainsFunc(events, func(o Event) bool { return o.Key == e.Key }) {
			events = append(events, e)
		}
	}
	return events
}

// LossEvents returns the events of lost containers: one for each subscription and day on which containers ended before
// they received their messages. A rule announces it also if the messages were received since.
func LossEvents(r *scaler.Record) []Event {
	var events []Event
	for _, l := range r.Losses {
		events = append(events, Event{
			Kind: api.EventContainersLost, Key: fmt.Sprintf("containers/%s/%s", l.Subscription, day(l.FirstAt)), Path: containersPath, At: l.LastAt,
			Subject: l.Subscription + ": containers ended before they received their messages",
			Text: fmt.Sprintf("Since %s, %s of the subscription %s ended before receiving a message. Show the messages with matoolkit scaler status.",
				stamp(l.FirstAt), humanize.Count(l.Containers, "container"), l.Subscription),
		})
	}
	return events
}

// containersPath is the address of the view of containers.
const containersPath = "/containers"

// LostNow returns the events of subscriptions with messages that still wait after their containers were lost. No rule
// announces them: LossEvents are for that.
func LostNow(r *scaler.Record) []Event {
	messages := map[string]int{}
	for _, a := range r.Attempts {
		if a.Lost > 0 {
			messages[a.Subscription]++
		}
	}
	var events []Event
	for _, subscription := range slices.Sorted(maps.Keys(messages)) {
		n := messages[subscription]
		events = append(events, Event{
			Kind: api.EventContainersLost, Path: containersPath, Subject: subscription + ": containers end before they receive their messages", Count: n,
			Text: fmt.Sprintf("The containers of %s of the subscription %s ended before receiving. Check the image and the settings of the containers.", humanize.Count(n, "message"), subscription),
		})
	}
	return events
}

// matches reports whether a rule announces an event.
func matches(r *store.NotificationRule, e *Event) bool {
	switch {
	case !slices.Contains(r.Events, e.Kind), r.Runbook != "" && r.Runbook != e.Runbook, r.Owner != "" && !strings.EqualFold(r.Owner, e.Owner),
		!e.At.IsZero() && e.At.Before(r.CreatedAt):
		return false
	case e.Kind == api.EventFailures:
		return e.Failed*100 >= r.FailedPercent*e.Of
	}
	return true
}

// idLength is the length of the id of a delivery: the id of a mail's result, which contains it and the
// name of the rule, stays below the 128 characters of a Service Bus message id.
const idLength = 32

// deliveryID identifies the delivery of an event within a rule that was created at a time: a rule that
// was removed and added again announces anew.
func deliveryID(r *store.NotificationRule, key string) string {
	digest := sha256.Sum256([]byte(r.CreatedAt.UTC().Format(time.RFC3339Nano) + "\n" + key))
	return hex.EncodeToString(digest[:])[:idLength]
}

// newDelivery returns the delivery of an event before its first attempt.
func newDelivery(r *store.NotificationRule, e *Event, id string, now time.Time) store.Delivery {
	d := store.Delivery{
		Rule: r.Name, Event: e.Kind, Subject: e.Subject, Text: e.Text, Batch: e.Batch, Runbook: e.Runbook, Phase: e.Phase, Worker: e.Worker,
		CreatedAt: now, Place: store.SortableTime(now) + "-" + id, Status: store.DeliveryPending,
	}
	if r.LinkURL != "" {
		d.Link = strings.TrimSuffix(r.LinkURL, "/") + e.Path
	}
	return d
}

func batchName(id int, name string) string {
	if name == "" {
		return fmt.Sprintf("Batch %d", id)
	}
	return fmt.Sprintf("Batch %d (%s)", id, name)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
