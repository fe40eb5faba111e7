package dispatch_test

import (
	"context"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// steady controls do not get too old, so that no request for jobs ends early.
type steady struct{ *fixedControls }

func (steady) Until() time.Time { return time.Now().Add(time.Hour) }

// A replica that lost the lock of a job runs it still. The refusal of another replica says
// that it may, and does not take the place of the result.
func TestRefusalOfAJobThatHasComeAgainSaysSo(t *testing.T) {
	t.Parallel()
	for name, revoked := range map[string]bool{"revoked": true, "expired": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			f := until(release)
			b, lose := losing(t, func(*servicebus.Topology) {})
			work(t, dial(t, b.server.ConnectionString()), f, dispatch.Config{ShutdownGrace: patience})
			j := dispatched(1, 1, 1, time.Now())[0]
			expires := time.Now().Add(time.Hour)
			j.ExpiresAt = &expires
			b.send(t, j)
			awaitStart(t, f)

			controls := &fixedControls{changed: make(chan struct{}), revoked: revoked}
			other := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
			config := dispatch.Config{Controls: steady{controls}}
			if !revoked {
				config.Now = func() time.Time { return expires }
			}
			work(t, dial(t, b.server.ConnectionString()), other, config)
			lose()
			want := map[bool]string{true: message.ErrorJobRevoked, false: message.ErrorJobExpired}[revoked]
			got := b.result(t)
			if got.Error == nil || got.Error.Type != want || !got.Error.Redelivered {
				t.Fatalf("got %+v with %+v", got, got.Error)
			}
			close(release)
			if got := b.result(t); got.Status != message.StatusSuccess || got.JobID != j.JobID {
				t.Errorf("got %+v with %+v", got, got.Error)
			}
			if calls, _ := other.counts(); calls != 0 {
				t.Errorf("the other replica made %d calls", calls)
			}
		})
	}
}

// The run in hand answers for the delivery that comes again, also where the job is revoked
// meanwhile.
func TestARevokedJobThatThisReplicaRunsIsNotRefused(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f, seen := until(release), newDeliveries()
	controls := &fixedControls{changed: make(chan struct{})}
	b, lose := losing(t, withoutDuplicateDetection)
	work(t, dial(t, b.server.ConnectionString()), f, dispatch.Config{MaxParallelism: 2, Observer: seen, Controls: steady{controls}, ShutdownGrace: patience})
	b.send(t, dispatched(1, 1, 1, time.Now())...)
	awaitStart(t, f)
	next(t, "the delivery", seen.came)
	controls.set(func(c *fixedControls) { c.revoked = true })
	lose()
	next(t, "the second delivery", seen.came)
	close(release)
	for range 2 {
		if o := next(t, "its end", seen.ended); !o.Answered || o.Result.Status != message.StatusSuccess {
			t.Errorf("an outcome is %+v", o)
		}
	}
	if got := b.result(t); got.Status != message.StatusSuccess {
		t.Errorf("got %+v", got.Error)
	}
	b.jobsLeft(t, 0, nil)
	b.noMoreResults(t)
}

// While jobs wait for a slot, another replica may have been given them.
func TestAJobWhoseLockWasLostWhileItWaitedIsNotBegun(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f, seen := until(release), newDeliveries()
	controls := &fixedControls{changed: make(chan struct{})}
	b, lose := losing(t, func(*servicebus.Topology) {})
	work(t, dial(t, b.server.ConnectionString()), f, dispatch.Config{Observer: seen, Controls: steady{controls}, ShutdownGrace: patience})
	b.send(t, dispatched(1, 1, 1, time.Now())...)
	awaitStart(t, f)
	next(t, "the first delivery", seen.came)
	b.send(t, dispatched(1, 2, 1, time.Now())...)
	controls.set(func(*fixedControls) {}) // another batch is paused: the queue is looked through
	next(t, "the second delivery", seen.came)
	lose()
	other := &function{started: make(chan string, 10), run: func(context.Context, string, []byte) (any, error) { return true, nil }}
	work(t, dial(t, b.server.ConnectionString()), other, dispatch.Config{MaxParallelism: 2})
	awaitStart(t, other)
	awaitStart(t, other) // both jobs: the other replica knows nothing of the first
	b.receive(t, 2)
	close(release)
	for range 2 {
		if o := next(t, "the end of a delivery", seen.ended); o.Ran && o.Result.JobID != job(1).JobID {
			t.Errorf("%s was begun", o.Result.JobID)
		}
	}
	if calls, _ := f.counts(); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

// A job that waits behind functions that take long is given back so that another replica can
// have it. However often that happens, it is neither dead-lettered nor taken for one that
// may have been begun.
func TestJobsThatAreGivenBackBeforeTheyWereBegunDoNotCount(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f, seen := until(release), newDeliveries()
	controls := &fixedControls{changed: make(chan struct{})}
	b := &bus{server: serve(t, "127.0.0.1:0", servicebus.DefaultTopology())}
	b.client = connect(t, b.server.ConnectionString())
	b.open(t)
	stop, stopped := work(t, dial(t, b.server.ConnectionString()), f, dispatch.Config{
		Observer: seen, Controls: steady{controls}, HoldTime: time.Millisecond, ShutdownGrace: patience,
	})
	b.send(t, dispatched(1, 1, 1, time.Now())...)
	awaitStart(t, f)
	next(t, "the first job", seen.came)
	b.send(t, dispatched(2, 2, 1, time.Now())...)
	const times = 3 * dispatch.MaxTries
	for range times {
		controls.set(func(*fixedControls) {})
		next(t, "the second job", seen.came)
		if o := next(t, "its end", seen.ended); o.Answered {
			t.Fatalf("got %+v", o.Result)
		}
	}
	stop()
	close(release)
	b.result(t)
	await(t, "the worker stops", stopped)
	b.jobsLeft(t, 0, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})

	revoked := &fixedControls{changed: make(chan struct{}), revoked: true}
	work(t, dial(t, b.server.ConnectionString()), f, dispatch.Config{Controls: steady{revoked}, Observer: seen})
	got := b.result(t)
	if got.Error == nil || got.Error.Type != message.ErrorJobRevoked || got.Error.Redelivered {
		t.Errorf("got %+v with %+v", got, got.Error)
	}
}

// A stopping worker returns the jobs that it has not begun, and that does not count as a delivery.
func TestJobsThatAStoppingWorkerGivesBackDoNotCount(t *testing.T) {
	t.Parallel()
	b := &bus{server: serve(t, "127.0.0.1:0", servicebus.DefaultTopology())}
	b.client = connect(t, b.server.ConnectionString())
	b.open(t)
	b.send(t, dispatched(1, 1, 2, time.Now())...)
	for range dispatch.MaxTries {
		f, seen := until(nil), newDeliveries()
		controls := &fixedControls{changed: make(chan struct{})}
		stop, stopped := work(t, dial(t, b.server.ConnectionString()), f, dispatch.Config{Observer: seen, Controls: steady{controls}, ShutdownGrace: time.Millisecond})
		awaitStart(t, f)
		next(t, "the first job", seen.came)
		controls.set(func(*fixedControls) {})
		next(t, "the second job", seen.came)
		stop()
		await(t, "the worker stops", stopped)
	}
	// The first job was begun each time: as far as the orchestrator knows, it ends its worker.
	f := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
	work(t, dial(t, b.server.ConnectionString()), f, dispatch.Config{})
	if got := b.result(t); got.JobID != dispatched(1, 2, 1, time.Now())[0].JobID || got.Status != message.StatusSuccess {
		t.Errorf("got %+v", got)
	}
	dead := b.jobsLeft(t, 1, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	if m := dead[0]; m.DeadLetterReason == nil || *m.DeadLetterReason != dispatch.ReasonTries || m.DeadLetterErrorDescription == nil ||
		*m.DeadLetterErrorDescription != "The job was started 10 times and no replica answered it." {
		t.Errorf("dead-lettered: %v, %v", m.DeadLetterReason, m.DeadLetterErrorDescription)
	}
}
