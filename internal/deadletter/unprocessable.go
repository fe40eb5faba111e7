package deadletter

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
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

// StoreUnprocessable stores a message that cannot be processed, with the reason. It stores the
// message once, however often the broker delivers it, and a replay with the message that it
// replays.
func (ms *Messages) StoreUnprocessable(ctx context.Context, topic string, m message.Delivery, reason string) error {
	var stored bool
	err := store.RetryOnConflict(ctx, func() (err error) {
		stored, err = ms.storeOnce(ctx, topic, m, reason)
		return err
	})
	if err == nil && stored {
		ms.logUnprocessable(ctx, topic, m, reason)
	}
	return err
}

// storeOnce stores an unprocessable message, unless the store has this failure of it.
func (ms *Messages) storeOnce(ctx context.Context, topic string, m message.Delivery, reason string) (stored bool, err error) {
	item, replay, err := ms.findItem(ctx, topic, m)
	if err != nil {
		return false, err
	}
	u := &item.Doc
	if item.ETag != "" && !isNewFailure(u, m, replay) {
		return false, nil
	}
	recordFailure(u, m, topic, replay, reason, item.ID, ms.now().UTC())
	if err := ms.sealer.SealBody(ctx, u, item.ID, m); err != nil {
		return false, err
	}
	_, err = ms.store.Apply(ctx, store.Writes{writeItem(item)})
	return true, err
}

// writeItem returns the write of an item that findItem returned.
func writeItem(item store.Item[store.Unprocessable]) store.Write {
	key := store.UnprocessedKey(item.ID)
	if item.ETag == "" {
		return store.Create(key, item.Doc)
	}
	return store.Replace(key, item.Doc, item.Version)
}

// logUnprocessable logs that a message waits for an administrator.
func (ms *Messages) logUnprocessable(ctx context.Context, topic string, m message.Delivery, reason string) {
	ms.log.ErrorContext(ctx, "message cannot be processed; kept", logkey.Event, alert.MessageUnprocessed, logkey.Topic, topic, logkey.MessageID, m.ID, logkey.Type, m.Type, logkey.Reason, reason)
}

// recordFailure records in an item that a message, or a replay of it, was not processed. The item
// is open afterwards.
func recordFailure(u *store.Unprocessable, m message.Delivery, topic string, replay int, reason, id string, now time.Time) {
	if u.FirstKeptAt.IsZero() {
		*u = store.Unprocessable{Topic: topic, Type: m.Type, Body: m.Body[:min(len(m.Body), sealing.MaxBody)], Size: len(m.Body), Properties: m.Properties, FirstKeptAt: now}
	}
	u.Status, u.Reason, u.DeadLetter = store.UnprocessableOpen, reason, nil
	u.Count++
	u.Failed, u.Replays = max(u.Failed, replay), max(u.Replays, replay)
	if replay == 0 { // the sender sent it anew: an earlier replay may have been sent, and the broker would drop the same id
		u.Replays, u.Asked = max(u.Replays, u.Asked), 0
	}
	u.MessageID, u.EnqueuedAt, u.DeliveryCount = m.ID, m.EnqueuedAt, m.DeliveryCount
	u.KeptAt, u.Place = now, store.SortableTime(now)+"-"+id
}

// isNewFailure reports whether a failure is not recorded in the item yet: it is of a later replay,
// or of the same message that was sent anew after the item was replayed or discarded. Otherwise
// the broker delivered the message again after its failure was recorded.
func isNewFailure(u *store.Unprocessable, m message.Delivery, replay int) bool {
	return replay > u.Failed || u.Status != store.UnprocessableOpen && m.EnqueuedAt.After(u.EnqueuedAt)
}

// findItem returns the item of a message, without an ETag if there is none yet, and the number of
// the replay that the message is, 0 for the message itself. A message with the id of a replay and
// another body is a message of its own.
func (ms *Messages) findItem(ctx context.Context, topic string, m message.Delivery) (item store.Item[store.Unprocessable], replay int, err error) {
	if id, n, ok := ParseReplayID(m.FirstID()); ok {
		item, err := ms.findReplayed(ctx, topic, id, m.Body)
		if err != nil || item.ETag != "" {
			return item, n, err
		}
	}
	id, err := ms.ItemID(ctx, topic, m)
	if err != nil {
		return item, 0, err
	}
	item, err = store.OrNone(store.Read[store.Unprocessable](ctx, ms.store, store.UnprocessedKey(id)))
	if item.ETag == "" {
		item.Key = store.UnprocessedKey(id)
	}
	return item, 0, err
}

// findReplayed returns the item with an id, without an ETag if it is not of this topic and body.
func (ms *Messages) findReplayed(ctx context.Context, topic, id string, body []byte) (item store.Item[store.Unprocessable], err error) {
	found, err := store.OrNone(store.Read[store.Unprocessable](ctx, ms.store, store.UnprocessedKey(id)))
	if err != nil || found.ETag == "" || found.Doc.Topic != topic {
		return item, err
	}
	stored, err := ms.sealer.OpenBody(ctx, found)
	if err != nil || !bytes.Equal(stored, body) {
		return item, err
	}
	return found, nil
}

// ItemID returns the id of a message's items, the same for each delivery and after a requeue. It
// is a digest of the message. For a message that may hold a secret it is a digest with a key,
// because a short secret could be guessed from a plain one. A rotation of the key changes the id:
// the message then has new attempts, and can be listed twice.
func (ms *Messages) ItemID(ctx context.Context, topic string, m message.Delivery) (string, error) {
	digest := sha256.New()
	secrets, err := ms.sealer.MayHoldSecrets(ctx, topic, m.Body)
	if err != nil {
		return "", err
	}
	if secrets {
		key, err := ms.sealer.DigestKey(ctx)
		if err != nil {
			return "", err
		}
		digest = hmac.New(sha256.New, key)
	}
	_, _ = digest.Write(append([]byte(topic+"\x00"+m.FirstID()+"\x00"), m.Body...)) // a hash never fails
	return hex.EncodeToString(digest.Sum(nil)[:16]), nil
}

var (
	itemIDPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)
	replayPattern = regexp.MustCompile(`^replay-([0-9a-f]{32})-([1-9][0-9]{0,8})$`)
)

// replayID returns the message id of a replay of an item. The same replay always has the same id.
func replayID(id string, n int) string { return fmt.Sprintf("replay-%s-%d", id, n) }

// ParseReplayID returns the item id and the number of the replay that a message id names. It
// reports false for a message id that is not of a replay.
func ParseReplayID(messageID string) (id string, n int, ok bool) {
	found := replayPattern.FindStringSubmatch(messageID)
	if found == nil {
		return "", 0, false
	}
	n, err := strconv.Atoi(found[2])
	return found[1], n, err == nil
}
