package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
)

// breaking has a stop_when in its first phase.
func breaking(yaml, stopWhen string) string {
	return strings.Replace(yaml, "    steps:\n", "    stop_when: {failed: "+stopWhen+"}\n    steps:\n", 1)
}

func (s *stage) wantPaused(id int, why string) {
	s.t.Helper()
	b := must(s.app.Batch(s.ctx, ada, id))(s.t)
	got := ""
	if b.Paused != nil {
		got = b.Paused.By + ": " + b.Paused.Why
	}
	if got != why {
		s.t.Fatalf("paused by %q, want %q", got, why)
	}
}

func (s *stage) stops(id int) int {
	return strings.Count(auditText(s.listAudit(id)), "system pause first: phase first:")
}

// The pages of the phase have not ended: most members never answer.
func TestPhaseInWhichTooManyFailPausesItsBatch(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		j := s.listen()
		s.publish(breaking(twoSteps, "5%"))
		s.script = script{"New": some(map[int]worker{1: fails(errNo), 2: fails(errNo), 3: fails(errLost), 4: fails(errLost)}), "Join": fails(errLost)}
		b := s.batch("two", people(60))
		s.advance(b.ID)
		s.wantPaused(b.ID, "")
		s.wantEvents(j, alert.PhaseStopped, 0)
		answer(s, 3, errNo)
		const why = "phase first: 3 of 60 members failed; stop_when: 5%"
		s.wantPaused(b.ID, "system: "+why)
		if line := s.wantEvents(j, alert.PhaseStopped, 1)[0]; line["Phase"] != "first" || line["Reason"] != why || line["BatchId"] != float64(b.ID) {
			t.Errorf("%v", line)
		}
		if n := s.stops(b.ID); n != 1 {
			t.Errorf("%d records: %s", n, auditText(s.listAudit(b.ID)))
		}
		if p := s.phases(b.ID)[0]; p.StopWhen != "5%" {
			t.Errorf("%+v", p)
		}
		// It stays paused under repeated messages until an administrator resumes it. Then the same
		// failures do not pause it again.
		for _, p := range slices.Clone(s.past) {
			s.give(p)
		}
		s.tick()
		s.wantPaused(b.ID, "system: "+why)
		s.resume(b.ID)
		answer(s, 4, errNo)
		s.tick()
		s.wantPaused(b.ID, "")
		if n := s.stops(b.ID); n != 1 {
			t.Errorf("%d records: %s", n, auditText(s.listAudit(b.ID)))
		}
	})
}

// answer gives the result of a member's job that had none.
func answer(s *stage, member int, err error) {
	s.t.Helper()
	for _, j := range slices.Clone(s.jobs) {
		if who(j) == member {
			body, bad := json.Marshal(j)
			noError(s.t, bad)
			noError(s.t, s.work(body, fails(err)))
			s.deliverAll()
			return
		}
	}
	s.t.Fatalf("member %d has no job", member)
}

// A failure that was counted is decided on, wherever the process that counted it dies,
// also where its message never comes again. The batch is paused once.
func TestFailureIsDecidedOnWhereverItsCountIsCutShort(t *testing.T) {
	t.Parallel()
	for _, comesAgain := range []bool{true, false} {
		t.Run(fmt.Sprintf("its message comes again: %v", comesAgain), func(t *testing.T) {
			whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
				j := s.listen()
				s.publish(breaking(twoSteps, "1"))
				s.script = script{"New": some(map[int]worker{1: fails(errNo)})}
				b := s.batch("two", people(2))
				s.park = ofType("")
				s.advance(b.ID)
				result := s.parked[slices.IndexFunc(s.parked, func(p past) bool { return strings.Contains(string(p.m.Body), `"Failure"`) })]
				cut := s.kill(write, result.handle)
				if comesAgain {
					s.unpark()
				} else {
					s.park, s.parked = nil, nil
					for range 3 { // what is lost is made up for a part at a time
						s.tickAfter(31 * time.Minute)
					}
				}
				if paused := must(s.app.Batch(s.ctx, ada, b.ID))(t); paused.Paused == nil || s.stops(b.ID) != 1 {
					t.Errorf("cut short after write %d: paused %+v; %s", write, paused.Paused, auditText(s.listAudit(b.ID)))
				}
				if n := len(j.of(t, alert.PhaseStopped)); n < 1 || n > 2 || n == 2 && !cut {
					t.Errorf("cut short after write %d it is logged %d times", write, n)
				}
				return cut
			})
		})
	}
}

// Members who fail as their page is made, before any job, count as well. The other pages
// are not made.
func TestMembersWhoFailBeforeTheirFirstJobPauseTheBatch(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		yaml := breaking(strings.Replace(twoSteps, "function: New}", `function: New, params: {Site: "{{Site}}"}}`, 1), "50%")
		s.publish(yaml)
		const id = 100
		s.schedule(id, yaml, 60, dawn.Add(24*time.Hour)) // whose data has no Site
		s.tick()
		s.wantPaused(id, "system: phase first: 49 of 60 members failed; stop_when: 50%")
		s.resume(id)
		s.tick()
		s.wantPaused(id, "")
		s.wantPhases(id, "first failed 0/60/0, second pending 0/0/0")
	})
}
