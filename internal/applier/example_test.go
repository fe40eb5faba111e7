package applier_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	busmemory "github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
)

// A worker's result travels to the next job: the applier loads the run, the engine decides, the
// applier writes the run and sends the job of the next step. The same result again writes nothing
// and sends the same job, which the broker drops.
func ExampleApplier_Run() {
	ctx := context.Background()
	now := func() time.Time { return time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC) }
	w, err := newWorld(ctx, 1, now) // batch 1 of the runbook twoSteps, with one member
	if err != nil {
		panic(err)
	}
	a := process(w.store, w.sender, now)
	run := func(e model.Event) {
		if _, _, err := a.Run(ctx, 1, applier.On(e)); err != nil {
			panic(err)
		}
	}
	jobs := func() (all []busmemory.Message) {
		all, _ = w.broker.Messages(message.TopicWorkerJobs, message.WorkerSubscription("w1"))
		return all
	}

	// An administrator starts the phase. The orchestrator then handles the message phase-due.
	run(model.Advanced{Phase: "create"})
	run(model.PhaseDue{Phase: 1, Page: 1})
	var job message.Job
	if err := json.Unmarshal(jobs()[0].Body, &job); err != nil {
		panic(err)
	}
	fmt.Println("job:", job.FunctionName, string(job.Parameters))

	// The worker answers, and the broker delivers the result twice.
	result := model.OnRun{Phase: 1, Member: 1, RunEvent: model.StepResult{Step: 0, JobID: job.IDInBatch(), OK: true}}
	for range 2 {
		versions := w.store.Versions()
		run(result)
		fmt.Println("written:", w.store.Versions()-versions, "jobs:", len(jobs()))
	}
	// Output:
	// job: New {"Upn":"u1@contoso.com"}
	// written: 1 jobs: 2
	// written: 0 jobs: 2
}
