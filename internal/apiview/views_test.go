package apiview_test

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/model"
)

// A step that has failed and waits does not look like one that never started.
func TestStepThatWaitsForARetryIsNotPending(t *testing.T) {
	t.Parallel()
	at := time.Unix(60, 0)
	for name, tt := range map[string]struct {
		step model.Step
		want string
	}{
		"never started":                      {model.Step{Status: model.StepPending}, api.StepPending},
		"postponed before its start":         {model.Step{Status: model.StepPending, RetryAfter: &at, Postponed: true}, api.StepPending},
		"failed, to be retried":              {model.Step{Status: model.StepPending, RetryAfter: &at, RetryCount: 1, Attempts: 1}, api.StepWaitingForRetry},
		"retried by hand, and postponed":     {model.Step{Status: model.StepPending, RetryAfter: &at, Postponed: true, Attempts: 1}, api.StepWaitingForRetry},
		"dispatched, and no worker has it":   {model.Step{Status: model.StepDispatched, Attempts: 1}, api.StepQueued},
		"skipped by the runbook's condition": {model.Step{Status: model.StepSkippedByCondition}, api.StepSkippedByCondition},
	} {
		if got := apiview.StepStatus(&model.Run{Steps: []model.Step{tt.step}}, 0, nil, at); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
