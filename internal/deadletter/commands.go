package deadletter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// UnprocessableMessages returns one page of the unprocessable messages without their bodies, the messages
// stored last first. o.Statuses are their statuses, none for open; o.Topic selects one topic, empty for
// all. Errors: CodeInvalid, CodeUnavailable.
func (m *Messages) UnprocessableMessages(ctx context.Context, o api.ListOptions) (api.Page[api.UnprocessableMessage], error) {
	filter := store.MessageFilter{Topic: o.Topic}
	for _, one := range o.Statuses {
		switch status := store.UnprocessableStatus(one); status {
		case store.UnprocessableOpen, store.UnprocessableReplayed, store.UnprocessableDiscarded:
			filter.Statuses = append(filter.Statuses, status)
		default:
			return api.Page[api.UnprocessableMessage]{}, problem.New(api.CodeInvalid, "unknown message status %q; use open, replayed or discarded", one)
		}
	}
	if len(filter.Statuses) == 0 {
		filter.Statuses = []store.UnprocessableStatus{store.UnprocessableOpen}
	}
	paging, err := apiview.UnprocessableSorting.Paging(o)
	if err != nil {
		return api.Page[api.UnprocessableMessage]{}, err
	}
	found, err := m.store.UnprocessableMessages(ctx, filter, paging)
	if err != nil {
		return api.Page[api.UnprocessableMessage]{}, err
	}
	page := api.Page[api.UnprocessableMessage]{Items: []api.UnprocessableMessage{}, Continuation: found.Continuation}
	for _, i := range found.Items {
		page.Items = append(page.Items, unprocessableView(i))
	}
	return page, nil
}

// UnprocessableMessage returns an unprocessable message with its body and its properties. It
// writes an audit record of the read first. Errors: CodeNotFound, CodeUnavailable.
func (m *Messages) UnprocessableMessage(ctx context.Context, by audit.Caller, id string) (api.UnprocessableMessage, error) {
	item, err := m.readItem(ctx, id)
	if err != nil {
		return api.UnprocessableMessage{}, err
	}
	if err := m.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadMessage, Target: id}); err != nil {
		return api.UnprocessableMessage{}, err
	}
	view := unprocessableView(item)
	view.Properties = item.Doc.Properties
	if item.Doc.Sealed {
		if view.Body, err = m.sealer.RedactedBody(ctx, item); err != nil {
			return api.UnprocessableMessage{}, err
		}
		return view, nil
	}
	body := item.Doc.Body[:min(len(item.Doc.Body), message.Limit)]
	view.Truncated = len(body) < item.Doc.Size
	if !view.Truncated && utf8.Valid(body) && json.Valid(body) {
		view.Body = body
	} else {
		view.BodyBase64 = body
	}
	return view, nil
}

// Replay sends an unprocessable message to its topic as it was received, with an id of its own,
// and marks it as replayed. It stores the caller and the number of the replay before it sends the
// message. If the process ends in between, the next request completes the replay with the same
// id. A discarded message can be replayed, too. A request with an idempotency key that was received
// before replays nothing again, even if the replay has failed meanwhile. Errors: CodeInvalid,
// CodeNotFound, CodeConflict if the message was replayed already or is not stored whole,
// CodeUnavailable.
func (m *Messages) Replay(ctx context.Context, by audit.Caller, id, why string) (api.UnprocessableMessage, error) {
	if err := audit.CheckReason(why); err != nil {
		return api.UnprocessableMessage{}, err
	}
	item, err := m.recordReplay(ctx, by, id, why)
	if err != nil {
		return api.UnprocessableMessage{}, err
	}
	n := item.Doc.Requested
	if n <= item.Doc.Failed { // an earlier request with this key was carried out
		return unprocessableView(item), nil
	}
	body, err := m.sealer.OpenBody(ctx, item)
	if err != nil {
		return api.UnprocessableMessage{}, err
	}
	again := replayMessage(&item.Doc, id, body)
	if err := m.bus.Send(ctx, item.Doc.Topic, again); err != nil {
		return api.UnprocessableMessage{}, err
	}
	m.log.InfoContext(ctx, "message replayed", logkey.Topic, item.Doc.Topic, logkey.UnprocessableID, id, logkey.MessageID, again.ID, logkey.By, by.Name)
	return m.markReplayed(ctx, item, n)
}

// recordReplay stores the caller and the number of a replay in the item of a message. A replay
// that is stored and may not have been sent is repeated.
func (m *Messages) recordReplay(ctx context.Context, by audit.Caller, id, why string) (store.Item[store.Unprocessable], error) {
	var item store.Item[store.Unprocessable]
	err := store.RetryOnConflict(ctx, func() (err error) {
		item, err = m.recordReplayOnce(ctx, by, id, why)
		return err
	})
	return item, err
}

// recordReplayOnce stores a replay in the item as it is in the store. It fails with ErrChanged where
// another process changes the item at the same time.
func (m *Messages) recordReplayOnce(ctx context.Context, by audit.Caller, id, why string) (store.Item[store.Unprocessable], error) {
	item, err := m.readItem(ctx, id)
	if err != nil {
		return item, err
	}
	u := &item.Doc
	key := handledKey(by, "replay")
	switch {
	case key != "" && u.HandledKey == key: // sent, or to be sent once more: the process may have ended before
		return item, nil
	case u.Status == store.UnprocessableReplayed:
		return item, alreadyHandled(id, *u)
	case !isWhole(u):
		return item, problem.New(api.CodeConflict, "message %s is too large to replay: it has %d bytes, and only the first %d are stored", id, u.Size, min(u.Size, len(u.Body)))
	}
	switch h := u.Handled; {
	case u.Requested <= u.Failed:
		u.Requested = u.Replays + 1
	case h != nil && h.By == by.Name && h.Why == why: // stored already
		return item, nil
	}
	was := audit.MessageState(*u)
	u.Handled, u.HandledKey, u.Returns = &model.Attribution{By: by.Name, At: m.now().UTC(), Why: why}, key, 0
	sent := *u
	sent.Status, sent.Replays = store.UnprocessableReplayed, u.Requested
	applied, err := m.store.Apply(ctx, store.Writes{store.Replace(store.UnprocessableKey(id), u, item.Version), m.audit.Record(auditRecord(by, "replay", id, was, sent))})
	if err == nil {
		item.Version = applied.Version(0)
	}
	return item, err
}

// markReplayed stores that replay n was sent. It loads the item again after a conflict: another
// request may have sent the same replay, or the replay may have failed already.
func (m *Messages) markReplayed(ctx context.Context, item store.Item[store.Unprocessable], n int) (api.UnprocessableMessage, error) {
	id, mark, changed := item.ID, item.Doc.Handled, false
	err := store.RetryOnConflict(ctx, func() (err error) {
		if changed {
			if item, err = m.readItem(ctx, id); err != nil {
				return err
			}
		}
		changed = true
		u := &item.Doc
		if u.Replays >= n {
			return nil
		}
		u.Status, u.Replays, u.Requested, u.Handled = store.UnprocessableReplayed, n, 0, mark
		_, err = m.store.Apply(ctx, store.Writes{store.Replace(store.UnprocessableKey(id), u, item.Version)})
		return err
	})
	if err != nil {
		return api.UnprocessableMessage{}, err
	}
	return unprocessableView(item), nil
}

// Discard marks an unprocessable message as discarded. The message stays stored and can be
// replayed later. Errors: CodeInvalid, CodeNotFound, CodeConflict if it is not open,
// CodeUnavailable.
func (m *Messages) Discard(ctx context.Context, by audit.Caller, id, why string) (api.UnprocessableMessage, error) {
	if err := audit.CheckReason(why); err != nil {
		return api.UnprocessableMessage{}, err
	}
	var view api.UnprocessableMessage
	err := store.RetryOnConflict(ctx, func() (err error) {
		view, err = m.discard(ctx, by, id, why)
		return err
	})
	return view, err
}

// discard marks a message as discarded in the item as it is in the store. It fails with ErrChanged
// where another process changes the item at the same time.
func (m *Messages) discard(ctx context.Context, by audit.Caller, id, why string) (api.UnprocessableMessage, error) {
	item, err := m.readItem(ctx, id)
	if err != nil {
		return api.UnprocessableMessage{}, err
	}
	key := handledKey(by, "discard")
	if key != "" && item.Doc.HandledKey == key {
		return unprocessableView(item), nil
	}
	if item.Doc.Status != store.UnprocessableOpen {
		return api.UnprocessableMessage{}, alreadyHandled(id, item.Doc)
	}
	was := audit.MessageState(item.Doc)
	item.Doc.Status, item.Doc.HandledKey = store.UnprocessableDiscarded, key
	item.Doc.Handled = &model.Attribution{By: by.Name, At: m.now().UTC(), Why: why}
	_, err = m.store.Apply(ctx, store.Writes{store.Replace(store.UnprocessableKey(id), item.Doc, item.Version), m.audit.Record(auditRecord(by, "discard", id, was, item.Doc))})
	if err != nil {
		return api.UnprocessableMessage{}, err
	}
	m.log.InfoContext(ctx, "message discarded", logkey.Topic, item.Doc.Topic, logkey.UnprocessableID, id, logkey.By, by.Name)
	return unprocessableView(item), nil
}

// handledKey identifies a request with an idempotency key; it is empty for one without.
func handledKey(by audit.Caller, action string) string {
	if by.Key == "" {
		return ""
	}
	return idempotency.Digest(by.Identity(), by.Key, action)
}

// auditRecord returns the audit record of a replay or a discard. Was has the facts before, u is
// the item after.
func auditRecord(by audit.Caller, action, id string, was audit.State, u store.Unprocessable) store.AuditRecord {
	return store.AuditRecord{
		At: u.Handled.At, Actor: by.Actor(), Action: action, Target: id, Why: u.Handled.Why, Before: was.JSON(), After: audit.MessageState(u).JSON(),
	}
}

// readItem reads the item of an unprocessable message. Errors: CodeNotFound.
func (m *Messages) readItem(ctx context.Context, id string) (store.Item[store.Unprocessable], error) {
	err := store.ErrNotFound
	var item store.Item[store.Unprocessable]
	if itemIDPattern.MatchString(id) { // the store has no other ids
		item, err = store.Read[store.Unprocessable](ctx, m.store, store.UnprocessableKey(id))
	}
	if errors.Is(err, store.ErrNotFound) {
		return item, &problem.Error{Code: api.CodeNotFound, Message: fmt.Sprintf("unknown unprocessable message %q", id), Cause: err}
	}
	return item, err
}

// isWhole reports whether the whole body of a message is stored.
func isWhole(u *store.Unprocessable) bool {
	if u.Sealed {
		return u.Size <= sealing.MaxSealedBody
	}
	return len(u.Body) == u.Size
}

// alreadyHandled returns the error of a request for a message that was replayed or discarded.
func alreadyHandled(id string, u store.Unprocessable) error {
	if u.Handled == nil {
		return problem.New(api.CodeConflict, "message %s is already %s", id, u.Status)
	}
	return problem.New(api.CodeConflict, "message %s was already %s by %s at %s", id, u.Status, u.Handled.By, u.Handled.At.UTC().Format("2006-01-02 15:04:05Z"))
}

func unprocessableView(i store.Item[store.Unprocessable]) api.UnprocessableMessage {
	u := i.Doc
	return api.UnprocessableMessage{
		ID: i.ID, Topic: u.Topic, MessageID: u.MessageID, Type: u.Type, Status: api.UnprocessableStatus(u.Status), Reason: u.Reason, Count: u.Count,
		Replays: u.Replays, Handled: apiview.Attribution(u.Handled), EnqueuedAt: u.EnqueuedAt, FirstStoredAt: u.FirstStoredAt, StoredAt: u.StoredAt,
		DeliveryCount: u.DeliveryCount, Size: u.Size, DeadLetter: (*api.DeadLetter)(u.DeadLetter),
	}
}
