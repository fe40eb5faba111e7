package custom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// FailureCustom is the type of a failure whose function gives it none.
const FailureCustom = "CustomFunction"

// answer is the JSON that a function writes to standard output. Field names are
// case-insensitive; unknown ones are refused.
type answer struct {
	Success *bool           `json:"success"`
	Result  json.RawMessage `json:"result"`
	Error   *answerError    `json:"error"`
}

type answerError struct {
	Message           string  `json:"message"`
	Type              string  `json:"type"`
	IsThrottled       bool    `json:"isThrottled"`
	IsNotFound        bool    `json:"isNotFound"`
	RetryAfterSeconds float64 `json:"retryAfterSeconds"`
	Attempts          int     `json:"attempts"`
}

// answer makes the function's answer of what its process said and how it ended.
func (p *program) answer(said []byte, ended error, blank *strings.Replacer) (any, error) {
	var exit *exec.ExitError
	if ended != nil && !errors.As(ended, &exit) {
		return nil, p.failure(FailureProcess, "cannot start the process: "+ended.Error())
	}
	a, err := readAnswer(said)
	switch {
	case exit != nil && (err != nil || *a.Success):
		// ProcessState says "exit status 3" or "signal: killed".
		return nil, p.failure(FailureProcess, "the process ended with "+exit.Error()+"; its output is in the worker's log")
	case err != nil:
		return nil, p.failure(catalog.FailureInvalidResult, blank.Replace(err.Error()))
	case !*a.Success:
		return nil, a.Error.failure(blank)
	}
	result, err := p.result(a.Result)
	if err != nil {
		return nil, p.failure(catalog.FailureInvalidResult, err.Error())
	}
	return result, nil
}

// readAnswer reads and validates an answer: Success is required, and Error is
// present exactly when Success is false. Errors quote at most the name of a field or a number.
func readAnswer(said []byte) (answer, error) {
	said = bytes.TrimSpace(bytes.TrimPrefix(said, []byte("\uFEFF")))
	if len(said) == 0 {
		return answer{}, errors.New("standard output is empty: write one answer as JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(said))
	decoder.DisallowUnknownFields()
	var a answer
	if err := decoder.Decode(&a); err != nil {
		return answer{}, fmt.Errorf("standard output is not a valid answer: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return answer{}, errors.New("standard output has more than one answer: write messages to standard error")
	}
	null := len(a.Result) == 0 || string(a.Result) == "null"
	switch {
	case a.Success == nil:
		return answer{}, errors.New("the answer has no success")
	case *a.Success && a.Error != nil:
		return answer{}, errors.New("the answer has success true and an error")
	case !*a.Success && !null:
		return answer{}, errors.New("the answer has success false and a result")
	case !*a.Success && (a.Error == nil || strings.TrimSpace(a.Error.Message) == ""):
		return answer{}, errors.New("the answer has success false and no error.message")
	case a.Error != nil && (a.Error.RetryAfterSeconds < 0 || a.Error.RetryAfterSeconds > 7*24*3600 || a.Error.Attempts < 0):
		return answer{}, errors.New("the answer has retryAfterSeconds or attempts out of range")
	}
	if null {
		a.Result = nil
	}
	return a, nil
}

func (e *answerError) failure(blank *strings.Replacer) error {
	f := &catalog.Failure{
		Type: blank.Replace(e.Type), Message: blank.Replace(e.Message), Throttled: e.IsThrottled, NotFound: e.IsNotFound, Attempts: e.Attempts,
		RetryAfter: time.Duration(e.RetryAfterSeconds * float64(time.Second)),
	}
	switch {
	case f.Type == "" && f.Throttled:
		f.Type = catalog.FailureThrottled
	case f.Type == "":
		f.Type = FailureCustom
	}
	return f
}

// result checks a success against the declaration: later steps rely on the
// declared fields.
func (p *program) result(raw json.RawMessage) (any, error) {
	var plain bool
	var object map[string]json.RawMessage
	switch {
	case raw == nil:
		plain = true
	case json.Unmarshal(raw, &plain) == nil:
	case json.Unmarshal(raw, &object) != nil:
		return nil, errors.New("the result must be true, false or an object")
	}
	var missing []string
	for _, field := range p.declared.Result {
		if _, ok := member(object, field.Name); !ok {
			missing = append(missing, field.Name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the result lacks the declared fields %s", strings.Join(missing, ", "))
	}
	if object == nil {
		return plain, nil
	}
	if complete, ok := member(object, "complete"); ok && json.Unmarshal(complete, &plain) != nil {
		return nil, errors.New("the field complete must be true or false")
	}
	return raw, nil
}

func member(object map[string]json.RawMessage, name string) (json.RawMessage, bool) {
	for k, v := range object {
		if strings.EqualFold(k, name) {
			return v, true
		}
	}
	return nil, false
}
