package sealing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/secret"
)

// Values of secrets exist in three places only: in what comes in (files, rows, results),
// until it is written; in a job on its way to the worker; in the worker. Everything in
// between carries them encrypted, and shows none.

// What is shown in the place of a secret value.
const (
	Redacted       = "(secret)"
	redactedErased = "(secret, erased)"
)

// noKey are the keys of a deployment that has none.
type noKey struct{}

var errNoKey = fmt.Errorf("%w: no key is configured: set KEY_VAULT_URL and SECRETS_KEY_NAME", secret.ErrUnavailable)

func (noKey) Current(context.Context) (secret.Key, error) { return secret.Key{}, errNoKey }

func (noKey) Version(context.Context, string) (secret.Key, error) { return secret.Key{}, errNoKey }

// placeOf is what a secret value is encrypted for: it can be decrypted nowhere else. A run
// without a member has member 0.
func placeOf(batch, member int, name string) string {
	return fmt.Sprintf("batch/%d/member/%d/%s", batch, member, name)
}

func (sl *Sealer) seal(ctx context.Context, batch, member int, name string, value json.RawMessage) (json.RawMessage, error) {
	sealed, err := sl.secrets.Seal(ctx, value, placeOf(batch, member, name))
	if err != nil {
		return nil, fmt.Errorf("secret %s of batch %d: %w", name, batch, err)
	}
	return model.Seal(sealed), nil
}

// open decrypts a secret value; one that was stored before its column was secret is as it
// is.
func (sl *Sealer) open(ctx context.Context, batch, member int, name string, value json.RawMessage) (json.RawMessage, error) {
	sealed, ok := model.Sealed(value)
	if !ok {
		return value, nil
	}
	opened, err := sl.secrets.Open(ctx, sealed, placeOf(batch, member, name))
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", name, err)
	}
	return opened, nil
}

// SealData gives the data of a member with its secrets encrypted.
func (sl *Sealer) SealData(ctx context.Context, rb *runbook.Runbook, batch, member int, data map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if len(rb.Secret) == 0 {
		return data, nil
	}
	sealed := maps.Clone(data)
	for _, name := range rb.Secret {
		if value, ok := data[name]; ok {
			var err error
			if sealed[name], err = sl.seal(ctx, batch, member, name, value); err != nil {
				return nil, err
			}
		}
	}
	return sealed, nil
}

// KeepErased leaves secrets erased in the data of a member.
func KeepErased(data, before map[string]json.RawMessage) {
	for name, value := range before {
		if sealed, ok := model.Sealed(value); ok && sealed == "" {
			data[name] = value
		}
	}
}

// ContentDigest is a digest of a request with a file of members, from which nobody can guess
// the secrets in the file.
func (sl *Sealer) ContentDigest(ctx context.Context, rb *runbook.Runbook, digest string) (string, error) {
	if len(rb.Secret) == 0 {
		return digest, nil
	}
	return sl.secrets.Digest(ctx, []byte(digest))
}

// SameContent tells whether what contentOf made is of a digest.
func (sl *Sealer) SameContent(ctx context.Context, content, digest string) (bool, error) {
	if content == digest || !strings.Contains(content, ".") {
		return content == digest, nil
	}
	return sl.secrets.SameDigest(ctx, content, []byte(digest))
}

// FillJob puts the values of secrets into the parameters of a job.
func (sl *Sealer) FillJob(ctx context.Context, run *model.Run, body []byte) ([]byte, error) {
	var job message.Job
	if err := json.Unmarshal(body, &job); err != nil {
		return nil, err
	}
	params, err := template.FillSecrets(job.Parameters, func(name string) (json.RawMessage, error) {
		value, ok := run.Secrets[name]
		if !ok {
			return nil, fmt.Errorf("%w: the run does not have %s any more", secret.ErrLost, name)
		}
		opened, err := sl.open(ctx, run.Batch, run.Member, name, value)
		if err == nil {
			job.Secrets = append(job.Secrets, textsOf(opened)...)
		}
		return opened, err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(job.Secrets)
	job.Parameters, job.Secrets = params, slices.Compact(job.Secrets)
	return json.Marshal(job)
}

// Redact gives JSON as people are shown it: without encrypted values and references.
func Redact(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(template.SecretField)) && !bytes.Contains(raw, []byte(model.SealedField)) {
		return raw
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return raw
	}
	text, err := json.Marshal(redactValue(value))
	if err != nil {
		return raw
	}
	return text
}

func redactValue(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = redactValue(v[i])
		}
	case map[string]any:
		if _, is := v[template.SecretField]; is {
			return Redacted
		}
		if _, is := v[model.SealedField]; is {
			if raw, err := json.Marshal(v); err == nil {
				if sealed, ok := model.Sealed(raw); ok && sealed == "" {
					return redactedErased
				}
			}
			return Redacted
		}
		for name := range v {
			v[name] = redactValue(v[name])
		}
	}
	return v
}

// RedactData gives the data of a member as people are shown it. Names are those of
// secrets, of which some may be stored as they were before they were secret.
func RedactData(data map[string]json.RawMessage, names []string) map[string]json.RawMessage {
	if data == nil {
		return nil
	}
	next := make(map[string]json.RawMessage, len(data))
	for name, value := range data {
		_, sealed := model.Sealed(value)
		switch {
		case sealed, !slices.Contains(names, name):
			next[name] = Redact(value)
		default:
			next[name] = json.RawMessage(`"` + Redacted + `"`)
		}
	}
	return next
}

// DigestKey is the key of digests from which nobody can guess a secret.
func (sl *Sealer) DigestKey(ctx context.Context) ([]byte, error) { return sl.secrets.DigestKey(ctx) }

// CheckKey checks that there is a key to encrypt the secrets of a runbook with. Errors:
// CodeConflict where none is configured, secret.ErrUnavailable.
func (sl *Sealer) CheckKey(ctx context.Context, names []string) error {
	if !sl.keyed {
		return problem.New(api.CodeConflict, "the runbook has secrets (%s), and this deployment has no key to encrypt them with: create one in Key Vault and set KEY_VAULT_URL and SECRETS_KEY_NAME (docs/deployment.md)", strings.Join(names, ", "))
	}
	return sl.secrets.Check(ctx)
}
