package invocation

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Call is one decoded invocation.
type Call struct {
	Function string // the folder's name
	ID       string // the host's invocation id

	// The Service Bus metadata of a message, from the host, for logs and
	// routing. Absent and invalid values are zero: the body alone decides whether
	// a message is valid, and with dataType string a body can overwrite these keys.
	MessageID     string
	DeliveryCount int            // 1 on the first delivery, 0 where the host did not say
	EnqueuedAt    time.Time      // UTC, whole seconds
	Properties    map[string]any // application properties: string, bool, int64, float64, nil or nested

	// Retry is how often the host has run this invocation before under the
	// function's retry policy; 0 on the first run.
	Retry int

	// Size is about the size of the message, in bytes, if it is so large that Binary gives only its
	// beginning; otherwise 0.
	Size int

	data map[string]json.RawMessage
}

type envelope struct {
	Data     map[string]json.RawMessage
	Metadata struct {
		MessageID             json.RawMessage `json:"MessageId"`
		DeliveryCount         json.RawMessage
		EnqueuedTimeUtc       json.RawMessage
		EnqueuedTime          json.RawMessage
		ApplicationProperties json.RawMessage
		UserProperties        json.RawMessage
		RetryContext          json.RawMessage
	}
}

// Decode reads the host's envelope, {"Data":{…},"Metadata":{…}}. It fails only
// where the envelope itself is no such object; nothing of b is kept.
func Decode(b []byte) (*Call, error) {
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return nil, fmt.Errorf("invalid envelope: %w", err)
	}
	if e.Data == nil {
		return nil, errors.New(`invalid envelope: it has no "Data"`)
	}
	c := &Call{data: e.Data}
	c.MessageID = text(e.Metadata.MessageID)
	c.DeliveryCount = count(e.Metadata.DeliveryCount)
	c.EnqueuedAt = instant(text(e.Metadata.EnqueuedTimeUtc))
	if c.EnqueuedAt.IsZero() {
		c.EnqueuedAt = instant(text(e.Metadata.EnqueuedTime))
	}
	c.Properties = properties(e.Metadata.ApplicationProperties)
	if c.Properties == nil {
		c.Properties = properties(e.Metadata.UserProperties)
	}
	var retry struct{ RetryCount json.RawMessage }
	if json.Unmarshal(e.Metadata.RetryContext, &retry) == nil {
		c.Retry = count(retry.RetryCount)
	}
	return c, nil
}

// Binary gives the bytes of a binding whose dataType is binary. There is one rule
// for it, so that a body is never taken for what it is not: a JSON string of
// standard base64.
func (c *Call) Binary(binding string) ([]byte, error) {
	raw, ok := c.data[binding]
	if !ok {
		return nil, fmt.Errorf("the envelope has no Data.%s", binding)
	}
	encoded, ok := unquoted(raw)
	if !ok {
		return nil, fmt.Errorf("the binding Data.%s is not a string of base64; the binding needs dataType binary", binding)
	}
	body, err := base64.StdEncoding.Strict().AppendDecode([]byte{}, encoded)
	if err != nil {
		return nil, fmt.Errorf("the binding Data.%s is not base64; the binding needs dataType binary: %w", binding, err)
	}
	return body, nil
}

// unquoted returns the content of a JSON string. Base64 has no character that JSON escapes, so that it
// is not copied as a rule.
func unquoted(raw json.RawMessage) (content []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	if content = raw[1 : len(raw)-1]; !bytes.ContainsRune(content, '\\') {
		return content, true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return []byte(s), err == nil
}

// Timer is the input of a timer trigger. The times are UTC, and zero where the
// host keeps no schedule status or the timer has never run.
type Timer struct {
	PastDue                 bool // the occurrence is late: the host was not running when it was due
	Last, Next, LastUpdated time.Time
}

// Timer gives the value of a timerTrigger binding.
func (c *Call) Timer(binding string) (Timer, error) {
	raw, ok := c.data[binding]
	if !ok {
		return Timer{}, fmt.Errorf("the envelope has no Data.%s", binding)
	}
	var v *struct {
		IsPastDue      bool
		ScheduleStatus *struct{ Last, Next, LastUpdated string }
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return Timer{}, fmt.Errorf("the binding Data.%s is not a timer: %w", binding, err)
	}
	if v == nil {
		return Timer{}, fmt.Errorf("the binding Data.%s is not a timer: null", binding)
	}
	t := Timer{PastDue: v.IsPastDue}
	if s := v.ScheduleStatus; s != nil {
		t.Last, t.Next, t.LastUpdated = instant(s.Last), instant(s.Next), instant(s.LastUpdated)
	}
	return t, nil
}

// text reads a metadata value. The host writes a string as JSON text inside a JSON
// string, which some versions and some keys leave out: both give the same text.
func text(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	if raw[0] != '"' {
		if raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
			return ""
		}
		return string(raw)
	}
	var outer, inner string
	if json.Unmarshal(raw, &outer) != nil {
		return ""
	}
	if strings.HasPrefix(outer, `"`) && json.Unmarshal([]byte(outer), &inner) == nil {
		return inner
	}
	return outer
}

func count(raw json.RawMessage) int {
	n, err := strconv.Atoi(text(raw))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// instant reads a time of the host: RFC 3339, or without a zone, which means UTC.
func instant(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// properties reads a bag of application properties, an object or JSON text of
// one; nil where it is neither. Whole numbers become int64.
func properties(raw json.RawMessage) map[string]any {
	if len(raw) == 0 {
		return nil
	}
	if raw[0] == '"' {
		raw = json.RawMessage(text(raw))
	}
	var bag map[string]json.RawMessage
	if json.Unmarshal(raw, &bag) != nil || bag == nil {
		return nil
	}
	values := make(map[string]any, len(bag))
	for key, value := range bag {
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			values[key] = n
			continue
		}
		var v any
		if json.Unmarshal(value, &v) == nil {
			values[key] = v
		}
	}
	return values
}
