package app_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// replica is a replica of worker-01 that sends heartbeats when the test says so.
type replica struct {
	s *stage
	message.Heartbeat
}

func (s *stage) replica(id string) *replica {
	now := s.clock.Now()
	return &replica{s, message.Heartbeat{WorkerID: "worker-01", ReplicaID: id, Version: "1.0", StartedAt: now, MaxParallelism: 8}}
}

// message is the replica's heartbeat at this moment.
func (r *replica) message() message.Delivery {
	m := r.sent()
	return message.Delivery{ID: m.ID, Type: message.TypeWorkerHeartbeat, Body: m.Body, DeliveryCount: 1}
}

func (r *replica) sent() bus.Message {
	r.Timestamp = r.s.clock.Now()
	return testenv.Heartbeat(r.Heartbeat)
}

// beat sends a heartbeat over the broker.
func (r *replica) beat() {
	r.s.t.Helper()
	noError(r.s.t, r.s.bus.Send(r.s.ctx, message.TopicWorkerResults, r.sent()))
	r.s.deliverAll()
}

// for lets time pass with a heartbeat every 30 seconds.
func (r *replica) during(d time.Duration) {
	r.s.t.Helper()
	for ; d > 0; d -= message.HeartbeatInterval {
		r.s.pass(min(d, message.HeartbeatInterval))
		r.beat()
	}
}

// takes makes the replica run the first jobs that it was sent.
func (r *replica) takes(n int) {
	r.s.t.Helper()
	r.JobsInFlight, r.InFlight = nil, n
	for _, j := range r.s.jobs[:n] {
		r.JobsInFlight = append(r.JobsInFlight, j.ID())
	}
	now := r.s.clock.Now()
	r.OldestJobAt, r.TakenThrough = &now, r.s.jobs[n-1].DispatchedAt
}

func (s *stage) worker(id string) api.Worker {
	s.t.Helper()
	return must(s.app.Worker(s.ctx, id))(s.t)
}

// The case of the issue: the tenant throttles for longer than the steps' timeout, and
// nothing is answered in the meantime.
func TestThrottledWorkerFailsNoJobThatItDidNotStart(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": fails(errLost)}
		b := s.createBatch(oneStep(", timeout: 2m"), people(45))
		r := s.replica("r1")
		r.beat()
		s.advance(b.ID)
		r.takes(8)
		until := s.clock.Now().Add(200 * time.Second)
		r.ThrottledUntil = &until
		r.beat()
		r.during(90 * time.Second)
		for _, j := range s.jobs[:8] {
			s.answersJob(j, "true", nil)
		}
		r.JobsInFlight, r.InFlight, r.OldestJobAt = nil, 0, nil
		r.during(90 * time.Second)
		s.wantPhases(b.ID, "only dispatched 8/0/0+37")
		r.ThrottledUntil = nil
		r.during(time.Minute)
		s.wantPhases(b.ID, "only dispatched 8/0/0+37")
		for _, j := range slices.Clone(s.jobs[8:45]) {
			s.answersJob(j, "true", nil)
		}
		s.wantPhases(b.ID, "only completed 45/0/0")
	})
}

// A worker can be busy with a few long jobs and answer nothing.
func TestBusyWorkerFailsNoJobThatItDidNotStart(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Long": fails(errLost), "Do": fails(errLost)}
		s.publish(strings.NewReplacer("name: one", "name: long", "function: Do", "function: Long").Replace(oneStep(", timeout: 2h")))
		s.publish(oneStep(", timeout: 3m"))
		long := s.batch("long", people(8))
		s.advance(long.ID)
		r := s.replica("r1")
		r.takes(8)
		r.beat()
		b := s.batch("one", people(3), api.AllowInOtherBatches)
		s.advance(b.ID)
		r.during(20 * time.Minute)
		s.wantPhases(b.ID, "only dispatched 0/0/0+3")
		// It comes to the first: from then on the job's own time runs.
		r.JobsInFlight[7], r.TakenThrough = s.jobs[8].ID(), s.jobs[8].DispatchedAt
		began := s.clock.Now().Add(30 * time.Second).Format(time.RFC3339)
		r.during(15 * time.Minute)
		s.wantPhases(b.ID, "only dispatched 0/1/0+2")
		if m := s.member(b.ID, who(s.jobs[8])); !strings.Contains(m.Error, "no result within 3m0s: the job started at "+began+" and did not end within its timeout") {
			t.Errorf("error: %s", m.Error)
		}
	})
}

func TestHeartbeatsOfReplicasMakeOneRecord(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		first, second := s.replica("r1"), s.replica("r2")
		started := dawn.Add(-time.Minute)
		expires := dawn.Add(30 * day)
		first.InFlight, first.JobsInFlight, first.OldestJobAt, first.CredentialExpiresAt = 2, []string{"batch-1-a", "batch-1-b"}, &started, &expires
		first.beat()
		late := first.message()
		s.pass(time.Second)
		second.CredentialExpiresAt = &expires
		second.beat()
		if v := s.worker("worker-01"); v.State != api.WorkerAlive || v.JobsInFlight != 2 || !v.OldestJobAt.Equal(started) || !v.CredentialExpiresAt.Equal(expires) || len(v.Replicas) != 2 || v.SeenAt != nil {
			t.Fatalf("%+v", v)
		}
		s.pass(30 * time.Second)
		first.InFlight, first.JobsInFlight, first.OldestJobAt = 0, nil, nil
		first.beat()
		before := encoded(s.worker("worker-01"))
		s.announce(late, late)
		if got := encoded(s.worker("worker-01")); got != before {
			t.Fatalf("a late heartbeat changed %s to %s", before, got)
		}
		s.pass(time.Second)
		first.Stopping = true
		first.beat()
		first.Stopping = false
		s.pass(time.Second)
		first.beat() // after its goodbye
		v := s.worker("worker-01")
		if v.State != api.WorkerAlive || v.JobsInFlight != 0 || v.Replicas[0].State != "stopped" || v.Replicas[1].State != "alive" {
			t.Fatalf("%+v", v)
		}
		s.pass(2 * time.Minute)
		if v := s.worker("worker-01"); v.State != api.WorkerScaledToZero || v.Replicas[1].State != "silent" {
			t.Fatalf("%+v", v)
		}
		s.pass(time.Hour)
		s.replica("r3").beat()
		if v := s.worker("worker-01"); len(v.Replicas) != 1 || v.Replicas[0].ID != "r3" {
			t.Fatalf("replicas that are long gone: %+v", v.Replicas)
		}
	})
}

// Many replicas report at once, and the store loses races.
func TestReplicasReportAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, true, azure)
	defer s.cosmos.Inject(cosmos.Fault{Status: 449, RetryAfter: time.Millisecond, Count: 3, On: []cosmos.Operation{cosmos.Create, cosmos.Replace}})()
	var all sync.WaitGroup
	for i := range 25 {
		m := s.replica(fmt.Sprintf("r%d", i)).message()
		for _, process := range []*app.App{s.app, s.other} {
			all.Go(func() {
				if err := process.HandleResult(s.ctx, m); err != nil {
					t.Error(describe(err))
				}
			})
		}
	}
	all.Wait()
	if v := s.worker("worker-01"); len(v.Replicas) != 20 || v.State != api.WorkerAlive {
		t.Errorf("%d replicas, %s", len(v.Replicas), v.State)
	}
}

func TestInvalidHeartbeatIsKeptAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	good := s.replica("r1")
	good.beat()
	before := encoded(s.worker("worker-01"))
	s.pass(time.Second)
	distant, early := dawn.Add(1000*day), time.Time{}
	for reason, spoil := range map[string]func(*replica){
		`invalid WorkerId ""`:                func(r *replica) { r.WorkerID = "" },
		`invalid WorkerId "a:b"`:             func(r *replica) { r.WorkerID = "a:b" },
		`invalid ReplicaId "r 1"`:            func(r *replica) { r.ReplicaID = "r 1" },
		"Version has 101 bytes":              func(r *replica) { r.Version = strings.Repeat("v", 101) },
		"1 jobs in JobsInFlight":             func(r *replica) { r.JobsInFlight = []string{"j"} },
		"InFlight -1":                        func(r *replica) { r.InFlight = -1 },
		"lists 501 jobs; at most 500":        func(r *replica) { r.JobsInFlight, r.InFlight = make([]string, 501), 501 },
		"JobsInFlight[0] has 0 bytes":        func(r *replica) { r.JobsInFlight, r.InFlight = []string{""}, 1 },
		"JobsInFlight[0] has 101 bytes":      func(r *replica) { r.JobsInFlight, r.InFlight = []string{strings.Repeat("j", 101)}, 1 },
		"StartedAt is 0001-01-01T00:00:00Z":  func(r *replica) { r.StartedAt = early },
		"StartedAt is 2028-11-25T09:00:00Z;": func(r *replica) { r.StartedAt = distant },
		"ThrottledUntil is 2028":             func(r *replica) { r.ThrottledUntil = &distant },
		"TakenThrough is 2028":               func(r *replica) { r.TakenThrough = &distant },
		"OldestJobAt is 0001":                func(r *replica) { r.OldestJobAt = &early },
		"the heartbeat has":                  func(r *replica) { r.Version = strings.Repeat("v", message.Limit) },
	} {
		r := *good
		spoil(&r)
		m := r.message()
		m.ID = "bad " + reason
		s.announce(m, m)
		messages := s.listUnprocessable(api.ListOptions{})
		i := slices.IndexFunc(messages, func(v api.UnprocessableMessage) bool { return v.MessageID == m.ID })
		if i < 0 || !strings.Contains(messages[i].Reason, reason) || messages[i].Topic != message.TopicWorkerResults {
			t.Errorf("%s: kept %+v", reason, messages)
		}
	}
	if got := encoded(s.worker("worker-01")); got != before {
		t.Errorf("%s became %s", before, got)
	}
}

// A replica that is killed has its jobs locked until their locks expire. Meanwhile the
// other replica may take jobs that were sent later.
func TestJobThatAKilledReplicaHadLockedIsNotLost(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Long": fails(errLost), "Do": fails(errLost)}
		s.publish(strings.NewReplacer("name: one", "name: long", "function: Do", "function: Long").Replace(oneStep(", timeout: 2h")))
		s.publish(oneStep(", timeout: 3m"))
		long := s.batch("long", people(1))
		s.advance(long.ID)
		killed, other := s.replica("r1"), s.replica("r2")
		killed.beat()
		other.takes(1)
		other.beat()
		b := s.batch("one", people(1), api.AllowInOtherBatches)
		s.advance(b.ID)
		other.during(150 * time.Second)
		killed.JobsInFlight, killed.InFlight = []string{"batch-9-other"}, 1
		killed.beat() // then it takes the job, and is killed before it says so
		later := s.batch("long", people(1), api.AllowInOtherBatches)
		s.advance(later.ID)
		last := s.jobs[len(s.jobs)-1]
		other.JobsInFlight, other.TakenThrough = []string{last.ID()}, last.DispatchedAt
		other.beat()
		other.during(time.Minute)
		s.wantSteps(b.ID, 1, "do queued")
		other.takes(2) // the lock has expired
		other.JobsInFlight, other.InFlight, other.TakenThrough = other.JobsInFlight[1:], 1, last.DispatchedAt
		other.during(30 * time.Second)
		s.answersJob(s.jobs[1], "true", nil)
		s.wantStatus(b.ID, "completed")
	})
}

// The worker is killed after it was seen that it has not come to a job: nothing answers
// that the job expired.
func TestJobThatWaitedForAWorkerThatIsGoneFailsWithThatCause(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		log := s.listen()
		s.script = script{"Do": fails(errLost)}
		s.publish(oneStep(", timeout: 20m"))
		r := s.replica("r1")
		r.beat()
		b := s.batch("one", people(2))
		s.advance(b.ID)
		until := s.clock.Now().Add(time.Hour)
		r.ThrottledUntil = &until
		for range 5 {
			r.during(model.TickInterval)
			s.tick()
		}
		s.wantPhases(b.ID, "only dispatched 0/0/0+2")
		died := s.clock.Now().Format(time.RFC3339)
		s.pass(model.TickInterval) // the heartbeats end
		s.wantStuck(log, "batch 1 of one: 2 for 300s, silent [worker-01]")
		s.deliverAll()
		s.pass(time.Minute) // the worker is looked at once more
		s.wantPhases(b.ID, "only failed 0/2/0")
		if m := s.member(b.ID, 1); !strings.Contains(m.Error, "no result within 20m0s: worker worker-01 was last seen at "+died) {
			t.Errorf("error: %s", m.Error)
		}
	})
}

// The worker would answer that the job expired, and the removal can go on.
func TestRemovalDoesNotWaitForAJobThatTheWorkerHasNotComeTo(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"removed before the deadline": true, "removed after it was put off": false} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"New": fails(errLost), "Forward": fails(errLost)}
				s.publish(leaving(strings.Replace(twoSteps, "function: New", "function: New, timeout: 3m", 1)))
				r := s.replica("r1")
				r.beat()
				b := s.batch("two", people(1))
				s.advance(b.ID)
				until := s.clock.Now().Add(time.Hour)
				r.ThrottledUntil = &until
				if !early {
					r.during(6 * time.Minute)
				}
				s.remove(b.ID, 1)
				if early {
					s.wantCalls(1, "New")
					r.during(3*time.Minute + runstate.JobGracePeriod)
				}
				s.wantCalls(1, "New Forward")
				s.answers(1, "Forward", "true", nil)
			})
		})
	}
}

// The rate of a worker is that of the last minutes, of the replicas that are alive.
func TestRateOfAWorker(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		want := func(rate float64) {
			t.Helper()
			if got := s.worker("worker-01").JobsPerMinute; got != rate {
				t.Errorf("%v jobs a minute, want %v", got, rate)
			}
		}
		one, other := s.replica("r1"), s.replica("r2")
		one.beat()
		other.beat()
		want(0)       // nothing to compare with
		for range 8 { // four minutes, 20 jobs a minute
			s.pass(message.HeartbeatInterval)
			one.JobsEnded += 10
			one.beat()
			other.JobsEnded++
			other.beat()
		}
		want(22)
		for range 8 {
			s.pass(message.HeartbeatInterval)
			one.beat()
			other.beat()
		}
		want(0)
		s.pass(message.HeartbeatInterval)
		one.JobsEnded += 3
		one.beat()
		want(6)
		s.pass(time.Second)
		one.Stopping = true
		one.beat()
		want(0) // the other one does nothing
	})
}
