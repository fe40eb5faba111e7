package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// second is version 2 of a runbook: its functions have other names.
func second(yaml string) string {
	return strings.NewReplacer("function: New", "function: New2", "function: Join", "function: Join2", "function: Check", "function: Check2",
		"function: A,", "function: A2,", "function: B,", "function: B2,", "function: C,", "function: C2,", "function: Prepare", "function: Prepare2").Replace(yaml)
}

func (s *stage) publishNew(yaml string, o api.PublishOptions) {
	s.t.Helper()
	must(s.app.PublishRunbook(s.ctx, ada, "", []byte(yaml), o))(s.t)
}

func TestNewVersionSupersedesWhatIsPendingAndSkipsWhatWasPassed(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(twoSteps, people(2))
		s.publishNew(second(twoSteps), api.PublishOptions{})
		for range 3 { // applied once
			s.tick()
		}
		s.wantPhases(b.ID, "first completed 2/0/0, second superseded 0/0/0, first skipped 0/0/0, second pending 0/0/0")
		phases := s.phases(b.ID)
		if phases[1].Reason != "superseded by version 2" || phases[2].Reason != "past due when version 2 was published" || phases[3].RunbookVersion != 2 {
			t.Errorf("%+v", phases)
		}
		s.advance(b.ID)
		s.wantCalls(1, "New Join Check2")
		s.wantStatus(b.ID, "completed")
	})
}

func TestNewVersionRunsAgainWhatWasPassedWhereItIsAskedTo(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errNo), 2)}
		b := s.startBatch(twoSteps, people(2))
		s.publishNew(second(twoSteps), api.PublishOptions{Overdue: api.OverdueRerun})
		s.advance(b.ID) // the advance follows the new version first
		s.wantPhases(b.ID, "first completed 1/1/0, second superseded 0/0/0, first completed 1/0/0, second pending 0/0/0")
		s.wantCalls(1, "New Join New2 Join2")
		s.wantCalls(2, "New") // who failed is no active member
		s.advance(b.ID)
		s.wantCalls(1, "New Join New2 Join2 Check2")
		s.wantStatus(b.ID, "completed")
	})
}

func TestPhaseUnderWayEndsUnderItsVersion(t *testing.T) {
	t.Parallel()
	for _, rerun := range []string{api.OverdueIgnore, api.OverdueRerun} {
		t.Run(rerun, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"New": fails(errLost)}
				b := s.startBatch(twoSteps, people(1))
				s.publishNew(second(twoSteps), api.PublishOptions{Overdue: rerun})
				s.tick()
				s.answers(1, "New", "true", nil)
				s.wantCalls(1, "New Join")
				s.advance(b.ID)
				if rerun == api.OverdueRerun {
					s.wantCalls(1, "New Join New2 Join2")
					s.advance(b.ID)
					s.wantCalls(1, "New Join New2 Join2 Check2")
				} else {
					s.wantCalls(1, "New Join Check2")
				}
				s.wantStatus(b.ID, "completed")
			})
		})
	}
}

func TestScheduledBatchFollowsANewVersionAtTheTick(t *testing.T) {
	t.Parallel()
	for overdue, tt := range map[string]struct{ phases, calls string }{
		api.OverdueIgnore: {"a completed 2/0/0, b superseded 0/0/0, c superseded 0/0/0, a skipped 0/0/0, b completed 2/0/0, c completed 2/0/0", "A B2 C2"},
		api.OverdueRerun:  {"a completed 2/0/0, b superseded 0/0/0, c superseded 0/0/0, a completed 2/0/0, b completed 2/0/0, c completed 2/0/0", "A A2 B2 C2"},
	} {
		t.Run(overdue, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.publish(overlapping)
				const id = 100
				s.schedule(id, overlapping, 2, dawn.Add(48*time.Hour))
				s.publishNew(second(overlapping), api.PublishOptions{Overdue: overdue})
				s.tickAfter(5 * time.Minute)
				for range 2 {
					s.tickAfter(24 * time.Hour)
				}
				s.wantPhases(id, tt.phases)
				s.wantCalls(1, tt.calls)
				s.wantStatus(id, "completed")
			})
		})
	}
}

func TestInitRunsAgainForANewVersionOnlyWhereItIsAskedTo(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		t.Run(map[bool]string{false: "not asked", true: "asked"}[again], func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"New2": always(`{"id":"u"}`), "Check2": always(`{"complete":true}`)}
				b := s.createBatch(mover, people(1))
				s.advance(b.ID) // init
				s.publishNew(second(mover), api.PublishOptions{RerunInit: again})
				s.tick()
				if again {
					s.wantStatus(b.ID, "detected")
					s.advance(b.ID)
					s.wantCalls(0, "Prepare Prepare2")
				}
				s.wantStatus(b.ID, "active")
				s.advance(b.ID)
				s.advance(b.ID)
				s.wantCalls(1, "New2 Join2 Check2")
				if !again {
					s.wantCalls(0, "Prepare")
				}
				s.wantStatus(b.ID, "completed")
			})
		})
	}
}

func TestInitThatHasNotBegunIsThatOfTheNewVersion(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(mover, people(1))
		s.publishNew(second(mover), api.PublishOptions{})
		s.tick()
		s.advance(b.ID)
		s.wantCalls(0, "Prepare2")
		s.wantStatus(b.ID, "active")
	})
}

func TestVersionsPublishedOneAfterTheOtherAreFollowedToTheLast(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(twoSteps, people(1))
		s.publishNew(strings.ReplaceAll(twoSteps, "function: Check", "function: Never"), api.PublishOptions{})
		s.publishNew(second(twoSteps), api.PublishOptions{})
		s.atOnce(4, func(_ int, process *app.App) error {
			for process.Tick(s.ctx) != nil && s.ctx.Err() == nil { // the next tick makes up for a lost race
				continue
			}
			return nil
		})
		s.deliverAll()
		s.wantPhases(b.ID, "first completed 1/0/0, second superseded 0/0/0, first skipped 0/0/0, second pending 0/0/0")
		if v := s.batchOf(b.ID); v.RunbookVersion != 3 {
			t.Errorf("it follows version %d", v.RunbookVersion)
		}
		s.advance(b.ID)
		s.wantCalls(1, "New Join Check2")
	})
}

func TestLateMemberCatchesUpOnWhatTheOthersDidLast(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(twoSteps, people(1))
		s.publishNew(second(twoSteps), api.PublishOptions{Overdue: api.OverdueRerun})
		s.advance(b.ID)
		s.add(b.ID, "late@x")
		s.wantCalls(2, "New2 Join2")
		s.advance(b.ID)
		s.wantCalls(2, "New2 Join2 Check2")
		s.wantStatus(b.ID, "completed")
	})
}

func TestBatchThatHasEndedFollowsNoNewVersion(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(oneStep(""), people(1))
		s.publishNew(strings.ReplaceAll(oneStep(""), "function: Do", "function: Do2"), api.PublishOptions{Overdue: api.OverdueRerun})
		s.tick()
		s.wantStatus(b.ID, "completed")
		if v := s.batchOf(b.ID); v.RunbookVersion != 1 {
			t.Errorf("it follows version %d", v.RunbookVersion)
		}
	})
}

func TestRetryUnderANewVersionIsUnderTheOneThatItFailedIn(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Join": some(map[int]worker{1: inTurn(fails(errNo), always("true"))})}
		b := s.startBatch(twoSteps, people(2))
		s.publishNew(second(twoSteps), api.PublishOptions{})
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
		s.retry(b.ID, api.Selection{})
		s.wantCalls(1, "New Join Join Check2")
		s.wantStatus(b.ID, "completed")
	})
}

func TestNewVersionOfAPausedBatchWaitsForTheResumption(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(overlapping)
		const id = 100
		s.schedule(id, overlapping, 1, dawn.Add(48*time.Hour))
		s.pause(id)
		s.publishNew(second(overlapping), api.PublishOptions{Overdue: api.OverdueRerun})
		s.tickAfter(5 * time.Minute)
		s.wantCalls(1, "A")
		s.resume(id)
		s.wantCalls(1, "A A2")
	})
}

// No member has completed it: skipping it would lose it for all.
func TestPhaseThatIsDueAndWaitsIsNotSkippedByANewVersion(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(twoSteps)
		const id = 100
		s.schedule(id, twoSteps, 2, dawn.Add(5*time.Minute))
		s.wantPhases(id, "first completed 2/0/0, second pending 0/0/0")
		s.publishNew(second(twoSteps), api.PublishOptions{})
		s.park = ofType(message.TypePhaseDue)
		s.pass(5*time.Minute + time.Second) // its announcement is on its way
		s.tick()
		s.unpark()
		s.wantPhases(id, "first completed 2/0/0, second superseded 0/0/0, first skipped 0/0/0, second completed 2/0/0")
		s.wantCalls(1, "New Join Check2")
		s.wantStatus(id, "completed")
	})
}

func TestPhaseThatFellDueWhileItsBatchWasPausedIsTheNewVersions(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(overlapping)
		const id = 100
		s.schedule(id, overlapping, 2, dawn.Add(48*time.Hour)) // a is due now, b in a day
		s.pause(id)
		s.pass(25 * time.Hour)
		s.publishNew(second(overlapping), api.PublishOptions{})
		s.tick()
		s.wantCalls(1, "A")
		s.resume(id)
		s.wantPhases(id, "a completed 2/0/0, b superseded 0/0/0, c superseded 0/0/0, a skipped 0/0/0, b completed 2/0/0, c pending 0/0/0")
		s.wantCalls(1, "A B2")
	})
}

// All but the retried member are done: a repeated phase would run for them too.
func TestBatchThatARetryOpenedStaysWithItsVersion(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": some(map[int]worker{1: inTurn(fails(errNo), fails(errLost))})}
		s.publish(twoSteps)
		const id = 100
		s.schedule(id, twoSteps, 2, dawn)
		s.wantStatus(id, "completed")
		s.publishNew(second(twoSteps), api.PublishOptions{Overdue: api.OverdueRerun, RerunInit: true})
		s.retry(id, api.Selection{Members: []int{1}})
		s.wantStatus(id, "active")
		s.tick()
		s.answers(1, "New", "true", nil)
		s.wantCalls(1, "New New Join Check")
		s.wantCalls(2, "New Join Check")
		s.wantPhases(id, "first completed 2/0/0, second completed 2/0/0")
		s.wantStatus(id, "completed")
	})
}

func TestTickThatAnotherWriterCrossesFollowsTheNewVersionAllTheSame(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(twoSteps, people(2))
		s.publishNew(second(twoSteps), api.PublishOptions{})
		s.cosmos.Inject(cosmos.Fault{Status: 412, Count: 1, On: []cosmos.Operation{cosmos.Replace}, Match: func(r cosmos.Request) bool { return r.ID == "batch" }})
		s.tick()
		if v := s.batchOf(b.ID); v.RunbookVersion != 2 {
			t.Errorf("it follows version %d", v.RunbookVersion)
		}
	}, azure)
}

func TestWhatBecomesOfOverduePhasesIsOneOfTwoWords(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.wantRefused(errorOf(s.app.PublishRunbook(s.ctx, ada, "", []byte(twoSteps), api.PublishOptions{Overdue: "perhaps"})), api.CodeInvalid, `"ignore" or "rerun", not "perhaps"`)
}
