//go:build rabbitmq

package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq/rabbitmqtest"
	"github.com/matoolkit/matoolkit/internal/bus/servicebus"
	contract "github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// onRabbitMQ are the settings of a handler that needs neither Service Bus nor a Functions host.
func (s *system) onRabbitMQ(url string) map[string]string {
	settings := s.settings()
	for name := range servicebus.DefaultNames().Settings() {
		delete(settings, name)
	}
	delete(settings, "ServiceBusConnection")
	settings["RABBITMQ_URL"] = url
	return settings
}

// TestBatchOverRabbitMQ runs a batch with two handlers, one of which is killed.
func TestBatchOverRabbitMQ(t *testing.T) {
	t.Parallel()
	const members = 30
	node := testenv.Must(rabbitmqtest.Start())(t)
	t.Cleanup(node.Stop)
	s := newSystem(t)
	worker := testenv.Connected(rabbitmq.Dial(rabbitmq.Config{URL: node.URL, Declare: true, Workers: []string{"worker-01"}}))(t)
	if err := worker.Ping(t.Context()); err != nil { // which declares its subscription
		t.Fatal(err)
	}
	p, other := start(t, s.onRabbitMQ(node.URL)), start(t, s.onRabbitMQ(node.URL))
	p.ready()
	other.ready()
	if status := p.call("scheduler-timer", "{}"); status != http.StatusNotFound {
		t.Errorf("an invocation from outside: %d", status)
	}
	c := s.callerAt(t, p.url)
	c.begin(members)

	jobs := testenv.Must(worker.Receiver(contract.TopicWorkerJobs, contract.WorkerSubscription("worker-01")))(t)
	for done := 0; done < members; {
		got := testenv.Must(jobs.Receive(t.Context(), 5, 30*time.Second))(t)
		if len(got) == 0 {
			t.Fatalf("%d of %d jobs came", done, members)
		}
		for _, m := range got {
			var job contract.Job
			if err := json.Unmarshal(m.Body, &job); err != nil {
				t.Fatal(err)
			}
			r := contract.Result{JobID: job.JobID, Status: contract.StatusSuccess, Result: json.RawMessage("true"), Timestamp: time.Now(), CorrelationData: job.CorrelationData}
			// A broker without duplicate detection may have it twice.
			result := bus.Message{ID: r.ID(), Body: testenv.Must(json.Marshal(r))(t)}
			if err := worker.Send(t.Context(), contract.TopicWorkerResults, result, result); err != nil {
				t.Fatal(err)
			}
			if err := jobs.Complete(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		if done += len(got); done == len(got) {
			_ = other.cmd.Process.Kill() // with messages in hand, perhaps
		}
	}
	var batch struct{ Status string }
	testenv.Eventually(t, "the end of the batch", func() bool {
		c.ask(http.MethodGet, "/api/batches/1", "", "", &batch)
		return batch.Status == "completed"
	})
	if log := p.stdout.String() + p.stderr.String(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the handler's log has errors")
	}
}
