package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// TestInitThatWasCutShortIsTakenUpInAStoppedBatch: a process dies while it begins init steps, or
// begins them again, and then the batch is paused or cancelled. Its message does not come again:
// another delivery of it, which read the batch before the run was stored, has completed it.
// The stop, or the tick, sends the job, which its worker answers as revoked. Otherwise a pause
// would fail the steps at their deadline, and a cancellation would wait for it.
func TestInitThatWasCutShortIsTakenUpInAStoppedBatch(t *testing.T) {
	t.Parallel()
	for _, retries := range []bool{false, true} {
		for _, cancels := range []bool{false, true} {
			name := map[bool]string{false: "begun", true: "retried"}[retries] + " and " + map[bool]string{false: "paused", true: "cancelled"}[cancels]
			t.Run(name, func(t *testing.T) {
				whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
					return cutInitShort(s, write, retries, cancels)
				})
			})
		}
	}
}

// cutInitShort has a process die at a write while it begins the init steps of a batch, or begins
// them again, then pauses or cancels the batch and checks that the batch goes on. It reports
// whether the process died.
func cutInitShort(s *stage, write int, retries, cancels bool) (cut bool) {
	s.t.Helper()
	prepare := always("true")
	s.script = script{"Prepare": func(j message.Job) (string, error) { return prepare(j) }, "New": fails(errLost)}
	revoke := func(message.Job) (string, error) {
		return "", &testenv.Failure{JobError: message.JobError{Message: "the batch was stopped", Type: message.ErrorJobRevoked}}
	}
	b := s.createBatch(strings.Replace(mover, "retry: {max_retries: 1, interval: 1s}\n", "", 1), people(1))
	if retries {
		prepare = fails(errNo)
		s.advance(b.ID)
		s.pass(time.Minute)
		s.wantStatus(b.ID, "failed")
		must(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Selection: api.Selection{}, Reason: "again"}))(s.t)
	}
	s.park = func(kind, _ string) bool { return kind == message.TypeBatchInit || kind == message.TypeBatchWork }
	if retries {
		s.deliverAll()
	} else {
		s.advance(b.ID)
	}
	begin := s.parked[0]
	s.parked, s.park = nil, nil
	prepare = revoke
	if !s.kill(write, begin.handle) {
		return false
	}
	if cancels {
		s.cancel(b.ID)
	} else {
		s.pause(b.ID)
	}
	ticks := 2
	if !cancels {
		ticks = 12 // until the deadline of a job that was not sent
	}
	for range ticks {
		s.tickAfter(model.TickInterval)
	}
	prepare = always("true")
	switch {
	case cancels:
		s.wantStatus(b.ID, "cancelled")
	default:
		s.resume(b.ID)
		s.tickAfter(model.TickInterval)
		s.wantStatus(b.ID, "active")
	}
	return true
}

// TestSequenceDoesNotBeginInABatchThatHasEnded: a process is slow while it begins init steps, or
// on_complete steps. Before one of its writes reaches the store the batch is cancelled, and ends if
// no run is open. The process dies with that write. No run may be left in the batch that has
// ended: nothing would send its job and end it.
func TestSequenceDoesNotBeginInABatchThatHasEnded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, yaml, begins string // the type of the message that begins the sequence; that of a result has none here
	}{
		{"init", mover, message.TypeBatchInit},
		{"on_complete", reporting, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
				rb := s.publish(tc.yaml)
				b := s.batch(rb.Name, people(1))
				s.park = func(kind, _ string) bool { return kind == tc.begins }
				s.advance(b.ID)
				begin := s.parked[0]
				s.parked, s.park = nil, nil
				cut := s.killLate(write, func() {
					s.cancel(b.ID)
					s.pass(model.TickInterval)
				}, begin.handle)
				if !cut {
					return false
				}
				s.give(begin)
				for range 2 {
					s.tickAfter(model.TickInterval)
				}
				s.wantStatus(b.ID, "cancelled")
				return true
			})
		})
	}
}
