package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

const trainer = `
name: bundle
trigger: request
items: {primary_key: Repository, expires: 2h}
phases:
  - name: sync
    steps:
      - {name: sync, worker_id: worker-01, function: Sync, params: {Name: "{{Repository}}"}}
    on_complete:
      - {name: merge, worker_id: worker-01, function: Merge, output_params: {Bundle: bundle}}
      - {name: train, worker_id: worker-01, function: Train, params: {Bundle: "{{Bundle}}", Items: "{{_phase_members}}"}, output_params: {Model: model}, timeout: 10m, retry: {max_retries: 1, interval: 1s}, detached: true}
      - {name: note, worker_id: worker-01, function: Note, params: {Model: "{{Model}}"}, detached: true}
`

// trains starts a batch of the trainer and delivers all.
func (s *stage) trains(yaml string) api.PipelineBatch {
	s.t.Helper()
	s.publish(yaml)
	b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(2, "a")}))(s.t)
	s.deliverAll()
	return b
}

func trainingScript(train worker) script {
	return script{"Sync": always("true"), "Merge": always(`{"bundle":"b1"}`), "Train": train, "Note": always(`{"note":"n1"}`)}
}

// TestTrainingNeverDelaysASync: the batch completes, with its result, while the training runs.
func TestTrainingNeverDelaysASync(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = trainingScript(fails(errLost)) // it takes long
		b := s.trains(trainer)
		view := must(s.app.PipelineBatch(s.ctx, "bundle", b.ID))(t)
		if view.Status != api.PipelineCompleted || view.Items != (api.PipelineItems{Total: 2, Succeeded: 2}) {
			t.Fatalf("the batch with a training that runs: %+v", view)
		}
		if r := must(s.app.PipelineResult(s.ctx, ada, "bundle", b.ID))(t); string(r.Outputs["Bundle"]) != `"b1"` {
			t.Errorf("result %+v", r)
		}
		s.wantPhases(b.ID, "sync completed 2/0/0, sync (detached) dispatched 0/0/0+1")
		if p := s.phases(b.ID)[1]; p.Kind != api.KindDetached || p.Running != 1 || p.Waiting != 1 {
			t.Errorf("the detached steps %+v", p)
		}
		if v := s.step(b.ID, 0, "train"); string(v.Params) != `{"Bundle":"b1","Items":2}` || v.Kind != api.KindDetached || v.Phase != "sync" {
			t.Errorf("%s of %s: %s", v.Kind, v.Phase, v.Params)
		}
		wantDetached(t, view, "sync train processing, sync note queued")
		s.answers(0, "Train", `{"model":"m1"}`, nil)
		s.wantPhases(b.ID, "sync completed 2/0/0, sync (detached) completed 2/0/0")
		view = must(s.app.PipelineBatch(s.ctx, "bundle", b.ID))(t)
		if wantDetached(t, view, "sync train completed, sync note completed"); view.Detached[1].CompletedAt == nil {
			t.Errorf("note has no end: %+v", view.Detached[1])
		}
		if v := s.step(b.ID, 0, "note"); string(v.Params) != `{"Model":"m1"}` {
			t.Errorf("note gets %s", v.Params)
		}
		s.wantListed(b.ID)
	})
}

// wantDetached compares the detached steps that a requester sees.
func wantDetached(t *testing.T, b api.PipelineBatch, want string) {
	t.Helper()
	var all []string
	for _, s := range b.Detached {
		all = append(all, fmt.Sprintf("%s %s %s", s.Phase, s.Name, s.Status))
	}
	if got := strings.Join(all, ", "); got != want {
		t.Errorf("the detached steps are %q, want %q", got, want)
	}
}

func TestDetachedFailureDoesNotChangeTheOutcome(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = trainingScript(fails(errNo))
		b := s.trains(trainer)
		s.pass(time.Minute)
		if view := must(s.app.PipelineBatch(s.ctx, "bundle", b.ID))(t); view.Status != api.PipelineCompleted || view.Error != "" || view.Items.Failed != 0 {
			t.Fatalf("%+v", view)
		}
		view := must(s.app.PipelineBatch(s.ctx, "bundle", b.ID))(t)
		if wantDetached(t, view, "sync train failed, sync note failed"); view.Detached[0].Error == "" {
			t.Errorf("train has no error: %+v", view.Detached[0])
		}
		s.wantStatus(b.ID, "completed")
		p := s.phases(b.ID)[1]
		if p.Status != api.PhaseFailed || !strings.HasPrefix(p.Reason, `step "train": `) {
			t.Fatalf("the detached steps are %s: %s", p.Status, p.Reason)
		}
		if v := s.step(b.ID, 0, "train"); v.Status != api.StepFailed || v.RetryCount != 1 {
			t.Errorf("train is %s after %d retries", v.Status, v.RetryCount)
		}
		s.script = trainingScript(always(`{"model":"m1"}`))
		must(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Reason: "more memory"}))(t)
		s.pass(time.Minute)
		s.wantPhases(b.ID, "sync completed 2/0/0, sync (detached) completed 2/0/0")
		s.wantStatus(b.ID, "completed")
	})
}

// TestLostTrainingIsRetriedAfterTheEndOfTheBatch: the sweep still finds the batch, and each job that is lost
// fails its step at the deadline.
func TestLostTrainingIsRetriedAfterTheEndOfTheBatch(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.listen()
	s.script = trainingScript(fails(errLost))
	b := s.trains(trainer)
	s.wantStatus(b.ID, "completed")
	for range 7 {
		s.tickAfter(model.TickInterval)
	}
	p := s.phases(b.ID)[1]
	if p.Status != api.PhaseFailed || !strings.Contains(p.Reason, "no result within 10m") {
		t.Errorf("the detached steps are %s: %s", p.Status, p.Reason)
	}
	s.wantStatus(b.ID, "completed")
	if line := s.wantEvents(j, alert.DetachedFailed, 1)[0]; line["Phase"] != "sync" || line["BatchId"] != float64(b.ID) || line["Reason"] != p.Reason {
		t.Errorf("%v", line)
	}
	s.verify()
}

// measured gives the stage a process that measures and logs, and returns what the metrics of detached steps are: the number of
// failures, and the greatest age.
func (s *stage) measured(j *journal) (metrics func() (failures int64, age time.Duration)) {
	reader := sdkmetric.NewManualReader()
	c := s.config()
	c.Log, c.Meter = j.log(), sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test")
	s.app = app.New(c)
	return func() (failures int64, age time.Duration) {
		s.t.Helper()
		var data metricdata.ResourceMetrics
		noError(s.t, reader.Collect(context.Background(), &data))
		for _, scope := range data.ScopeMetrics {
			for _, m := range scope.Metrics {
				switch d := m.Data.(type) {
				case metricdata.Sum[int64]:
					if m.Name == "matoolkit.detached.failures" {
						failures = d.DataPoints[0].Value
					}
				case metricdata.Histogram[float64]:
					if m.Name == "matoolkit.detached.age" {
						greatest, _ := d.DataPoints[0].Max.Value()
						age = time.Duration(greatest * float64(time.Second))
					}
				}
			}
		}
		return failures, age
	}
}

// TestDetachedStepsThatFailOrStayAreReported: each tick measures and logs the age of those that have not ended, also after the end
// of their batch, and a worker that is silent is reported as for any other job.
func TestDetachedStepsThatFailOrStayAreReported(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := &journal{}
	metrics := s.measured(j)
	s.script = trainingScript(fails(errLost))
	b := s.trains(strings.Replace(trainer, "timeout: 10m, retry: {max_retries: 1, interval: 1s}", "timeout: 3h", 1))
	s.wantStatus(b.ID, "completed")
	for range 32 {
		s.tickAfter(model.TickInterval)
	}
	if failures, age := metrics(); failures != 0 || age != 32*model.TickInterval {
		t.Errorf("%d failures, age %s", failures, age)
	}
	lines := s.wantEvents(j, alert.DetachedOpen, 32)
	if last := lines[31]; last["Phase"] != "sync" || last["BatchId"] != float64(b.ID) || last["RunbookName"] != "bundle" || last["AgeSeconds"] != float64(160*60) {
		t.Errorf("%v", last)
	}
	for range 6 {
		s.tickAfter(model.TickInterval)
	}
	if stuck := j.of(t, alert.StuckSteps); len(stuck) == 0 || stuck[0]["BatchId"] != float64(b.ID) || fmt.Sprint(stuck[0]["SilentWorkers"]) != "[worker-01]" {
		t.Errorf("stuck steps: %v", stuck)
	}
	s.wantEvents(j, alert.DetachedFailed, 1)
	if failures, _ := metrics(); failures != 1 {
		t.Errorf("%d failures", failures)
	}
	open := len(j.of(t, alert.DetachedOpen))
	s.tickAfter(model.TickInterval)
	if again := len(j.of(t, alert.DetachedOpen)); again != open {
		t.Error("detached steps that have ended are reported")
	}
}

// TestBatchExpiresAfterItsDetachedSteps: a job of theirs would return to a batch that is gone.
func TestBatchExpiresAfterItsDetachedSteps(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = trainingScript(fails(errLost))
	b := s.trains(strings.Replace(trainer, "timeout: 10m", "timeout: 1d", 1))
	s.tickAfter(3 * time.Hour)
	if view := must(s.app.PipelineBatch(s.ctx, "bundle", b.ID))(t); view.ExpiresAt != nil {
		t.Errorf("expires at %s while a training runs", view.ExpiresAt)
	}
	s.answers(0, "Train", `{"model":"m1"}`, nil)
	view := must(s.app.PipelineBatch(s.ctx, "bundle", b.ID))(t)
	if end := s.phases(b.ID)[1].CompletedAt; end == nil || view.ExpiresAt == nil || !view.ExpiresAt.Equal(end.Add(2*time.Hour)) {
		t.Errorf("the training ended at %v, and the batch expires at %v", end, view.ExpiresAt)
	}
	s.clock.ns.Add(int64(3 * time.Hour))
	noError(t, s.app.Tick(s.ctx))
	for _, d := range s.documents() {
		if d.PK == store.BatchPartition(b.ID) {
			t.Errorf("%s is left", d.ID)
		}
	}
}

// TestDetachedStepsAreCompletedWhereverTheyAreCutShort: a process dies after each of its writes, while it
// handles the result that ends the phase, begins the detached steps, or ends one of them. The message that
// begins them comes again, or does not.
func TestDetachedStepsAreCompletedWhereverTheyAreCutShort(t *testing.T) {
	t.Parallel()
	for function, result := range map[string]string{"Merge": `"bundle":"b1"`, "Train": `"model":"m1"`, "Note": `"note":"n1"`} {
		for _, comesAgain := range []bool{true, false}[:map[bool]int{true: 2, false: 1}[function == "Merge"]] {
			t.Run(fmt.Sprintf("%s, its message comes again: %v", function, comesAgain), func(t *testing.T) {
				whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
					s.script = trainingScript(always(`{"model":"m1"}`))
					s.park = containing(result)
					b := s.trains(trainer)
					if len(s.parked) != 1 {
						t.Fatalf("%d results of %s are parked", len(s.parked), function)
					}
					cut := s.kill(write, s.parked[0].handle)
					if comesAgain {
						s.unpark()
					} else {
						s.park, s.parked = nil, nil
					}
					for range 4 {
						s.tickAfter(model.TickInterval)
					}
					s.wantPhases(b.ID, "sync completed 2/0/0, sync (detached) completed 2/0/0")
					s.wantStatus(b.ID, "completed")
					s.wantListed(b.ID)
					s.wantCalls(0, "Merge Train Note")
					return cut
				})
			})
		}
	}
}

func TestDetachedStepsOfACancelledBatchAreCancelled(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = trainingScript(fails(errLost))
		s.script["Publish"] = fails(errLost)
		b := s.trains(trainer + `
  - name: publish
    steps:
      - {name: publish, worker_id: worker-01, function: Publish}
`)
		s.cancel(b.ID)
		s.revokes()
		for range 4 {
			s.tickAfter(model.TickInterval)
		}
		s.wantStatus(b.ID, "cancelled")
		if p := s.phases(b.ID)[2]; p.Status != api.PhaseCancelled {
			t.Errorf("the detached steps are %s", p.Status)
		}
	})
}
