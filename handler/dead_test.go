package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/bus"
	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	contract "github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/clock"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/functionshost"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

const simple = `
name: simple
data_source: {type: csv, primary_key: Upn}
phases:
  - name: only
    offset: T-0
    steps:
      - {name: work, worker_id: worker-01, function: Work, timeout: 4m}
`

// TestADeadHandlerLosesNoMessage ends the real handler while a worker answers the jobs of
// a batch, in a way after which the host starts no other. All results, and what falls due
// meanwhile, lose their deliveries. Another host then has another handler.
func TestADeadHandlerLosesNoMessage(t *testing.T) {
	t.Parallel()
	const members = 30
	for name, down := range map[string]time.Duration{"5 s": 5 * time.Second, "60 s": time.Minute, "an hour": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := clock.New(nil)
			s := newSystemWith(t, func(c *servicebus.Config) {
				c.Now, c.Locks = now.Now, time.Now
				for i := range c.Topology.Topics {
					for j := range c.Topology.Topics[i].Subscriptions {
						c.Topology.Topics[i].Subscriptions[j].MaxDeliveryCount = 10 // 2,000 only take longer
					}
				}
			})
			dist := filepath.Join(t.TempDir(), "dist")
			if err := functionshost.Stage("..", binary, dist); err != nil {
				t.Fatal(err)
			}
			var lines testenv.Buffer
			host := func() *functionshost.Server {
				return testenv.Started(functionshost.Start(t.Context(), functionshost.Config{AppDir: dist, Addr: "127.0.0.1:0", Settings: s.settings(), Clock: now, Output: &lines, Logger: slog.New(slog.DiscardHandler)}))(t)
			}
			h := host()
			c := s.caller(t, h)
			c.begin(members)
			jobs := s.takeJobs(t, members)
			end(t, h)
			s.answer(t, jobs)
			if err := now.Advance(down); err != nil {
				t.Fatal(err)
			}
			s.bus.Tick()
			testenv.Eventually(t, "the loss of all deliveries", func() bool { return s.dead(contract.TopicWorkerResults) == members })
			if down > 4*time.Minute {
				testenv.Eventually(t, "the loss of the deadlines", func() bool { return s.dead(contract.TopicOrchestratorEvents) == members })
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}

			c.url = host().URL()
			var ran functionshost.Run
			c.ask(http.MethodPost, "/_local/functions/"+timerFunction, "application/json", "{}", &ran) // which finds all that is overdue
			var batch struct{ Status string }
			testenv.Eventually(t, "the end of the batch", func() bool {
				c.ask(http.MethodGet, "/api/batches/1", "", "", &batch)
				return batch.Status == "completed" || batch.Status == "failed"
			})
			if batch.Status != "completed" {
				t.Errorf("the batch has %s", batch.Status)
			}
			var failed, replayed, open page
			c.ask(http.MethodGet, "/api/batches/1/members?status=failed", "", "", &failed)
			c.ask(http.MethodGet, "/api/messages/unprocessed?status=replayed&topic=worker-results&limit=1000", "", "", &replayed)
			c.ask(http.MethodGet, "/api/messages/unprocessed", "", "", &open)
			if len(failed.Items) != 0 || len(replayed.Items) != members || len(open.Items) != 0 {
				t.Errorf("%d members have failed, %d messages were sent again, %d wait", len(failed.Items), len(replayed.Items), len(open.Items))
			}
			for _, m := range replayed.Items {
				if m.DeadLetter.Reason != bus.ReasonDeliveries || m.DeadLetter.Subscription != "orchestrator" || !strings.Contains(m.DeadLetter.Description, "10 delivery attempts") {
					t.Errorf("%+v", m)
				}
			}
			for _, topic := range []string{contract.TopicWorkerResults, contract.TopicOrchestratorEvents} {
				testenv.Eventually(t, "an empty dead-letter queue of "+topic, func() bool { return s.dead(topic) == 0 })
			}
			if strings.Contains(lines.String(), `"Event":"message-unprocessed"`) {
				t.Error("an operator is woken for what mends itself")
			}
			if t.Failed() {
				t.Log(lines.String())
			}
		})
	}
}

// page is a page of messages, or of anything else of which only the number counts.
type page struct {
	Items []struct {
		DeadLetter struct{ Subscription, Reason, Description string }
	}
}

// end ends the handler as a person at a terminal does, with the exit status after which
// the host starts no other.
func end(t *testing.T, h *functionshost.Server) {
	t.Helper()
	handler := testenv.Must(os.FindProcess(h.HandlerPID()))(t)
	if err := handler.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the end of the handler", func() bool { return h.HandlerPID() == 0 })
}

func (s *system) dead(topic string) int {
	return s.bus.Stats().Entities[topic+"/Subscriptions/orchestrator/$DeadLetterQueue"].Messages
}

// takeJobs is a worker that takes n jobs.
func (s *system) takeJobs(t *testing.T, n int) []contract.Job {
	t.Helper()
	client := testenv.Must(azservicebus.NewClientFromConnectionString(s.bus.ConnectionString(), nil))(t)
	defer client.Close(context.Background())
	receiver := testenv.Must(client.NewReceiverForSubscription(contract.TopicWorkerJobs, contract.WorkerSubscription("worker-01"), nil))(t)
	var jobs []contract.Job
	for len(jobs) < n {
		messages := testenv.Must(receiver.ReceiveMessages(t.Context(), n-len(jobs), nil))(t)
		for _, m := range messages {
			var job contract.Job
			if err := json.Unmarshal(m.Body, &job); err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, job)
			if err := receiver.CompleteMessage(t.Context(), m, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return jobs
}

// answer sends the results of jobs.
func (s *system) answer(t *testing.T, jobs []contract.Job) {
	t.Helper()
	b := testenv.Must(azbus.Dial(azbus.Config{ConnectionString: s.bus.ConnectionString()}))(t)
	defer b.Close(context.Background())
	for _, job := range jobs {
		r := contract.Result{JobID: job.JobID, Status: contract.StatusSuccess, Result: json.RawMessage("true"), Timestamp: time.Now(), CorrelationData: job.CorrelationData}
		body := testenv.Must(json.Marshal(r))(t)
		if err := b.Send(t.Context(), contract.TopicWorkerResults, bus.Message{ID: r.ID(), Body: body}); err != nil {
			t.Fatal(err)
		}
	}
}

// caller is an administrator.
type caller struct {
	t     *testing.T
	url   string
	token string
}

func (s *system) caller(t *testing.T, h *functionshost.Server) *caller {
	t.Helper()
	return s.callerAt(t, h.URL())
}

// callerAt calls a handler without a host.
func (s *system) callerAt(t *testing.T, url string) *caller {
	t.Helper()
	token := testenv.Must(s.entra.IssueUserToken(entra.DefaultAdminUPN, entra.DefaultAdminAPIScope))(t)
	return &caller{t: t, url: url, token: token}
}

func (c *caller) ask(method, path, kind, body string, into any) {
	c.t.Helper()
	ask(c.t, method, c.url+path, c.token, kind, body, into)
}

// begin starts the only phase of a new batch of so many members.
func (c *caller) begin(members int) {
	c.t.Helper()
	var answer map[string]any
	c.ask(http.MethodPost, "/api/runbooks", "application/yaml", simple, &answer)
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("runbook", "simple") // a buffer takes everything
	file := testenv.Must(w.CreateFormFile("file", "people.csv"))(c.t)
	fmt.Fprintln(file, "Upn")
	for i := range members {
		fmt.Fprintf(file, "p%d@x\n", i)
	}
	if err := w.Close(); err != nil {
		c.t.Fatal(err)
	}
	c.ask(http.MethodPost, "/api/batches", w.FormDataContentType(), form.String(), &answer)
	c.ask(http.MethodPost, "/api/batches/1/advance", "application/json", `{"phase":"only"}`, &answer)
}
