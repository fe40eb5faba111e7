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
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Unprocessed lists messages that could not be processed, those kept last
// first, without their bodies. o.Status is one of the statuses, empty for open;
// o.Topic narrows it to one topic. Errors: CodeInvalid, CodeUnavailable.
func (ms *Messages) Unprocessed(ctx context.Context, o api.ListOptions) (api.Page[api.UnprocessedMessage], error) {
	filter := store.MessageFilter{Topic: o.Topic}
	switch status := store.UnprocessableStatus(o.Status); status {
	case "":
		filter.Status = store.UnprocessableOpen
	case store.UnprocessableOpen, store.UnprocessableReplayed, store.UnprocessableDiscarded:
		filter.Status = status
	default:
		return api.Page[api.UnprocessedMessage]{}, problem.New(api.CodeInvalid, "there is no status %q of messages; they are open, replayed or discarded", o.Status)
	}
	paging, err := apiview.UnprocessedSorting.Paging(o)
	if err != nil {
		return api.Page[api.UnprocessedMessage]{}, err
	}
	found, err := ms.store.UnprocessableMessages(ctx, filter, paging)
	if err != nil {
		return api.Page[api.UnprocessedMessage]{}, err
	}
	page := api.Page[api.UnprocessedMessage]{Items: []api.UnprocessedMessage{}, Continuation: found.Continuation}
	for _, i := range found.Items {
		page.Items = append(page.Items, unprocessedView(i))
	}
	return page, nil
}

// UnprocessedMessage gives one such message with its body and its properties. That
// somebody read it is recorded first. Errors: CodeNotFound, CodeUnavailable.
func (ms *Messages) UnprocessedMessage(ctx context.Context, by audit.Caller, id string) (api.UnprocessedMessage, error) {
	item, err := ms.keptMessage(ctx, id)
	if err != nil {
		return api.UnprocessedMessage{}, err
	}
	if err := ms.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadMessage, Target: id}); err != nil {
		return api.UnprocessedMessage{}, err
	}
	view := unprocessedView(item)
	view.Properties = item.Doc.Properties
	kept := item.Doc.Body
	if item.Doc.Sealed {
		if kept, err = ms.sealer.RedactedBody(ctx, item); err != nil {
			return api.UnprocessedMessage{}, err
		}
		view.Body = kept
		return view, nil
	}
	body := kept[:min(len(kept), message.Limit)]
	view.Truncated = len(body) < item.Doc.Size
	if !view.Truncated && utf8.Valid(body) && json.Valid(body) {
		view.Body = body
	} else {
		view.BodyBase64 = body
	}
	return view, nil
}

// Replay sends a message back to its topic as it came, under an id of its own, and
// marks it as replayed. Who asked and the number of the replay are recorded before the
// message is sent: a replay that died half-way names them, and the next request completes
// it under the same id. A discarded message can be replayed as well. Errors: CodeInvalid,
// CodeNotFound, CodeConflict where it was replayed already or is not kept whole,
// CodeUnavailable.
func (ms *Messages) Replay(ctx context.Context, by audit.Caller, id, why string) (api.UnprocessedMessage, error) {
	if err := audit.CheckReason(why); err != nil {
		return api.UnprocessedMessage{}, err
	}
	item, err := ms.recordReplay(ctx, by, id, why)
	if err != nil {
		return api.UnprocessedMessage{}, err
	}
	n := item.Doc.Asked
	body, err := ms.sealer.OpenBody(ctx, item)
	if err != nil {
		return api.UnprocessedMessage{}, err
	}
	again := replayOf(&item.Doc, id, body)
	if err := ms.bus.Send(ctx, item.Doc.Topic, again); err != nil {
		return api.UnprocessedMessage{}, err
	}
	ms.log.InfoContext(ctx, "message replayed", logkey.Topic, item.Doc.Topic, logkey.KeptID, id, logkey.MessageID, again.ID, logkey.By, by.Name)
	return ms.markReplayed(ctx, item, n)
}

// recordReplay writes who asks for which replay of a message. A recorded replay that may
// not have been sent is the one that is asked for again.
func (ms *Messages) recordReplay(ctx context.Context, by audit.Caller, id, why string) (store.Item[store.Unprocessable], error) {
	for {
		item, err := ms.keptMessage(ctx, id)
		if err != nil {
			return item, err
		}
		u := &item.Doc
		switch {
		case u.Status == store.UnprocessableReplayed:
			return item, dealtWith(id, *u)
		case !keptWhole(u):
			return item, problem.New(api.CodeConflict, "message %s is too large to be replayed: it has %d bytes, and only the first %d were kept", id, u.Size, min(u.Size, len(u.Body)))
		}
		switch h := u.Handled; {
		case u.Asked <= u.Failed:
			u.Asked = u.Replays + 1
		case h != nil && h.By == by.Name && h.Why == why: // recorded already
			return item, nil
		}
		was := audit.MessageFacts(*u)
		u.Handled, u.Returns = &model.Mark{By: by.Name, At: ms.now().UTC(), Why: why}, 0
		sent := *u
		sent.Status, sent.Replays = store.UnprocessableReplayed, u.Asked
		applied, err := ms.store.Apply(ctx, store.Writes{store.Replace(store.UnprocessedKey(id), u, item.Version), ms.audit.Record(messageHandled(by, "replay", id, was, sent))})
		if errors.Is(err, store.ErrChanged) {
			continue
		}
		if err == nil {
			item.Version = applied.Version(0)
		}
		return item, err
	}
}

// markReplayed writes that replay n was sent, whatever was written since: another request
// may have sent the same, or it may have failed already.
func (ms *Messages) markReplayed(ctx context.Context, item store.Item[store.Unprocessable], n int) (api.UnprocessedMessage, error) {
	mark := item.Doc.Handled
	for {
		u := &item.Doc
		if u.Replays >= n {
			return unprocessedView(item), nil
		}
		u.Status, u.Replays, u.Asked, u.Handled = store.UnprocessableReplayed, n, 0, mark
		_, err := ms.store.Apply(ctx, store.Writes{store.Replace(store.UnprocessedKey(item.ID), u, item.Version)})
		if err == nil {
			return unprocessedView(item), nil
		}
		if !errors.Is(err, store.ErrChanged) {
			return api.UnprocessedMessage{}, err
		}
		if item, err = ms.keptMessage(ctx, item.ID); err != nil {
			return api.UnprocessedMessage{}, err
		}
	}
}

// Discard marks a message as dealt with. It is still kept, and can be replayed later.
// Errors: CodeInvalid, CodeNotFound, CodeConflict where it is not open,
// CodeUnavailable.
func (ms *Messages) Discard(ctx context.Context, by audit.Caller, id, why string) (api.UnprocessedMessage, error) {
	if err := audit.CheckReason(why); err != nil {
		return api.UnprocessedMessage{}, err
	}
	for {
		item, err := ms.keptMessage(ctx, id)
		if err != nil {
			return api.UnprocessedMessage{}, err
		}
		if item.Doc.Status != store.UnprocessableOpen {
			return api.UnprocessedMessage{}, dealtWith(id, item.Doc)
		}
		was := audit.MessageFacts(item.Doc)
		item.Doc.Status = store.UnprocessableDiscarded
		item.Doc.Handled = &model.Mark{By: by.Name, At: ms.now().UTC(), Why: why}
		_, err = ms.store.Apply(ctx, store.Writes{store.Replace(store.UnprocessedKey(id), item.Doc, item.Version), ms.audit.Record(messageHandled(by, "discard", id, was, item.Doc))})
		if errors.Is(err, store.ErrChanged) {
			continue
		}
		if err != nil {
			return api.UnprocessedMessage{}, err
		}
		ms.log.InfoContext(ctx, "message discarded", logkey.Topic, item.Doc.Topic, logkey.KeptID, id, logkey.By, by.Name)
		return unprocessedView(item), nil
	}
}

// messageHandled is the line of the trail that tells who has just dealt with a message.
func messageHandled(by audit.Caller, action, id string, was audit.Facts, u store.Unprocessable) store.AuditRecord {
	return store.AuditRecord{
		At: u.Handled.At, Actor: by.Actor(), Action: action, Target: id, Why: u.Handled.Why, Before: was.JSON(), After: audit.MessageFacts(u).JSON(),
	}
}

func (ms *Messages) keptMessage(ctx context.Context, id string) (store.Item[store.Unprocessable], error) {
	err := store.ErrNotFound
	var item store.Item[store.Unprocessable]
	if unprocessedID.MatchString(id) { // or it is no id that the store could have
		item, err = store.Read[store.Unprocessable](ctx, ms.store, store.UnprocessedKey(id))
	}
	if errors.Is(err, store.ErrNotFound) {
		return item, &problem.Error{Code: api.CodeNotFound, Message: fmt.Sprintf("no message %q is kept", id), Cause: err}
	}
	return item, err
}

func dealtWith(id string, u store.Unprocessable) error {
	if u.Handled == nil {
		return problem.New(api.CodeConflict, "message %s is %s already", id, u.Status)
	}
	return problem.New(api.CodeConflict, "message %s was %s already, by %s at %s", id, u.Status, u.Handled.By, u.Handled.At.UTC().Format("2006-01-02 15:04:05Z"))
}

func unprocessedView(i store.Item[store.Unprocessable]) api.UnprocessedMessage {
	u := i.Doc
	return api.UnprocessedMessage{
		ID: i.ID, Topic: u.Topic, MessageID: u.MessageID, Type: u.Type, Status: api.UnprocessedStatus(u.Status), Reason: u.Reason, Count: u.Count,
		Replays: u.Replays, Handled: apiview.Attribution(u.Handled), EnqueuedAt: u.EnqueuedAt, FirstKeptAt: u.FirstKeptAt, KeptAt: u.KeptAt,
		DeliveryCount: u.DeliveryCount, Size: u.Size, DeadLetter: (*api.DeadLetter)(u.DeadLetter),
	}
}
