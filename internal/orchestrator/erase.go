package orchestrator

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
)

// announceErasure starts the erasure of the secrets of a batch that has ended, if it is due.
func (o *Orchestrator) announceErasure(ctx context.Context, b *model.Batch, now time.Time) error {
	if at := b.EraseSecretsAt(); at == nil || now.Before(*at) {
		return nil
	}
	return o.bus.Send(ctx, message.TopicOrchestratorEvents, applier.BatchWorkMessage(b.ID, message.WorkErase, model.TickTask(now), 0))
}

// erasePage erases the secrets of one page of members, on page 0 those of the runs without a
// member.
func (o *Orchestrator) erasePage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	_, ds, err := o.applier.Run(ctx, b.ID, applier.On(model.SecretsDue{Page: m.Page}))
	if err != nil || ds[0].Stale {
		return false, err
	}
	if m.Page < b.PageCount() {
		return true, nil
	}
	o.log.InfoContext(ctx, "secrets erased", logkey.BatchID, b.ID)
	return false, nil
}
