package e2e_test

import (
	"context"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/message"
)

// topicNames are names of topics and subscriptions of which none is the default.
var topicNames = map[string]string{
	"ORCHESTRATOR_EVENTS_TOPIC": "contoso-events", "WORKER_JOBS_TOPIC": "contoso-jobs", "WORKER_CONTROL_TOPIC": "contoso-control",
	"WORKER_RESULTS_TOPIC": "contoso-results", "ORCHESTRATOR_SUBSCRIPTION": "engine", "WORKER_SUBSCRIPTION_PREFIX": "w-",
}

// TestSpecificationABatchRunsOnTopicsOfOtherNames: broker, host, handler and worker take the names from
// their settings. A batch runs on them to its end, and the topics of the default names stay empty.
func TestSpecificationABatchRunsOnTopicsOfOtherNames(t *testing.T) {
	t.Parallel()
	m := newMachineWith(t, []byte("{}"), environment{handler: topicNames}, everything)
	s := &saga{machine: m, admin: signIn(m), t: t, runbook: "names"}
	s.write("names.yaml", []byte("name: names\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - name: look\n    offset: T-0\n    steps:\n"+
		"      - {name: ping, worker_id: worker-01, function: Test-EntraAddressAvailable, params: {Address: \"{{Upn}}\"}}\n"))
	s.write("names.csv", []byte("Upn\nada@fabrikam.com\nben@fabrikam.com\n"))
	s.must("runbook", "publish", s.path("names.yaml"), "--force")
	s.must("batch", "create", "names", s.path("names.csv"))
	s.must("batch", "advance", "1", "--phase", "look", "--yes")
	s.awaitBatch(1, "completed")
	if p := s.phaseOf(1, "look"); p.Succeeded != 2 {
		t.Errorf("%+v", p)
	}

	client, err := azservicebus.NewClientFromConnectionString(m.endpoints.Worker["ServiceBusConnection"], nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	for topic, subscription := range map[string]string{
		message.TopicOrchestratorEvents: message.SubscriptionOrchestrator, message.TopicWorkerResults: message.SubscriptionOrchestrator,
		message.TopicWorkerJobs: message.WorkerSubscription("worker-01"),
	} {
		receiver, err := client.NewReceiverForSubscription(topic, subscription, nil)
		if err != nil {
			t.Fatal(err)
		}
		if left := peek(t.Context(), t, receiver); len(left) > 0 {
			t.Errorf("%s has %d messages", topic, len(left))
		}
	}
}
