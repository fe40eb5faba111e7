package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
)

// deadLetters has jobs with secrets dead-lettered while there is no worker, and sends jobs
// and results that cannot be processed. One job is replayed, which gives the worker the
// secret as it was, and another is discarded.
func (c *canaries) deadLetters() {
	c.t.Helper()
	client := c.broker()
	c.mu.Lock()
	c.processes[workerProcess].Kill()
	c.mu.Unlock()
	c.create("dan", "eve")
	c.must("batch", "advance", c.batch, "--phase", "create", "--yes")
	receiver, err := client.NewReceiverForSubscription(message.TopicWorkerJobs, message.WorkerSubscription("worker-01"), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	reason, description := "NotMine", "A receiver did not take the job."
	for taken := 0; taken < 2; {
		jobs, err := receiver.ReceiveMessages(c.t.Context(), 2, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, job := range jobs {
			if !strings.Contains(string(job.Body), canary) {
				c.t.Errorf("the job of a member has no secret: %s", job.Body)
			}
			if err := receiver.DeadLetterMessage(c.t.Context(), job, &azservicebus.DeadLetterOptions{Reason: &reason, ErrorDescription: &description}); err != nil {
				c.t.Fatal(err)
			}
			taken++
		}
	}
	if err := receiver.Close(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.tick()

	var page api.Page[api.UnprocessableMessage]
	c.ask(&page, "messages", "list", "--topic", message.TopicWorkerJobs)
	page.Items = slices.DeleteFunc(page.Items, func(m api.UnprocessableMessage) bool { return m.DeadLetter == nil || m.DeadLetter.Reason != reason })
	if len(page.Items) != 2 {
		c.t.Fatalf("the dead-lettered jobs are listed as %+v", page.Items)
	}
	kept, steps := map[string]string{}, map[string]int64{} // of each member: the message, and the step
	for _, m := range page.Items {
		if m.DeadLetter.Description != description {
			c.t.Errorf("%+v", m)
		}
		shown := c.must("messages", "get", m.ID, "--output", "json")
		if !strings.Contains(shown, `"Parameters": "(secret)"`) || !strings.Contains(shown, `"Secrets": "(secret)"`) {
			c.t.Errorf("a dead-lettered job is shown as %s", shown)
		}
		var one api.UnprocessableMessage
		var job message.Job
		if json.Unmarshal([]byte(shown), &one) != nil {
			c.t.Fatalf("a message is shown as %s", shown)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(one.Body, &fields); err != nil {
			c.t.Fatal(err)
		}
		delete(fields, "Parameters")
		delete(fields, "Secrets")
		rest, _ := json.Marshal(fields)
		if err := json.Unmarshal(rest, &job); err != nil {
			c.t.Fatal(err)
		}
		key := c.memberOf(job.CorrelationData.StepExecutionID)
		kept[key], steps[key] = m.ID, job.CorrelationData.StepExecutionID
	}
	c.must("messages", "discard", kept["eve@example.com"], "--yes", "--reason", "not needed")
	c.must("messages", "replay", kept["dan@example.com"], "--reason", "the worker is back")
	c.start(workerProcess)
	got := strings.ReplaceAll(c.awaitNotes("make", "dan@example.com", 1), `\u0026`, "&")
	for _, kind := range []string{"Column", "Pin"} {
		quoted, _ := json.Marshal(canaryOf(kind, "dan"))
		if want := strings.ReplaceAll(string(quoted), `\u0026`, "&"); !strings.Contains(got, want) {
			c.t.Errorf("the replayed job did not give the worker %s", want)
		}
	}
	c.untilPhase("create", func(p api.Phase) bool { return p.Succeeded == 1 })
	if strings.Contains(got, "eve@example.com") {
		c.t.Error("the discarded job reached the worker")
	}
	result := `{"Id":"8","Token":"` + canary + `ByHand"}`
	c.must("batch", "mark-done", c.batch, fmt.Sprint(steps["eve@example.com"]), "--result", result, "--reason", "done by hand")
	c.untilPhase("create", func(p api.Phase) bool { return p.Succeeded == 2 })
}

// broker is a client of the system's broker.
func (c *canaries) broker() *azservicebus.Client {
	c.t.Helper()
	client, err := azservicebus.NewClientFromConnectionString(c.endpoints.Handler["ServiceBusConnection"], nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = client.Close(context.Background()) })
	return client
}

// memberOf is the key of the member that a step of the batch is of.
func (c *canaries) memberOf(step int64) string {
	c.t.Helper()
	var steps api.Page[api.Step]
	c.ask(&steps, "batch", "steps", c.batch, "--all")
	at := slices.IndexFunc(steps.Items, func(v api.Step) bool { return v.ID == step })
	if at < 0 {
		c.t.Fatalf("batch %s has no step %d", c.batch, step)
	}
	return steps.Items[at].MemberKey
}

// unprocessable sends jobs and results with secrets that cannot be processed.
func (c *canaries) unprocessable() {
	c.t.Helper()
	client, before, batch := c.broker(), len(c.messages()), 2
	secret, _ := json.Marshal(canaryOf("Message", "x"))
	correlation := message.Correlation{BatchID: batch, StepExecutionID: 9_00000_001_000, RunbookName: "moves", RunbookVersion: 1}
	result, err := json.Marshal(message.Result{JobID: "j", Status: message.StatusSuccess, Result: json.RawMessage(`{"Token":` + string(secret) + `}`), Timestamp: time.Now(), CorrelationData: correlation})
	if err != nil {
		c.t.Fatal(err)
	}
	job, err := json.Marshal(message.Job{JobID: "k", BatchID: batch, WorkerID: "worker-01", FunctionName: "Dance", Parameters: json.RawMessage(`{"Password":` + string(secret) + `}`), CorrelationData: correlation})
	if err != nil {
		c.t.Fatal(err)
	}
	mine := map[string]any{message.PropertyWorkerID: "worker-01"}
	for topic, bodies := range map[string][]string{
		message.TopicWorkerResults: {string(result), `{"Result":` + string(secret), canaryOf("Message", "y")},
		message.TopicWorkerJobs:    {string(job), `{"Parameters":{"Password":` + string(secret), canaryOf("Message", "z"), `{"Parameters":` + string(secret) + `}`},
	} {
		sender, err := client.NewSender(topic, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		for i, body := range bodies {
			id := fmt.Sprintf("%s-%d", topic, i)
			m := &azservicebus.Message{MessageID: &id, Body: []byte(body)}
			if topic == message.TopicWorkerJobs {
				m.ApplicationProperties = mine
			}
			if err := sender.SendMessage(c.t.Context(), m, nil); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	c.awaitUnprocessable(before + 5)
}

// awaitUnprocessable has ticks read the dead-letter queues until at least n messages are kept.
func (c *canaries) awaitUnprocessable(n int) {
	c.t.Helper()
	var kept []api.UnprocessableMessage
	for end := time.Now().Add(c.patience); time.Now().Before(end); time.Sleep(c.every) {
		c.tick()
		if kept = c.messages(); len(kept) >= n {
			for _, m := range kept {
				c.t.Logf("kept: %s %s: %s", m.Topic, m.MessageID, m.Reason)
			}
			return
		}
	}
	c.t.Fatalf("%d messages are kept, want %d", len(kept), n)
}
