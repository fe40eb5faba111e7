package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// FuzzWhateverAWorkerAnswers runs a member through a phase with arbitrary answers:
// no answer breaks a decision, and the stored state stays within its limits.
func FuzzWhateverAWorkerAnswers(f *testing.F) {
	for _, seed := range []string{
		`true`, `null`, `{"id":1}`, `{"ID":null,"id":2}`, `{"complete":false}`, `{"Complete":"false"}`, `{"complete":true,"data":{"id":[1]}}`,
		`{"complete":true,"data":7}`, `{"complete":true}`, `{"complete":false,"data":{"id":1}}`, `[]`, `"x"`, `{"id":{"complete":false}}`, `1e400`,
	} {
		f.Add([]byte(seed), true, 0, "", int64(0))
		f.Add([]byte(seed), false, 1, "no", int64(1e9))
	}
	rb, diagnostics := runbook.Parse([]byte(undoing))
	if rb == nil {
		f.Fatal(diagnostics.Err())
	}
	f.Fuzz(func(t *testing.T, result []byte, ok bool, step int, reason string, after int64) {
		if !json.Valid(result) {
			return // is refused before
		}
		p := enterOf(t, rb, 2, `{"Upn":"ann@x","Kind":"User"}`)
		p.on(model.RunStarted{})
		p.on(model.StepResult{Step: step, JobID: "step-1-attempt-1", OK: ok, Result: result, Error: reason})
		p.want(model.RunRunning, model.StepDispatched)
		for n := 0; !p.run.Status.Terminal(); n++ {
			if n > 30 {
				t.Fatalf("the run does not end: %s", text(t, p.run))
			}
			at := p.run.Current
			switch waits := p.outstanding()[0].(type) {
			case model.Dispatch:
				p.on(model.StepResult{
					Step: at, JobID: p.jobID(), OK: ok, Result: result, Error: reason, RetryAfter: time.Duration(after), Expired: n%5 == 4,
				})
			case model.Poll:
				p.at = waits.At
				p.on(model.PollDue{Step: at, Count: p.step().PollCount + 1})
			case model.Retry:
				if wait := waits.At.Sub(p.at); wait < time.Minute || wait > runbook.MaxRetryWait {
					t.Fatalf("a retry waits %s", wait)
				}
				p.at = waits.At
				p.on(model.RetryDue{Step: at, Count: p.step().RetryCount})
			}
			if n := len(text(t, p.run)); n > 1<<20 {
				t.Fatalf("the run is %d bytes long", n)
			}
		}
		for _, s := range p.run.Steps {
			if !s.Status.Terminal() || len(s.Error) > model.MaxReason+3 {
				t.Fatalf("step %s: %d bytes of error", s.Status, len(s.Error))
			}
		}
		if len(p.member.WorkerData) > 1 {
			t.Fatalf("outputs that no step names: %s", text(t, p.member.WorkerData))
		}
	})
}
