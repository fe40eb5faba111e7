package functionshost

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"
	"github.com/google/uuid"
)

// messagePayload writes the envelope of one message, cardinality one.
//
// With dataType string the host reads the body's own top-level properties as
// binding data, and they overwrite the metadata of the same name: that is done
// here too, so that an app is tested against it.
func messagePayload(function, namespace string, b *serviceBusBinding, m *azservicebus.ReceivedMessage, now time.Time) []byte {
	w := payloadWriter{b: make([]byte, 0, 2048+2*len(m.Body))}
	if b.DataType == "string" {
		w.shadow = bindingData(m.Body)
	}
	w.b = append(w.b, `{"Data":{`...)
	w.b = appendString(w.b, b.Name)
	w.b = append(w.b, ':')
	if b.DataType == "binary" {
		w.b = append(w.b, '"')
		w.b = base64.StdEncoding.AppendEncode(w.b, m.Body)
		w.b = append(w.b, '"')
	} else {
		w.b = appendQuoted(w.b, strings.ToValidUTF8(string(m.Body), "\uFFFD"))
	}
	w.b = append(w.b, `},"Metadata":{"MessageReceiver":{},"MessageSession":{},"MessageActions":{},"SessionActions":{},"ReceiveActions":{},"Client":{"FullyQualifiedNamespace":`...)
	w.b = appendString(w.b, namespace)
	w.b = append(w.b, `,"IsClosed":false,"TransportType":0,"Identifier":`...)
	w.b = appendString(w.b, namespace+"-"+function)
	w.b = append(w.b, `}`...)

	w.quoted("DeadLetterSource", m.DeadLetterSource)
	w.text("DeliveryCount", strconv.FormatUint(uint64(m.DeliveryCount), 10))
	token := uuid.UUID(m.LockToken).String()
	w.quoted("LockToken", &token)
	w.quoted("MessageId", &m.MessageID)
	w.quoted("ContentType", m.ContentType)
	w.quoted("ReplyTo", m.ReplyTo)
	w.quoted("To", m.To)
	w.quoted("CorrelationId", m.CorrelationID)
	w.quoted("Subject", m.Subject)
	w.quoted("Label", m.Subject)
	w.quoted("SessionId", m.SessionID)
	w.quoted("ReplyToSessionId", m.ReplyToSessionID)
	w.quoted("PartitionKey", m.PartitionKey)
	if m.SequenceNumber != nil {
		w.text("SequenceNumber", strconv.FormatInt(*m.SequenceNumber, 10))
	}
	w.instant("EnqueuedTime", m.EnqueuedTime, time.Time{})
	w.instant("ExpiresAt", m.ExpiresAt, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
	properties := applicationProperties(m.ApplicationProperties)
	w.raw("ApplicationProperties", properties)
	w.raw("UserProperties", properties)
	for _, p := range w.shadow {
		w.b = append(w.b, ',')
		w.b = appendString(w.b, p.name)
		w.b = append(w.b, ':')
		w.b = append(w.b, p.value...)
	}
	w.b = append(w.b, `,"sys":{"MethodName":`...)
	w.b = appendString(w.b, function)
	w.b = append(w.b, `,"UtcNow":"`...)
	w.b = now.UTC().AppendFormat(w.b, "2006-01-02T15:04:05.999999Z")
	w.b = append(w.b, `","RandGuid":"`...)
	w.b = append(w.b, uuid.NewString()...)
	w.b = append(w.b, `"}}}`...)
	return w.b
}

// property is one entry that the body brings into the metadata.
type property struct {
	name  string
	value []byte // as it stands in the envelope
}

// bindingData gives the non-array top-level properties of a body that is a JSON
// object; nothing for any other body.
func bindingData(body []byte) []property {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	var data []property
	for name, value := range object {
		if value[0] == '[' || string(value) == "null" || strings.HasSuffix(strings.ToLower(name), "trigger") {
			continue
		}
		var text string
		switch {
		case value[0] == '{':
			data = append(data, property{name, value})
			continue
		case value[0] == '"':
			if json.Unmarshal(value, &text) != nil {
				continue
			}
			data = append(data, property{name, appendQuoted(nil, text)})
		default:
			data = append(data, property{name, appendString(nil, string(value))})
		}
	}
	return data
}

// payloadWriter appends metadata entries, leaving out those that are shadowed.
type payloadWriter struct {
	b      []byte
	shadow []property
}

func (w *payloadWriter) key(name string) bool {
	for _, p := range w.shadow {
		if strings.EqualFold(p.name, name) {
			return false
		}
	}
	w.b = append(w.b, ',', '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
	return true
}

// quoted writes a string: JSON text inside a JSON string. Null is left out.
func (w *payloadWriter) quoted(name string, value *string) {
	if value != nil && w.key(name) {
		w.b = appendQuoted(w.b, *value)
	}
}

// text writes what the host writes as plain text in a string, such as a number.
func (w *payloadWriter) text(name, value string) {
	if w.key(name) {
		w.b = append(w.b, '"')
		w.b = append(w.b, value...)
		w.b = append(w.b, '"')
	}
}

func (w *payloadWriter) raw(name string, value []byte) {
	if w.key(name) {
		w.b = append(w.b, value...)
	}
}

// instant writes a time under both of its names: whole seconds, without a zone
// under nameUtc and with one under name.
func (w *payloadWriter) instant(name string, t *time.Time, otherwise time.Time) {
	if t == nil {
		t = &otherwise
	}
	text := t.UTC().Format("2006-01-02T15:04:05")
	w.text(name+"Utc", text)
	w.text(name, text+"+00:00")
}

// applicationProperties writes the bag as plain JSON, each value in the form of the .NET type
// that the extension has for it; a value that JSON has no form for is written as text.
func applicationProperties(bag map[string]any) []byte {
	if len(bag) == 0 {
		return []byte("{}")
	}
	plain := make(map[string]any, len(bag))
	for key, value := range bag {
		value = netValue(value)
		if _, err := json.Marshal(value); err != nil {
			value = fmt.Sprint(value)
		}
		plain[key] = value
	}
	b, err := json.Marshal(plain)
	if err != nil {
		return []byte("{}") // cannot be: each value has been written by itself
	}
	return b
}

// The forms of times that .NET clients send as described types, counted in ticks of 100 ns since
// the year 1.
const (
	dateTimeOffset = "com.microsoft:datetime-offset"
	timeSpanType   = "com.microsoft:timespan"
	ticksPerSecond = 10_000_000
)

// netValue returns a property as .NET writes it to JSON: a GUID, a DateTimeOffset, a TimeSpan and a
// Uri are text.
func netValue(value any) any {
	if id, ok := value.(amqp.UUID); ok {
		return id.String()
	}
	v := reflect.Indirect(reflect.ValueOf(value))
	if v.Kind() != reflect.Struct || !v.FieldByName("Descriptor").IsValid() || !v.FieldByName("Value").IsValid() {
		return value
	}
	inner := v.FieldByName("Value").Interface()
	ticks, counted := inner.(int64)
	switch kind := fmt.Sprint(v.FieldByName("Descriptor").Interface()); {
	case kind == dateTimeOffset && counted:
		since := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		at := time.Unix(since+ticks/ticksPerSecond, ticks%ticksPerSecond*100).UTC()
		return at.Format("2006-01-02T15:04:05.9999999-07:00")
	case kind == timeSpanType && counted:
		seconds := ticks / ticksPerSecond
		return fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
	return inner
}

// appendQuoted appends s as JSON text inside a JSON string.
func appendQuoted(b []byte, s string) []byte {
	return appendString(b, string(appendString(nil, s)))
}

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			quoted, _ := json.Marshal(s) // a string always has a form
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
