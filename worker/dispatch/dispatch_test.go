package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	messagebus "github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

func TestJobIsAnsweredAndCompleted(t *testing.T) {
	t.Parallel()
	b := start(t, &function{run: func(_ context.Context, name string, parameters []byte) (any, error) {
		return map[string]any{"Name": name, "Parameters": json.RawMessage(parameters)}, nil
	}}, options{})
	j := job(7)
	b.send(t, j)

	results, messages := b.receive(t, 1)
	got := results[0]
	if got.JobID != j.JobID || got.CorrelationData != j.CorrelationData {
		t.Errorf("answered to %s %+v, want %s %+v", got.JobID, got.CorrelationData, j.JobID, j.CorrelationData)
	}
	if got.Status != message.StatusSuccess || got.ResultType != message.ResultObject || got.Error != nil ||
		string(got.Result) != `{"Name":"Do","Parameters":{"N":1}}` {
		t.Errorf("got %+v with %s", got, got.Result)
	}
	if time.Since(got.Timestamp) > time.Minute || got.Timestamp.Location() != time.UTC {
		t.Errorf("Timestamp is %s", got.Timestamp)
	}
	properties := map[string]any{"traceparent": "00-trace-01", "WorkerId": workerID, "MessageType": "worker-result"}
	if m := messages[0]; m.MessageID != "result-batch-42-step-7-attempt-1" || !reflect.DeepEqual(m.ApplicationProperties, properties) {
		t.Errorf("message id %s, properties %v", m.MessageID, m.ApplicationProperties)
	}
	b.jobsLeft(t, 0, nil)
}

// A worker may be older than the orchestrator: it returns unknown fields of
// the correlation unchanged, and of a correlation that is too large the known fields.
func TestCorrelationComesBackAsItWasSent(t *testing.T) {
	t.Parallel()
	b := start(t, &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}, options{})
	known := `"BatchId":42,"StepExecutionId":9007199254740993,"IsInitStep":true,"RunbookName":"contoso","RunbookVersion":3`
	for sent, want := range map[string]string{
		`{"Later":{"Ratio":2.50},` + known + `}`:                        `{"Later":{"Ratio":2.50},` + known + `}`,
		`{` + known + `,"Later":"` + strings.Repeat("x", 10_000) + `"}`: `{` + known + `}`,
	} {
		b.sendBody(t, `{"JobId":"step-`+fmt.Sprint(len(sent))+`","FunctionName":"Do","CorrelationData":`+sent+`}`)
		_, messages := b.receive(t, 1)
		var got struct{ CorrelationData json.RawMessage }
		if err := json.Unmarshal(messages[0].Body, &got); err != nil || string(got.CorrelationData) != want {
			t.Errorf("got  %s\nwant %s", got.CorrelationData, want)
		}
	}
}

func TestWhatAFunctionReturnsIsTheResult(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		note   string
		run    func(ctx context.Context, _ string, _ []byte) (any, error)
		want   string            // the result, or
		failed *message.JobError // the failure; its message need only begin so
	}{
		{"true", func(context.Context, string, []byte) (any, error) { return true, nil }, `Boolean true`, nil},
		{"an object", func(context.Context, string, []byte) (any, error) {
			return struct{ UserId string }{"u1"}, nil
		}, `Object {"UserId":"u1"}`, nil},
		{"a failure", func(context.Context, string, []byte) (any, error) {
			return nil, &catalog.Failure{Type: "TooManyRequests", Message: "slow down", Throttled: true, Attempts: 6}
		}, "", &message.JobError{Message: "slow down", Type: "TooManyRequests", IsThrottled: true, Attempts: 6}},
		{"a failure that says when to come again", func(context.Context, string, []byte) (any, error) {
			return nil, &catalog.Failure{Type: "TooManyRequests", Message: "slow down", Throttled: true, Attempts: 6, RetryAfter: 16*time.Second + 1}
		}, "", &message.JobError{Message: "slow down", Type: "TooManyRequests", IsThrottled: true, Attempts: 6, RetryAfterSeconds: 17}},
		{
			"another error", func(context.Context, string, []byte) (any, error) { return nil, errPlain },
			"", &message.JobError{Message: "plain error", Type: catalog.FailureUnknown, Attempts: 1},
		},
		{
			"a panic", func(context.Context, string, []byte) (any, error) { panic("index out of range") },
			"", &message.JobError{Message: "Do panicked: index out of range", Type: catalog.FailurePanic, Attempts: 1},
		},
		{
			"neither boolean nor object", func(context.Context, string, []byte) (any, error) { return []int{1}, nil },
			"", &message.JobError{Message: "the answer must be", Type: catalog.FailureInvalidResult, Attempts: 1},
		},
		{
			"nothing", func(context.Context, string, []byte) (any, error) { return nil, nil },
			"", &message.JobError{Message: "the answer must be", Type: catalog.FailureInvalidResult, Attempts: 1},
		},
		{
			"what is no JSON", func(context.Context, string, []byte) (any, error) { return func() {}, nil },
			"", &message.JobError{Message: "the answer is not JSON", Type: catalog.FailureInvalidResult, Attempts: 1},
		},
		{"more than a message holds", func(context.Context, string, []byte) (any, error) {
			return map[string]string{"x": strings.Repeat("x", message.Limit)}, nil
		}, "", &message.JobError{Message: "the answer has 245768 bytes; at most 241664 are allowed", Type: catalog.FailureInvalidResult, Attempts: 1}},
		{"nothing in time", func(ctx context.Context, _ string, _ []byte) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, "", &message.JobError{Message: "Do did not finish within 200ms", Type: catalog.FailureTimeout, Attempts: 1}},
		{
			"nothing in time, against its contract", func(context.Context, string, []byte) (any, error) { select {} },
			"", &message.JobError{Message: "Do did not finish within 200ms", Type: catalog.FailureTimeout, Attempts: 1},
		},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			b := start(t, &function{run: tc.run}, options{config: dispatch.Config{JobTimeout: 200 * time.Millisecond}})
			b.send(t, job(1))
			got := b.result(t)
			b.jobsLeft(t, 0, nil)
			if tc.failed == nil {
				if is := got.ResultType + " " + string(got.Result); got.Status != message.StatusSuccess || is != tc.want || got.Error != nil {
					t.Fatalf("got %s %s %+v, want %s", got.Status, is, got.Error, tc.want)
				}
				return
			}
			if got.Status != message.StatusFailure || string(got.Result) != "null" || got.Error == nil ||
				!strings.HasPrefix(got.Error.Message, tc.failed.Message) {
				t.Fatalf("got %s %s %+v, want %+v", got.Status, got.Result, got.Error, tc.failed)
			}
			got.Error.Message = tc.failed.Message
			if !reflect.DeepEqual(got.Error, tc.failed) {
				t.Fatalf("got %+v, want %+v", got.Error, tc.failed)
			}
		})
	}
}

func TestJobThatCannotBeReadIsAnsweredWhenItSaysToWhom(t *testing.T) {
	t.Parallel()
	f := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
	b := start(t, f, options{})
	for _, tc := range []struct{ note, body, want string }{
		{"no function", `{"JobId":"j1","CorrelationData":{"BatchId":4,"StepExecutionId":9}}`, "the job has no FunctionName"},
		{
			"another worker's", `{"JobId":"j2","WorkerId":"worker-02","FunctionName":"Do","CorrelationData":{"BatchId":4,"StepExecutionId":9}}`,
			`the job is for worker "worker-02", not for "worker-01"`,
		},
		{
			"a field of another type", `{"JobId":"j3","FunctionName":7,"CorrelationData":{"BatchId":4,"StepExecutionId":9}}`,
			"invalid job: json: cannot unmarshal number into Go struct field Job.FunctionName of type string",
		},
		{
			"parameters of another type", `{"JobId":"j4","FunctionName":"Do","Parameters":[1],"CorrelationData":{"BatchId":4,"StepExecutionId":9}}`,
			"the job's Parameters are not a JSON object",
		},
		{
			"an expiry that is no time", `{"JobId":"j5","FunctionName":"Do","CorrelationData":{"BatchId":4,"StepExecutionId":9},"ExpiresAt":"soon"}`,
			`invalid job: parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"`,
		},
	} {
		b.sendBody(t, tc.body)
		got := b.result(t)
		if got.Error == nil || got.Error.Type != catalog.FailureInvalidJob || got.Error.Message != tc.want ||
			got.CorrelationData.StepExecutionID != 9 {
			t.Errorf("%s: got %+v", tc.note, got.Error)
		}
	}
	if calls, _ := f.counts(); calls != 0 {
		t.Errorf("%d calls", calls)
	}
}

func TestJobThatNobodyCanBeAnsweredAboutIsDeadLettered(t *testing.T) {
	t.Parallel()
	bodies := []string{`{"JobId":`, `[]`, `{}`, `{"JobId":"j1","FunctionName":"Do"}`, `{"FunctionName":"Do","CorrelationData":{"StepExecutionId":9}}`}
	b := start(t, until(nil), options{})
	for _, body := range bodies {
		b.sendBody(t, body)
	}
	b.jobsLeft(t, 0, nil)
	dead := b.jobsLeft(t, len(bodies), &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	kept := map[string]bool{}
	for _, m := range dead {
		kept[string(m.Body)] = true
		if m.DeadLetterReason == nil || *m.DeadLetterReason != dispatch.ReasonUnreadable ||
			m.DeadLetterErrorDescription == nil || !strings.Contains(*m.DeadLetterErrorDescription, "CorrelationData") {
			t.Errorf("%s: reason %v", m.Body, m.DeadLetterReason)
		}
	}
	for _, body := range bodies {
		if !kept[body] {
			t.Errorf("%s is lost", body)
		}
	}
}

// Service Bus takes no message whose id is longer, and so no result of such a job: it
// would be sent for ever, and those beside it with it.
func TestJobWhoseResultCouldNotBeSentIsDeadLettered(t *testing.T) {
	t.Parallel()
	f := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
	b := start(t, f, options{})
	longest, tooLong := job(1), job(2)
	longest.JobID = strings.Repeat("j", 128-len("result-batch-42-"))
	tooLong.JobID = longest.JobID + "j"
	b.send(t, tooLong, longest)
	if got := b.result(t); got.JobID != longest.JobID || got.Status != message.StatusSuccess {
		t.Errorf("got %s: %+v", got.JobID, got.Error)
	}
	b.jobsLeft(t, 0, nil)
	b.noMoreResults(t)
	dead := b.jobsLeft(t, 1, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	if why := dead[0].DeadLetterErrorDescription; why == nil || !strings.Contains(*why, "JobId") {
		t.Errorf("dead-lettered for %v", why)
	}
	if calls, _ := f.counts(); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

// The properties of a job do not reduce the room for its result.
func TestWhatComesBesideAJobDoesNotTakeTheRoomOfItsResult(t *testing.T) {
	t.Parallel()
	answer := map[string]string{"data": strings.Repeat("x", message.Limit-5<<10)}
	b := start(t, &function{run: func(context.Context, string, []byte) (any, error) { return answer, nil }}, options{})
	body := testenv.Must(json.Marshal(job(1)))(t)
	if err := b.jobs.SendMessage(t.Context(), &azservicebus.Message{Body: body, ApplicationProperties: map[string]any{
		message.PropertyWorkerID: workerID, "traceparent": "of no trace",
		"tracestate": "a=" + strings.Repeat("x", 30<<10), "Diagnostic-Id": strings.Repeat("x", 30<<10),
	}}, nil); err != nil {
		t.Fatal(err)
	}
	if got := b.result(t); got.Status != message.StatusSuccess {
		t.Errorf("got %+v", got.Error)
	}
}

// The orchestrator has given the step up by then and may have dispatched it anew.
func TestJobIsNotBegunPastItsExpiry(t *testing.T) {
	t.Parallel()
	expires := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	for _, tc := range []struct {
		note   string
		now    time.Time
		begins bool
	}{
		{"in time", expires.Add(-time.Nanosecond), true},
		{"at its expiry", expires, false},
		{"later", expires.Add(time.Hour), false},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			f := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
			b := start(t, f, options{config: dispatch.Config{Now: func() time.Time { return tc.now }}})
			j := job(1)
			j.ExpiresAt = &expires
			b.send(t, j)
			got := b.result(t)
			b.jobsLeft(t, 0, nil)
			calls, _ := f.counts()
			if tc.begins {
				if calls != 1 || got.Status != message.StatusSuccess {
					t.Fatalf("%d calls, got %+v", calls, got)
				}
				return
			}
			if calls != 0 || got.Status != message.StatusFailure || got.Error == nil || got.Error.Type != catalog.FailureExpired ||
				got.CorrelationData != j.CorrelationData {
				t.Fatalf("%d calls, got %+v with %+v", calls, got, got.Error)
			}
			for _, want := range []string{"Do was not started", "expired at 2026-03-01T12:30:00Z", "queue", "before the step's timeout"} {
				if !strings.Contains(got.Error.Message, want) {
					t.Errorf("%q does not say %q", got.Error.Message, want)
				}
			}
		})
	}
}

// A worker stopped in the middle of a job may have completed it: no result says that
// nothing was done.
func TestAJobThatComesAgainPastItsExpiryMayHaveBeenBegun(t *testing.T) {
	t.Parallel()
	expires := time.Now().Add(time.Hour)
	f := until(nil)
	b := start(t, f, options{config: dispatch.Config{ShutdownGrace: time.Millisecond}})
	j := job(1)
	j.ExpiresAt = &expires
	b.send(t, j)
	awaitStart(t, f)
	b.stop()
	await(t, "the worker stops", b.stopped)
	next := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
	work(t, dial(t, b.server.ConnectionString()), next, dispatch.Config{Now: func() time.Time { return expires }})
	got := b.result(t)
	if got.Error == nil || got.Error.Type != catalog.FailureExpired ||
		!strings.Contains(got.Error.Message, "was not started by this delivery") || !strings.Contains(got.Error.Message, "an earlier delivery may have run it") {
		t.Errorf("got %+v", got.Error)
	}
	if calls, _ := next.counts(); calls != 0 {
		t.Errorf("%d calls", calls)
	}
}

// A repeated job that was begun in time gets its result also after the expiry.
func TestJobThatWasBegunInTimeIsAnsweredPastItsExpiry(t *testing.T) {
	t.Parallel()
	expires := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	var late atomic.Bool
	f := &function{run: func(context.Context, string, []byte) (any, error) {
		late.Store(true)
		return true, nil
	}}
	b := start(t, f, options{topology: withoutDuplicateDetection, config: dispatch.Config{Now: func() time.Time {
		if late.Load() {
			return expires.Add(time.Minute)
		}
		return expires.Add(-time.Minute)
	}}})
	j := job(1)
	j.ExpiresAt = &expires
	for _, delivery := range []string{"first", "second"} {
		b.send(t, j)
		if got := b.result(t); got.Status != message.StatusSuccess {
			t.Fatalf("%s delivery: got %+v", delivery, got.Error)
		}
	}
	if calls, _ := f.counts(); calls != 1 {
		t.Fatalf("%d calls", calls)
	}
}

func TestNoMoreJobsThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := until(release)
	b := start(t, f, options{config: dispatch.Config{MaxParallelism: 3}})
	for n := range 10 {
		b.send(t, job(n+1))
	}
	for range 3 {
		awaitStart(t, f)
	}
	close(release)
	b.receive(t, 10)
	if calls, peak := f.counts(); calls != 10 || peak != 3 {
		t.Fatalf("%d calls, %d at once; want 10 and 3", calls, peak)
	}
	b.jobsLeft(t, 0, nil)
}

// withoutDuplicateDetection shows each result that is sent.
func withoutDuplicateDetection(t *servicebus.Topology) {
	for i := range t.Topics {
		t.Topics[i].DuplicateWindow = 0
	}
}

func TestJobThatComesAgainWhileItRunsIsNotStartedTwice(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f, seen := until(release), newDeliveries()
	b := start(t, f, options{config: dispatch.Config{MaxParallelism: 4, Observer: seen}, topology: withoutDuplicateDetection})
	b.send(t, job(1), job(1), job(2))
	awaitStart(t, f)
	awaitStart(t, f)
	for range 3 {
		next(t, "a delivery", seen.came)
	}
	close(release)
	results, _ := b.receive(t, 2)
	if calls, _ := f.counts(); calls != 2 || results[0].JobID == results[1].JobID {
		t.Fatalf("%d calls for 2 jobs, answered to %s and %s", calls, results[0].JobID, results[1].JobID)
	}
	b.jobsLeft(t, 0, nil)
	b.noMoreResults(t)
}

func TestJobThatComesAgainLaterIsAnsweredWithoutRunningIt(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	f := &function{run: func(context.Context, string, []byte) (any, error) {
		return map[string]int64{"Call": calls.Add(1)}, nil
	}}
	b := start(t, f, options{topology: withoutDuplicateDetection})
	b.send(t, job(1))
	first := b.result(t)
	b.send(t, job(1))
	if again := b.result(t); !reflect.DeepEqual(again, first) {
		t.Fatalf("got %+v, want %+v", again, first)
	}
	b.jobsLeft(t, 0, nil)
}

func TestForgottenResultsAreMadeAnew(t *testing.T) {
	t.Parallel()
	f := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
	b := start(t, f, options{config: dispatch.Config{Remember: 1}, topology: withoutDuplicateDetection})
	b.send(t, job(1))
	b.result(t)
	b.send(t, job(1))
	b.result(t)
	if calls, _ := f.counts(); calls != 2 {
		t.Fatalf("%d calls; want 2, since nothing may be remembered", calls)
	}
}

func TestLockIsKeptWhileAJobRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock no stall of the machine moves
		const lock = 30 * time.Second
		f, seen := &function{run: func(ctx context.Context, _ string, _ []byte) (any, error) {
			select {
			case <-time.After(3 * lock):
				return true, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}, newDeliveries()
		topics := memory.Deployment(workerID)
		for i := range topics {
			for k := range topics[i].Subscriptions {
				topics[i].Subscriptions[k].LockDuration = lock
			}
		}
		client := testenv.Must(memory.New(memory.Config{Topics: topics}))(t).Client(nil)
		loop := testenv.Must(dispatch.New(client, f, dispatch.Config{
			WorkerID: workerID, MaxParallelism: 2, Observer: seen, Log: slog.New(slog.DiscardHandler),
		}))(t)
		ctx, stop := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { loop.Run(ctx) })

		sent := messagebus.Message{ID: "1", Body: testenv.Must(json.Marshal(job(1)))(t), Properties: map[string]any{message.PropertyWorkerID: workerID}}
		if err := client.Send(ctx, message.TopicWorkerJobs, sent); err != nil {
			t.Error(err)
		}
		if d := <-seen.came; d.Count != 1 {
			t.Errorf("delivery %d", d.Count)
		}
		if o := <-seen.ended; !o.Ran || !o.Answered || o.Result.Status != message.StatusSuccess {
			t.Errorf("an outcome is %+v", o)
		}
		stop()
		run.Wait()
		if len(seen.came) > 0 {
			t.Errorf("the job came %d more times", len(seen.came))
		}
		jobs := testenv.Must(client.Receiver(message.TopicWorkerJobs, message.WorkerSubscription(workerID)))(t)
		if left := testenv.Must(jobs.Peek(t.Context(), 0, 10))(t); len(left) > 0 {
			t.Errorf("%d jobs are left", len(left))
		}
	})
}

func TestShutdownWaitsForRunningJobs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := until(release)
	b := start(t, f, options{config: dispatch.Config{ShutdownGrace: patience}})
	b.send(t, job(1))
	awaitStart(t, f)
	b.stop()
	b.send(t, job(2)) // too late
	close(release)
	await(t, "the worker stops", b.stopped)
	if got := b.result(t); got.JobID != job(1).JobID || got.Status != message.StatusSuccess {
		t.Fatalf("got %+v", got)
	}
	if left := b.jobsLeft(t, 1, nil); !strings.Contains(string(left[0].Body), job(2).JobID) {
		t.Fatalf("left is %s", left[0].Body)
	}
}

func TestShutdownGivesBackWhatDoesNotEndInTime(t *testing.T) {
	t.Parallel()
	for note, f := range map[string]*function{
		"a job that stops with its context": until(nil),
		"a job that does not": {
			started: make(chan string, 1),
			run:     func(context.Context, string, []byte) (any, error) { select {} },
		},
	} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			b := start(t, f, options{config: dispatch.Config{ShutdownGrace: 50 * time.Millisecond}})
			b.send(t, job(1))
			awaitStart(t, f)
			b.stop()
			await(t, "the worker stops", b.stopped)

			// The next worker has it at once, long before the lock would have ended.
			next := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
			work(t, dial(t, b.server.ConnectionString()), next, dispatch.Config{})
			if got := b.result(t); got.Status != message.StatusSuccess {
				t.Fatalf("got %+v", got)
			}
		})
	}
}

func TestIdleWorkerStops(t *testing.T) {
	t.Parallel()
	b := &bus{server: serve(t, "127.0.0.1:0", servicebus.DefaultTopology())}
	b.client = connect(t, b.server.ConnectionString())
	b.open(t)
	b.send(t, job(1)) // for the worker to find: it may be idle before a later one reaches it
	release := make(chan struct{})
	f := until(release)
	_, stopped := work(t, dial(t, b.server.ConnectionString()), f, dispatch.Config{MaxParallelism: 2, IdleTimeout: time.Second, ShutdownGrace: patience})
	awaitStart(t, f)
	other := serve(t, "127.0.0.1:0", servicebus.DefaultTopology())
	_, idle := work(t, dial(t, other.ConnectionString()), until(nil), dispatch.Config{IdleTimeout: 2 * time.Second})
	await(t, "a worker without a job is idle, later than this one would be", idle)
	b.send(t, job(2))
	awaitStart(t, f) // a worker that stops takes no job
	close(release)
	b.receive(t, 2)
	await(t, "the worker stops", stopped)
}

func TestBrokerThatComesAndGoes(t *testing.T) {
	t.Parallel()
	addr := testenv.Address(t) // without a listener yet
	connection := "Endpoint=sb://" + addr + ";SharedAccessKeyName=" + servicebus.KeyName + ";SharedAccessKey=c2VjcmV0;UseDevelopmentEmulator=true;"

	release := make(chan struct{})
	f := until(release)
	// With one slot, the second job shows that the first one's is free again, while
	// telling the broker that is gone of the first goes on.
	_, stopped := work(t, dial(t, connection), f, dispatch.Config{ShutdownGrace: 10 * time.Millisecond, SettleTimeout: time.Minute})

	first := serve(t, addr, servicebus.DefaultTopology())
	b := &bus{client: connect(t, connection)}
	b.open(t)
	b.send(t, job(1))
	awaitStart(t, f)
	_ = first.Close()

	close(release) // the job ends while there is nobody to tell
	serve(t, addr, servicebus.DefaultTopology())
	b = &bus{client: connect(t, connection)}
	b.open(t)
	if got := b.result(t); got.JobID != job(1).JobID {
		t.Fatalf("got %+v", got)
	}
	b.send(t, job(2))
	if got := b.result(t); got.JobID != job(2).JobID {
		t.Fatalf("got %+v", got)
	}
	select {
	case <-stopped:
		t.Fatal("the worker has stopped")
	default:
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	client := dial(t, "Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=k;SharedAccessKey=c2VjcmV0;UseDevelopmentEmulator=true;")
	for _, config := range []dispatch.Config{{MaxParallelism: 1}, {WorkerID: "w"}} {
		if _, err := dispatch.New(client, until(nil), config); err == nil {
			t.Errorf("%+v: no error", config)
		}
	}
}
