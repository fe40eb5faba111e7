package invocation

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestBinary(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		data string
		want string
		fail string
	}{
		"a JSON body":                         {data: `"eyJpZCI6N30="`, want: `{"id":7}`},
		"an empty body":                       {data: `""`, want: ""},
		"bytes that are not UTF-8":            {data: `"/wD+"`, want: "\xff\x00\xfe"},
		"a body that is base64 itself":        {data: `"ZXlKcFpDSTZOMzA9"`, want: "eyJpZCI6N30="},
		"a body that is a quoted string":      {data: `"Imhpbm8i"`, want: `"hino"`},
		"escapes in the JSON string":          {data: `"\u0065yJpZCI6N30="`, want: `{"id":7}`},
		"string mode, encoded twice":          {data: `"\"{\\\"id\\\":7}\""`, fail: "dataType binary"},
		"string mode, encoded once":           {data: `"{\"id\":7}"`, fail: "dataType binary"},
		"an object":                           {data: `{"id":7}`, fail: "dataType binary"},
		"null":                                {data: `null`, fail: "dataType binary"},
		"a number":                            {data: `7`, fail: "dataType binary"},
		"base64 without its padding":          {data: `"eyJpZCI6N30"`, fail: "not base64"},
		"base64 with bits after its last one": {data: `"eyJpZCI6N31="`, fail: "not base64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call, err := Decode([]byte(`{"Data":{"message":` + tc.data + `},"Metadata":{}}`))
			if err != nil {
				t.Fatal(err)
			}
			got, err := call.Binary("message")
			if tc.fail != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fail) {
					t.Fatalf("error %v, want one with %q", err, tc.fail)
				}
				return
			}
			if err != nil || string(got) != tc.want {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

func TestMessageMetadata(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	full := Call{MessageID: "m-1", DeliveryCount: 10, EnqueuedAt: at, Properties: map[string]any{"MessageType": "poll-check", "n": int64(9007199254740993), "f": 1.5, "b": true}}
	for name, tc := range map[string]struct {
		metadata string
		want     Call
	}{
		"as the host writes it": {
			`{"MessageId":"\"m-1\"","DeliveryCount":"10","EnqueuedTimeUtc":"2026-01-02T03:04:05","EnqueuedTime":"2026-01-02T03:04:05+00:00","Client":{"IsClosed":false},
			  "ApplicationProperties":{"MessageType":"poll-check","n":9007199254740993,"f":1.5,"b":true},"UserProperties":{"MessageType":"other"},"sys":{"MethodName":"x"}}`, full,
		},
		"each value encoded once": {
			`{"MessageId":"m-1","DeliveryCount":10,"EnqueuedTimeUtc":"2026-01-02T03:04:05","ApplicationProperties":{"MessageType":"poll-check","n":9007199254740993,"f":1.5,"b":true}}`, full,
		},
		"properties as text": {
			`{"MessageId":"m-1","DeliveryCount":"\"10\"","EnqueuedTime":"\"2026-01-02T05:04:05+02:00\"","ApplicationProperties":"{\"MessageType\":\"poll-check\",\"n\":9007199254740993,\"f\":1.5,\"b\":true}"}`, full,
		},
		"the older names only": {
			`{"MessageId":"\"m-1\"","DeliveryCount":"10","EnqueuedTime":"2026-01-02T03:04:05+00:00","UserProperties":{"MessageType":"poll-check","n":9007199254740993,"f":1.5,"b":true}}`, full,
		},
		"nothing at all":              {`{}`, Call{}},
		"null":                        {`null`, Call{}},
		"an id that is a number":      {`{"MessageId":"\"7\""}`, Call{MessageID: "7"}},
		"an id with quotes in it":     {`{"MessageId":"\"a\\\"b\""}`, Call{MessageID: `a"b`}},
		"a count that is none":        {`{"DeliveryCount":"many"}`, Call{}},
		"a count below nothing":       {`{"DeliveryCount":"-4"}`, Call{}},
		"forged with other types":     {`{"MessageId":{"x":1},"DeliveryCount":[9],"EnqueuedTimeUtc":{},"EnqueuedTime":7,"ApplicationProperties":3,"UserProperties":[],"RetryContext":"x"}`, Call{}},
		"a time that never was":       {`{"EnqueuedTimeUtc":"0001-01-01T00:00:00"}`, Call{}},
		"a retry by the host":         {`{"RetryContext":{"RetryCount":2,"MaxRetryCount":3,"Exception":null}}`, Call{Retry: 2}},
		"properties without an entry": {`{"ApplicationProperties":{}}`, Call{Properties: map[string]any{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Decode([]byte(`{"Data":{},"Metadata":` + tc.metadata + `}`))
			if err != nil {
				t.Fatal(err)
			}
			got.data = nil
			if !reflect.DeepEqual(*got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", *got, tc.want)
			}
		})
	}
}

func TestTimer(t *testing.T) {
	t.Parallel()
	last := time.Date(2026, 1, 2, 3, 0, 0, 10539100, time.UTC)
	next := time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		value string
		want  Timer
		fail  bool
	}{
		"as the host writes it": {
			value: `{"Schedule":{"AdjustForDST":true},"ScheduleStatus":{"Last":"2026-01-02T03:00:00.0105391+00:00","Next":"2026-01-02T03:05:00+00:00","LastUpdated":"2026-01-02T03:00:00.0105391+00:00"},"IsPastDue":false}`,
			want:  Timer{Last: last, Next: next, LastUpdated: last},
		},
		"past due":              {value: `{"ScheduleStatus":null,"IsPastDue":true}`, want: Timer{PastDue: true}},
		"without a status":      {value: `{"Schedule":{},"ScheduleStatus":null,"IsPastDue":false}`},
		"never run":             {value: `{"ScheduleStatus":{"Last":"0001-01-01T00:00:00","Next":"2026-01-02T03:05:00+00:00","LastUpdated":"0001-01-01T00:00:00"},"IsPastDue":false}`, want: Timer{Next: next}},
		"times without a zone":  {value: `{"ScheduleStatus":{"Next":"2026-01-02T03:05:00"},"IsPastDue":false}`, want: Timer{Next: next}},
		"text":                  {value: `"{}"`, fail: true},
		"null":                  {value: `null`, fail: true},
		"a status of text":      {value: `{"ScheduleStatus":"x"}`, fail: true},
		"past due that is text": {value: `{"IsPastDue":"x"}`, fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call, err := Decode([]byte(`{"Data":{"timer":` + tc.value + `},"Metadata":{}}`))
			if err != nil {
				t.Fatal(err)
			}
			got, err := call.Timer("timer")
			if (err != nil) != tc.fail || got != tc.want {
				t.Errorf("got %+v, %v; want %+v, failing %v", got, err, tc.want, tc.fail)
			}
		})
	}
}

func TestWhatIsNoEnvelopeIsRefused(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "null", "[]", `"x"`, "{", `{}`, `{"Data":null}`, `{"Data":[]}`, `{"Data":{},"Metadata":[]}`, `{"Data":{},"Metadata":{}} x`} {
		if _, err := Decode([]byte(body)); err == nil {
			t.Errorf("%q was taken", body)
		}
	}
	call, err := Decode([]byte(`{"Data":{"other":"eA=="}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Binary("message"); err == nil {
		t.Error("a binding that is not there was read")
	}
	if _, err := call.Timer("timer"); err == nil {
		t.Error("a timer that is not there was read")
	}
}

// FuzzDecode: no envelope makes the decoder panic, and a decoded binary body
// encodes to the same base64.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"Data":{"message":"eyJpZCI6N30="},"Metadata":{"MessageId":"\"m-1\"","DeliveryCount":"1"}}`))
	f.Add([]byte(`{"Data":{"timer":{"ScheduleStatus":{"Last":"0001-01-01T00:00:00"},"IsPastDue":true}},"Metadata":{"sys":{}}}`))
	f.Add([]byte(`{"Data":{"message":"\"x\""},"Metadata":{"ApplicationProperties":"{\"a\":[1]}","DeliveryCount":{}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		call, err := Decode(body)
		if err != nil {
			return
		}
		if call.DeliveryCount < 0 || call.Retry < 0 {
			t.Errorf("a count below nothing: %+v", call)
		}
		_, _ = call.Timer("timer") // must not panic
		if got, err := call.Binary("message"); err == nil {
			var encoded string
			if err := json.Unmarshal(call.data["message"], &encoded); err != nil {
				t.Fatalf("%s was taken for a string: %v", call.data["message"], err)
			}
			if want := strings.NewReplacer("\r", "", "\n", "").Replace(encoded); base64.StdEncoding.EncodeToString(got) != want {
				t.Errorf("%q decodes to %q", encoded, got)
			}
		}
	})
}
