package workerresults

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/invocation"
	"github.com/matoolkit/matoolkit/internal/message"
)

type handler func(m message.Delivery) error

func (h handler) HandleResult(_ context.Context, m message.Delivery) error { return h(m) }

func TestAMessageBecomesOneCall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		envelope string
		want     message.Delivery
	}{
		"with everything": {
			`{"Data":{"message":"eyJhIjoxfQ=="},"Metadata":{"MessageId":"\"m-1\"","DeliveryCount":"3","EnqueuedTimeUtc":"2026-01-02T03:04:05","ApplicationProperties":{"MessageType":"x"}}}`,
			message.Delivery{ID: "m-1", Type: "x", Body: []byte(`{"a":1}`), Properties: map[string]any{"MessageType": "x"}, DeliveryCount: 3, EnqueuedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		},
		"with nothing":                {`{"Data":{"message":""}}`, message.Delivery{Body: []byte{}, DeliveryCount: 1}},
		"with a type that is no text": {`{"Data":{"message":""},"Metadata":{"ApplicationProperties":{"MessageType":7}}}`, message.Delivery{Body: []byte{}, DeliveryCount: 1, Properties: map[string]any{"MessageType": int64(7)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call, err := invocation.Decode([]byte(tc.envelope))
			if err != nil {
				t.Fatal(err)
			}
			refusal := errors.New("the store is away")
			calls := 0
			err = New(handler(func(m message.Delivery) error {
				calls++
				if !reflect.DeepEqual(m, tc.want) {
					t.Errorf("got  %+v\nwant %+v", m, tc.want)
				}
				return refusal
			}))(t.Context(), call)
			if err != refusal || calls != 1 {
				t.Errorf("%d calls, error %v", calls, err)
			}
		})
	}
}

func TestABodyThatIsNotBinaryIsRefused(t *testing.T) {
	t.Parallel()
	for _, envelope := range []string{`{"Data":{}}`, `{"Data":{"message":"{}"}}`} {
		call, err := invocation.Decode([]byte(envelope))
		if err != nil {
			t.Fatal(err)
		}
		if err := New(handler(func(message.Delivery) error { t.Error("the use case was called"); return nil }))(t.Context(), call); err == nil {
			t.Errorf("%s was taken", envelope)
		}
	}
}
