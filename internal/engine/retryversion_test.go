package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// corrected is the runbook tried with the phase that the member failed in as given.
func (f *failure) corrected(steps string) *failure {
	f.t.Helper()
	from, to := strings.Index(tried, "  - name: move\n"), strings.Index(tried, "  - name: clean\n")
	f.active = read(f.t, tried[:from]+steps+tried[to:])
	return f
}

const moved = `  - name: move
    offset: T-1d
    steps:
`

// wantSteps checks the names and statuses of the steps of the member's run.
func (f *failure) wantSteps(version int, want string) {
	f.t.Helper()
	run := f.runs[1]
	var got []string
	for i, s := range run.Steps {
		d, err := run.Definition(f.active, i)
		if err != nil {
			f.t.Fatal(err)
		}
		got = append(got, d.Name+" "+string(s.Status))
	}
	if all := strings.Join(got, ", "); all != want || run.Version != version {
		f.t.Fatalf("version %d: %s\nwant version %d: %s", run.Version, all, version, want)
	}
}

func (f *failure) wantRefused(e model.Event, says string) {
	f.t.Helper()
	_, err := f.try(e)
	var refusal *model.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, says) {
		f.t.Fatalf("got %v, want a refusal with %q", err, says)
	}
}

// active returns the retry of the member by the active version.
func active(from string) model.MemberRetried {
	return model.MemberRetried{Member: 17, Task: "t", RetryOptions: model.RetryOptions{Version: 5, From: from}}
}

func TestRetryByTheActiveVersionFollowsItsSteps(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 1).corrected(moved + `
      - {name: copy, worker_id: w1, function: Copy}
      - {name: prepare, worker_id: w1, function: Prepare}
      - {name: switch, worker_id: w2, function: SwitchOver}
      - {name: tell, worker_id: w1, function: Tell}
`)
	f.runs[1].RolledBack, f.runs[1].Steps = false, f.runs[1].Steps[:2] // as if it had no rollback
	wantOutcome(t, f.must(active("")), start(2))
	f.wantSteps(5, "copy succeeded, prepare pending, switch pending, tell pending")
	p := f.resume()
	p.want(model.RunRunning, model.StepSucceeded, model.StepDispatched, model.StepPending, model.StepPending)
	if got := p.jobID(); got != "step-20000017001-attempt-1-switch-1" {
		t.Errorf("job %s, which the step before may have had", got)
	}
	if got := p.run.EffectID(1); got != "42/20000017001/2" {
		t.Errorf("effect id %s, which the step before had", got)
	}
}

func TestRetryByTheActiveVersionDoesANewStepBeforeThoseThatSucceeded(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 1).corrected(moved + `
      - {name: prepare, worker_id: w1, function: Prepare}
      - {name: copy, worker_id: w1, function: Copy}
      - {name: switch, worker_id: w2, function: SwitchOver}
`)
	f.runs[1].RolledBack, f.runs[1].Steps = false, f.runs[1].Steps[:2]
	f.must(active(""))
	f.wantSteps(5, "prepare pending, copy succeeded, switch pending")
	p := f.resume()
	p.want(model.RunRunning, model.StepDispatched, model.StepSucceeded, model.StepPending)
	if got := p.run.JobID(1); got != "step-20000017000-attempt-1" {
		t.Errorf("the step that moved has the job %s, want the one it had at its old place", got)
	}
	p.answer("true")
	p.want(model.RunRunning, model.StepSucceeded, model.StepSucceeded, model.StepDispatched)
}

func TestRetryByTheActiveVersionAfterARollbackBeginsAtTheFirstStep(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 1).corrected(moved + "      - {name: copy, worker_id: w1, function: CopyAll}\n")
	f.must(active(""))
	f.wantSteps(5, "copy pending")
	if len(f.runs[1].Steps) != 1 {
		t.Fatalf("it keeps steps of the version before: %s", text(t, f.runs[1].Steps))
	}
	f.resume().want(model.RunRunning, model.StepDispatched)
}

func TestRetryByTheActiveVersionThatHasNoStepLeftSucceeds(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 1).corrected(moved + "      - {name: copy, worker_id: w1, function: Copy}\n")
	f.runs[1].RolledBack, f.runs[1].Steps = false, f.runs[1].Steps[:2]
	f.must(active(""))
	p := f.resume()
	p.want(model.RunSucceeded, model.StepSucceeded)
}

func TestRetryBeginsWithAStep(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 1)
	f.runs[1].RolledBack, f.runs[1].Steps = false, f.runs[1].Steps[:2]
	f.active = f.rb
	f.must(model.MemberRetried{Member: 17, Task: "t", RetryOptions: model.RetryOptions{From: "COPY"}})
	f.wantSteps(3, "copy pending, switch pending")
	p := f.resume()
	if got := p.jobID(); got != "step-20000017000-attempt-2" {
		t.Errorf("job %s", got)
	}
}

func TestRetryThatARunCannotFollowIsRefused(t *testing.T) {
	t.Parallel()
	const same = moved + `
      - {name: copy, worker_id: w1, function: Copy}
      - {name: switch, worker_id: w1, function: Switch}
`
	for name, tt := range map[string]struct {
		steps, from, says string
		undone            bool
	}{
		"no such phase":             {steps: strings.Replace(same, "name: move", "name: shift", 1), says: `version 5 has no phase "move"`},
		"no such step":              {steps: same, from: "tell", says: `version 5 has no step "tell"`},
		"behind the failed step":    {steps: same + "      - {name: tell, worker_id: w1, function: Tell}\n", from: "tell", says: `step "switch", which comes before step "tell", has not succeeded`},
		"behind what was undone":    {steps: same, from: "switch", undone: true, says: `a rollback undid step "copy", which comes before step "switch"`},
		"an output that is missing": {steps: strings.Replace(same, "function: Copy", "function: Copy, output_params: {CopyId: id}", 1), says: `step "copy" gives CopyId in version 5 and has succeeded in version 3 without`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := failedAt(t, 1).corrected(tt.steps)
			if !tt.undone {
				f.runs[1].RolledBack, f.runs[1].Steps = false, f.runs[1].Steps[:2]
			}
			f.wantRefused(active(tt.from), tt.says)
		})
	}
}

func TestRetryByTheActiveVersionWaitsForJobsThatMayStillRun(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 1).corrected(moved + "      - {name: copy, worker_id: w1, function: Copy}\n")
	until := now.Add(time.Minute)
	f.runs[1].Steps[len(f.runs[1].Steps)-1].Abandoned = []model.Abandoned{{JobID: "j", At: now, Until: until}}
	f.must(active(""))
	if f.member.UndoingUntil == nil || !f.member.UndoingUntil.Equal(until) {
		t.Fatalf("the member is free at %v", f.member.UndoingUntil)
	}
	p := f.resume()
	if s := p.step(); s.Status != model.StepPending || !s.RetryAfter.Equal(until) {
		t.Fatalf("the step does not wait for the undo: %s", text(t, s))
	}
}

func TestPhasesThatWereMissedFollowTheVersionOfTheRetry(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0).corrected(moved + "      - {name: copy, worker_id: w1, function: Copy}\n")
	f.must(active(""))
	if run := f.runs[2]; run.Phase != 3 || run.Version != 5 {
		t.Fatalf("phase %d follows version %d", run.Phase, run.Version)
	}
}

// A retry is foreseen from where members failed and carried out from their runs, alike.
func TestRetryIsForeseenAsItIsDone(t *testing.T) {
	t.Parallel()
	steps := func(names ...string) []runbook.Step {
		var all []runbook.Step
		for _, n := range names {
			all = append(all, runbook.Step{Name: n})
		}
		return all
	}
	for name, tt := range map[string]struct {
		failure  runstate.Failure
		was, is  []runbook.Step
		from     string
		todo     string
		refusals string
	}{
		"the failed step and those behind": {runstate.Failure{Step: "b", Version: 1}, steps("a", "b", "c"), steps("a", "b", "c"), "", "b c", ""},
		"all after a rollback":             {runstate.Failure{Step: "b", Version: 1, Undone: true}, steps("a", "b", "c"), steps("a", "b", "c"), "", "a b c", ""},
		"a new step before the failed one": {runstate.Failure{Step: "b", Version: 1}, steps("a", "b"), steps("a", "n", "b"), "", "n b", ""},
		"nothing left":                     {runstate.Failure{Step: "b", Version: 1}, steps("a", "b"), steps("a"), "", "", ""},
		"an earlier step":                  {runstate.Failure{Step: "c", Version: 1}, steps("a", "b", "c"), steps("a", "b", "c"), "b", "b c", ""},
		"a later step":                     {runstate.Failure{Step: "b", Version: 1}, steps("a", "b", "c"), steps("a", "b", "c"), "c", "", `step "b"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			todo, err := runstate.PlanRetry(tt.failure, tt.was, tt.is, 2, tt.from)
			if tt.refusals != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refusals) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil || strings.Join(todo, " ") != tt.todo {
				t.Fatalf("does %v, %v", todo, err)
			}
		})
	}
}
