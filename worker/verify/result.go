package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"reflect"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/message"
)

// result is one message on worker-results. Its fields are found in any case, as the
// orchestrator reads them.
type result struct {
	message *bus.Received
	fields  map[string]json.RawMessage // by name in lower case
}

func readResult(m *bus.Received) (result, error) {
	r := result{message: m, fields: map[string]json.RawMessage{}}
	if len(m.Body) == 0 {
		return r, fmt.Errorf("the message %s on %s has no AMQP data body", m.ID, message.TopicWorkerResults)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(m.Body, &fields); err != nil {
		return r, fmt.Errorf("the message %s on %s is not a JSON object: %w", m.ID, message.TopicWorkerResults, err)
	}
	for name, value := range fields {
		r.fields[strings.ToLower(name)] = value
	}
	if r.jobID() == "" {
		return r, fmt.Errorf("the message %s on %s has no JobId", m.ID, message.TopicWorkerResults)
	}
	return r, nil
}

func (r result) raw(name string) json.RawMessage { return r.fields[strings.ToLower(name)] }

func (r result) text(name string) string {
	var s string
	_ = json.Unmarshal(r.raw(name), &s) // no text is the empty text
	return s
}

func (r result) null(name string) bool {
	v := r.raw(name)
	return len(v) == 0 || string(v) == "null"
}

func (r result) jobID() string         { return r.text("JobId") }
func (r result) is(status string) bool { return strings.EqualFold(r.text("Status"), status) }

// jobError is the result's Error.
type jobError struct {
	Message           *string
	Type              *string
	IsThrottled       *bool
	IsNotFound        *bool
	Attempts          *int
	RetryAfterSeconds *float64
}

func (r result) failure() (e jobError, err error) {
	err = json.Unmarshal(r.raw("Error"), &e)
	return e, err
}

// failedAs reports whether the result is a failure of a type.
func (r result) failedAs(kind string) bool {
	e, err := r.failure()
	return r.is(message.StatusFailure) && err == nil && e.Type != nil && *e.Type == kind
}

// said is how the result ended, for details.
func (r result) said() string {
	if e, err := r.failure(); err == nil && e.Message != nil {
		kind := ""
		if e.Type != nil {
			kind = *e.Type + ": "
		}
		return clip(kind + *e.Message)
	}
	return clip(r.text("Status") + " " + string(r.raw("Result")))
}

func clip(s string) string { return humanize.ClipBytes(s, 200) }

// shape judges the body.
func (r result) shape(now time.Time) []string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	switch {
	case r.is(message.StatusSuccess):
		r.successShape(fault)
	case r.is(message.StatusFailure):
		r.failureShape(fault)
	default:
		fault("Status is %s: use %q or %q", orNothing(r.raw("Status")), message.StatusSuccess, message.StatusFailure)
	}
	var took int64
	if json.Unmarshal(r.raw("DurationMs"), &took) != nil || r.null("DurationMs") || took < 0 {
		fault("DurationMs is %s, not a whole number of milliseconds", orNothing(r.raw("DurationMs")))
	}
	at, err := time.Parse(time.RFC3339, r.text("Timestamp"))
	switch {
	case err != nil:
		fault("Timestamp is %s, not a time such as 2026-03-01T12:30:00Z", orNothing(r.raw("Timestamp")))
	case at.Sub(now).Abs() > 10*time.Minute:
		fault("Timestamp is %s, more than ten minutes from now", at.UTC().Format(time.RFC3339))
	}
	return faults
}

func (r result) successShape(fault func(string, ...any)) {
	if !r.null("Error") {
		fault("a success has an Error")
	}
	var plain bool
	value, kind := bytes.TrimSpace(r.raw("Result")), r.text("ResultType")
	switch {
	case len(value) > 0 && value[0] == '{':
		if !strings.EqualFold(kind, message.ResultObject) {
			fault("Result is an object, but ResultType is %q", kind)
		}
	case json.Unmarshal(value, &plain) == nil && !r.null("Result"):
		if !strings.EqualFold(kind, message.ResultBoolean) {
			fault("Result is %t, but ResultType is %q", plain, kind)
		}
	default:
		fault("Result is %s, neither a boolean nor an object", orNothing(value))
	}
}

func (r result) failureShape(fault func(string, ...any)) {
	if !r.null("Result") {
		fault("a failure has a Result")
	}
	if r.null("Error") {
		fault("a failure has no Error")
		return
	}
	e, err := r.failure()
	switch {
	case err != nil:
		fault("Error cannot be read: %v", err)
	case e.Message == nil || strings.TrimSpace(*e.Message) == "":
		fault("Error.Message is missing or empty")
	case e.Type == nil || strings.TrimSpace(*e.Type) == "":
		fault("Error.Type is missing or empty")
	case e.IsThrottled == nil:
		fault("Error.IsThrottled is missing")
	case e.Attempts == nil || *e.Attempts < 1:
		fault("Error.Attempts is missing or less than 1")
	case e.RetryAfterSeconds != nil && *e.RetryAfterSeconds < 0:
		fault("Error.RetryAfterSeconds is negative")
	}
}

func orNothing(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "missing"
	}
	return clip(string(raw))
}

// envelope judges the message around the body.
func (r result) envelope(workerID, trace string) []string {
	var faults []string
	m := r.message
	if m.ContentType == "" {
		faults = append(faults, "the content type is missing: use application/json")
	} else if kind, _, err := mime.ParseMediaType(m.ContentType); err != nil || kind != "application/json" {
		faults = append(faults, fmt.Sprintf("the content type is %q, not application/json", m.ContentType))
	}
	if m.ID == "" {
		faults = append(faults, "the message id is missing")
	}
	if m.CorrelationID != "" && m.CorrelationID != r.jobID() {
		faults = append(faults, fmt.Sprintf("the correlation id is %q, not the JobId", m.CorrelationID))
	}
	for name, want := range map[string]string{message.PropertyWorkerID: workerID, message.PropertyMessageType: message.TypeWorkerResult} {
		if v, ok := m.Properties[name]; ok && !strings.EqualFold(fmt.Sprint(v), want) {
			faults = append(faults, fmt.Sprintf("the property %s is %q, not %q", name, fmt.Sprint(v), want))
		}
	}
	if v, ok := m.Properties["traceparent"]; ok && !strings.HasPrefix(fmt.Sprint(v), "00-"+trace+"-") {
		faults = append(faults, fmt.Sprintf("the property traceparent is %q, not of the job's trace", fmt.Sprint(v)))
	}
	return faults
}

// sameJSON tells whether two values are the same but for blanks and the order of
// fields; numbers are compared as they are written.
func sameJSON(a, b []byte) bool {
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func decode(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// sameOutcome tells whether two results of one job say the same.
func sameOutcome(a, b result) bool {
	for _, name := range []string{"Result", "Error"} {
		if a.null(name) != b.null(name) || !a.null(name) && !sameJSON(a.raw(name), b.raw(name)) {
			return false
		}
	}
	return strings.EqualFold(a.text("Status"), b.text("Status"))
}
