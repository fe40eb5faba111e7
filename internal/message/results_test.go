package message_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
)

func TestResultsOnTheWire(t *testing.T) {
	t.Parallel()
	var b message.ResultsBuilder
	for i, r := range []message.GroupedResult{
		{MessageID: "result-batch-1-a", Properties: map[string]string{"traceparent": "00-1-2-01"}, Body: json.RawMessage(`{"JobId":"a"}`)},
		{MessageID: "result-batch-1-b", Body: json.RawMessage(`{"JobId":"b"}`)},
	} {
		if fits, err := b.Add(r); !fits || err != nil || b.Len() != i+1 {
			t.Fatalf("%v, %v, %d", fits, err, b.Len())
		}
	}
	id, body := b.Message()
	const want = `{"Results":[{"MessageId":"result-batch-1-a","Properties":{"traceparent":"00-1-2-01"},"Body":{"JobId":"a"}},{"MessageId":"result-batch-1-b","Body":{"JobId":"b"}}]}`
	if string(body) != want || id != "results-29bbd2518fc8fff1aa8f464dd03460f0" {
		t.Errorf("%s %s", id, body)
	}
	got, err := message.Delivery{ID: id, Type: message.TypeWorkerResults, Body: body, DeliveryCount: 3, EnqueuedAt: time.Unix(1, 0)}.Results()
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	first := message.Delivery{
		ID: "result-batch-1-a", Type: message.TypeWorkerResult, Properties: map[string]any{"traceparent": "00-1-2-01"},
		Body: []byte(`{"JobId":"a"}`), DeliveryCount: 3, EnqueuedAt: time.Unix(1, 0),
	}
	if got[0].Err != nil || !reflect.DeepEqual(got[0].Delivery, first) || got[1].Err != nil || got[1].ID != "result-batch-1-b" {
		t.Errorf("%+v", got)
	}
}

// The broker drops a group that is sent again, and no other.
func TestIDsOfGroups(t *testing.T) {
	t.Parallel()
	id := func(ids ...string) string {
		var b message.ResultsBuilder
		for _, id := range ids {
			if fits, err := b.Add(message.GroupedResult{MessageID: id, Body: json.RawMessage("{}")}); !fits || err != nil {
				t.Fatal(fits, err)
			}
		}
		got, _ := b.Message()
		return got
	}
	first := id("a", "b")
	if again := id("a", "b"); again != first || first == id("b", "a") || first == id("a", "b", "c") || id("ab", "c") == id("a", "bc") {
		t.Error("ids of groups")
	}
}

func TestAGroupHasALimit(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{10: message.MaxResults, 10_000: 24, 100_000: 2, message.Limit - 100: 1, message.Limit: 0} {
		var b message.ResultsBuilder
		for i := range message.MaxResults + 1 {
			fits, err := b.Add(message.GroupedResult{MessageID: fmt.Sprint(i), Body: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)})
			if err != nil {
				t.Fatal(err)
			}
			if !fits {
				break
			}
		}
		if b.Len() != want {
			t.Errorf("%d results of %d bytes, want %d", b.Len(), size, want)
		}
		if _, body := b.Message(); len(body) > message.Limit {
			t.Errorf("%d bytes", len(body))
		}
	}
	var b message.ResultsBuilder
	if fits, err := b.Add(message.GroupedResult{Body: json.RawMessage("{")}); fits || err == nil {
		t.Error("a body that is no JSON was taken")
	}
}

// An entry that cannot be read has an id of its own, also if its group was requeued or replayed.
func TestEntriesThatCannotBeReadHaveIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"g": "g-2", "g-again-7": "g-2", "": "-2"} {
		got, err := message.Delivery{ID: id, Body: []byte(`{"Results":[{"MessageId":"a","Body":{}},7]}`)}.Results()
		if err != nil || got[1].Err == nil || got[1].ID != want || string(got[1].Body) != "7" || got[1].Type != message.TypeWorkerResult {
			t.Errorf("%q: %+v, %v", id, got, err)
		}
	}
}
