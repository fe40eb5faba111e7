package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

func TestDeadLettersAreTakenOnce(t *testing.T) {
	t.Parallel()
	b, client, _ := dial(t)
	const topic, subscription = message.TopicWorkerJobs, "worker-worker-01"
	none := func(context.Context, bus.DeadLetter) error { t.Error("a dead letter out of nothing"); return nil }
	if n, err := b.TakeDeadLetters(t.Context(), topic, subscription, 10, none); n != 0 || err != nil {
		t.Fatalf("of an empty queue %d: %v", n, err)
	}
	const all = 12
	for i := range all {
		m := bus.Message{ID: unique(t, i), Body: fmt.Append(nil, i), Properties: map[string]any{message.PropertyWorkerID: "worker-01"}}
		if err := b.Send(t.Context(), topic, m); err != nil {
			t.Fatal(err)
		}
	}
	receiver, err := client.NewReceiverForSubscription(topic, subscription, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close(context.Background())
	reason, description := "UnreadableJob", "it has no JobId"
	for moved := 0; moved < all; {
		messages, err := receiver.ReceiveMessages(t.Context(), all-moved, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			if err := receiver.DeadLetterMessage(t.Context(), m, &azservicebus.DeadLetterOptions{Reason: &reason, ErrorDescription: &description}); err != nil {
				t.Fatal(err)
			}
		}
		moved += len(messages)
	}

	failure := errors.New("the store is away")
	var mu sync.Mutex
	sequences := map[string]int64{}
	n, err := b.TakeDeadLetters(t.Context(), topic, subscription, all, func(_ context.Context, d bus.DeadLetter) error {
		mu.Lock()
		defer mu.Unlock()
		sequences[d.ID] = d.Sequence
		return failure
	})
	if n != 0 || !errors.Is(err, failure) || len(sequences) == 0 {
		t.Fatalf("%d were removed of %d that could not be taken: %v", n, len(sequences), err)
	}
	var bodies []string
	for len(bodies) < all {
		n, err := b.TakeDeadLetters(t.Context(), topic, subscription, 5, func(_ context.Context, d bus.DeadLetter) error {
			mu.Lock()
			defer mu.Unlock()
			bodies = append(bodies, string(d.Body))
			if d.Topic != topic || d.Subscription != subscription || d.Reason != reason || d.Description != description || d.EnqueuedAt.IsZero() || d.DeliveryCount == 0 {
				t.Errorf("%+v", d)
			}
			if len(d.Properties) != 1 || d.Properties[message.PropertyWorkerID] != "worker-01" {
				t.Errorf("properties %v", d.Properties)
			}
			if last, known := sequences[d.ID]; d.Sequence == 0 || known && last != d.Sequence {
				t.Errorf("the dead letter %d has become %d", last, d.Sequence)
			}
			return nil
		})
		if n == 0 || err != nil {
			t.Fatalf("after %d of %d: %d, %v", len(bodies), all, n, err)
		}
	}
	slices.Sort(bodies)
	if len(slices.Compact(bodies)) != all {
		t.Errorf("taken: %q", bodies)
	}
	if n, err := b.TakeDeadLetters(t.Context(), topic, subscription, 10, none); n != 0 || err != nil {
		t.Fatalf("afterwards %d: %v", n, err)
	}
	if _, err := b.TakeDeadLetters(t.Context(), topic, "nobody", 10, none); !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("of a subscription that is not there: %v", err)
	}
}
