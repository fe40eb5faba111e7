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

// announceErasure asks for the secrets of a batch that has ended to be erased, where it is
// time.
func (or *Orchestrator) announceErasure(ctx context.Context, b *model.Batch, now time.Time) error {
	if at := b.EraseSecretsAt(); at == nil || now.Before(*at) {
		return nil
	}
	task := applier.SweepTask(now)
	return or.bus.Send(ctx, message.TopicOrchestratorEvents, applier.BatchWorkMessage(b.ID, message.WorkErase, task, 0))
}

// erasePage erases the secrets of one page of members, on page 0 those of the runs without
// a member. Somebody who is retried at the same moment keeps theirs.
func (or *Orchestrator) erasePage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	if at := b.EraseSecretsAt(); at == nil || or.now().Before(*at) {
		return false, nil
	}
	var ops store.Writes
	if m.Page == 0 {
		runs, err := or.store.RunsOfPage(ctx, b.ID, 0, store.RunSelection{})
		if err != nil {
			return false, err
		}
		for _, run := range runs {
			if run.Doc.EraseSecrets() {
				ops = append(ops, store.Replace(store.RunKey(b.ID, run.Doc.Phase, 0), run.Doc, run.Version))
			}
		}
	} else {
		members, err := or.store.MembersOfPage(ctx, b.ID, m.Page, "")
		if err != nil {
			return false, err
		}
		for _, member := range members {
			if member.Doc.EraseSecrets() {
				ops = append(ops, store.Replace(store.MemberKey(b.ID, member.Doc.ID), member.Doc, member.Version))
			}
		}
	}
	// One by one: the members of a page can be too large for one write.
	for _, op := range ops {
		if _, err := or.store.Apply(ctx, store.Writes{op}); err != nil {
			return false, err
		}
	}
	if m.Page < b.PageCount() {
		return true, nil
	}
	or.log.InfoContext(ctx, "secrets erased", logkey.BatchID, b.ID)
	return false, or.applier.Decide(ctx, b.ID, model.SecretsErased{})
}
