package sealing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/secret"
)

// SealData returns the data of a member with its secrets encrypted. It does not change data.
func (s *Sealer) SealData(ctx context.Context, rb *runbook.Runbook, batch, member int, data map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if len(rb.Secret) == 0 {
		return data, nil
	}
	sealed := maps.Clone(data)
	for _, name := range rb.Secret {
		if value, ok := data[name]; ok {
			var err error
			if sealed[name], err = s.seal(ctx, batch, member, name, value); err != nil {
				return nil, err
			}
		}
	}
	return sealed, nil
}

// SealCorrection returns columns of a member with their secrets encrypted. A secret that is the same
// as the member has keeps its encrypted value, so that it can be compared. It does not change data.
func (s *Sealer) SealCorrection(ctx context.Context, rb *runbook.Runbook, batch int, m *model.Member, data map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	sealed, err := s.SealData(ctx, rb, batch, m.ID, data)
	if err != nil || len(rb.Secret) == 0 {
		return sealed, err
	}
	was, err := s.OpenData(ctx, batch, m, slices.Collect(maps.Keys(data)))
	for name, value := range was {
		if _, encrypted := model.Sealed(m.Data[name]); encrypted && model.SameValue(value, data[name]) {
			sealed[name] = m.Data[name]
		}
	}
	return sealed, err
}

// OpenData returns some columns of a member with their secrets decrypted. It leaves out those that
// the member does not have, and secrets that were erased or whose key is deleted.
func (s *Sealer) OpenData(ctx context.Context, batch int, m *model.Member, names []string) (map[string]json.RawMessage, error) {
	data := map[string]json.RawMessage{}
	for _, name := range names {
		value, has := m.Data[name]
		if sealed, ok := model.Sealed(value); !has || ok && sealed == "" {
			continue
		}
		opened, err := s.open(ctx, batch, m.ID, name, value)
		switch {
		case errors.Is(err, secret.ErrUnavailable):
			return nil, err
		case err == nil:
			data[name] = opened
		}
	}
	return data, nil
}

// Place is a member of a batch, to which encrypted values are bound.
type Place struct{ Batch, Member int }

// Reseal encrypts the secret values of a member for another member, who takes them over. Erased values
// stay erased.
func (s *Sealer) Reseal(ctx context.Context, from, to Place, values map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	resealed := maps.Clone(values)
	for name, value := range values {
		if sealed, secret := model.Sealed(value); !secret || sealed == "" {
			continue
		}
		opened, err := s.open(ctx, from.Batch, from.Member, name, value)
		if err != nil {
			return nil, err
		}
		if resealed[name], err = s.seal(ctx, to.Batch, to.Member, name, opened); err != nil {
			return nil, err
		}
	}
	return resealed, nil
}

// FillJob replaces the references to secrets in the parameters of a job with their values, and
// lists the values in the job, so that the worker removes them from its logs and results. Body is
// the JSON of the job. Errors: secret.ErrLost if the run no longer has a secret.
func (s *Sealer) FillJob(ctx context.Context, run *model.Run, body []byte) ([]byte, error) {
	var job message.Job
	if err := json.Unmarshal(body, &job); err != nil {
		return nil, err
	}
	params, err := template.FillSecrets(job.Parameters, func(name string) (json.RawMessage, error) {
		value, ok := run.Secrets[name]
		if !ok {
			return nil, fmt.Errorf("%w: the run no longer has %s", secret.ErrLost, name)
		}
		opened, err := s.open(ctx, run.Batch, run.Member, name, value)
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

// secretLost is the type of the error of a job that was not sent because a secret in its
// parameters cannot be decrypted.
const secretLost = "SecretLost"

// RefusedJob returns the failed result of a job that is not sent because of cause. Body is the
// JSON of the job.
func RefusedJob(body []byte, cause error, now time.Time) (bus.Message, error) {
	var job message.Job
	if err := json.Unmarshal(body, &job); err != nil {
		return bus.Message{}, err
	}
	result := message.Result{
		JobID: job.JobID, Status: message.StatusFailure, Timestamp: now.UTC(), CorrelationData: job.CorrelationData,
		Error: &message.JobError{Message: cause.Error(), Type: secretLost, Attempts: 1},
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return bus.Message{}, err
	}
	return bus.Message{ID: result.ID(), Body: encoded, Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerResult}}, nil
}

// valuePlace returns the place that a value is encrypted for: it can be decrypted in no other. A
// run without a member has member 0.
func valuePlace(batch, member int, name string) string {
	return fmt.Sprintf("batch/%d/member/%d/%s", batch, member, name)
}

// seal encrypts the value of a secret.
func (s *Sealer) seal(ctx context.Context, batch, member int, name string, value json.RawMessage) (json.RawMessage, error) {
	sealed, err := s.secrets.Seal(ctx, value, valuePlace(batch, member, name))
	if err != nil {
		return nil, fmt.Errorf("secret %s of batch %d: %w", name, batch, err)
	}
	return model.Seal(sealed), nil
}

// open decrypts the value of a secret. It returns a value unchanged that was stored before its
// column was secret.
func (s *Sealer) open(ctx context.Context, batch, member int, name string, value json.RawMessage) (json.RawMessage, error) {
	sealed, ok := model.Sealed(value)
	if !ok {
		return value, nil
	}
	opened, err := s.secrets.Open(ctx, sealed, valuePlace(batch, member, name))
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", name, err)
	}
	return opened, nil
}
