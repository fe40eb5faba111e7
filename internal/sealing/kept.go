package sealing

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
)

// MayHoldSecrets tells whether the body of a message that is kept has to be encrypted: a
// job or a result of a runbook with secrets, and any that cannot be told to be of another.
func (sl *Sealer) MayHoldSecrets(ctx context.Context, topic string, body []byte) (bool, error) {
	if !sl.keyed || topic == message.TopicOrchestratorEvents {
		return false, nil
	}
	var about struct {
		CorrelationData message.Correlation
	}
	if c := &about.CorrelationData; json.Unmarshal(body, &about) == nil && c.RunbookName != "" {
		rb, err := sl.runbooks.Load(ctx, c.RunbookName, c.RunbookVersion)
		if err == nil {
			return len(rb.Secret) > 0, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
	}
	heads, err := sl.store.RunbookHeads(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(heads, func(h store.Item[store.RunbookHead]) bool { return h.Doc.Secrets }), nil
}

// bodyPlace is what the body of a kept message is encrypted for.
func bodyPlace(id string) string { return "message/" + id }

func (sl *Sealer) encryptBody(ctx context.Context, id string, body []byte) ([]byte, error) {
	sealed, err := sl.secrets.Seal(ctx, body[:min(len(body), LargestSealedBody)], bodyPlace(id))
	return []byte(sealed), err
}

// SealBody encrypts the body of a message that is kept, where it may hold secrets.
func (sl *Sealer) SealBody(ctx context.Context, u *store.Unprocessable, id string, m message.Delivery) error {
	sealed, err := sl.MayHoldSecrets(ctx, u.Topic, m.Body)
	if err != nil || !sealed || u.Sealed {
		return err
	}
	u.Body, err = sl.encryptBody(ctx, id, m.Body)
	u.Sealed = err == nil
	return err
}

// OpenBody is the body of a kept message as it came, as far as it was kept.
func (sl *Sealer) OpenBody(ctx context.Context, item store.Item[store.Unprocessable]) ([]byte, error) {
	if !item.Doc.Sealed {
		return item.Doc.Body, nil
	}
	body, err := sl.secrets.Open(ctx, string(item.Doc.Body), bodyPlace(item.ID))
	if errors.Is(err, secret.ErrLost) {
		return nil, problem.New(api.CodeConflict, "the body of message %s cannot be decrypted: its version of the key is gone from Key Vault", item.ID)
	}
	return body, err
}

// openFields are those of a job and of a result that hold no secret.
var openFields = []string{
	"JobId", "BatchId", "WorkerId", "FunctionName", "EffectId", "DispatchedAt", "ExpiresAt",
	"Status", "ResultType", "DurationMs", "Timestamp", "CorrelationData",
}

// RedactedBody is the body of a kept message that may hold secrets as people are shown it:
// of a job or a result only what cannot be one.
func (sl *Sealer) RedactedBody(ctx context.Context, item store.Item[store.Unprocessable]) ([]byte, error) {
	body, err := sl.OpenBody(ctx, item)
	if err != nil {
		return nil, err
	}
	hidden := json.RawMessage(`"` + Redacted + `"`)
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields == nil {
		return hidden, nil
	}
	for name := range fields {
		if !slices.ContainsFunc(openFields, func(open string) bool { return strings.EqualFold(open, name) }) {
			fields[name] = hidden
		}
	}
	return json.Marshal(fields)
}

// LargestBody is the body that is kept whole, in bytes: base64 and the rest of the item
// have to stay within the store's 2 MB. A Standard namespace carries 256 KB.
const LargestBody = 1 << 20

// LargestSealedBody is the body that is kept whole where it is encrypted, in bytes.
const LargestSealedBody = LargestBody * 3 / 4
