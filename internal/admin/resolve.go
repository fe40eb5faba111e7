package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/storable"
	"github.com/matoolkit/matoolkit/internal/store"
)

// SkipStep lets one member, or the batch where it is an init or on_complete step,
// pass by a step that has not ended, or the one that a member, init or on_complete failed at,
// which then goes on. A job of it that a worker has is no longer waited for. Errors:
// CodeNotFound, CodeConflict, CodeInvalid, CodeUnavailable.
func (ad *Admin) SkipStep(ctx context.Context, by audit.Caller, batch int, stepID int64, why string) (api.Step, error) {
	return ad.resolveStep(ctx, by, batch, stepID, "skip-step", model.StepResolved{Skip: true, By: model.Mark{By: by.Name, Why: why}})
}

// MarkStepDone tells that what a step does was done by hand. The result is what its
// function would have answered, as JSON; it may be left out where the step has no
// output_params. Otherwise as SkipStep.
func (ad *Admin) MarkStepDone(ctx context.Context, by audit.Caller, batch int, stepID int64, result json.RawMessage, why string) (api.Step, error) {
	if len(result) > 0 {
		var bad *storable.Error
		if _, err := storable.JSON(result); errors.As(err, &bad) {
			message := "the result cannot be stored"
			if !json.Valid(result) {
				message = "the result is not JSON"
			}
			return api.Step{}, &problem.Error{
				Code: api.CodeInvalid, Message: message,
				Problems: []api.InputProblem{{Field: resultField(bad.Path), Code: "bad-result", Message: bad.Reason}},
			}
		}
	}
	return ad.resolveStep(ctx, by, batch, stepID, "mark-done", model.StepResolved{Result: result, By: model.Mark{By: by.Name, Why: why}})
}

// resultField is the place of a value of a result within the request.
func resultField(path string) string {
	if path == "" || path[0] == '[' {
		return "result" + path
	}
	return "result." + path
}

func (ad *Admin) resolveStep(ctx context.Context, by audit.Caller, batch int, stepID int64, action string, e model.StepResolved) (api.Step, error) {
	if err := audit.CheckReason(e.By.Why); err != nil {
		return api.Step{}, err
	}
	if _, err := ad.applier.ReadBatch(ctx, batch); err != nil {
		return api.Step{}, err
	}
	phase, member, index, err := model.ParseStepID(stepID)
	if err != nil {
		return api.Step{}, problem.New(api.CodeNotFound, "batch %d has no step %d", batch, stepID)
	}
	key := store.RunKey(batch, phase, member)
	// No message would bring back what follows from it, were it cut short: one is sent
	// beforehand that looks after it.
	look := applier.BatchWorkMessage(batch, message.WorkMend, strconv.FormatInt(stepID, 10), 0)
	look.At = ad.now().Add(mendAfter)
	look.ID += fmt.Sprintf("-at-%d", look.At.UnixMilli())
	if err := ad.bus.Send(ctx, message.TopicOrchestratorEvents, look); err != nil {
		return api.Step{}, err
	}
	e.Step, e.By.At = index, ad.now().UTC()
	for {
		run, err := store.Read[model.Run](ctx, ad.store, key)
		if errors.Is(err, store.ErrNotFound) || err == nil && index >= len(run.Doc.Steps) {
			return api.Step{}, problem.New(api.CodeNotFound, "batch %d has no step %d", batch, stepID)
		}
		if err == nil {
			var hidden model.RunEvent
			if hidden, err = ad.sealer.Hide(ctx, &run.Doc, e); err == nil {
				err = ad.resolveIn(ctx, run, hidden.(model.StepResolved), resolution(by, action, &run.Doc, index, e))
			}
		}
		if errors.Is(err, store.ErrChanged) {
			continue
		}
		if err != nil {
			return api.Step{}, err
		}
		if run, err = store.Read[model.Run](ctx, ad.store, key); err != nil {
			return api.Step{}, err
		}
		workers, err := ad.workers.ReadRecords(ctx, &run.Doc)
		if err != nil {
			return api.Step{}, err
		}
		return apiview.Step(&run.Doc, index, run.Doc.Steps[index], workers, ad.now()), nil
	}
}

// mendAfter is how long a step that is resolved has until it is seen whether that led
// on. It is well below the time for which a broker drops a job that is sent again.
const mendAfter = 30 * time.Second

// resolution is the line of the trail that tells how a step is resolved.
func resolution(by audit.Caller, action string, run *model.Run, index int, e model.StepResolved) store.AuditRecord {
	becomes := model.StepSucceeded
	if e.Skip {
		becomes = model.StepSkipped
	}
	return store.AuditRecord{
		At: e.By.At, Actor: by.Actor(), Action: action, Batch: run.Batch, Target: target(run, index), Why: e.By.Why,
		Before: audit.Facts{"status": run.Steps[index].Status}.JSON(), After: audit.Facts{"status": becomes}.JSON(),
	}
}

func target(run *model.Run, index int) string {
	who := run.Key
	if run.Member == 0 {
		who = "the batch"
	}
	return fmt.Sprintf("step %d (%s of %s in %s)", run.StepID(index), run.Steps[index].Name, who, run.PhaseName)
}

// resolveIn resolves a step of a run that goes on, or of one that failed at it.
func (ad *Admin) resolveIn(ctx context.Context, run store.Item[model.Run], e model.StepResolved, record store.AuditRecord) error {
	audit := ad.audit.Record(record)
	if run.Doc.Status == model.RunFailed && run.Doc.Kind == model.KindPhase {
		m, err := ad.applier.ReadMember(ctx, run.Doc.Batch, run.Doc.Member)
		if err != nil {
			return err
		}
		return ad.members.RetryMember(ctx, run.Doc.Batch, m, model.MemberRetried{Member: run.Doc.Member, Task: ad.newID(), Resolve: &e}, audit)
	}
	if run.Doc.Status == model.RunFailed && run.Doc.Member == 0 {
		return ad.members.RetrySequence(ctx, run, model.SequenceRetried{Phase: run.Doc.Phase, Task: ad.newID(), Resolve: &e}, audit)
	}
	c := applier.On(model.OnRun{Phase: run.Doc.Phase, Member: run.Doc.Member, RunEvent: e})
	c.Prime = func(s *applier.Snapshot) {
		applier.Prime(s, store.RunKey(run.Doc.Batch, run.Doc.Phase, run.Doc.Member), run)
	}
	c.Once = true
	c.Extra = func(_ *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		return store.Writes{audit}, nil
	}
	if _, _, err := ad.applier.Run(ctx, run.Doc.Batch, c); err != nil {
		return err
	}
	if run.Doc.Status != model.RunWaiting {
		return nil
	}
	return ad.members.StartIfNext(ctx, &run.Doc) // it may have been retried to this end, and not started
}
