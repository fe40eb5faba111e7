package sealing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Hide returns an event without the values of secrets. In the answer of a worker, and in the
// result of a step that an administrator resolves, it encrypts the outputs that are secret, and
// removes their values and the secrets that the step was given from the rest of the result and
// from the error. It returns any other event unchanged.
func (s *Sealer) Hide(ctx context.Context, run *model.Run, e model.RunEvent) (model.RunEvent, error) {
	switch e := e.(type) {
	case model.StepResult:
		h, err := s.newHider(ctx, run, e.Step)
		if h == nil || err != nil {
			return e, err
		}
		if h.lost != nil {
			return h.withhold(e), nil
		}
		e.Result, err = h.hideResult(ctx, e.Result, e.OK && run.JobID(e.Step) == e.JobID)
		e.Error = h.scrubText(e.Error) // after hideResult, which adds the secrets of the result
		return e, err
	case model.StepResolved:
		h, err := s.newHider(ctx, run, e.Step)
		if h == nil || err != nil || len(e.Result) == 0 {
			return e, err
		}
		e.Result, err = h.hideResult(ctx, e.Result, true)
		return e, err
	}
	return e, nil
}

// hider hides the secrets in the answer to one step.
type hider struct {
	sealer  *Sealer
	run     *model.Run
	runbook *runbook.Runbook
	step    runbook.Step
	member  store.Item[model.Member] // read by storedValue
	values  []string                 // of the secrets that the step was given or has returned, as text
	lost    error                    // why a value is not among them; nil: all are
}

// newHider returns the hider of a step, nil if neither the runbook nor the step has secrets.
func (s *Sealer) newHider(ctx context.Context, run *model.Run, step int) (*hider, error) {
	rb, err := s.runbooks.Load(ctx, run.Runbook, run.Version)
	if err != nil || step < 0 || step >= len(run.Steps) {
		return nil, err
	}
	given := template.HasSecrets(run.Steps[step].Params)
	if len(rb.Secret) == 0 && !given {
		return nil, nil
	}
	h := &hider{sealer: s, run: run, runbook: rb}
	if h.step, err = run.Definition(rb, step); err != nil {
		return nil, err
	}
	// A step that was dispatched before its worker announced itself has its secrets in the clear.
	if given || slices.ContainsFunc(h.step.References(), rb.IsSecret) {
		if err := h.loadValues(ctx); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// loadValues decrypts the secrets that the step was given. For a secret that cannot be decrypted
// it sets h.lost. Errors: secret.ErrUnavailable, errors of the store.
func (h *hider) loadValues(ctx context.Context) error {
	for _, name := range h.step.References() {
		value, err := h.storedValue(ctx, name)
		if err != nil {
			return err
		}
		sealed, ok := model.Sealed(value)
		if !ok && !h.runbook.IsSecret(name) || ok && sealed == "" || len(value) == 0 {
			continue
		}
		opened, err := h.sealer.open(ctx, h.run.Batch, h.run.Member, name, value)
		switch {
		case errors.Is(err, secret.ErrUnavailable):
			return err
		case err != nil:
			h.lost = err
		default:
			h.addValues(opened)
		}
	}
	return nil
}

// addValues adds a secret to h.values: its text and, of a list or an object, the longer texts and
// numbers in it.
func (h *hider) addValues(secret json.RawMessage) {
	whole := textOf(secret)
	for _, text := range append(textsOf(secret), whole) {
		if text == whole || utf8.RuneCountInString(text) >= minScrubbed {
			h.values = append(h.values, text)
		}
	}
	// The longest first: a shorter one can be a part of it.
	slices.SortFunc(h.values, func(a, b string) int { return len(b) - len(a) })
	h.values = slices.Compact(h.values)
}

// storedValue returns the value that a step refers to: that of the run or, after the run has ended,
// that of the member.
func (h *hider) storedValue(ctx context.Context, name string) (json.RawMessage, error) {
	if value, ok := h.run.Secrets[name]; ok {
		return value, nil
	}
	if value, ok := h.run.Outputs[name]; ok || h.run.Member == 0 {
		return value, nil
	}
	if value, ok := h.run.Variables[name]; ok {
		return value, nil
	}
	if h.member.ETag == "" {
		var err error
		if h.member, err = store.Read[model.Member](ctx, h.sealer.store, store.MemberKey(h.run.Batch, h.run.Member)); err != nil {
			return nil, err
		}
	}
	if value, ok := h.member.Doc.WorkerData[name]; ok {
		return value, nil
	}
	return h.member.Doc.Data[name], nil
}

// withhold removes the result and the error from an answer that cannot be searched for a secret,
// because the secret cannot be decrypted. The worker may have got the secret before its key was
// deleted. A success whose result the runbook needs becomes a failure.
func (h *hider) withhold(e model.StepResult) model.StepResult {
	cause := message.ErrorText(&message.JobError{Message: h.lost.Error(), Type: secretLost})
	switch {
	case e.Error == cause: // the job was not sent: see RefusedJob
	case e.OK && len(h.step.OutputParams) == 0 && h.step.Poll == nil:
		e.Result = json.RawMessage(`"` + Redacted + `"`)
	default:
		e.OK, e.Result, e.Error = false, nil, "the worker's answer was not stored because it could not be checked for secrets:  "+cause
	}
	return e
}

// hideResult encrypts the outputs that are secret in a result that the step takes, replaces them
// in any other result, and removes these secrets and those that the step was given from the rest.
// It adds the texts in the secret outputs to h.values.
func (h *hider) hideResult(ctx context.Context, result json.RawMessage, taken bool) (json.RawMessage, error) {
	if len(result) == 0 {
		return result, nil
	}
	result, err := model.MapOutputs(h.step.OutputParams, result, func(variable string, value json.RawMessage) (json.RawMessage, error) {
		if !h.runbook.IsSecret(variable) {
			return nil, nil
		}
		if _, sealed := model.Sealed(value); !sealed {
			h.addValues(value)
		}
		if !taken {
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
		return result, nil // invalid JSON, which the store refuses
	}
	return json.Marshal(h.scrubValue(value))
}

// minScrubbed is the length in characters from which a secret is removed from within a text. A
// shorter one is part of many words.
const minScrubbed = 4

// scrubText removes h.values from a text.
func (h *hider) scrubText(text string) string {
	for _, value := range h.values {
		switch {
		case value == "":
		case text == value:
			return Redacted
		case utf8.RuneCountInString(value) >= minScrubbed:
			text = strings.ReplaceAll(text, value, Redacted)
			if quoted, err := json.Marshal(value); err == nil && len(quoted) > len(value)+2 { // as JSON escapes it
				text = strings.ReplaceAll(text, string(quoted[1:len(quoted)-1]), Redacted)
			}
		}
	}
	return text
}

// scrubValue removes h.values from a decoded JSON value, which it may change.
func (h *hider) scrubValue(v any) any {
	switch v := v.(type) {
	case string:
		return h.scrubText(v)
	case json.Number:
		if slices.Contains(h.values, v.String()) && len(v) >= minScrubbed {
			return Redacted
		}
	case []any:
		for i := range v {
			v[i] = h.scrubValue(v[i])
		}
	case map[string]any:
		if _, sealed := v[model.SealedField]; sealed {
			return v
		}
		next := make(map[string]any, len(v))
		for name := range v {
			field := name
			if !h.readsField(name) {
				field = h.scrubText(name)
			}
			next[field] = h.scrubValue(v[name])
		}
		return next
	}
	return v
}

// readsField reports whether the engine looks for a field of this name in the answer.
func (h *hider) readsField(name string) bool {
	for _, field := range h.step.OutputParams {
		if strings.EqualFold(field, name) {
			return true
		}
	}
	return slices.ContainsFunc([]string{"complete", "data", "reason"}, func(field string) bool { return strings.EqualFold(name, field) })
}

// textsOf returns the texts and numbers in a JSON value.
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

// textOf returns a JSON value as text: a string without its quotes, any other value as JSON.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(bytes.TrimSpace(value))
}
