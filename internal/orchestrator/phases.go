package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// onBatchInit starts a batch's init steps.
func (o *Orchestrator) onBatchInit(ctx context.Context, m message.BatchInit) error {
	b, err := o.applier.LoadBatchForMessage(ctx, m.BatchID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(b.Doc.Phases, func(p model.Phase) bool { return p.Kind == model.KindInit && p.Version == m.RunbookVersion })
	if i < 0 {
		return message.Reject("batch %d has no init sequence of runbook version %d", m.BatchID, m.RunbookVersion)
	}
	return o.dispatchSequence(ctx, b, &b.Doc.Phases[i])
}

// dispatchSequence starts the init steps of a batch, or the call that lists its items.
func (o *Orchestrator) dispatchSequence(ctx context.Context, b store.Item[model.Batch], p *model.Phase) error {
	if b.Doc.DispatchMode() != model.Running && p.SequenceUnsent() {
		return o.sendUnsentSequences(ctx, &b.Doc)
	}
	_, err := o.dispatchPhase(ctx, b, model.PhaseDue{Phase: p.ID})
	return err
}

// onPhaseDue dispatches one page of a phase, or the call that lists the items. The decision on it announces the next page.
func (o *Orchestrator) onPhaseDue(ctx context.Context, m message.PhaseDue) error {
	b, err := o.applier.LoadBatchForMessage(ctx, m.BatchID)
	if err != nil {
		return err
	}
	p, ok := b.Doc.Phase(m.PhaseExecutionID)
	if ok && p.Kind == model.KindItems {
		return o.dispatchSequence(ctx, b, p)
	}
	if !ok || p.Kind != model.KindPhase {
		return message.Reject("batch %d has no phase execution %d", m.BatchID, m.PhaseExecutionID)
	}
	page, err := o.pageToDispatch(ctx, m, p)
	if err != nil {
		return err
	}
	if stopped, err := o.finishPageUnlessRunning(ctx, &b.Doc, page); stopped || err != nil {
		return err
	}
	if err := o.checkEarlierPhases(ctx, &b.Doc, p, page); err != nil {
		return err
	}
	if postponed, err := o.postponeForWorkers(ctx, &b.Doc, p, m, page); postponed || err != nil {
		return err
	}
	guarded, err := o.dispatchPhase(ctx, b, model.PhaseDue{Phase: m.PhaseExecutionID, Page: page, FanOut: m.FanOut})
	if err != nil || guarded {
		return err
	}
	return o.cancelPageIfRequested(ctx, m.BatchID, page)
}

// pageToDispatch returns the page of a phase-due message. For a phase that the sweep announced
// again it is the last page that was made: the pages before it are dispatched. A phase that has not begun has none.
func (o *Orchestrator) pageToDispatch(ctx context.Context, m message.PhaseDue, p *model.Phase) (int, error) {
	page := max(m.Page, 1)
	if page > 1 || m.FanOut == "" || p.Status == model.PhasePending {
		return page, nil
	}
	made, err := o.store.LastShard(ctx, m.BatchID, m.PhaseExecutionID)
	if err != nil || made == nil {
		return page, err
	}
	return made.Doc.Page, nil
}

// dispatchPhase dispatches a phase or the init steps if they are due. Otherwise, or if they
// were dispatched before, it repeats the decision on the end of the phase, so that the phases
// after it are announced, and writes the summary that their start may lack. It reports whether the
// page was made in one write with the batch: a cancellation that comes later finds the page.
func (o *Orchestrator) dispatchPhase(ctx context.Context, b store.Item[model.Batch], e model.PhaseDue) (guarded bool, err error) {
	c := applier.On(e)
	c.Prime = func(s *applier.Snapshot) { applier.Prime(s, s.BatchKey(), b) }
	_, decisions, err := o.applier.Run(ctx, b.Doc.ID, c)
	if err != nil || !decisions[0].Stale {
		guarded = slices.ContainsFunc(decisions, func(d model.Decision) bool { return len(d.Shards) > 0 })
		return guarded, rejectRefusal(err)
	}
	o.log.InfoContext(ctx, "phase is not due or already dispatched", logkey.BatchID, b.Doc.ID, logkey.Phase, e.Phase)
	if err := o.applier.Decide(ctx, b.Doc.ID, model.PhaseCounted{Phase: e.Phase}); err != nil {
		return false, err
	}
	return false, o.applier.EnsureSummary(ctx, &b.Doc)
}

// The fan-out of a phase is limited by a window: the page after the last one that was begun
// waits until the page engine.FanOutWindow before it has yielded. So a batch of any size has a
// few pages of jobs at its workers, and a batch that starts after it does not wait for all of
// them. The page's shard counts the yields, and the page that yields announces the next.
// Members who poll have jobs after they have yielded. For a phase that polls, the jobs of the
// batch are counted for each page, and the page waits while there are too many.

// storedShards reads the shards of a batch from the store.
type storedShards struct {
	ctx   context.Context
	store store.Store
	batch int
}

// LoadShard returns nil if the page was not fanned out in the phase.
func (s storedShards) LoadShard(phase, page int) (*model.Shard, error) {
	shard, err := store.Read[model.Shard](s.ctx, s.store, store.ShardKey(s.batch, phase, page))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &shard.Doc, nil
}

// fanOutJobs is the number of jobs of a batch at one worker that stops the fan-out of a phase
// that polls. It is one page more than the jobs of the pages that have not yielded, so that
// only members who have yielded reach it.
const fanOutJobs = (engine.FanOutWindow + 1) * model.PageSize

// workersKeepUp reports whether the workers keep up with the polls of a phase, so that a page
// of it may be begun: no worker that the phase polls has fanOutJobs jobs of the batch. Without
// this limit the members of a large batch poll faster than their worker answers.
func (o *Orchestrator) workersKeepUp(ctx context.Context, b *model.Batch, p model.Phase, page int) (bool, error) {
	if page <= engine.FanOutWindow {
		return true, nil
	}
	rb, err := o.runbooks.Load(ctx, b.Runbook, p.Version)
	if err != nil {
		return false, err
	}
	phase, _ := rb.Phase(p.Name)
	var counted []string
	for _, step := range phase.Steps {
		if step.Poll == nil || slices.Contains(counted, step.WorkerID) {
			continue
		}
		counted = append(counted, step.WorkerID)
		jobs, err := o.store.CountJobs(ctx, b.ID, store.JobFilter{VisibleAt: o.now(), Worker: step.WorkerID})
		if err != nil || jobs >= fanOutJobs {
			return false, err
		}
	}
	return true, nil
}

// postponeForWorkers announces a page of a phase for later if the workers do not keep up. It
// does not postpone a page that is made: this message sends the jobs of it. Several
// announcements of one page become one, because their ids are equal.
func (o *Orchestrator) postponeForWorkers(ctx context.Context, b *model.Batch, p *model.Phase, m message.PhaseDue, page int) (postponed bool, err error) {
	if keepUp, err := o.workersKeepUp(ctx, b, *p, page); err != nil || keepUp {
		return false, err
	}
	_, err = store.Read[model.Shard](ctx, o.store, store.ShardKey(m.BatchID, m.PhaseExecutionID, page))
	if !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	m.Page, m.DueAt = page, o.nextCheck(m.DueAt, 2*windowDelay)
	id := fmt.Sprintf("phase-due-batch-%d-%d-page-%d-at-%d", m.BatchID, m.PhaseExecutionID, page, m.DueAt.Unix())
	return true, o.bus.Send(ctx, message.TopicOrchestratorEvents, applier.EventMessage(id, message.TypePhaseDue, m, m.DueAt))
}
