package rabbitmq

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/message"
)

// TestTopologyIsThatOfTheOtherDrivers compares the topics with those in memory, which a test of
// infra compares with the deployment.
func TestTopologyIsThatOfTheOtherDrivers(t *testing.T) {
	t.Parallel()
	workers := []string{"worker-01", "worker-02"}
	deployed := memory.Deployment(workers...)
	if len(deployed) != len(topics) {
		t.Fatalf("%d topics, want %d", len(topics), len(deployed))
	}
	for _, want := range deployed {
		got := topicOf(want.Name)
		if got.ttl != want.TimeToLive {
			t.Errorf("%s keeps messages for %s, want %s", want.Name, got.ttl, want.TimeToLive)
		}
		subscriptions := got.subscriptions(workers)
		for _, s := range want.Subscriptions {
			if !slices.Contains(subscriptions, s.Name) {
				t.Errorf("%s has no subscription %s", want.Name, s.Name)
			}
			filter := ""
			if got.byWorker {
				filter = fmt.Sprintf("%s = '%s'", message.PropertyWorkerID, strings.TrimPrefix(s.Name, message.WorkerSubscriptionPrefix))
			}
			if got.lock != s.LockDuration || got.deliveries != s.MaxDeliveryCount || got.dropExpired != s.DropExpired || filter != s.Filter {
				t.Errorf("%s: %+v, want %+v", want.Name, got, s)
			}
		}
		if len(subscriptions) != len(want.Subscriptions) {
			t.Errorf("%s has the subscriptions %q", want.Name, subscriptions)
		}
	}
}

// RabbitMQ 4 gives queues without a limit one of 20, at which it drops a message for good, also in a dead-letter queue.
func TestQuorumQueuesHaveADeliveryLimit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments amqp.Table
		want      int64
	}{
		"dead letters": {deadLetters(), noDeliveryLimit},
		"delays":       {quorum(dueExchange, "", amqp.Table{"x-message-ttl": int64(1)}), noDeliveryLimit},
		"subscription": {quorum("", "q/dead-letters", amqp.Table{"x-delivery-limit": int64(9)}), 9},
	} {
		if got := test.arguments["x-delivery-limit"]; got != test.want || test.arguments["x-queue-type"] != "quorum" {
			t.Errorf("%s: %v", name, test.arguments)
		}
	}
}

func TestDelayIsTheSumOfTheLevels(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		after time.Duration
		first string
		sum   time.Duration
	}{
		{1, "matoolkit.delay.00", delayUnit},
		{delayUnit, "matoolkit.delay.00", delayUnit},
		{delayUnit + 1, "matoolkit.delay.01", 2 * delayUnit},
		{5 * time.Minute, "matoolkit.delay.11", 5 * time.Minute},
		{maxDelay, "matoolkit.delay.27", maxDelay},
	} {
		first, key := delayed("orchestrator.events", test.after)
		words := strings.Split(key, ".")
		if len(words) != delayLevels+1 || words[delayLevels] != "orchestrator/events" {
			t.Fatalf("key %s", key)
		}
		sum, highest := time.Duration(0), ""
		for i, bit := range words[:delayLevels] {
			level := delayLevels - 1 - i
			if bit == "1" {
				sum += delayUnit << level
				if highest == "" {
					highest = delayName(level)
				}
			}
		}
		if first != test.first || first != highest || sum != test.sum {
			t.Errorf("%s: first %s (%s), in all %s", test.after, first, highest, sum)
		}
	}
}

func TestNumbersIncrease(t *testing.T) {
	t.Parallel()
	var n numbers
	now := time.Now()
	last := int64(0)
	for range 100 {
		next := n.next(now, time.Time{})
		if next <= last {
			t.Fatalf("%d follows %d", next, last)
		}
		last = next
	}
	due := now.Add(time.Hour)
	a, b := n.next(now, due), n.next(now, due)
	if a == b || a/1000 != due.UnixMilli() || b/1000 != due.UnixMilli() {
		t.Errorf("%d and %d are due at %d", a, b, due.UnixMilli())
	}
	if next := n.next(now, time.Time{}); next >= a {
		t.Errorf("%d, which is sent now, comes after %d", next, a)
	}
}
