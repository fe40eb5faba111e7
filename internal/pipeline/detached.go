package pipeline

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// detached gives the detached steps of a batch that have begun, in the order of their phases. They go on behind the batch, and
// change neither its status nor its counts.
func (p *Pipelines) detached(ctx context.Context, b *model.Batch) (all []api.PipelineStep, err error) {
	for _, ph := range b.Phases {
		of, ok := b.Phase(ph.Of)
		if ph.Kind != model.KindDetached || !ok {
			continue
		}
		rb, err := p.runbooks.Load(ctx, b.Runbook, ph.Version)
		if err != nil {
			return nil, err
		}
		run, err := store.OrNone(store.Read[model.Run](ctx, p.store, store.RunKey(b.ID, ph.ID, 0)))
		if err != nil {
			return nil, err
		}
		phase, _ := rb.Phase(of.Name)
		for i, definition := range phase.Detached() {
			step := api.PipelineStep{Phase: of.Name, Name: definition.Name, Status: api.PipelineQueued}
			if i < len(run.Doc.Steps) { // steps of a rollback are behind these
				s := run.Doc.Steps[i]
				step.Status, step.Error, step.CompletedAt = stepStatus(s.Status), s.Error, s.CompletedAt
			}
			all = append(all, step)
		}
	}
	return all, nil
}

// stepStatus is the status of a step in the words of a batch. A step that an administrator or its condition let pass has completed.
func stepStatus(s model.StepStatus) api.PipelineStatus {
	switch {
	case s.Done():
		return api.PipelineCompleted
	case s == model.StepPending, s == "":
		return api.PipelineQueued
	case s.Terminal():
		return api.PipelineFailed
	}
	return api.PipelineProcessing
}
