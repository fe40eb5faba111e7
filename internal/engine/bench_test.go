package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// BenchmarkDecide takes the decision on a result that dispatches the next step.
func BenchmarkDecide(b *testing.B) {
	rb, diagnostics := runbook.Parse([]byte(source))
	if rb == nil {
		b.Fatal(diagnostics.Err())
	}
	batch := engine.NewBatch(42, rb, 3, 1, nil, "ada", now)
	member := model.Member{ID: 17, Page: 1, Status: model.MemberActive, OpenPhase: 2, Data: map[string]json.RawMessage{"Upn": json.RawMessage(`"u"`), "Kind": json.RawMessage(`"User"`)}}
	run, err := runstate.New(&batch, batch.Phases[1], &member, rb, now)
	if err != nil {
		b.Fatal(err)
	}
	state := model.MemoryState{Runs: []*model.Run{&run}, Members: []*model.Member{&member}, Runbook: rb}
	started, err := engine.Decide(state, on(&run, model.RunStarted{}), now)
	if err != nil {
		b.Fatal(err)
	}
	state.Runs = started.Runs
	result := model.StepResult{JobID: started.Runs[0].JobID(0), OK: true, Result: json.RawMessage(`{"id":1}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := engine.Decide(state, on(&run, result), now); err != nil {
			b.Fatal(err)
		}
	}
}
