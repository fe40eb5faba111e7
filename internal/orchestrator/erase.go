package orchestrator

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// announceErasure starts the erasure of the secrets of a batch that has ended, if it is due.
func (or *Orchestrator) announceErasure(ctx context.Context, b *model.Batch, now time.Time) error {
	if !erasureDue(b, now) {
		return nil
	}
	return or.bus.Send(ctx, message.TopicOrchestratorEvents, applier.BatchWorkMessage(b.ID, message.WorkErase, applier.SweepTask(now), 0))
}

// erasePage erases the secrets of one page of members, on page 0 those of the runs without a
// member. A member who is retried meanwhile keeps its secrets.
func (or *Orchestrator) erasePage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	if !erasureDue(b, or.now()) {
		return false, nil
	}
	writes, err := or.erasures(ctx, b.ID, m.Page)
	if err != nil {
		return false, err
	}
	for _, write := range writes { // one by one, because the members of a page can be too large for one write
		if _, err := or.store.Apply(ctx, store.Writes{write}); err != nil {
			return false, err
		}
	}
	if m.Page < b.PageCount() {
		return true, nil
	}
	or.log.InfoContext(ctx, "secrets erased", logkey.BatchID, b.ID)
	return false, or.applier.Decide(ctx, b.ID, model.SecretsErased{})
}

// erasures returns the writes that erase the secrets of one page.
func (or *Orchestrator) erasures(ctx context.Context, batch, page int) (writes store.Writes, err error) {
	if page == 0 {
		runs, err := or.store.RunsOfPage(ctx, batch, 0, store.RunSelection{})
		for _, run := range runs {
			if run.Doc.EraseSecrets() {
				writes = append(writes, store.Replace(store.RunKey(batch, run.Doc.Phase, 0), run.Doc, run.Version))
			}
		}
		return writes, err
	}
	members, err := or.store.MembersOfPage(ctx, batch, page, "")
	for _, member := range members {
		if member.Doc.EraseSecrets() {
			writes = append(writes, store.Replace(store.MemberKey(batch, member.Doc.ID), member.Doc, member.Version))
		}
	}
	return writes, err
}

// erasureDue reports whether it is time to erase the secrets of a batch.
func erasureDue(b *model.Batch, now time.Time) bool {
	at := b.EraseSecretsAt()
	return at != nil && !now.Before(*at)
}
