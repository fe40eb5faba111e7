package functionshost

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

var update = flag.Bool("update", false, "rewrite the goldens")

var guid = regexp.MustCompile(`"RandGuid":\s*"[0-9a-f-]{36}"`)

// TestPayload holds the envelope of a message to goldens, which follow captures of
// the Azure host.
func TestPayload(t *testing.T) {
	t.Parallel()
	p := func(s string) *string { return &s }
	n := int64(9007199254740993)
	enqueued := time.Date(2026, 1, 2, 3, 4, 5, 987654321, time.FixedZone("CET", 3600))
	expires := time.Date(2026, 1, 16, 3, 4, 5, 0, time.UTC)
	full := azservicebus.ReceivedMessage{
		MessageID: "m-1", Body: []byte(`{"id":7}`), DeliveryCount: 10, SequenceNumber: &n, EnqueuedTime: &enqueued, ExpiresAt: &expires,
		LockToken:   [16]byte{0x2f, 0x0c, 0x8f, 0x5e, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1},
		ContentType: p("application/json"), CorrelationID: p(`c"1`), Subject: p("s"), SessionID: p("se"), PartitionKey: p("se"), ReplyTo: p("r"), ReplyToSessionID: p("rs"), To: p("t"), DeadLetterSource: p("d"),
		ApplicationProperties: map[string]any{"MessageType": "phase-due", "n": int64(1), "b": true, "é": "ü\"\n"},
	}
	body := func(s string) azservicebus.ReceivedMessage { m := full; m.Body = []byte(s); return m }
	for name, tc := range map[string]struct {
		dataType string
		message  azservicebus.ReceivedMessage
	}{
		"binary":        {"binary", full},
		"binary-forged": {"binary", body(`{"MessageId":"forged","deliverycount":99}`)},
		"binary-bare":   {"binary", azservicebus.ReceivedMessage{MessageID: "m-2", Body: nil, DeliveryCount: 1}},
		"binary-odd":    {"binary", azservicebus.ReceivedMessage{MessageID: "m-3", Body: []byte("\xff\x00"), ApplicationProperties: map[string]any{"nan": math.NaN(), "x": "y"}}},
		"string":        {"string", full},
		"string-forged": {"string", body(`{"messageid":"forged","DeliveryCount":99,"list":[1],"o":{"a":1},"nothing":null,"myTrigger":1}`)},
		"string-text":   {"string", body("plain \xff \"text\"")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &serviceBusBinding{Name: "msg", DataType: tc.dataType}
			raw := messagePayload("on-event", "ns.servicebus.windows.net", b, &tc.message, time.Date(2026, 1, 2, 3, 4, 6, 4275000, time.UTC))
			var parsed any
			if err := json.Unmarshal(raw, &parsed); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			got := testenv.Must(json.MarshalIndent(parsed, "", "  "))(t)
			got = append(guid.ReplaceAll(got, []byte(`"RandGuid": "…"`)), '\n')
			file := filepath.Join("testdata", "payload", name+".json")
			if *update {
				write(t, file, string(got))
			}
			want := testenv.Must(os.ReadFile(file))(t)
			if !bytes.Equal(got, want) {
				t.Errorf("the envelope is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func BenchmarkPayload(b *testing.B) {
	id := "application/json"
	now := time.Now()
	m := &azservicebus.ReceivedMessage{MessageID: "batch-1-step-1-attempt-1", ContentType: &id, Body: bytes.Repeat([]byte("x"), 500), EnqueuedTime: &now, ExpiresAt: &now, ApplicationProperties: map[string]any{"MessageType": "phase-due"}}
	binding := &serviceBusBinding{Name: "message", DataType: "binary"}
	b.ReportAllocs()
	for b.Loop() {
		messagePayload("on-event", "ns", binding, m, now)
	}
}
