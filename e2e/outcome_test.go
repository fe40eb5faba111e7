package e2e_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
	"github.com/matoolkit/matoolkit/local/demo"
)

// checkOutcome holds the end of the batch against what the example says, and looks
// for anything that was left behind.
func checkOutcome(m *machine, a *admin) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	var batch api.Batch
	var members api.Page[api.Member]
	a.ask(&batch, "batch", "get", a.batch)
	a.ask(&members, "batch", "members", a.batch, "--limit", "1000")
	state, err := demo.State(ctx, m.endpoints.TenantURL)
	if err != nil {
		m.t.Fatal(err)
	}
	rows, err := demo.Rows(filepath.Join(example, "members.csv"))
	if err != nil {
		m.t.Fatal(err)
	}
	migrated, err := demo.Check(batch, members.Items, rows, state)
	if err != nil {
		m.t.Error(err)
	}
	if want := len(rows) - len(demo.Failures); migrated != want {
		m.t.Errorf("%d members were migrated, want %d", migrated, want)
	}
	checkPhases(a)
	checkBroker(ctx, m)
	checkStore(ctx, m)
}

// checkPhases compares how the phases count their members.
func checkPhases(a *admin) {
	a.t.Helper()
	want := map[string][3]int{"init": {1, 1, 0}, "pre-stage": {25, 24, 1}, "verify": {24, 24, 0}, "cut-over": {24, 23, 1}}
	for name, w := range want {
		p, err := a.phase(name)
		if err != nil {
			a.t.Error(err)
		}
		if got := [3]int{p.Members, p.Succeeded, p.Failed}; got != w || p.Status != "completed" || p.Running+p.Waiting+p.Cancelled != 0 {
			a.t.Errorf("phase %s: got %+v, want completed with %d members, %d succeeded, %d failed", name, p, w[0], w[1], w[2])
		}
	}
}

// checkBroker reports unprocessed messages: dead letters, and at the end any
// message.
func checkBroker(ctx context.Context, m *machine) {
	m.t.Helper()
	client, err := azservicebus.NewClientFromConnectionString(m.endpoints.Handler["ServiceBusConnection"], nil)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = client.Close(context.Background()) }()
	type queue struct{ topic, subscription string }
	queues := []queue{{message.TopicOrchestratorEvents, message.SubscriptionOrchestrator}, {message.TopicWorkerResults, message.SubscriptionOrchestrator}}
	if len(m.tenants) == 0 {
		queues = append(queues, queue{message.TopicWorkerJobs, message.WorkerSubscription("worker-01")})
	}
	for _, name := range m.tenants {
		queues = append(queues, queue{message.TopicWorkerJobs, message.WorkerSubscription(workerOf(name))})
	}
	for _, q := range queues {
		topic, subscription := q.topic, q.subscription
		for _, left := range []struct {
			queue azservicebus.SubQueue
			name  string
			wait  time.Duration // locks of processes that were killed have to end
		}{{azservicebus.SubQueueDeadLetter, "dead-letter queue", 0}, {0, "queue", 15 * time.Second}} {
			receiver, err := client.NewReceiverForSubscription(topic, subscription, &azservicebus.ReceiverOptions{SubQueue: left.queue})
			if err != nil {
				m.t.Fatal(err)
			}
			messages := peek(ctx, m.t, receiver)
			for end := time.Now().Add(left.wait); len(messages) > 0 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				messages = peek(ctx, m.t, receiver)
			}
			for _, message := range messages {
				m.t.Errorf("%s/%s: left in the %s, %d deliveries: %s %s", topic, subscription, left.name, message.DeliveryCount, message.MessageID, message.Body)
			}
		}
	}
}

func peek(ctx context.Context, t *testing.T, receiver *azservicebus.Receiver) []*azservicebus.ReceivedMessage {
	t.Helper()
	from := int64(0)
	messages, err := receiver.PeekMessages(ctx, 100, &azservicebus.PeekMessagesOptions{FromSequenceNumber: &from})
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// checkStore tells of messages that were stored as unprocessable.
func checkStore(ctx context.Context, m *machine) {
	m.t.Helper()
	env := m.endpoints.Handler
	items, err := cosmosstore.Open(cosmosstore.Config{
		Endpoint: env["COSMOS_ENDPOINT"], Database: env["COSMOS_DATABASE"], Container: env["COSMOS_CONTAINER"], Key: env["COSMOS_KEY"],
	})
	if err != nil {
		m.t.Fatal(err)
	}
	kept, err := items.Dump(ctx, store.PartitionUnprocessable)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, k := range kept {
		if strings.HasPrefix(k.ID, "attempts-") { // a process that is killed after its message leaves the count
			continue
		}
		m.t.Errorf("kept as unprocessed: %s", k.Doc)
	}
}
