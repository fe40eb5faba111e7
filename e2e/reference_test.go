package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
)

const referenceRunbook = `name: reference
data_source: {type: csv, primary_key: Upn}
init:
  - {name: prepare, worker_id: worker-01, function: Set-Up}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: new, worker_id: worker-01, function: New-Thing, params: {Upn: "{{Upn}}"}, output_params: {ThingId: Id}}
      - {name: copy, worker_id: worker-01, function: Copy-Thing, params: {Upn: "{{Upn}}", Id: "{{ThingId}}"}, poll: {interval: 1s, timeout: 5m}, output_params: {Size: Bytes}}
      - {name: tell, worker_id: worker-01, function: Send-Note, params: {Upn: "{{Upn}}", Text: "{{Size}} bytes"}}
`

// referenceJob is a job as a worker of the reference reads it: with its fields and no others.
type referenceJob struct {
	JobID           string `json:"JobId"`
	FunctionName    string
	Parameters      map[string]any
	CorrelationData struct {
		StepExecutionID int64 `json:"StepExecutionId"`
		IsInitStep      bool
		RunbookName     string
		RunbookVersion  int
	}
}

// referenceWorker answers jobs as a worker of the reference: with the four fields of CorrelationData, and
// messages of which nothing but the body is set.
type referenceWorker struct {
	jobs    *azservicebus.Receiver
	results *azservicebus.Sender
	asked   map[string]int // polls by function and person
}

// TestSpecificationAReferenceWorkerCarriesBatchesThrough: a worker that knows the reference's messages only,
// and speaks to the real broker, carries two batches through whose steps have the same numbers.
func TestSpecificationAReferenceWorkerCarriesBatchesThrough(t *testing.T) {
	t.Parallel()
	m := newMachineWith(t, []byte("{}"), environment{locks: true}, everything)
	m.end(workerProcess)
	s := &saga{machine: m, admin: signIn(m), t: t, runbook: "reference"}
	s.write("reference.yaml", []byte(referenceRunbook))
	s.must("runbook", "publish", s.path("reference.yaml"), "--force")
	for batch, people := range map[int]string{1: "ada ben", 2: "chen bad"} {
		s.write(fmt.Sprintf("%d.csv", batch), []byte("Upn\n"+strings.ReplaceAll(people, " ", "\n")+"\n"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- newReferenceWorker(ctx, m).run(ctx) }()
	for batch := 1; batch <= 2; batch++ {
		s.must("batch", "create", "reference", s.path(fmt.Sprintf("%d.csv", batch)))
	}
	for _, phase := range []string{"init", "move"} {
		for _, batch := range []string{"1", "2"} {
			s.must("batch", "advance", batch, "--phase", phase, "--yes")
		}
		if phase == "init" {
			s.awaitPhase(1, phase, "completed")
			s.awaitPhase(2, phase, "completed")
		}
	}
	s.awaitBatch(1, "completed")
	s.awaitBatch(2, "completed")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for batch, want := range map[int]string{1: "2 succeeded, 0 failed", 2: "1 succeeded, 1 failed"} {
		if p := s.phaseOf(batch, "move"); fmt.Sprintf("%d succeeded, %d failed", p.Succeeded, p.Failed) != want {
			t.Errorf("batch %d: %+v, want %s", batch, p, want)
		}
		var steps api.Page[api.Step]
		s.ask(&steps, "batch", "steps", fmt.Sprint(batch), "--all")
		for _, v := range steps.Items {
			switch {
			case v.MemberKey == "bad" && v.Name == "copy" && (v.Status != "failed" || !strings.Contains(v.Error, "User not found (Microsoft.Graph.ServiceException)")):
				t.Errorf("bad: %+v", v)
			case v.Name == "copy" && v.MemberKey != "bad" && (v.PollCount != 2 || !strings.Contains(string(v.Params), "id of "+v.MemberKey)):
				t.Errorf("%s polled %d times with %s", v.MemberKey, v.PollCount, v.Params)
			case v.Name == "tell" && v.MemberKey != "bad" && !strings.Contains(string(v.Params), "4711 bytes"):
				t.Errorf("%s got %s", v.MemberKey, v.Params)
			}
		}
	}
	checkBroker(t.Context(), m)
	checkStore(t.Context(), m)
}

func newReferenceWorker(ctx context.Context, m *machine) *referenceWorker {
	m.t.Helper()
	client, err := azservicebus.NewClientFromConnectionString(m.endpoints.Worker["ServiceBusConnection"], nil)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = client.Close(context.WithoutCancel(ctx)) })
	w := &referenceWorker{asked: map[string]int{}}
	if w.jobs, err = client.NewReceiverForSubscription(message.TopicWorkerJobs, message.WorkerSubscription("worker-01"), nil); err != nil {
		m.t.Fatal(err)
	}
	if w.results, err = client.NewSender(message.TopicWorkerResults, nil); err != nil {
		m.t.Fatal(err)
	}
	return w
}

// run answers jobs until the context ends.
func (w *referenceWorker) run(ctx context.Context) error {
	for {
		messages, err := w.jobs.ReceiveMessages(ctx, 10, nil)
		if err != nil {
			return err
		}
		for _, m := range messages {
			var j referenceJob
			if err := json.Unmarshal(m.Body, &j); err != nil {
				return err
			}
			if err := w.results.SendMessage(ctx, &azservicebus.Message{Body: w.answer(j)}, nil); err != nil {
				return err
			}
			if err := w.jobs.CompleteMessage(ctx, m, nil); err != nil {
				return err
			}
		}
	}
}

// answer gives the result of a job.
func (w *referenceWorker) answer(j referenceJob) []byte {
	person := fmt.Sprint(j.Parameters["Upn"])
	result := map[string]any{
		"JobId": j.JobID, "Status": "Success", "ResultType": "Boolean", "Result": true, "Error": nil, "DurationMs": 12,
		"Timestamp": time.Now().UTC().Format(time.RFC3339), "CorrelationData": j.CorrelationData,
	}
	switch j.FunctionName {
	case "New-Thing":
		result["ResultType"], result["Result"] = "Object", map[string]any{"Id": "id of " + person}
	case "Copy-Thing":
		w.asked[person]++
		done := map[string]any{"complete": w.asked[person] > 2}
		if w.asked[person] > 2 {
			done["data"] = map[string]any{"Bytes": 4711}
		}
		if result["ResultType"], result["Result"] = "Object", done; person == "bad" {
			result["Status"], result["ResultType"], result["Result"] = "Failure", nil, nil
			result["Error"] = map[string]any{"Message": "User not found", "Type": "Microsoft.Graph.ServiceException", "IsThrottled": false, "Attempts": 1}
		}
	}
	body, err := json.Marshal(result)
	if err != nil {
		panic(err) // texts and numbers
	}
	return body
}
