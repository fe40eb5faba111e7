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

// SkipStep skips a step that has not ended, or the step at which a member, init or on_complete failed:
// the run goes on after it. The orchestrator no longer waits for a job of the step. A step of init or
// on_complete it skips for the batch. Errors: CodeNotFound, CodeConflict, CodeInvalid, CodeUnavailable.
func (a *Admin) SkipStep(ctx context.Context, by audit.Caller, batch int, stepID int64, why string) (api.Step, error) {
	return a.resolveStep(ctx, by, batch, stepID, "skip_step", model.StepResolved{Skip: true, By: model.Attribution{By: by.Name, Why: why}})
}

// MarkStepDone ends a step as succeeded whose work an administrator did by hand. The result is the JSON
// that its function would have returned; it may be empty where the step has no output_params. Otherwise
// as SkipStep.
func (a *Admin) MarkStepDone(ctx context.Context, by audit.Caller, batch int, stepID int64, result json.RawMessage, why string) (api.Step, error) {
	if err := checkResult(result); err != nil {
		return api.Step{}, err
	}
	return a.resolveStep(ctx, by, batch, stepID, "mark_done", model.StepResolved{Result: result, By: model.Attribution{By: by.Name, Why: why}})
}

// checkResult refuses a result that cannot be stored. It may be empty.
func checkResult(result json.RawMessage) error {
	if len(result) == 0 {
		return nil
	}
	var bad *storable.Error
	if _, err := storable.JSON(result); !errors.As(err, &bad) {
		return nil
	}
	message := "the result cannot be stored"
	if !json.Valid(result) {
		message = "the result is not JSON"
	}
	return &problem.Error{
		Code: api.CodeInvalid, Message: message,
		Problems: []api.InputProblem{{Field: resultField(bad.Path), Code: "bad-result", Message: bad.Reason}},
	}
}

// resultField gives the name of a field of the request for a path in its result.
func resultField(path string) string {
	if path == "" || path[0] == '[' {
		return "result" + path
	}
	return "result." + path
}

// mendAfter is how long after a resolution a message checks that the run went on. It is well below the
// time for which a broker drops a job that is sent again.
const mendAfter = 30 * time.Second

// resolveStep ends a step as an administrator says, and gives it as it is then.
func (a *Admin) resolveStep(ctx context.Context, by audit.Caller, batch int, stepID int64, action string, e model.StepResolved) (api.Step, error) {
	if err := audit.CheckReason(e.By.Why); err != nil {
		return api.Step{}, err
	}
	b, err := a.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.Step{}, err
	}
	phase, member, index, err := model.ParseStepID(stepID)
	if err != nil {
		return api.Step{}, noStep(batch, stepID)
	}
	if err := a.scheduleMend(ctx, batch, stepID); err != nil {
		return api.Step{}, err
	}
	e.Step, e.By.At = index, a.now().UTC()
	key := store.RunKey(batch, phase, member)
	err = store.RetryOnConflict(ctx, func() error {
		run, err := store.Read[model.Run](ctx, a.store, key)
		if errors.Is(err, store.ErrNotFound) || err == nil && index >= len(run.Doc.Steps) {
			return noStep(batch, stepID)
		}
		if err != nil {
			return err
		}
		return a.resolveInRun(ctx, by, action, run, e)
	})
	if err != nil {
		return api.Step{}, err
	}
	return a.readStep(ctx, &b.Doc, key, index)
}

// errNoStep: the run or the step is not there. A missing runbook version is another error.
var errNoStep = errors.New("admin: no such step")

func noStep(batch int, stepID int64) error {
	return problem.New(api.CodeNotFound, "batch %d has no step %d", batch, stepID)
}

// scheduleMend sends a message that looks after the run later. No other message would come again if
// this process died between the decision and what follows from it.
func (a *Admin) scheduleMend(ctx context.Context, batch int, stepID int64) error {
	m := applier.BatchWorkMessage(batch, message.WorkMend, strconv.FormatInt(stepID, 10), 0)
	m.At = a.now().Add(mendAfter)
	m.ID += fmt.Sprintf("-at-%d", m.At.UnixMilli())
	return a.bus.Send(ctx, message.TopicOrchestratorEvents, m)
}

// resolveInRun resolves a step of a run as it was read, with its audit record, and without the secrets
// in its result. It fails with ErrChanged where another process changed the run.
func (a *Admin) resolveInRun(ctx context.Context, by audit.Caller, action string, run store.Item[model.Run], e model.StepResolved) error {
	if run.Doc.Status == model.RunFailed && repeatsResolution(&run.Doc.Steps[e.Step], e) {
		return nil // the run went on and failed at a later step
	}
	hidden, err := a.sealer.Hide(ctx, &run.Doc, e)
	if err != nil {
		return err
	}
	rb, err := a.runbooks.Load(ctx, run.Doc.Runbook, run.Doc.Version)
	if err != nil {
		return err
	}
	definition, err := run.Doc.Definition(rb, e.Step)
	if err != nil {
		return err
	}
	record := a.audit.Record(resolutionRecord(by, action, &run.Doc, definition.Name, e))
	e = hidden.(model.StepResolved)
	resolution := resolutionEvent(&run.Doc, e, a.newID())
	switch retry := resolution.(type) {
	case model.MemberRetried:
		m, err := a.applier.ReadMember(ctx, run.Doc.Batch, run.Doc.Member)
		if err != nil {
			return err
		}
		return a.members.RetryMember(ctx, run.Doc.Batch, m, retry, record)
	case model.SequenceRetried:
		return a.members.RetrySequence(ctx, run, retry, record)
	}
	c := applier.On(resolution)
	c.Prime = func(s *applier.Snapshot) {
		applier.Prime(s, store.RunKey(run.Doc.Batch, run.Doc.Phase, run.Doc.Member), run)
	}
	c.Once = true
	c.Extra = func(_ *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		return store.Writes{record}, nil
	}
	if _, _, err := a.applier.Run(ctx, run.Doc.Batch, c); err != nil {
		return err
	}
	if run.Doc.Status != model.RunWaiting {
		return nil
	}
	return a.members.StartIfNext(ctx, &run.Doc) // a retry for this resolution may have been cut short before the start
}

// resolutionEvent returns the event that resolves a step of a run: of one that failed, a retry past the
// step.
func resolutionEvent(run *model.Run, e model.StepResolved, task string) model.Event {
	switch {
	case run.Kind == model.KindPhase && run.Status == model.RunFailed, run.Kind == model.KindCheck && run.FailsMember():
		return model.MemberRetried{Member: run.Member, Resolve: &e, Task: task}
	case run.Status == model.RunFailed && run.Member == 0:
		return model.SequenceRetried{Phase: run.Phase, Resolve: &e, Task: task}
	}
	return model.OnRun{Phase: run.Phase, Member: run.Member, RunEvent: e}
}

// repeatsResolution reports whether the same caller has resolved a step in the same way before, for
// the same reason.
func repeatsResolution(step *model.Step, e model.StepResolved) bool {
	r := step.Resolved
	return r != nil && r.By == e.By.By && r.Why == e.By.Why && e.Skip == (step.Status == model.StepSkipped)
}

// resolutionRecord gives the audit record of a resolved step.
func resolutionRecord(by audit.Caller, action string, run *model.Run, name string, e model.StepResolved) store.AuditRecord {
	becomes := model.StepSucceeded
	if e.Skip {
		becomes = model.StepSkipped
	}
	return store.AuditRecord{
		At: e.By.At, Actor: by.Actor(), Action: action, Batch: run.Batch, Target: stepTarget(run, e.Step, name), Why: e.By.Why,
		Before: audit.State{"status": run.Steps[e.Step].Status}.JSON(), After: audit.State{"status": becomes}.JSON(),
	}
}

// stepTarget describes a step with this name for an audit record.
func stepTarget(run *model.Run, index int, name string) string {
	who := run.Key
	if run.Member == 0 {
		who = "the batch"
	}
	return fmt.Sprintf("step %d (%s of %s in %s)", run.StepID(index), name, who, run.PhaseName)
}

// Step gets one step. It records first that the caller read it. Errors: CodeNotFound; CodeUnavailable.
func (a *Admin) Step(ctx context.Context, by audit.Caller, batch int, stepID int64) (api.Step, error) {
	b, err := a.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.Step{}, err
	}
	phase, member, index, err := model.ParseStepID(stepID)
	if err != nil {
		return api.Step{}, noStep(batch, stepID)
	}
	view, err := a.readStep(ctx, &b.Doc, store.RunKey(batch, phase, member), index)
	if errors.Is(err, errNoStep) {
		return api.Step{}, noStep(batch, stepID)
	}
	if err != nil {
		return api.Step{}, err
	}
	if view.Actions, err = a.stepActions(ctx, b, store.RunKey(batch, phase, member), index); err != nil {
		return api.Step{}, err
	}
	return view, a.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadSteps, Batch: batch})
}

// readStep gives the stored state of a step of a batch. It fails with errNoStep where there is none.
func (a *Admin) readStep(ctx context.Context, b *model.Batch, key store.Key, index int) (api.Step, error) {
	run, err := store.Read[model.Run](ctx, a.store, key)
	if errors.Is(err, store.ErrNotFound) || err == nil && index >= len(run.Doc.Steps) {
		return api.Step{}, errNoStep
	}
	if err != nil {
		return api.Step{}, err
	}
	records, err := a.workers.ReadRecords(ctx, &run.Doc)
	if err != nil {
		return api.Step{}, err
	}
	rb, err := a.runbooks.Load(ctx, run.Doc.Runbook, run.Doc.Version)
	if err != nil {
		return api.Step{}, err
	}
	view, err := apiview.Step(rb, &run.Doc, index, records, a.now())
	if err != nil {
		return api.Step{}, err
	}
	views := []api.Step{view}
	err = a.showMembers(ctx, b, views)
	return views[0], err
}
