package sealing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
)

// secretLost is the type of the error of a job that was not sent, because a secret of its
// parameters cannot be decrypted.
const secretLost = "SecretLost"

// RefusedJob answers a job in its worker's place.
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

// hiding is what is hidden of the answer to a step.
type hiding struct {
	sealer  *Sealer
	run     *model.Run
	runbook *runbook.Runbook
	step    runbook.Step
	values  []string // as text
	lost    error    // why a value is not among them; nil: all are
}

// Hide encrypts the secrets in a worker's answer, or in what an administrator gives in its
// place, and removes the values of secrets that the step was given from all of it.
func (sl *Sealer) Hide(ctx context.Context, run *model.Run, e model.RunEvent) (model.RunEvent, error) {
	switch e := e.(type) {
	case model.StepResult:
		h, err := sl.hiding(ctx, run, e.Step)
		if h == nil || err != nil {
			return e, err
		}
		if h.lost != nil {
			return h.withhold(e), nil
		}
		e.Error = h.scrub(e.Error)
		e.Result, err = h.result(ctx, e.Result, e.OK && run.Steps[e.Step].JobID == e.JobID)
		return e, err
	case model.StepResolved:
		h, err := sl.hiding(ctx, run, e.Step)
		if h == nil || err != nil || len(e.Result) == 0 {
			return e, err
		}
		e.Result, err = h.result(ctx, e.Result, true)
		return e, err
	}
	return e, nil
}

// hiding is nil where the step has no secrets.
func (sl *Sealer) hiding(ctx context.Context, run *model.Run, step int) (*hiding, error) {
	rb, err := sl.runbooks.Load(ctx, run.Runbook, run.Version)
	if err != nil || step < 0 || step >= len(run.Steps) {
		return nil, err
	}
	params := run.Steps[step].Params
	if len(rb.Secret) == 0 && !template.HasSecrets(params) {
		return nil, nil
	}
	h := &hiding{sealer: sl, run: run, runbook: rb}
	if h.step, err = run.Definition(rb, step); err != nil {
		return nil, err
	}
	if !template.HasSecrets(params) {
		return h, nil
	}
	var member store.Item[model.Member]
	for _, name := range h.step.References() {
		value, ok := run.Secrets[name]
		if !ok && run.Member != 0 { // the answer is late: the run is at another step
			if member.ETag == "" {
				if member, err = store.Read[model.Member](ctx, sl.store, store.MemberKey(run.Batch, run.Member)); err != nil {
					return nil, err
				}
			}
			if value, ok = member.Doc.WorkerData[name]; !ok {
				value = member.Doc.Data[name]
			}
		}
		if sealed, ok := model.Sealed(value); !ok && !rb.IsSecret(name) || ok && sealed == "" || len(value) == 0 {
			continue
		}
		value, err := sl.open(ctx, run.Batch, run.Member, name, value)
		if errors.Is(err, secret.ErrUnavailable) {
			return nil, err
		}
		if err != nil {
			h.lost = err
			continue
		}
		h.values = append(h.values, textOf(value))
	}
	return h, nil
}

// withhold removes what a worker said from its answer, because the answer cannot be searched
// for a secret that cannot be decrypted. The worker may have got the secret before its key was
// removed. A success without which the runbook cannot go on becomes a failure.
func (h *hiding) withhold(e model.StepResult) model.StepResult {
	cause := message.ErrorText(&message.JobError{Message: h.lost.Error(), Type: secretLost})
	switch {
	case e.Error == cause: // the job was not sent: see refusedJob
	case e.OK && len(h.step.OutputParams) == 0 && h.step.Poll == nil:
		e.Result = json.RawMessage(`"` + Redacted + `"`)
	default:
		e.OK, e.Result, e.Error = false, nil, "the worker's answer is not stored, because it cannot be searched for a secret: "+cause
	}
	return e
}

// textsOf are the texts and numbers in a JSON value, as text.
func textsOf(value json.RawMessage) (texts []string) {
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal(value, &list) == nil:
		for _, element := range list {
			texts = append(texts, textsOf(element)...)
		}
	case json.Unmarshal(value, &object) == nil:
		for _, field := range object {
			texts = append(texts, textsOf(field)...)
		}
	default:
		if text := textOf(value); text != "" && text != "true" && text != "false" {
			texts = append(texts, text)
		}
	}
	return texts
}

// textOf is a JSON value as text.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(bytes.TrimSpace(value))
}

// shortest is how long a secret has to be, in characters, to be removed from the middle
// of a text. One that is shorter is part of many words.
const shortest = 4

// scrub removes the values of secrets from a text.
func (h *hiding) scrub(text string) string {
	for _, value := range h.values {
		switch {
		case value == "":
		case text == value:
			return Redacted
		case utf8.RuneCountInString(value) >= shortest:
			text = strings.ReplaceAll(text, value, Redacted)
			if quoted, err := json.Marshal(value); err == nil && len(quoted) > len(value)+2 { // as it stands in JSON
				text = strings.ReplaceAll(text, string(quoted[1:len(quoted)-1]), Redacted)
			}
		}
	}
	return text
}

// result encrypts the secret outputs in a result that is taken, and hides them in any
// other.
func (h *hiding) result(ctx context.Context, result json.RawMessage, taken bool) (json.RawMessage, error) {
	if len(result) == 0 {
		return result, nil
	}
	result, err := model.MapOutputs(h.step.OutputParams, result, func(variable string, value json.RawMessage) (json.RawMessage, error) {
		switch {
		case !h.runbook.IsSecret(variable):
			return nil, nil
		case !taken:
			return json.Marshal(template.Secret(variable))
		}
		return h.sealer.seal(ctx, h.run.Batch, h.run.Member, variable, value)
	})
	if err != nil || len(h.values) == 0 {
		return result, err
	}
	decoder := json.NewDecoder(bytes.NewReader(result))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return result, nil // no JSON, which the store refuses
	}
	return json.Marshal(h.walk(value))
}

// walk removes the values of secrets from a result.
func (h *hiding) walk(v any) any {
	switch v := v.(type) {
	case string:
		return h.scrub(v)
	case json.Number:
		if slices.Contains(h.values, v.String()) && len(v) >= shortest {
			return Redacted
		}
	case []any:
		for i := range v {
			v[i] = h.walk(v[i])
		}
	case map[string]any:
		if _, sealed := v[model.SealedField]; sealed {
			return v
		}
		next := make(map[string]any, len(v))
		for name := range v {
			next[h.scrub(name)] = h.walk(v[name])
		}
		return next
	}
	return v
}
