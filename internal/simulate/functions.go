package simulate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// offer gives the worker its functions, which check parameters as those of a worker do and do
// nothing. Without any, the worker accepts all calls.
func (k *worker) offer(functions []signature.Function) error {
	if functions == nil {
		return nil
	}
	all := make([]catalog.Function, len(functions))
	for i, f := range functions {
		all[i] = catalog.FromSignature(f).With(func(context.Context, catalog.Params) (any, error) { return true, nil })
	}
	var err error
	if k.offered, err = catalog.New(all...); err != nil {
		return err
	}
	k.fitting = map[string]catalog.Type{}
	k.r.runbook.EachStep(func(s runbook.Step, _ []any) {
		f, known := k.function(s.Function)
		if !known {
			return
		}
		for _, p := range f.Params {
			for name, value := range s.Params {
				text, isText := value.(string)
				names := template.References(value)
				whole := isText && len(names) == 1 && text == "{{"+names[0]+"}}"
				if whole && strings.EqualFold(name, p.Name) && restricts(p.Type) {
					k.fitting[names[0]] = p.Type
				}
			}
		}
	})
	return nil
}

// restricts tells whether some texts are no values of a type.
func restricts(t catalog.Type) bool {
	return !slices.Contains([]catalog.Type{signature.String, signature.StringList, signature.Any}, t)
}

// function returns the function with a name, compared without case.
func (k *worker) function(name string) (catalog.Function, bool) {
	if k.offered == nil {
		return catalog.Function{}, false
	}
	all := k.offered.Functions()
	i := slices.IndexFunc(all, func(f catalog.Function) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return catalog.Function{}, false
	}
	return all[i], true
}

// refuse fails a job that a worker with these functions fails: the function is unknown, or the
// parameters are not those that it takes. It is false if there is no reason to.
func (k *worker) refuse(ctx context.Context, j message.Job, r *message.Result) bool {
	if k.offered == nil {
		return false
	}
	_, err := k.offered.Call(ctx, j.FunctionName, j.Parameters)
	var failure *catalog.Failure
	if !errors.As(err, &failure) {
		return false
	}
	r.Status = message.StatusFailure
	r.Error = &message.JobError{Message: failure.Message, Type: failure.Type, Attempts: 1}
	return true
}

// placeholder is a result with the fields that the step's output_params takes, as far as the
// function returns them.
func (k *worker) placeholder(s runbook.Step, m *model.Member) json.RawMessage {
	returns := func(string) bool { return true }
	if f, known := k.function(s.Function); known && !returnsField(f, "complete") {
		returns = func(field string) bool { return returnsField(f, field) }
	}
	fields := map[string]any{}
	for variable, field := range s.OutputParams {
		if returns(field) {
			fields[field] = k.value(variable, field, m)
		}
	}
	var result any = true
	switch {
	case s.Poll != nil:
		result = map[string]any{"complete": true, "data": fields}
	case len(fields) > 0:
		result = fields
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		panic(err) // texts and flags in a map
	}
	return encoded
}

func returnsField(f catalog.Function, name string) bool { return f.Signature().Has(name) }

// value makes up the value of an output, of the type that the steps that use it need.
func (k *worker) value(variable, field string, m *model.Member) any {
	text := "simulated " + field
	if m.Key != "" {
		text = fmt.Sprintf("simulated %s of %s", field, m.Key)
	}
	sum := sha256.Sum256([]byte(text))
	switch kind := k.fitting[variable]; {
	case kind == signature.GUID:
		return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	case kind == signature.Email:
		return fmt.Sprintf("simulated-%x@example.com", sum[:8])
	case kind == signature.Domain:
		return fmt.Sprintf("simulated-%x.example.com", sum[:8])
	case kind == signature.Boolean:
		return true
	case kind == signature.Object:
		return map[string]any{"simulated": field}
	case strings.Contains(string(kind), "|"):
		first, _, _ := strings.Cut(string(kind), "|")
		return first
	}
	return text
}
