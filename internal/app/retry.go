package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// RetryFailed lets members who failed try again: at the step that failed or, where
// that was rolled back, at the first of its phase. The phases that a member has
// missed since follow. Without a selection all who failed are taken, and so are init
// and on_complete steps that failed. It is set going and goes on by itself. Errors:
// CodeNotFound, CodeConflict, CodeInvalid, CodeUnavailable.
func (a *App) RetryFailed(ctx context.Context, by Caller, batch int, which api.RetrySelection, why string) (api.RetryResult, error) {
	if err := checkWhy(why); err != nil {
		return api.RetryResult{}, err
	}
	b, err := a.batch(ctx, batch)
	if err != nil {
		return api.RetryResult{}, err
	}
	if b.Doc.Gate() == engine.Stopped {
		return api.RetryResult{}, fail(api.CodeConflict, "batch %d is %s: nothing in it can be retried", batch, b.Doc.Status)
	}
	page := 0
	if which.Member != 0 {
		m, err := a.member(ctx, batch, which.Member)
		if err != nil {
			return api.RetryResult{}, err
		}
		if m.Doc.Status != engine.MemberFailed {
			return api.RetryResult{}, fail(api.CodeConflict, "member %d of batch %d has not failed: it is %s", which.Member, batch, m.Doc.Status)
		}
		page = m.Doc.Page
	}
	failed, err := a.someFailed(ctx, b.Doc, which)
	if err != nil {
		return api.RetryResult{}, err
	}
	now := a.now().UTC()
	id := a.newID()
	_, err = a.store.Apply(ctx, store.Writes{
		store.Create(store.TaskKey(batch, id), store.Task{Work: message.WorkRetry, Selection: store.RetrySelection(which), By: engine.Mark{By: by.Name, At: now, Why: why}}),
		a.auditOp(store.AuditRecord{
			At: now, Actor: by.actor(), Action: "retry", Batch: batch, Target: selectionText(which), Why: why, Before: failed.text(), After: facts{"task": id}.text(),
		}),
	})
	if err != nil {
		return api.RetryResult{}, err
	}
	if err := a.bus.Send(ctx, message.TopicOrchestratorEvents, workMessage(batch, message.WorkRetry, id, page)); err != nil {
		return api.RetryResult{}, err
	}
	a.log.InfoContext(ctx, "retry asked for", logkey.BatchID, batch, logkey.Task, id, logkey.Selection, selectionText(which), logkey.By, by.Name)
	return api.RetryResult{BatchID: batch, Task: id, Selection: which}, nil
}

// someFailed refuses a request that nobody would be retried for, and one for people who
// are in another batch by now. Otherwise it tells how much of what is selected has failed.
func (a *App) someFailed(ctx context.Context, b engine.Batch, which api.RetrySelection) (facts, error) {
	batch := b.ID
	members, err := a.store.FailedMembers(ctx, batch)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, m := range members {
		if selects(which, m) {
			keys = append(keys, m.Key)
		}
	}
	if len(keys) > 0 {
		rb, err := a.runbook(ctx, b.Runbook, b.Version)
		if err != nil {
			return nil, err
		}
		taken, err := a.claimant(batch, rb, a.newID(), b.Shared).look(ctx, keys)
		return facts{"failedMembers": len(keys)}, cmp.Or(err, refuseTaken(taken, len(keys), "retried", nil, false))
	}
	runs, err := a.store.RunsOfPage(ctx, batch, 0, store.RunSelection{Statuses: []engine.RunStatus{engine.RunFailed}})
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r store.Item[engine.Run]) bool { return !selectsRun(which, &r.Doc) })
	switch {
	case len(runs) > 0:
		return facts{"failedSequences": len(runs)}, nil
	case which == (api.RetrySelection{}):
		return nil, fail(api.CodeConflict, "nobody in batch %d has failed: there is nothing to retry", batch)
	}
	return nil, fail(api.CodeConflict, "nobody who failed in batch %d fits %s: there is nothing to retry", batch, selectionText(which))
}

// selectionText says in words who is selected.
func selectionText(s api.RetrySelection) string {
	var parts []string
	if s.Member != 0 {
		parts = append(parts, fmt.Sprintf("member %d", s.Member))
	}
	for _, p := range []struct{ name, value string }{{"phase", s.Phase}, {"step", s.Step}, {"error", s.Error}} {
		if p.value != "" {
			parts = append(parts, fmt.Sprintf("%s %q", p.name, p.value))
		}
	}
	if len(parts) == 0 {
		return "all who failed"
	}
	return strings.Join(parts, ", ")
}

// selects reports whether a retry selects a failed member.
func selects(s api.RetrySelection, m store.FailedMember) bool {
	return (s.Member == 0 || s.Member == m.ID) &&
		(s.Phase == "" || strings.EqualFold(s.Phase, m.FailedIn)) &&
		(s.Step == "" || strings.EqualFold(s.Step, m.FailedStep)) &&
		(s.Error == "" || strings.Contains(strings.ToLower(m.Error), strings.ToLower(s.Error)))
}

func failedMember(m *engine.Member) store.FailedMember {
	return store.FailedMember{ID: m.ID, Page: m.Page, Key: m.Key, FailedIn: m.FailedIn, FailedStep: m.FailedStep, Error: m.Error}
}

// selectsRun reports whether a retry selects init or on_complete steps: never with a member.
func selectsRun(s api.RetrySelection, r *engine.Run) bool {
	failed := slices.ContainsFunc(r.Steps, func(step engine.Step) bool {
		return strings.EqualFold(s.Step, step.Name) && (step.Status == engine.StepFailed || step.Status == engine.StepPollTimeout)
	})
	return s.Member == 0 && (s.Phase == "" || strings.EqualFold(s.Phase, r.PhaseName)) && (s.Step == "" || failed) &&
		(s.Error == "" || strings.Contains(strings.ToLower(r.Error), strings.ToLower(s.Error)))
}

// retryPage retries the selected members of one page; on page 0 the runs without a
// member, where nothing narrows the request.
func (a *App) retryPage(ctx context.Context, b *engine.Batch, m message.BatchWork) (more bool, err error) {
	t, err := store.Read[store.Task](ctx, a.store, store.TaskKey(b.ID, m.Task))
	if errors.Is(err, store.ErrNotFound) {
		return false, reject("batch %d has no task %q", b.ID, m.Task)
	}
	if err != nil {
		return false, err
	}
	which := api.RetrySelection(t.Doc.Selection)
	cancelled := b.Gate() == engine.Stopped // no member is brought back; the starts that are owed are repeated
	more = which.Member == 0 && m.Page < b.PageCount() && !cancelled
	if m.Page == 0 {
		if err := a.retrySequences(ctx, b, m.Task, t.Doc); err != nil {
			return false, err
		}
		return more, a.relistReopened(ctx, b.ID)
	}
	started := map[int]bool{}
	members, err := a.store.MembersOfPage(ctx, b.ID, m.Page, engine.MemberFailed)
	if err != nil {
		return false, err
	}
	for _, member := range members {
		if cancelled || !selects(which, failedMember(&member.Doc)) || member.Doc.FailedAt != nil && member.Doc.FailedAt.After(t.Doc.By.At) {
			continue // the latter failed since, perhaps again
		}
		err := a.retryMember(ctx, b.ID, member, engine.MemberRetried{Member: member.Doc.ID, Task: m.Task})
		var refusal *engine.Refusal
		if errors.As(err, &refusal) {
			a.log.WarnContext(ctx, "member is not retried", logkey.BatchID, b.ID, logkey.MemberID, member.Doc.ID, logkey.Reason, refusal.Reason)
			continue
		}
		if err != nil {
			return false, err
		}
		started[member.Doc.ID] = true
	}
	// In case the start of others was cut short. They are looked for last: whoever is
	// not failed by now because of another delivery of this message is among them.
	again, err := a.store.RunsOfPage(ctx, b.ID, m.Page, store.RunSelection{Tasks: []string{m.Task}})
	if err != nil {
		return false, err
	}
	for _, run := range again {
		if started[run.Doc.Member] {
			continue
		}
		if err := a.decide(ctx, b.ID, engine.OnRun{Phase: run.Doc.Phase, Member: run.Doc.Member, RunEvent: engine.RunStarted{}}); err != nil {
			return false, err
		}
	}
	if len(members)+len(again) > 0 {
		return more, a.relistReopened(ctx, b.ID)
	}
	return more, nil
}

// relistReopened writes the summary of a batch that a retry may have opened again. The process
// that did may have died before it wrote the summary, and no tick visits a batch that is listed
// as ended.
func (a *App) relistReopened(ctx context.Context, batch int) error {
	b, err := a.known(ctx, batch)
	if err != nil {
		return err
	}
	return a.list(ctx, &b.Doc)
}

// retryMember brings one member back, in one write, and starts it.
func (a *App) retryMember(ctx context.Context, batch int, m store.Item[engine.Member], e engine.MemberRetried, audit ...store.Write) error {
	c := occurred(e)
	c.extra = func(s *snapshot, ds []engine.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		b := s.after()
		rb, err := a.runbook(ctx, b.Runbook, b.Version)
		if err != nil {
			return nil, err
		}
		// Another batch may have got the member since they failed here.
		taken, err := a.claimant(batch, rb, e.Task, b.Shared).claim(ctx, []string{m.Doc.Key})
		if err != nil {
			return nil, err
		}
		if len(taken) > 0 {
			return nil, &engine.Refusal{Reason: fmt.Sprintf("%s is in %s: remove them there first", taken[0].key, taken[0].reason)}
		}
		if ops, _ := s.ops(); len(ops)+len(audit) > store.MaxOperations {
			return nil, &engine.Refusal{Reason: fmt.Sprintf("member %d has missed too many phases to be brought back in one write", m.Doc.ID)}
		}
		return audit, nil
	}
	_, _, err := a.run(ctx, batch, c)
	return err
}

// retrySequences starts the init and on_complete steps that failed again.
func (a *App) retrySequences(ctx context.Context, b *engine.Batch, id string, asked store.Task) error {
	runs, err := a.store.RunsOfPage(ctx, b.ID, 0, store.RunSelection{Statuses: []engine.RunStatus{engine.RunFailed}, Tasks: []string{id}})
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Doc.EndedAt != nil && run.Doc.EndedAt.After(asked.By.At) || run.Doc.Task != id && !selectsRun(api.RetrySelection(asked.Selection), &run.Doc) {
			continue // it failed since, perhaps again, or is not asked for
		}
		err := a.retrySequence(ctx, run, engine.SequenceRetried{Phase: run.Doc.Phase, Task: id})
		var refusal *engine.Refusal
		if errors.As(err, &refusal) {
			a.log.InfoContext(ctx, "steps are not retried", logkey.BatchID, b.ID, logkey.RunID, run.ID, logkey.Reason, refusal.Reason)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// retrySequence starts a run without a member again.
func (a *App) retrySequence(ctx context.Context, run store.Item[engine.Run], e engine.SequenceRetried, audit ...store.Write) error {
	c := occurred(e)
	c.extra = func(_ *snapshot, ds []engine.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		return audit, nil
	}
	_, _, err := a.run(ctx, run.Doc.Batch, c)
	return err
}
