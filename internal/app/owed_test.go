package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
)

// A process that dies between storing a job as dispatched and sending it leaves a run that
// waits for a result. The redelivered message sends the job, also if the batch was paused or
// cancelled since: the worker answers that the job is revoked.
func TestOwedJobIsSentInABatchThatWasPausedOrCancelled(t *testing.T) {
	t.Parallel()
	lost := fails(errLost)
	begins := map[string]func(t *testing.T, s *stage) (batch int){
		"init": func(t *testing.T, s *stage) int {
			s.script = script{"Prepare": lost}
			s.park = ofType(message.TypeBatchInit)
			return s.startBatch(mover, people(1)).ID
		},
		"a page": func(t *testing.T, s *stage) int {
			s.script = script{"New": lost}
			s.park = ofType(message.TypePhaseDue)
			return s.startBatch(twoSteps, people(2)).ID
		},
		"a page of members who were added": func(t *testing.T, s *stage) int {
			s.script = script{"New": lost}
			b := s.startBatch(twoSteps, people(1))
			s.park = ofType(message.TypeMemberAdded)
			s.add(b.ID, "late@x")
			return b.ID
		},
		"a result": func(t *testing.T, s *stage) int {
			s.script = script{"New": lost, "Join": lost}
			b := s.startBatch(twoSteps, people(1))
			s.park = containing(`"JobId"`)
			s.answers(1, "New", "true", nil)
			return b.ID
		},
		"on_complete steps": func(t *testing.T, s *stage) int {
			s.script = script{"New": lost, "Report": lost}
			b := s.startBatch(reporting, people(1))
			s.park = containing(`"JobId"`)
			s.answers(1, "New", "true", nil)
			return b.ID
		},
		"a run that is released": func(t *testing.T, s *stage) int {
			s.script = script{"New": lost, "Join": lost}
			b := s.startBatch(twoSteps, people(1))
			s.pause(b.ID)
			s.answers(1, "New", "true", nil)
			s.park = ofType(message.TypeBatchWork, `"Page":1`)
			s.resume(b.ID)
			return b.ID
		},
		"a member who is retried": func(t *testing.T, s *stage) int {
			s.script = script{"New": inTurn(fails(errNo), lost)}
			b := s.startBatch(twoSteps, people(1))
			s.park = ofType(message.TypeBatchWork, `"Page":1`)
			s.retry(b.ID, api.Selection{})
			return b.ID
		},
	}
	for name, begin := range begins {
		for _, paused := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, paused %t", name, paused), func(t *testing.T) {
				t.Parallel()
				for write, cut := 1, true; cut; write += cutStep() {
					s := newStage(t, false)
					batch := begin(t, s)
					if len(s.parked) == 0 {
						t.Fatal("no message was kept back")
					}
					due := s.parked[0]
					s.park, s.parked = nil, nil
					cut = s.kill(write, due.handle)
					if paused {
						s.pause(batch)
					} else {
						s.cancel(batch)
					}
					s.takeUp(due)
					s.deliverAll()
					if paused {
						s.cancel(batch)
					}
					s.revokes()
					s.pass(10 * time.Second)
					if got := s.batchOf(batch).Status; got != "cancelled" {
						t.Fatalf("cut at write %d, the batch is %s: %s", write, got, s.stepText(batch, 1))
					}
					s.verify()
				}
			})
		}
	}
}

// A result comes twice while the batch is paused. The first delivery holds the run. The
// batch is resumed, and the second delivery releases the run and dies; its message is
// settled already. The release of the batch's runs sends the job.
func TestJobOfARunThatAnotherDeliveryReleasedIsSent(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.script = script{"New": fails(errLost), "Join": fails(errLost)}
		b := s.startBatch(twoSteps, people(1))
		s.pause(b.ID)
		s.park = containing(`"JobId"`)
		s.answers(1, "New", "true", nil)
		result := s.parked[0]
		s.park, s.parked = nil, nil
		s.takeUp(result)
		s.deliverAll()
		s.park = ofType(message.TypeBatchWork, `"Page":1`)
		s.resume(b.ID)
		cut := s.kill(write, result.handle)
		s.unpark()
		s.wantCalls(1, "New Join")
		s.answers(1, "Join", "true", nil)
		s.finish(b.ID)
		return cut
	})
}
