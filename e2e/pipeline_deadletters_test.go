package e2e_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// TestDeadLettersOfTheContextBundle has each job of a batch in the dead-letter queue of its worker's subscription: within its
// timeout, from where the handler sends it again; beyond its timeout, by the clock, when the step is retried in its place; and by
// the verdict of a receiver, when it waits for an administrator, whose replay completes the batch.
func TestDeadLettersOfTheContextBundle(t *testing.T) {
	t.Parallel()
	b := newBundles(t, 1, 0, true)
	ids := []string{"sync", "merge", "training"}
	for _, id := range ids {
		b.processes[id].Kill()
	}
	batch := b.request()
	for i, timeout := range []time.Duration{30 * time.Second, time.Minute, 10 * time.Minute} {
		worker := ids[i]
		job, redelivered := b.bury(worker, bus.ReasonDeliveries)
		if job.ExpiresAt == nil || job.DispatchedAt == nil || job.ExpiresAt.Sub(*job.DispatchedAt) != timeout || redelivered {
			t.Errorf("the job of %s: %+v", worker, job)
		}
		b.tick()
		again, redelivered := b.bury(worker, bus.ReasonDeliveries)
		if again.JobID != job.JobID || !redelivered {
			t.Errorf("the handler sent %s of %s again as %s, redelivered %v", job.JobID, worker, again.JobID, redelivered)
		}

		b.moveTo(job.ExpiresAt.Add(time.Second))
		b.tick()
		if m := b.messageOf(job.JobID, api.UnprocessableDiscarded); !strings.HasPrefix(m.Handled.Why, "it has expired") {
			t.Errorf("the dead letter of an expired job of %s: %s", worker, m.Handled.Why)
		}
		b.untilRetried(batch, job)

		retried, redelivered := b.bury(worker, "NotMine")
		if retried.JobID == job.JobID || retried.CorrelationData.StepExecutionID != job.CorrelationData.StepExecutionID || redelivered {
			t.Errorf("after the timeout the job of %s is %+v", worker, retried)
		}
		b.tick()
		b.must("messages", "replay", b.messageOf(retried.JobID, api.UnprocessableOpen).ID, "--reason", "the worker is repaired")
		b.start(worker)
		if worker != "training" {
			step := map[string]string{"sync": "sync", "merge": "merge"}[worker]
			b.await(step, func() bool { return b.checkSteps(batch, step, 1) == nil })
		}
	}
	b.awaitTraining(batch)
	if v := b.status(batch); v.Status != api.PipelineCompleted || v.Items.Succeeded != 1 {
		t.Errorf("%+v", v)
	}
	if got := b.bundle(batch); got.Repositories != 1 {
		t.Errorf("%+v", got)
	}
}

// untilRetried lets time pass until the step of a job has another one.
func (b *bundles) untilRetried(batch int, job message.Job) {
	b.t.Helper()
	waits := func() bool {
		var steps api.Page[api.Step]
		b.ask(&steps, "batch", "steps", strconv.Itoa(batch), "--all")
		return slices.ContainsFunc(steps.Items, func(s api.Step) bool {
			return s.JobID == job.IDInBatch() && (s.Status == api.StepQueued || s.Status == api.StepAtWorker)
		})
	}
	for waits() {
		if time.Since(b.began) > patience {
			b.t.Fatalf("the step of %s still waits for it", job.IDInBatch())
		}
		b.moveTo(b.clock().Add(time.Minute))
		b.tick()
	}
}

// bury receives a job of a worker and moves it to the dead-letter queue of its subscription.
func (b *bundles) bury(worker, reason string) (job message.Job, redelivered bool) {
	b.t.Helper()
	client, err := azservicebus.NewClientFromConnectionString(b.endpoints.Handler["ServiceBusConnection"], nil)
	if err != nil {
		b.t.Fatal(err)
	}
	defer client.Close(b.t.Context())
	receiver, err := client.NewReceiverForSubscription(message.TopicWorkerJobs, message.WorkerSubscription(worker), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	jobs, err := receiver.ReceiveMessages(b.t.Context(), 1, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := json.Unmarshal(jobs[0].Body, &job); err != nil {
		b.t.Fatal(err)
	}
	redelivered, _ = jobs[0].ApplicationProperties[message.PropertyRedelivered].(bool)
	description := "as a test has it"
	if err := receiver.DeadLetterMessage(b.t.Context(), jobs[0], &azservicebus.DeadLetterOptions{Reason: &reason, ErrorDescription: &description}); err != nil {
		b.t.Fatal(err)
	}
	return job, redelivered
}

// messageOf is the unprocessable message with a status that has a job.
func (b *bundles) messageOf(jobID string, status api.UnprocessableStatus) api.UnprocessableMessage {
	b.t.Helper()
	var page api.Page[api.UnprocessableMessage]
	b.ask(&page, "messages", "list", "--topic", message.TopicWorkerJobs, "--status", string(status))
	for _, m := range page.Items {
		var one api.UnprocessableMessage
		b.ask(&one, "messages", "get", m.ID)
		if strings.Contains(string(one.Body), jobID) {
			return one
		}
	}
	b.t.Fatalf("no %s message has the job %s: %+v", status, jobID, page.Items)
	return api.UnprocessableMessage{}
}
