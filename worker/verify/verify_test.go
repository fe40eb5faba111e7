package verify_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/control"
	"github.com/matoolkit/matoolkit/worker/dispatch"
	"github.com/matoolkit/matoolkit/worker/heartbeat"
	"github.com/matoolkit/matoolkit/worker/verify"
)

const workerID = "worker-01"

// echo is a function that can be verified with.
var echo = catalog.Function{
	Name: "Get-Echo", Description: "Answers what it is given, as often as it is told to.",
	Params: []catalog.Param{
		{Name: "Text", Type: catalog.String, Required: true, Description: "The text."},
		{Name: "Huge", Type: catalog.Boolean, Description: "Whether it becomes too large."},
	},
	Result: []catalog.Field{{Name: "Text", Description: "The text."}},
	Run: func(_ context.Context, p catalog.Params) (any, error) {
		text := p.String("Text")
		if p.Bool("Huge", false) {
			text = strings.Repeat(text, message.Limit)
		}
		return map[string]string{"Text": text}, nil
	},
}

// broker is a namespace, with duplicate detection or without: without it, every
// result that is sent is seen.
func broker(t *testing.T, duplicates bool) *servicebus.Server {
	t.Helper()
	topology := servicebus.DefaultTopology()
	for i := range topology.Topics {
		own := &topology.Topics[i]
		if !duplicates {
			own.DuplicateWindow = 0
		}
		if own.Name == message.TopicWorkerResults {
			verifies := own.Subscriptions[0]
			verifies.Name = verify.DefaultResults
			own.Subscriptions = append(own.Subscriptions, verifies)
		}
	}
	return testenv.Started(servicebus.Start(context.Background(), servicebus.Config{Addr: "127.0.0.1:0", Topology: topology, Key: "c2VjcmV0"}))(t)
}

func connect(t *testing.T, server *servicebus.Server) *azservicebus.Client {
	t.Helper()
	return testenv.Connected(azservicebus.NewClientFromConnectionString(server.ConnectionString(), nil))(t)
}

// dial connects a worker, or what verifies one.
func dial(t *testing.T, server *servicebus.Server) *azbus.Client {
	t.Helper()
	return testenv.Connected(azbus.Dial(azbus.Config{ConnectionString: server.ConnectionString()}))(t)
}

// config verifies with everything that can be.
func config(t *testing.T, server *servicebus.Server) verify.Config {
	return verify.Config{
		Client: dial(t, server), WorkerID: workerID, Results: message.SubscriptionOrchestrator,
		Function: "Get-Echo", Parameters: json.RawMessage(`{"Text":"x"}`), Required: []string{"text"},
		Huge: "Get-Echo", HugeParameters: json.RawMessage(`{"Text":"x","Huge":true}`),
		Timeout: time.Minute, HeartbeatWait: time.Minute,
	}
}

func TestOurWorkerPasses(t *testing.T) {
	t.Parallel()
	for note, duplicates := range map[string]bool{"with duplicate detection": true, "without": false} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			server := broker(t, duplicates)
			functions := testenv.Must(catalog.New(echo))(t)
			log := slog.New(slog.DiscardHandler)
			controls := testenv.Must(control.New(dial(t, server), control.Config{WorkerID: workerID, Interval: 20 * time.Millisecond, Log: log}))(t)
			loop := testenv.Must(dispatch.New(dial(t, server), functions, dispatch.Config{
				WorkerID: workerID, MaxParallelism: 4, Controls: controls, Log: log,
			}))(t)
			heartbeats := heartbeat.New(heartbeat.Config{
				WorkerID: workerID, MaxParallelism: 4, To: dial(t, server), Interval: 100 * time.Millisecond, Log: log,
				State: func() heartbeat.State { return heartbeat.State{} },
			})
			ctx, stop := context.WithCancel(t.Context())
			var parts sync.WaitGroup
			for _, run := range []func(context.Context){controls.Run, loop.Run, heartbeats.Run} {
				parts.Go(func() { run(ctx) })
			}
			defer func() {
				stop()
				parts.Wait()
			}()
			for note, c := range map[string]verify.Config{
				"with a function":    config(t, server),
				"without a function": {Client: dial(t, server), WorkerID: workerID, Results: message.SubscriptionOrchestrator},
			} {
				findings := testenv.Must(verify.Run(t.Context(), c))(t)
				skipped := 0
				for _, f := range findings {
					if f.Outcome == verify.Failed || f.Outcome == verify.Warned {
						t.Errorf("%s: %s: %s: %s", note, f.Check, f.Outcome, f.Detail)
					}
					if f.Outcome == verify.Skipped {
						skipped++
					}
				}
				if want := map[bool]int{true: 0, false: 3}[c.Function != ""]; len(findings) != 20 || skipped != want {
					t.Errorf("%s: %d findings, %d of them skipped", note, len(findings), skipped)
				}
			}
		})
	}
}

// What a worker may do wrong, and the check that finds it. A breach may be found by
// others, too.
func TestBreachesAreFound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		note  string
		wrong func(*worker)
		check string
		says  string
	}{
		{"answers nothing", func(w *worker) { w.mute = true }, "answers a job", "was not answered within"},
		{"fails what it can do", func(w *worker) { w.can = "Other" }, "answers a job", "must succeed"},
		{"answers in words", func(w *worker) { w.body = func(map[string]any) any { return nil } }, "answers a job", "is not a JSON object"},
		{"reads PascalCase only", func(w *worker) { w.exactCase = true }, "reads fields in any case", "not answered"},
		{"does what it does not know", func(w *worker) { w.anything, w.loose = true, true }, "fails an unknown function", "expected a failure"},
		{"does not name the function", func(w *worker) { w.nameless = true }, "fails an unknown function", "does not name Test-NoSuchFunctionAnywhere"},
		{"ignores an unknown parameter", func(w *worker) { w.loose = true }, "fails an unknown parameter", "expected a failure"},
		{"ignores a missing parameter", func(w *worker) { w.loose = true }, "fails without a required parameter", "expected a failure"},
		{"takes an array for parameters", func(w *worker) { w.loose = true }, "fails parameters that are not an object", "expected a failure"},
		{"drops a job without a function", func(w *worker) { w.dropsNameless = true }, "fails a job without a function", "not answered"},
		{"dies of rubbish", func(w *worker) { w.dies = true }, "survives invalid jobs", "was not answered"},
		{"keeps rubbish", func(w *worker) { w.keepsRubbish = true }, "survives invalid jobs", "neither completed nor dead-lettered"},
		{"begins an expired job", func(w *worker) { w.late = true }, "does not start an expired job", "expected a failure"},
		{"calls an expired job otherwise", func(w *worker) { w.expiredType = "TooLate" }, "does not start an expired job", "Error.Type is not JobExpired"},
		{"begins a revoked job", func(w *worker) { w.begins = true }, "does not start a revoked job", "after its revocation must fail with Error.Type JobRevoked, got: Success"},
		{"begins a revoked job and cannot know", func(w *worker) { w.begins, w.can = true, "Other" }, "does not start a revoked job", "got: UnknownFunction"},
		{"calls a revoked job otherwise", func(w *worker) { w.revokedType = "Cancelled" }, "does not start a revoked job", "got: Cancelled"},
		{"takes a pause for the end of the batch", func(w *worker) { w.revokesAll = true }, "starts a job dispatched after a control", "after RevokedThrough was not started"},
		{"sends no heartbeat", func(w *worker) { w.heartbeat = "" }, "sends heartbeats", "no heartbeat within"},
		{"sends heartbeats of another worker", func(w *worker) {
			w.heartbeat = `{"WorkerId":"worker-02","ReplicaId":"","StartedAt":"2026-03-01T12:00:00Z","Timestamp":"2026-03-01T12:00:00Z"}`
		}, "sends heartbeats", "no heartbeat within"},
		{"sends heartbeats without a replica", func(w *worker) {
			w.heartbeat = `{"WorkerId":"worker-01","StartedAt":"2026-03-01T12:00:00Z","Timestamp":"2026-03-01T12:00:00Z"}`
		}, "sends heartbeats", `invalid ReplicaId ""`},
		{"sends heartbeats that are no JSON", func(w *worker) { w.heartbeat = "alive" }, "sends heartbeats", "invalid heartbeat"},
		{"drops what is too large", func(w *worker) { w.dropsHuge = true }, "fails an answer that is too large", "was not answered"},
		{"sends results under ids of the moment", func(w *worker) { w.randomIDs = true }, "answers a repeated job the same", "different message ids"},
		{"does a repeated job again", func(w *worker) { w.counts = true }, "answers a repeated job the same", "has a different answer"},
		{"loses a job in ten", func(w *worker) { w.loses = 10 }, "answers many jobs", "was not answered"},
		{"never completes", func(w *worker) { w.keeps = true }, "completes its jobs", "not completed after"},
		{"answers twice", func(w *worker) { w.twice = true }, "answers once", "was answered 2 times"},
		{"answers a job that nobody sent", func(w *worker) { w.body = with("JobId", func(v any) any { return v.(string) + "-x" }) }, "answers a job", "was not answered"},
		{
			"reads numbers as floats", func(w *worker) { w.floats = true },
			"returns CorrelationData", `,"StepExecutionId":90071`,
		},
		{
			"drops what it does not know", func(w *worker) {
				w.body = with("CorrelationData", func(v any) any {
					var known message.Correlation
					_ = json.Unmarshal(v.(json.RawMessage), &known)
					return known
				})
			}, "returns CorrelationData", `the job has {"BatchId"`,
		},
		{"has a status of its own", func(w *worker) {
			w.body = with("Status", func(v any) any { return map[any]any{"Success": "Completed", "Failure": "Failure"}[v] })
		}, "writes valid results", `Status is "Completed"`},
		{"answers a text", func(w *worker) { w.answer = "ok" }, "writes valid results", `Result is "ok", neither`},
		{"names another type", func(w *worker) { w.body = with("ResultType", func(any) any { return "Boolean" }) }, "writes valid results", `but ResultType is "Boolean"`},
		{"has no duration", func(w *worker) { w.body = with("DurationMs", func(any) any { return "5 ms" }) }, "writes valid results", "DurationMs is"},
		{"has a clock of its own", func(w *worker) {
			w.body = with("Timestamp", func(any) any { return time.Now().Add(time.Hour).Format(time.RFC3339) })
		}, "writes valid results", "more than ten minutes from now"},
		{"has local times", func(w *worker) {
			w.body = with("Timestamp", func(any) any { return "2026-03-01 12:30" })
		}, "writes valid results", "Timestamp is"},
		{"has a text for an error", func(w *worker) { w.errorIs = func(string) any { return "oh" } }, "fails an unknown function", "expected a failure"},
		{"has errors without a type", func(w *worker) {
			w.errorIs = func(text string) any { return map[string]any{"Message": text, "IsThrottled": false, "Attempts": 1} }
		}, "writes valid results", "Error.Type is missing"},
		{"does not count attempts", func(w *worker) {
			w.errorIs = func(text string) any {
				return map[string]any{"Message": text, "Type": "T", "IsThrottled": false, "Attempts": 0}
			}
		}, "writes valid results", "Error.Attempts is missing"},
		{"does not say whether it was throttled", func(w *worker) {
			w.errorIs = func(text string) any { return map[string]any{"Message": text, "Type": "T", "Attempts": 1} }
		}, "writes valid results", "Error.IsThrottled is missing"},
		{"sends plain text", func(w *worker) { w.contentType = "text/plain" }, "writes valid message properties", `content type is "text/plain"`},
		{"sends another worker's id", func(w *worker) { w.properties = map[string]any{"WorkerId": "worker-02"} }, "writes valid message properties", `WorkerId is "worker-02"`},
		{"sends another type", func(w *worker) { w.properties = map[string]any{"MessageType": "phase-due"} }, "writes valid message properties", `MessageType is "phase-due"`},
		{"begins a trace of its own", func(w *worker) {
			w.properties = map[string]any{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
		}, "writes valid message properties", "not of the job's trace"},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			server := broker(t, false)
			w := newWorker(connect(t, server))
			tc.wrong(w)
			w.run(t)
			c := config(t, server)
			c.Timeout, c.ControlWait, c.HeartbeatWait = 3*time.Second, 200*time.Millisecond, time.Second
			findings := testenv.Must(verify.Run(t.Context(), c))(t)
			for _, f := range findings {
				if f.Check == tc.check {
					want := verify.Failed
					if strings.HasPrefix(tc.says, "no heartbeat") { // a worker does its jobs without
						want = verify.Warned
					}
					if f.Outcome != want || !strings.Contains(f.Detail, tc.says) {
						t.Errorf("%s: %s: %s; want %s", f.Check, f.Outcome, f.Detail, tc.says)
					}
					return
				}
			}
			t.Errorf("%s was not checked", tc.check)
		})
	}
}

// A worker as small as it can be, which shares no code with ours. The test uses a
// subscription of its own with results of other jobs, which stay for the
// orchestrator.
func TestSmallWorkerPasses(t *testing.T) {
	t.Parallel()
	server := broker(t, true)
	newWorker(connect(t, server)).run(t)
	send(t, connect(t, server), `{"JobId":"step-1-attempt-1"}`)
	c := config(t, server)
	c.Results = ""
	findings := testenv.Must(verify.Run(t.Context(), c))(t)
	for _, f := range findings {
		if f.Outcome != verify.Passed {
			t.Errorf("%s: %s: %s", f.Check, f.Outcome, f.Detail)
		}
	}
}

// The orchestrator's results are not taken away from it.
func TestResultsOfOthersStopIt(t *testing.T) {
	t.Parallel()
	server := broker(t, true)
	client := connect(t, server)
	send(t, client, `{"JobId":"step-1-attempt-1"}`)
	if _, err := verify.Run(t.Context(), config(t, server)); err == nil || !strings.Contains(err.Error(), "results of other jobs") {
		t.Fatalf("got %v", err)
	}
	receiver := testenv.Must(client.NewReceiverForSubscription(message.TopicWorkerResults, message.SubscriptionOrchestrator, nil))(t)
	if left, err := receiver.PeekMessages(t.Context(), 10, nil); err != nil || len(left) != 1 {
		t.Fatalf("%d results are left, %v", len(left), err)
	}
}

// A subscription that an orchestrator reads as well is refused, before the worker is
// blamed for what does not come.
func TestASubscriptionThatSomebodyElseReadsIsRefused(t *testing.T) {
	t.Parallel()
	server := broker(t, true)
	receiver, err := connect(t, server).NewReceiverForSubscription(message.TopicWorkerResults, message.SubscriptionOrchestrator, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, ended := make(chan struct{}), make(chan struct{})
	var begin sync.Once
	send(t, connect(t, server), `{}`)
	go func() {
		defer close(ended)
		for {
			taken, err := receiver.ReceiveMessages(ctx, 1, nil)
			if err != nil {
				return
			}
			for _, m := range taken {
				_ = receiver.CompleteMessage(ctx, m, nil)
			}
			begin.Do(func() { close(first) }) // the subscription is empty
		}
	}()
	<-first
	findings, err := verify.Run(t.Context(), config(t, server))
	cancel()
	<-ended
	if err == nil || !strings.Contains(err.Error(), "another program reads the subscription orchestrator") || len(findings) > 0 {
		t.Fatalf("got %v, %v", findings, err)
	}
}

// send puts a result on the bus.
func send(t *testing.T, client *azservicebus.Client, body string) {
	t.Helper()
	sender := testenv.Must(client.NewSender(message.TopicWorkerResults, nil))(t)
	if err := sender.SendMessage(t.Context(), &azservicebus.Message{Body: []byte(body)}, nil); err != nil {
		t.Fatal(err)
	}
}

// A worker without a control subscription cannot be blamed for beginning revoked jobs:
// the run ends with the name of the missing subscription.
func TestMissingControlSubscriptionIsNamed(t *testing.T) {
	t.Parallel()
	topology := servicebus.DefaultTopology()
	for i := range topology.Topics {
		if topic := &topology.Topics[i]; topic.Name == message.TopicWorkerControl {
			topic.Subscriptions[0].Name = "worker-other"
		}
	}
	server := testenv.Started(servicebus.Start(t.Context(), servicebus.Config{Addr: "127.0.0.1:0", Topology: topology, Key: "c2VjcmV0"}))(t)
	w := newWorker(connect(t, server))
	w.deaf = true
	w.run(t)
	_, err := verify.Run(t.Context(), config(t, server))
	if err == nil || !strings.Contains(err.Error(), "subscription worker-worker-01 of topic worker-control: bus: unknown topic or subscription") {
		t.Errorf("got %v", err)
	}
}

func TestMissingPartsAreReported(t *testing.T) {
	t.Parallel()
	server := broker(t, true)
	c := config(t, server)
	c.Results = "none"
	if _, err := verify.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "subscription none of topic worker-results: bus: unknown topic or subscription") {
		t.Errorf("got %v", err)
	}
	if _, err := verify.Run(t.Context(), verify.Config{WorkerID: "w"}); err == nil {
		t.Error("no error without a client")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := verify.Run(ctx, config(t, server)); err == nil {
		t.Error("no error when it is stopped")
	}
}
