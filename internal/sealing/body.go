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

const (
	// MaxBody is the size in bytes up to which the body of an unprocessable message is stored
	// whole: with base64 and its other fields the item has to stay within the store's 2 MB. A
	// Standard namespace carries 256 KB.
	MaxBody = 1 << 20
	// MaxSealedBody is the size in bytes up to which an encrypted body is stored whole.
	MaxSealedBody = MaxBody * 3 / 4
)

// MayHoldSecrets reports whether the body of an unprocessable message has to be encrypted: that
// of a job or a result of a runbook with secrets, and, while any runbook has secrets, a body
// whose runbook is unknown.
func (s *Sealer) MayHoldSecrets(ctx context.Context, topic string, body []byte) (bool, error) {
	if !s.keyed || topic == message.TopicOrchestratorEvents {
		return false, nil
	}
	var about struct {
		CorrelationData message.Correlation
	}
	if c := &about.CorrelationData; json.Unmarshal(body, &about) == nil && c.RunbookName != "" {
		rb, err := s.runbooks.Load(ctx, c.RunbookName, c.RunbookVersion)
		if err == nil {
			return len(rb.Secret) > 0, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
	}
	heads, err := s.store.RunbookHeads(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(heads, func(h store.Item[store.RunbookHead]) bool { return h.Doc.Secrets }), nil
}

// SealBody encrypts the body of an unprocessable message in u if it may hold secrets.
func (s *Sealer) SealBody(ctx context.Context, u *store.Unprocessable, id string, m message.Delivery) error {
	secrets, err := s.MayHoldSecrets(ctx, u.Topic, m.Body)
	if err != nil || !secrets || u.Sealed {
		return err
	}
	sealed, err := s.secrets.Seal(ctx, m.Body[:min(len(m.Body), MaxSealedBody)], bodyPlace(id))
	u.Body, u.Sealed = []byte(sealed), err == nil
	return err
}

// OpenBody returns the body of an unprocessable message as it was received, as far as it was
// stored. Errors: CodeConflict if its key is deleted, secret.ErrUnavailable.
func (s *Sealer) OpenBody(ctx context.Context, item store.Item[store.Unprocessable]) ([]byte, error) {
	if !item.Doc.Sealed {
		return item.Doc.Body, nil
	}
	body, err := s.secrets.Open(ctx, string(item.Doc.Body), bodyPlace(item.ID))
	if errors.Is(err, secret.ErrLost) {
		return nil, problem.New(api.CodeConflict, "the body of message %s cannot be decrypted: Key Vault no longer has its version of the key", item.ID)
	}
	return body, err
}

// bodyPlace returns the place that the body of an unprocessable message is encrypted for.
func bodyPlace(id string) string { return "message/" + id }

// openFields has the fields of jobs and results that hold no secret.
var openFields = []string{
	"JobId", "BatchId", "WorkerId", "FunctionName", "EffectId", "DispatchedAt", "ExpiresAt", "AcceptsGroups",
	"Status", "ResultType", "DurationMs", "Timestamp", "CorrelationData",
}

// RedactedBody returns the body of an unprocessable message for views: of a job or a result only
// the fields that hold no secret, of any other message nothing. Errors: as OpenBody.
func (s *Sealer) RedactedBody(ctx context.Context, item store.Item[store.Unprocessable]) ([]byte, error) {
	body, err := s.OpenBody(ctx, item)
	if err != nil {
		return nil, err
	}
	redacted := json.RawMessage(`"` + Redacted + `"`)
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields == nil {
		return redacted, nil
	}
	for name := range fields {
		if !slices.ContainsFunc(openFields, func(open string) bool { return strings.EqualFold(open, name) }) {
			fields[name] = redacted
		}
	}
	return json.Marshal(fields)
}
