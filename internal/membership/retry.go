package membership

import (
	"context"
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// RetryMember retries one failed member, in one write, with the audit records of the caller, if
// the member is not in another batch by now. It fails with an model.Refusal where the member
// cannot be retried.
func (r *Registrar) RetryMember(ctx context.Context, batch int, m store.Item[model.Member], e model.MemberRetried, audit ...store.Write) error {
	c := applier.On(e)
	c.Extra = func(s *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		b := s.After()
		if !b.ClaimsMembers() {
			return audit, nil
		}
		rb, err := r.runbooks.Load(ctx, b.Runbook, b.Version)
		if err != nil {
			return nil, err
		}
		// Another batch may have claimed the member since.
		taken, err := r.newClaimant(batch, rb, e.Task, b.Shared).claim(ctx, []string{m.Doc.Key})
		if err != nil {
			return nil, err
		}
		if len(taken) > 0 {
			return nil, &model.Refusal{Reason: fmt.Sprintf("%s is in %s: remove them there first", taken[0].Key, taken[0].Reason)}
		}
		return audit, nil
	}
	_, _, err := r.applier.Run(ctx, batch, c)
	if errors.Is(err, store.ErrTooLarge) {
		return &model.Refusal{Reason: fmt.Sprintf("member %d has missed too many phases to be retried in one write", m.Doc.ID)}
	}
	return err
}

// RetrySequence retries a failed run of init or on_complete steps, in one write with the audit
// records of the caller.
func (r *Registrar) RetrySequence(ctx context.Context, run store.Item[model.Run], e model.SequenceRetried, audit ...store.Write) error {
	c := applier.On(e)
	c.Extra = func(_ *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		return audit, nil
	}
	_, _, err := r.applier.Run(ctx, run.Doc.Batch, c)
	return err
}

// StartIfNext starts a waiting run if it is of the member's open phase, or has no member.
func (r *Registrar) StartIfNext(ctx context.Context, run *model.Run) error {
	if run.Member != 0 {
		m, err := r.applier.ReadMember(ctx, run.Batch, run.Member)
		if err != nil || m.Doc.OpenPhase != run.Phase {
			return err
		}
	}
	return r.applier.Decide(ctx, run.Batch, model.OnRun{Phase: run.Phase, Member: run.Member, RunEvent: model.RunStarted{}})
}
