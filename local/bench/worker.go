package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/local/system"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// WorkerLoad is jobs for one worker, each of which makes a user.
type WorkerLoad struct {
	Jobs        int
	Parallelism int
	Throttled   float64 // part of the calls to the tenant that it refuses with 429
	RetryAfter  string  // of the refusals, in seconds
	Writes      int     // GRAPH_WRITE_LIMIT; 0 means the worker's default
}

// WorkerMetrics are the resources that a worker used for its jobs.
type WorkerMetrics struct {
	Start   time.Duration // from the start of the process to the first job's result, of a job that does nothing
	Took    time.Duration // from the first to the last of the jobs
	Calls   int           // to the tenant, of which
	Refused int           // were throttled
	CPU     time.Duration
	Peak    int64 // bytes resident
}

// workers measures a worker alone and prints a table.
func workers(ctx context.Context, c Config) error {
	t := Table{Name: "The worker alone", Columns: []string{"worker", "jobs", "seconds", "jobs/s", "calls", "refused", "CPU ms/job", "peak MB", "ms to the first job"}}
	for _, row := range []struct {
		note string
		load WorkerLoad
	}{
		{"no limit", WorkerLoad{Writes: 1_000_000}},
		{"5 % refused for 0.1 s", WorkerLoad{Writes: 1_000_000, Throttled: 0.05, RetryAfter: "0.1"}},
		{"5 % refused for 1 s", WorkerLoad{Writes: 1_000_000, Throttled: 0.05, RetryAfter: "1"}},
		{"3,000 writes in 150 s", WorkerLoad{}},
	} {
		row.load.Jobs, row.load.Parallelism = c.WorkerJobs, 16
		f, err := MeasureWorker(ctx, c, row.load)
		if err != nil {
			return fmt.Errorf("worker, %s: %w", row.note, err)
		}
		jobs := float64(row.load.Jobs)
		t.Rows = append(t.Rows, []any{
			row.note, row.load.Jobs, one(f.Took.Seconds()), whole(jobs / f.Took.Seconds()), f.Calls, f.Refused,
			two(f.CPU.Seconds() * 1000 / jobs), f.Peak >> 20, f.Start.Milliseconds(),
		})
	}
	c.add(t)
	return nil
}

// MeasureWorker gives a worker its jobs, in a process of its own against a tenant
// and a broker in this one. It is an error when a job is lost, fails, or is done
// twice, by the results and by what the tenant was asked for.
func MeasureWorker(ctx context.Context, c Config, l WorkerLoad) (f WorkerMetrics, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	w := &workerBed{load: l}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.start(ctx); err != nil {
		return f, err
	}
	if err := w.send(ctx, jobFor(0, "No-Op", nil)); err != nil {
		return f, err
	}
	began := time.Now()
	if w.worker, err = system.Spawn("worker", &w.log, w.env(), c.Worker); err != nil {
		return f, err
	}
	if err := w.results(ctx, 1, func(message.Result) {}); err != nil {
		return f, err
	}
	f.Start = time.Since(began)
	if err := w.carryOut(ctx, &f); err != nil {
		return f, err
	}
	used, err := processUsage("worker", w.worker.PID())
	f.CPU, f.Peak = used.cpu, used.peak
	return f, err
}

// workerBed is a worker and its environment.
type workerBed struct {
	load   WorkerLoad
	around *system.System
	client *azservicebus.Client
	worker *system.Process
	log    bytes.Buffer
}

func (w *workerBed) start(ctx context.Context) (err error) {
	if w.around, err = system.Start(ctx, system.Config{
		Parts: []system.Part{system.ServiceBus, system.Identity}, Addresses: system.FreeAddresses(),
	}); err != nil {
		return err
	}
	w.client, err = azservicebus.NewClientFromConnectionString(w.around.ServiceBusConnection(), nil)
	return err
}

func (w *workerBed) env() map[string]string {
	env := w.around.WorkerEnv()
	maps.Copy(env, map[string]string{"WORKER_NOOP": "1", "LOG_LEVEL": "error", "MAX_PARALLELISM": fmt.Sprint(w.load.Parallelism)})
	if w.load.Writes > 0 {
		env["GRAPH_WRITE_LIMIT"] = fmt.Sprint(w.load.Writes)
	}
	return env
}

// carryOut has the jobs done and counts.
func (w *workerBed) carryOut(ctx context.Context, f *WorkerMetrics) error {
	var faults tenant.Faults
	if w.load.Throttled > 0 {
		faults = tenant.Faults{Seed: 1, Rules: []tenant.Fault{{
			Service: "graph", Probability: w.load.Throttled, Status: http.StatusTooManyRequests, RetryAfter: w.load.RetryAfter,
		}}}
	}
	if err := w.around.Tenant.SetFaults(faults); err != nil {
		return err
	}
	jobs := make([]message.Job, w.load.Jobs)
	for i := range jobs {
		jobs[i] = jobFor(i+1, "New-EntraUser", map[string]any{
			"DisplayName": fmt.Sprintf("User %d", i+1), "UserPrincipalName": fmt.Sprintf("user%d@contoso.example", i+1),
		})
	}
	before, there := w.around.Tenant.Requests(), len(w.around.Tenant.State().Users)
	began := time.Now()
	if err := w.send(ctx, jobs...); err != nil {
		return err
	}
	answers := map[string]int{}
	var failed error
	if err := w.results(ctx, len(jobs), func(r message.Result) {
		answers[r.JobID]++
		if r.Error != nil && failed == nil {
			failed = fmt.Errorf("%s failed: %s", r.JobID, r.Error.Message)
		}
	}); err != nil {
		return err
	}
	f.Took = time.Since(began)
	posts := w.around.Tenant.Requests()["graph POST /users"]
	for op, statuses := range w.around.Tenant.Requests() {
		for status, n := range statuses {
			n -= before[op][status]
			f.Calls += n
			if status == http.StatusTooManyRequests {
				f.Refused += n
			}
		}
	}
	switch users := len(w.around.Tenant.State().Users) - there; {
	case failed != nil:
		return failed
	case len(answers) != len(jobs):
		return fmt.Errorf("%d of %d jobs were answered", len(answers), len(jobs))
	case users != len(jobs), posts[http.StatusCreated] != len(jobs), f.Calls-f.Refused != len(jobs):
		return fmt.Errorf("%d jobs created %d users, with these requests: %v", len(jobs), users, w.around.Tenant.Requests())
	}
	return w.nothingLeft(ctx)
}

// nothingLeft looks for results that came twice and jobs that were not settled.
func (w *workerBed) nothingLeft(ctx context.Context) error {
	for topic, subscription := range map[string]string{
		message.TopicWorkerResults: message.SubscriptionOrchestrator, message.TopicWorkerJobs: message.WorkerSubscription("worker-01"),
	} {
		for {
			r, err := w.client.NewReceiverForSubscription(topic, subscription, nil)
			if err != nil {
				return err
			}
			left, err := r.PeekMessages(ctx, 10, nil)
			if err = errors.Join(err, r.Close(ctx)); err != nil {
				return err
			}
			left = slices.DeleteFunc(left, ofItself)
			if len(left) == 0 {
				break
			}
			if topic == message.TopicWorkerResults {
				return fmt.Errorf("%s arrived more than once", *left[0].CorrelationID)
			}
		}
	}
	return nil
}

func jobFor(n int, function string, parameters map[string]any) message.Job {
	raw, err := json.Marshal(parameters)
	if err != nil {
		panic(err) // plain data
	}
	return message.Job{
		JobID: fmt.Sprintf("step-%d-attempt-1", n+1), BatchID: 1, WorkerID: "worker-01", FunctionName: function, Parameters: raw,
		CorrelationData: message.Correlation{BatchID: 1, StepExecutionID: int64(n + 1)},
	}
}

func (w *workerBed) send(ctx context.Context, jobs ...message.Job) error {
	sender, err := w.client.NewSender(message.TopicWorkerJobs, nil)
	if err != nil {
		return err
	}
	defer sender.Close(ctx)
	for len(jobs) > 0 {
		batch, err := sender.NewMessageBatch(ctx, nil)
		if err != nil {
			return err
		}
		n := 0
		for ; n < min(len(jobs), 500); n++ {
			body, err := json.Marshal(jobs[n])
			if err != nil {
				return err
			}
			id := jobs[n].ID()
			err = batch.AddMessage(&azservicebus.Message{
				Body: body, MessageID: &id, ApplicationProperties: map[string]any{message.PropertyWorkerID: jobs[n].WorkerID},
			}, nil)
			if errors.Is(err, azservicebus.ErrMessageTooLarge) && n > 0 {
				break
			}
			if err != nil {
				return err
			}
		}
		if err := sender.SendMessageBatch(ctx, batch, nil); err != nil {
			return err
		}
		jobs = jobs[n:]
	}
	return nil
}

// results takes the next n results.
func (w *workerBed) results(ctx context.Context, n int, each func(message.Result)) error {
	r, err := w.client.NewReceiverForSubscription(message.TopicWorkerResults, message.SubscriptionOrchestrator,
		&azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete})
	if err != nil {
		return err
	}
	defer r.Close(ctx)
	ended, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-w.worker.Done():
			cancel(errors.New("the worker has ended"))
		case <-ended.Done():
		}
	}()
	for n > 0 {
		got, err := r.ReceiveMessages(ended, n, &azservicebus.ReceiveMessagesOptions{TimeAfterFirstMessage: time.Millisecond})
		if ended.Err() != nil {
			return fmt.Errorf("%d results are missing: %w", n, errors.Join(context.Cause(ended), err))
		}
		got = slices.DeleteFunc(got, ofItself)
		for _, m := range got {
			var result message.Result
			if err := json.Unmarshal(m.Body, &result); err != nil {
				return err
			}
			each(result)
		}
		n -= len(got)
	}
	return nil
}

// ofItself reports whether a message is no result, but what a worker says of itself.
func ofItself(m *azservicebus.ReceivedMessage) bool {
	kind := m.ApplicationProperties[message.PropertyMessageType]
	return kind == message.TypeWorkerCatalog || kind == message.TypeWorkerHeartbeat
}

// close ends everything, and tells what the worker wrote where that may say why it
// did not end well.
func (w *workerBed) close() error {
	var faults []error
	if w.worker != nil {
		if err := w.worker.Stop(10 * time.Second); err != nil {
			faults = append(faults, fmt.Errorf("%w; its log:\n%s", err, w.log.Bytes()))
		}
	}
	if w.client != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = w.client.Close(ctx) // the broker goes as well
	}
	if w.around != nil {
		faults = append(faults, w.around.Close())
	}
	return errors.Join(faults...)
}
