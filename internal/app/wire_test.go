package app_test

import (
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
)

// The API shows the statuses and kinds of the state machine as they are; of a step's it
// splits two.
func TestTheAPIHasTheStatusesOfTheEngine(t *testing.T) {
	t.Parallel()
	same := func(what string, wire, state []string) {
		t.Helper()
		if !slices.Equal(wire, state) {
			t.Errorf("%s: the API has %v, the engine %v", what, wire, state)
		}
	}
	same("batch", api.BatchStatuses, texts(engine.BatchStatuses))
	same("member", api.MemberStatuses, texts(engine.MemberStatuses))
	same("phase", []string{api.PhasePending, api.PhaseDispatched, api.PhaseCompleted, api.PhaseFailed, api.PhaseSkipped, api.PhaseSuperseded, api.PhaseCancelled},
		texts([]engine.PhaseStatus{engine.PhasePending, engine.PhaseDispatched, engine.PhaseCompleted, engine.PhaseFailed, engine.PhaseSkipped, engine.PhaseSuperseded, engine.PhaseCancelled}))
	same("kind", []string{api.KindPhase, api.KindInit, api.KindRemoval, api.KindOnComplete},
		texts([]engine.PhaseKind{engine.KindPhase, engine.KindInit, engine.KindRemoval, engine.KindOnComplete}))
	steps := slices.DeleteFunc(slices.Clone(api.StepStatuses), func(s string) bool {
		return s == api.StepQueued || s == api.StepAtWorker || s == api.StepWaitingForRetry
	})
	slices.Sort(steps)
	state := slices.DeleteFunc(texts(engine.StepStatuses), func(s string) bool { return s == string(engine.StepDispatched) })
	slices.Sort(state)
	same("step", steps, state)
	for _, s := range api.BatchStatuses {
		if (api.Batch{Status: s}).Terminal() != engine.BatchStatus(s).Terminal() {
			t.Errorf("a batch that is %s", s)
		}
	}
	for _, s := range []string{api.PhasePending, api.PhaseDispatched, api.PhaseCompleted, api.PhaseFailed, api.PhaseSkipped, api.PhaseSuperseded, api.PhaseCancelled} {
		if (api.Phase{Status: s}).Terminal() != engine.PhaseStatus(s).Terminal() {
			t.Errorf("a phase that is %s", s)
		}
	}
	if api.MaxResult != engine.MaxPayload {
		t.Errorf("a result may have %d bytes, the engine takes %d", api.MaxResult, engine.MaxPayload)
	}
}

func texts[S ~string](all []S) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = string(s)
	}
	return out
}
