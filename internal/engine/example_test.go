package engine_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// A worker answers that a job failed. The step has a retry left: the decision writes the
// run, with the step pending again, and asks for a message at the time of the retry.
func ExampleDecide() {
	rb, _ := runbook.Parse([]byte(`
name: move
data_source: {type: csv, primary_key: Upn}
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: worker-01, function: New-EntraUser, retry: {max_retries: 1, interval: 30s}}
`))
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	batch := engine.NewBatch(42, rb, 1, 1, nil, "ada", now)
	ann := model.Member{ID: 1, Page: 1, Key: "ann@contoso.com", Status: model.MemberActive, OpenPhase: 1}
	run, _ := runstate.New(&batch, batch.Phases[0], &ann, rb, now)
	state := model.MemoryState{Batch: &batch, Members: []*model.Member{&ann}, Runs: []*model.Run{&run}, Runbook: rb}

	started, _ := engine.Decide(state, model.OnRun{Phase: 1, Member: 1, RunEvent: model.RunStarted{}}, now)
	show(started)

	state.Runs = started.Runs
	failed := model.StepResult{Step: 0, JobID: started.Runs[0].JobID(0), Error: "the tenant is busy"}
	again, _ := engine.Decide(state, model.OnRun{Phase: 1, Member: 1, RunEvent: failed}, now.Add(time.Minute))
	show(again)

	state.Runs = again.Runs
	twice, _ := engine.Decide(state, model.OnRun{Phase: 1, Member: 1, RunEvent: failed}, now.Add(time.Minute))
	fmt.Println("the same result again: repeated", twice.Repeated, "writes nothing", twice.Empty())

	// Output:
	// step 0: dispatched
	//   model.Dispatch step-10000001000-attempt-1
	// step 0: pending, the tenant is busy
	//   model.Retry at 12:01:30
	// the same result again: repeated true writes nothing true
}

func show(d model.Decision) {
	for _, run := range d.Runs {
		step := run.Steps[run.Current]
		text := fmt.Sprintf("step %d: %s", run.Current, step.Status)
		if step.Error != "" {
			text += ", " + step.Error
		}
		fmt.Println(text)
	}
	for _, m := range d.Messages {
		switch m := m.(type) {
		case model.Dispatch:
			fmt.Printf("  %T %s\n", m, m.Run.JobID(m.Step))
		case model.Retry:
			fmt.Printf("  %T at %s\n", m, m.At.Format(time.TimeOnly))
		}
	}
}

// A member who ends a phase is counted in their page, and goes on to the phase that waits.
func ExampleDecide_next() {
	rb, _ := runbook.Parse([]byte(`
name: move
data_source: {type: csv, primary_key: Upn}
phases:
  - name: create
    offset: T-1d
    steps: [{name: new, worker_id: worker-01, function: New-EntraUser}]
  - name: verify
    offset: T-0
    steps: [{name: check, worker_id: worker-01, function: Test-UserReady}]
`))
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	batch := engine.NewBatch(42, rb, 1, 1, nil, "ada", now)
	ann := model.Member{ID: 1, Page: 1, Key: "ann@contoso.com", Status: model.MemberActive, OpenPhase: 1, Queue: []int{2}}
	run, _ := runstate.New(&batch, batch.Phases[0], &ann, rb, now)
	state := model.MemoryState{Batch: &batch, Members: []*model.Member{&ann}, Runs: []*model.Run{&run}, Runbook: rb}
	started, _ := engine.Decide(state, model.OnRun{Phase: 1, Member: 1, RunEvent: model.RunStarted{}}, now)

	state.Runs = started.Runs
	result := model.StepResult{JobID: started.Runs[0].JobID(0), OK: true, Result: json.RawMessage(`{"id": "u1"}`)}
	ended, _ := engine.Decide(state, model.OnRun{Phase: 1, Member: 1, RunEvent: result}, now)
	fmt.Printf("counts %+v\n", ended.Counts)
	for _, e := range ended.Next {
		fmt.Printf("next %T %+v\n", e, e)
	}
	fmt.Println("member is in phase", ended.Members[0].OpenPhase)
	// Output:
	// counts [{Phase:1 Page:1 Outcome:succeeded Yields:true}]
	// next model.OnRun {Phase:2 Member:1 RunEvent:{}}
	// next model.ShardCounted {Phase:1 Page:1 Yields:true Again:false}
	// member is in phase 2
}
