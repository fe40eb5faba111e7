package deadletter

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// keptWhole reports whether the whole body of a message was kept.
func keptWhole(u *store.Unprocessable) bool {
	if u.Sealed {
		return u.Size <= sealing.MaxSealedBody
	}
	return len(u.Body) == u.Size
}

// Keep stores a message that cannot be processed, once however often it is
// delivered. A replay is kept with the message that it replays.
func (ms *Messages) Keep(ctx context.Context, topic string, m message.Delivery, reason string) error {
	for {
		kept, err := ms.keepOnce(ctx, topic, m, reason)
		if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists) {
			continue // it is looked at again
		}
		if err == nil && kept {
			ms.logKept(ctx, topic, m, reason)
		}
		return err
	}
}

// logKept logs that a message waits for an administrator.
func (ms *Messages) logKept(ctx context.Context, topic string, m message.Delivery, reason string) {
	ms.log.ErrorContext(ctx, "message cannot be processed; kept", logkey.Event, alert.MessageUnprocessed, logkey.Topic, topic, logkey.MessageID, m.ID, logkey.Type, m.Type, logkey.Reason, reason)
}

func (ms *Messages) keepOnce(ctx context.Context, topic string, m message.Delivery, reason string) (kept bool, err error) {
	item, replay, err := ms.keptAs(ctx, topic, m)
	if err != nil {
		return false, err
	}
	known := item.ETag != ""
	u := item.Doc
	if known && !failsAnew(&u, m, replay) {
		return false, nil
	}
	failUnprocessable(&u, m, topic, replay, reason, item.ID, ms.now().UTC())
	if err := ms.sealer.SealBody(ctx, &u, item.ID, m); err != nil {
		return false, err
	}

	key := store.UnprocessedKey(item.ID)
	write := store.Create(key, u)
	if known {
		write = store.Replace(key, u, item.Version)
	}
	_, err = ms.store.Apply(ctx, store.Writes{write})
	return true, err
}

// failUnprocessable records that a message, or a replay of it, was not processed. It is open then.
func failUnprocessable(u *store.Unprocessable, m message.Delivery, topic string, replay int, reason, id string, now time.Time) {
	if u.FirstKeptAt.IsZero() {
		*u = store.Unprocessable{Topic: topic, Type: m.Type, Body: m.Body[:min(len(m.Body), sealing.MaxBody)], Size: len(m.Body), Properties: m.Properties, FirstKeptAt: now}
	}
	u.Status, u.Reason, u.DeadLetter = store.UnprocessableOpen, reason, nil
	u.Count++
	u.Failed, u.Replays = max(u.Failed, replay), max(u.Replays, replay)
	if replay == 0 { // sent anew by its sender: a replay of the message before may have been sent, and the broker would drop it
		u.Replays, u.Asked = max(u.Replays, u.Asked), 0
	}
	u.MessageID, u.EnqueuedAt, u.DeliveryCount = m.ID, m.EnqueuedAt, m.DeliveryCount
	u.KeptAt, u.Place = now, store.SortableTime(now)+"-"+id
}

// keptAs finds the item of a message, which has no ETag where there is none yet, and
// which replay of it the message is; 0 for the message itself. What only looks like
// a replay is a message of its own.
func (ms *Messages) keptAs(ctx context.Context, topic string, m message.Delivery) (item store.Item[store.Unprocessable], replay int, err error) {
	if id, n, ok := Replayed(m.FirstID()); ok {
		item, err := store.Read[store.Unprocessable](ctx, ms.store, store.UnprocessedKey(id))
		if err == nil && item.Doc.Topic == topic {
			body, err := ms.sealer.OpenBody(ctx, item)
			if err != nil {
				return item, 0, err
			}
			if bytes.Equal(body, m.Body) {
				return item, n, nil
			}
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return item, 0, err
		}
	}
	id, err := ms.ItemID(ctx, topic, m)
	if err != nil {
		return item, 0, err
	}
	item, err = store.Read[store.Unprocessable](ctx, ms.store, store.UnprocessedKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return store.Item[store.Unprocessable]{Key: store.UnprocessedKey(id)}, 0, nil
	}
	return item, 0, err
}

// ItemID returns the id of a message's items, the same however often the message is
// delivered or put back. A message that may hold a secret has a digest with a key, because a
// short password can be guessed from a plain one. After a rotation of the key the id is
// another one: the message then has new attempts, and can be listed twice.
func (ms *Messages) ItemID(ctx context.Context, topic string, m message.Delivery) (string, error) {
	digest := sha256.New()
	sealed, err := ms.sealer.MayHoldSecrets(ctx, topic, m.Body)
	if err != nil {
		return "", err
	}
	if sealed {
		key, err := ms.sealer.DigestKey(ctx)
		if err != nil {
			return "", err
		}
		digest = hmac.New(sha256.New, key)
	}
	_, _ = digest.Write(append([]byte(topic+"\x00"+m.FirstID()+"\x00"), m.Body...)) // a hash takes everything
	return hex.EncodeToString(digest.Sum(nil)[:16]), nil
}

// failsAnew tells a failure that is not yet counted from one that is kept again, as
// it is when the message is delivered again: it is of a later replay, or of the same
// message sent anew after it had been dealt with.
func failsAnew(u *store.Unprocessable, m message.Delivery, replay int) bool {
	return replay > u.Failed || u.Status != store.UnprocessableOpen && m.EnqueuedAt.After(u.EnqueuedAt)
}

// replayID is the id of a message that is sent again. It follows from the state, so
// that the same replay is always the same message.
func replayID(id string, n int) string { return fmt.Sprintf("replay-%s-%d", id, n) }

var (
	unprocessedID = regexp.MustCompile(`^[0-9a-f]{32}$`)
	replayPattern = regexp.MustCompile(`^replay-([0-9a-f]{32})-([1-9][0-9]{0,8})$`)
)

func Replayed(messageID string) (id string, n int, ok bool) {
	found := replayPattern.FindStringSubmatch(messageID)
	if found == nil {
		return "", 0, false
	}
	n, err := strconv.Atoi(found[2])
	return found[1], n, err == nil
}
