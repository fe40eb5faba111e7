package bench

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// Azure bills each operation of Service Bus by any client, and each delivery to the app as
// an execution; reads count apart from writes.
func TestAmountsAreOfWhatWasCounted(t *testing.T) {
	t.Parallel()
	r := result{usage: []usage{{name: "handler", cpu: 2 * time.Second}, {name: "worker", cpu: time.Second}, {name: "cosmos", cpu: time.Hour}}, logged: 7000}
	r.stats.Cosmos = &cosmos.Stats{RU: 100, ReadRU: 30, Stored: 5000}
	r.stats.ServiceBus = &servicebus.Stats{Entities: map[string]servicebus.EntityStats{
		"worker-jobs": {Sent: 10, Messages: 99},
		"worker-jobs/Subscriptions/worker-worker-01":     {Delivered: 20, Completed: 30, Messages: 99},
		"worker-results/Subscriptions/orchestrator":      {Delivered: 40, Abandoned: 50, DeadLettered: 60, Expired: 99},
		"orchestrator-events/Subscriptions/orchestrator": {Delivered: 70, Renewed: 80, Peeked: 90},
	}}
	want := amounts{jobs: 10, writes: 70, reads: 30, operations: 450, executions: 110, handler: 2, worker: 1, stored: 5000, logged: 7000}
	if got := r.amounts(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	less := amounts{jobs: 5, writes: 60, reads: 10, operations: 50, executions: 10, handler: 1, worker: 0.5, stored: 1000, logged: 2000}
	if got, want := less.per(want, 10), (amounts{jobs: 0.5, writes: 1, reads: 2, operations: 40, executions: 10, handler: 0.1, worker: 0.05, stored: 400, logged: 500}); got != want {
		t.Errorf("a tenth of what is more: got %+v, want %+v", got, want)
	}
}
