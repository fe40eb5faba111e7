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
func (m *Messages) StoreUnprocessable(ctx context.Context, topic string, msg message.Delivery, reason string) error {
	var stored bool
	err := store.RetryOnConflict(ctx, func() (err error) {
		stored, err = m.storeOnce(ctx, topic, msg, reason)
		return err
	})
	if err == nil && stored {
		m.logUnprocessable(ctx, topic, msg, reason)
	}
	return err
}

// storeOnce stores an unprocessable message, unless the store has this failure of it.
func (m *Messages) storeOnce(ctx context.Context, topic string, msg message.Delivery, reason string) (stored bool, err error) {
	item, replay, err := m.findItem(ctx, topic, msg)
	if err != nil {
		return false, err
	}
	u := &item.Doc
	if item.ETag != "" && !isNewFailure(u, msg, replay) {
		return false, nil
	}
	recordFailure(u, msg, topic, replay, reason, item.ID, m.now().UTC())
	if err := m.sealer.SealBody(ctx, u, item.ID, msg); err != nil {
		return false, err
	}
	_, err = m.store.Apply(ctx, store.Writes{writeItem(item)})
	return true, err
}

// writeItem returns the write of an item that findItem returned.
func writeItem(item store.Item[store.Unprocessable]) store.Write {
	key := store.UnprocessableKey(item.ID)
	if item.ETag == "" {
		return store.Create(key, item.Doc)
	}
	return store.Replace(key, item.Doc, item.Version)
}

// logUnprocessable logs that a message waits for an administrator.
func (m *Messages) logUnprocessable(ctx context.Context, topic string, msg message.Delivery, reason string) {
	m.log.ErrorContext(ctx, "unprocessable message stored", logkey.Event, alert.MessageUnprocessable, logkey.Topic, topic, logkey.MessageID, msg.ID, logkey.Type, msg.Type, logkey.Reason, reason)
}

// recordFailure records in an item that a message, or a replay of it, was not processed. The item
// is open afterwards.
func recordFailure(u *store.Unprocessable, msg message.Delivery, topic string, replay int, reason, id string, now time.Time) {
	if u.FirstStoredAt.IsZero() {
		*u = store.Unprocessable{Topic: topic, Type: msg.Type, Body: msg.Body[:min(len(msg.Body), sealing.MaxBody)], Size: max(len(msg.Body), msg.Size), Properties: msg.Properties, FirstStoredAt: now}
	}
	u.Status, u.Reason, u.DeadLetter = store.UnprocessableOpen, reason, nil
	u.Count++
	u.Failed, u.Replays = max(u.Failed, replay), max(u.Replays, replay)
	if replay == 0 { // the sender sent it anew: an earlier replay may have been sent, and the broker would drop the same id
		u.Replays, u.Requested = max(u.Replays, u.Requested), 0
	}
	u.MessageID, u.EnqueuedAt, u.DeliveryCount = msg.ID, msg.EnqueuedAt, msg.DeliveryCount
	u.StoredAt, u.Place = now, store.SortableTime(now)+"-"+id
}

// isNewFailure reports whether a failure is not recorded in the item yet: it is of a later replay,
// or of the same message that was sent anew after the item was replayed or discarded. Otherwise
// the broker delivered the message again after its failure was recorded.
func isNewFailure(u *store.Unprocessable, msg message.Delivery, replay int) bool {
	return replay > u.Failed || u.Status != store.UnprocessableOpen && msg.EnqueuedAt.After(u.EnqueuedAt)
}

// findItem returns the item of a message, without an ETag if there is none yet, and the number of
// the replay that the message is, 0 for the message itself. A message with the id of a replay and
// another body is a message of its own.
func (m *Messages) findItem(ctx context.Context, topic string, msg message.Delivery) (item store.Item[store.Unprocessable], replay int, err error) {
	if id, n, ok := ParseReplayID(msg.FirstID()); ok {
		item, err := m.findReplayed(ctx, topic, id, msg.Body)
		if err != nil || item.ETag != "" {
			return item, n, err
		}
	}
	id, err := m.ItemID(ctx, topic, msg)
	if err != nil {
		return item, 0, err
	}
	item, err = store.OrNone(store.Read[store.Unprocessable](ctx, m.store, store.UnprocessableKey(id)))
	if item.ETag == "" {
		item.Key = store.UnprocessableKey(id)
	}
	return item, 0, err
}

// findReplayed returns the item with an id, without an ETag if it is not of this topic and body.
func (m *Messages) findReplayed(ctx context.Context, topic, id string, body []byte) (item store.Item[store.Unprocessable], err error) {
	found, err := store.OrNone(store.Read[store.Unprocessable](ctx, m.store, store.UnprocessableKey(id)))
	if err != nil || found.ETag == "" || found.Doc.Topic != topic {
		return item, err
	}
	stored, err := m.sealer.OpenBody(ctx, found)
	if err != nil || !bytes.Equal(stored, body) {
		return item, err
	}
	return found, nil
}

// ItemID returns the id of a message's items, the same for each delivery and after a requeue. It
// is a digest of the message. For a message that may hold a secret it is a digest with a key,
// because a short secret could be guessed from a plain one. A rotation of the key changes the id:
// the message then has new attempts, and can be listed twice.
func (m *Messages) ItemID(ctx context.Context, topic string, msg message.Delivery) (string, error) {
	digest := sha256.New()
	secrets, err := m.sealer.MayHoldSecrets(ctx, topic, msg.Body)
	if err != nil {
		return "", err
	}
	if secrets {
		key, err := m.sealer.DigestKey(ctx)
		if err != nil {
			return "", err
		}
		digest = hmac.New(sha256.New, key)
	}
	_, _ = digest.Write(append([]byte(topic+"\x00"+msg.FirstID()+"\x00"), msg.Body...)) // a hash never fails
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
