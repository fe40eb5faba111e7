package app_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
)

// retry asks for failed members to be retried, and lets all come that follows.
func (s *stage) retry(id int, which api.Selection) {
	s.t.Helper()
	s.pass(time.Second)
	if v := must(s.app.Repair(s.ctx, ada, id, api.Repair{Selection: which, Reason: "the cause is gone"}))(s.t); v.Task == "" || !reflect.DeepEqual(v.Selection, which) {
		s.t.Fatalf("%+v", v)
	}
	s.deliverAll()
}

func TestRetryOfAllWhoFailedBeginsAtTheStepThatFailed(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Join": some(map[int]worker{2: inTurn(fails(errNo), always("true")), 3: inTurn(fails(errNo), always("true"))})}
		b := s.pages(twoSteps, 3)
		s.advance(b.ID)
		s.wantPhases(b.ID, "first completed 1/2/0, second pending 0/0/0")
		s.retry(b.ID, api.Selection{})
		s.wantCalls(2, "New Join Join")
		s.wantCalls(3, "New Join Join")
		s.wantCalls(1, "New Join")
		s.wantMember(b.ID, 2, "active")
		if m := s.member(b.ID, 2); m.Error != "" || m.FailedAt != nil || m.FailedIn != "" || m.FailedStep != "" {
			t.Errorf("brought back, it still tells: %+v", m)
		}
		s.wantPhases(b.ID, "first completed 3/0/0, second pending 0/0/0")
		if got := auditText(s.listAudit(b.ID)); !strings.HasSuffix(got, "ada retry all failed members: the cause is gone") {
			t.Errorf("the trail: %s", got)
		}
	})
}

func TestRetryOfSomeOfThoseWhoFailed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		which api.Selection
		want  []int
	}{
		{"one member", api.Selection{Members: []int{2}}, []int{2}},
		{"a phase", api.Selection{Phase: "FIRST"}, []int{1, 2}},
		{"a step", api.Selection{Step: "join"}, []int{2}},
		{"an error", api.Selection{Error: "QUOTA"}, []int{2, 3}},
		{"an error in a phase", api.Selection{Error: "quota", Phase: "second"}, []int{3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				quota := fails(errors.New("over quota"))
				s.script = script{
					"New":   some(map[int]worker{1: inTurn(fails(errNo), always("true"))}),
					"Join":  some(map[int]worker{2: inTurn(quota, always("true"))}),
					"Check": some(map[int]worker{3: inTurn(quota, always("true"))}),
				}
				b := s.startBatch(twoSteps, people(4))
				s.advance(b.ID)
				s.wantStatus(b.ID, "completed")
				s.retry(b.ID, tt.which)
				active := map[int]bool{4: true}
				for _, member := range tt.want {
					active[member] = true
				}
				for member := 1; member <= 4; member++ {
					s.wantMember(b.ID, member, map[bool]string{true: "done", false: "failed"}[active[member]])
				}
				s.wantStatus(b.ID, "completed")
			})
		})
	}
}

func TestRetryAfterARollbackBeginsAtTheFirstStep(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": inTurn(always(`{"id":"u1"}`), always(`{"id":"u2"}`)), "Copy": inTurn(fails(errNo), always("true"))}
		b := s.startBatch(undoable, people(1))
		s.wantCalls(1, "New Copy Stop Delete Alert")
		s.retry(b.ID, api.Selection{})
		s.wantCalls(1, "New Copy Stop Delete Alert New Copy Tell")
		if v := s.step(b.ID, 1, "copy"); string(v.Params) != `{"User":"u2"}` {
			t.Errorf("it stands on what was undone: %s", v.Params)
		}
		s.wantSteps(b.ID, 1, "new succeeded, copy succeeded, tell succeeded, stop succeeded, delete succeeded, alert succeeded")
		s.wantPhases(b.ID, "move completed 1/0/0, verify pending 0/0/0")
	})
}

func TestRetryThatFailsAgainIsRolledBackAgainAndMayBeRetriedAgain(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": inTurn(fails(errNo), fails(errNo), always(`{"id":"u"}`))}
		b := s.startBatch(undoable, people(1))
		s.retry(b.ID, api.Selection{Members: []int{1}})
		s.wantCalls(1, "New Stop Delete Alert New Stop Delete Alert")
		s.wantMember(b.ID, 1, "failed")
		s.retry(b.ID, api.Selection{Members: []int{1}})
		s.wantCalls(1, "New Stop Delete Alert New Stop Delete Alert New Copy Tell")
		s.wantMember(b.ID, 1, "active")
	})
}

func TestRetriedMemberHasItsPolicysRetriesAnew(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": inTurn(fails(errNo), fails(errNo), fails(errNo), always("true"))}
		b := s.startBatch(oneStep(", retry: {max_retries: 1, interval: 10s}"), people(1))
		s.pass(10 * time.Second)
		s.wantMember(b.ID, 1, "failed")
		s.retry(b.ID, api.Selection{})
		s.wantCalls(1, "Do Do Do")
		s.pass(10 * time.Second)
		s.wantCalls(1, "Do Do Do Do")
		s.wantStatus(b.ID, "completed")
	})
}

func TestPhasesThatWereMissedFollowAndTheBatchThatHadEndedEndsAgain(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = chain()
		s.script["New"] = some(map[int]worker{1: always(`{"id":"u1"}`), 2: inTurn(fails(errNo), fails(errLost))})
		b := s.createBatch(chained, people(2))
		for range 3 {
			s.advance(b.ID)
		}
		s.wantStatus(b.ID, "completed")
		s.wantPhases(b.ID, "create completed 1/1/0, fill completed 1/0/0, verify completed 1/0/0")
		ended := *s.batchOf(b.ID).CompletedAt
		s.retry(b.ID, api.Selection{})
		s.wantStatus(b.ID, "active")
		s.wantPhases(b.ID, "create dispatched 1/0/0+1, fill dispatched 1/0/0+1, verify dispatched 1/0/0+1")
		s.answers(2, "New", `{"id":"u2"}`, nil)
		s.wantCalls(2, "New New Copy Check")
		s.wantPhases(b.ID, "create completed 2/0/0, fill completed 2/0/0, verify completed 2/0/0")
		s.wantStatus(b.ID, "completed")
		if !s.batchOf(b.ID).CompletedAt.After(ended) {
			t.Error("it is told to have ended when it did before")
		}
	})
}

func TestWaitingPhasesThatWereCancelledFollowToo(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"A": some(map[int]worker{1: inTurn(fails(errLost), always("true"))})}
		s.publish(overlapping)
		const id = 100
		s.schedule(id, overlapping, 2, dawn)
		s.answers(1, "A", "", errNo)
		s.wantPhases(id, "a completed 1/1/0, b completed 1/0/1, c completed 1/0/1")
		s.retry(id, api.Selection{})
		s.wantCalls(1, "A A B C")
		s.wantPhases(id, "a completed 2/0/0, b completed 2/0/0, c completed 2/0/0")
		s.wantStatus(id, "completed")
	})
}

func TestBatchThatFailedCompletesAfterTheRetry(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": inTurn(fails(errNo), always("true"))}
		b := s.startBatch(oneStep(""), people(2))
		s.wantStatus(b.ID, "failed")
		s.retry(b.ID, api.Selection{})
		s.wantStatus(b.ID, "completed")
		if v := s.batchOf(b.ID); v.Error != "" {
			t.Errorf("it still tells: %s", v.Error)
		}
	})
}

func TestFailedInitIsRetriedAtTheStepThatFailedAndTheBatchGoesOn(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"More": inTurn(fails(errNo), always("true")), "New": always(`{"id":"u"}`)}
		b := s.startBatch(strings.NewReplacer("\nphases:", "\n  - {name: more, worker_id: worker-01, function: More}\nphases:", "max_retries: 1, interval: 1s", "max_retries: 0").Replace(mover), people(2))
		s.wantStatus(b.ID, "failed")
		s.retry(b.ID, api.Selection{})
		s.wantCalls(0, "Prepare More More")
		s.wantStatus(b.ID, "active")
		if v := s.batchOf(b.ID); v.Error != "" || v.CompletedAt != nil {
			t.Errorf("it still tells: %q, ended at %v", v.Error, v.CompletedAt)
		}
		s.advance(b.ID)
		s.wantCalls(1, "New Join")
	})
}

// A tick does not visit a batch listed as ended: the process that opened it may have died
// before it listed it again.
func TestBatchThatARetryOpenedIsListedAsActiveWhereverTheRetryWasCutShort(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.script = script{"New": some(map[int]worker{1: inTurn(fails(errNo), fails(errLost))})}
		b := s.startBatch(twoSteps, people(2))
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
		s.park = ofType(message.TypeBatchWork, `"Page":1`)
		s.retry(b.ID, api.Selection{})
		if len(s.parked) != 1 {
			t.Fatalf("%d messages retry the page", len(s.parked))
		}
		retry := s.parked[0]
		cut := s.kill(write, retry.handle)
		s.unpark() // it comes again
		s.wantStatus(b.ID, "active")
		if page := must(s.app.Batches(s.ctx, api.ListOptions{}))(t); len(page.Items) != 1 || page.Items[0].Status != "active" {
			t.Fatalf("listed: %+v", page.Items)
		}
		for range 7 { // the ticks see to the job that is lost
			s.tickAfter(5 * time.Minute)
		}
		s.wantMember(b.ID, 1, "failed")
		s.wantStatus(b.ID, "completed")
		return cut
	})
}

func TestRetryAskedForByManyAtOnceIsOne(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": inTurn(fails(errNo), fails(errLost))}
		b := s.startBatch(twoSteps, people(3))
		s.pass(time.Second)
		s.atOnce(4, func(_ int, process *app.App) error {
			return errorOf(process.Repair(s.ctx, ada, b.ID, api.Repair{Selection: api.Selection{}}))
		})
		s.deliverAll()
		for member := 1; member <= 3; member++ {
			s.wantCalls(member, "New New")
			s.answers(member, "New", "true", nil)
			s.wantCalls(member, "New New Join")
		}
		s.wantPhases(b.ID, "first completed 3/0/0, second pending 0/0/0")
	})
}

func TestRetryInAPausedBatchBeginsAtTheResumption(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": inTurn(fails(errNo), always("true"))}
		b := s.startBatch(twoSteps, people(1))
		s.pause(b.ID)
		s.retry(b.ID, api.Selection{})
		s.wantCalls(1, "New")
		s.resume(b.ID)
		s.wantCalls(1, "New New Join")
		s.wantPhases(b.ID, "first completed 1/0/0, second pending 0/0/0")
	})
}

func TestWhoCannotBeRetried(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(twoSteps, people(1))
		s.wantRefused(errorOf(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Selection: api.Selection{Members: []int{1}}})), api.CodeConflict, "member 1 of batch 1 has not failed: it is active")
		s.wantRefused(errorOf(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Selection: api.Selection{Members: []int{7}}})), api.CodeNotFound, "batch 1 has no member 7")
		s.wantRefused(errorOf(s.app.Repair(s.ctx, ada, 9, api.Repair{Selection: api.Selection{}})), api.CodeNotFound, "there is no batch 9")
		s.wantRefused(errorOf(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Selection: api.Selection{}})), api.CodeConflict, "batch 1 has no failed members")
		s.wantCalls(1, "New Join")
	})
}

func TestRetryThatFitsNobodyIsRefused(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errNo)}
		b := s.startBatch(twoSteps, people(2))
		for _, which := range []api.Selection{{Phase: "second"}, {Step: "join"}, {Error: "lost"}, {Members: []int{1}, Step: "join"}} {
			s.wantRefused(errorOf(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Selection: which})), api.CodeConflict, "no failed member of batch 1 matches ")
		}
		s.wantCalls(1, "New")
	})
}

func TestInitAndOnCompleteStepsThatFailedAreSelectedByPhaseStepAndError(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Prepare": inTurn(fails(errNo), always("true")), "Tell": inTurn(fails(errNo), fails(errNo), always("true"))}
		b := s.startBatch(around, people(1))
		s.wantStatus(b.ID, "failed")
		s.wantRefused(errorOf(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Selection: api.Selection{Phase: "only"}})), api.CodeConflict, "no failed member")
		s.retry(b.ID, api.Selection{Phase: "INIT"})
		s.wantStatus(b.ID, "active")
		s.advance(b.ID)
		s.wantStatus(b.ID, "failed")
		s.retry(b.ID, api.Selection{Step: "tell"})
		s.retry(b.ID, api.Selection{Phase: "only", Error: "no"})
		s.wantCalls(0, "Prepare Prepare Tell Tell Tell")
		s.wantStatus(b.ID, "completed")
	})
}

const around = `
name: around
data_source: {type: csv, primary_key: Upn}
init:
  - {name: prepare, worker_id: worker-01, function: Prepare}
phases:
  - name: only
    offset: T-0
    steps: [{name: new, worker_id: worker-01, function: New}]
    on_complete:
      - {name: tell, worker_id: worker-01, function: Tell}
`

func TestInitAndOnCompleteStepsThatFailedAreSkippedOrMarkedDone(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Prepare": fails(errNo), "Tell": fails(errNo)}
		b := s.startBatch(around, people(1))
		s.wantStatus(b.ID, "failed")
		v := must(s.app.SkipStep(s.ctx, ada, b.ID, model.StepID(1, 0, 0), "it is there already"))(t)
		if v.Status != "skipped" {
			t.Errorf("%+v", v)
		}
		s.deliverAll()
		s.wantStatus(b.ID, "active")
		s.advance(b.ID)
		s.wantStatus(b.ID, "failed")
		v = must(s.app.MarkStepDone(s.ctx, ada, b.ID, model.StepID(2, 0, 0), nil, "told by telephone"))(t)
		if v.Status != "succeeded" {
			t.Errorf("%+v", v)
		}
		s.deliverAll()
		s.wantCalls(0, "Prepare Tell")
		s.wantPhases(b.ID, "init completed 1/0/0, only completed 1/0/0")
		s.wantStatus(b.ID, "completed")
	})
}
