package app_test

import (
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
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
	same("batch", api.BatchStatuses, texts(model.BatchStatuses))
	same("member", slices.DeleteFunc(slices.Clone(api.MemberStatuses), func(s string) bool { return s == api.MemberDone }), texts(model.MemberStatuses))
	same("phase", []string{api.PhasePending, api.PhaseDispatched, api.PhaseCompleted, api.PhaseFailed, api.PhaseSkipped, api.PhaseSuperseded, api.PhaseCancelled},
		texts([]model.PhaseStatus{model.PhasePending, model.PhaseDispatched, model.PhaseCompleted, model.PhaseFailed, model.PhaseSkipped, model.PhaseSuperseded, model.PhaseCancelled}))
	same("kind", []string{api.KindPhase, api.KindInit, api.KindRemoval, api.KindOnComplete},
		texts([]model.PhaseKind{model.KindPhase, model.KindInit, model.KindRemoval, model.KindOnComplete}))
	steps := slices.DeleteFunc(slices.Clone(api.StepStatuses), func(s string) bool {
		return s == api.StepQueued || s == api.StepAtWorker || s == api.StepWaitingForRetry
	})
	slices.Sort(steps)
	state := slices.DeleteFunc(texts(model.StepStatuses), func(s string) bool { return s == string(model.StepDispatched) })
	slices.Sort(state)
	same("step", steps, state)
	for _, s := range api.BatchStatuses {
		if (api.Batch{Status: s}).Terminal() != model.BatchStatus(s).Terminal() {
			t.Errorf("a batch that is %s", s)
		}
	}
	for _, s := range []string{api.PhasePending, api.PhaseDispatched, api.PhaseCompleted, api.PhaseFailed, api.PhaseSkipped, api.PhaseSuperseded, api.PhaseCancelled} {
		if (api.Phase{Status: s}).Terminal() != model.PhaseStatus(s).Terminal() {
			t.Errorf("a phase that is %s", s)
		}
	}
	if api.MaxResult != model.MaxPayload {
		t.Errorf("a result may have %d bytes, the engine takes %d", api.MaxResult, model.MaxPayload)
	}
}

func texts[S ~string](all []S) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = string(s)
	}
	return out
}
