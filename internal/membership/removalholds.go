package membership

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// RemovalHolds gives the removal holds of batches that had one at the last tick. It leaves out
// those that an administrator has discarded since.
func (r *Registrar) RemovalHolds(ctx context.Context, batches []int) ([]api.RemovalHoldSummary, error) {
	var holds []api.RemovalHoldSummary
	for _, id := range batches {
		b, err := r.applier.ReadBatch(ctx, id)
		if err != nil {
			return nil, err
		}
		if h := apiview.RemovalHold(id, b.Doc.RemovalHold); h != nil {
			holds = append(holds, *h)
		}
	}
	return holds, nil
}

// HeldRemovals gives the removal hold of a batch with a page of its members. It records first
// that the caller read them. Errors: CodeNotFound, also where the batch has no removal hold;
// CodeInvalid for a continuation token of another list; CodeUnavailable.
func (r *Registrar) HeldRemovals(ctx context.Context, by audit.Caller, batch int, o api.ListOptions) (api.RemovalHold, error) {
	b, h, err := r.readRemovalHold(ctx, batch)
	if err != nil {
		return api.RemovalHold{}, err
	}
	summary := apiview.RemovalHold(batch, b.Doc.RemovalHold)
	if summary == nil {
		return api.RemovalHold{}, problem.New(api.CodeNotFound, "no removals are held in batch %d", batch)
	}
	first, err := strconv.Atoi(cmp.Or(o.Continuation, "0"))
	if err != nil || first < 0 || first > len(h.Doc.Members) {
		return api.RemovalHold{}, problem.New(api.CodeInvalid, "the continuation token %q does not belong to this list", o.Continuation)
	}
	view := api.RemovalHold{RemovalHoldSummary: *summary, Revision: apiview.RemovalRevision(h.Doc), Items: []api.HeldMember{}}
	some := h.Doc.Members[first:min(first+min(o.PageSize(), 200), len(h.Doc.Members))]
	if err := r.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadRemovals, Batch: batch}); err != nil {
		return api.RemovalHold{}, err
	}
	members, err := r.store.MembersByID(ctx, batch, some)
	if err != nil {
		return api.RemovalHold{}, err
	}
	secrets, err := r.runbooks.SecretsOf(ctx, &b.Doc)
	if err != nil {
		return api.RemovalHold{}, err
	}
	for _, m := range members {
		one := api.HeldMember{Member: apiview.Member(&b.Doc, m.Doc, secrets)}
		if start, moves := h.Doc.Moves[m.Doc.ID]; moves {
			one.MovesTo = &start
		}
		view.Items = append(view.Items, one)
	}
	if next := first + len(some); next < len(h.Doc.Members) {
		view.Continuation = strconv.Itoa(next)
	}
	return view, nil
}

// readRemovalHold reads a batch and its removal hold, which has no ETag where there is none.
func (r *Registrar) readRemovalHold(ctx context.Context, batch int) (store.Item[model.Batch], store.Item[store.RemovalHoldMembers], error) {
	b, err := r.applier.ReadBatch(ctx, batch)
	if err != nil {
		return b, store.Item[store.RemovalHoldMembers]{}, err
	}
	h, err := store.ReadRemovalHold(ctx, r.store, &b.Doc)
	return b, h, err
}

// LoadRemovalHold loads the batch of a snapshot, and reads its removal hold, which has no ETag
// where there is none.
func (r *Registrar) LoadRemovalHold(ctx context.Context, s *applier.Snapshot) (*model.Batch, store.Item[store.RemovalHoldMembers], error) {
	b, err := s.LoadBatch()
	if err != nil {
		return nil, store.Item[store.RemovalHoldMembers]{}, err
	}
	h, err := store.ReadRemovalHold(ctx, r.store, b)
	return b, h, err
}

// WriteRemovalHold stores a batch's removal hold in place of the one that was read.
func WriteRemovalHold(batch int, read store.Item[store.RemovalHoldMembers], next store.RemovalHoldMembers) store.Write {
	if read.ETag == "" {
		return store.Create(store.HoldKey(batch), next)
	}
	return store.Replace(store.HoldKey(batch), next, read.Version)
}

// ConfirmRemovals confirms the removal hold of a batch: a work message, which it sends, removes
// the members. The revision is that of the list which the caller read, and must be the hold's.
// Errors: CodeNotFound, CodeConflict, CodeInvalid, CodeUnavailable.
func (r *Registrar) ConfirmRemovals(ctx context.Context, by audit.Caller, batch int, revision, why string) (api.Batch, error) {
	if revision == "" {
		return api.Batch{}, problem.New(api.CodeInvalid, "the revision is missing: use the revision of the list of held removals that you reviewed")
	}
	return r.decideRemovalHold(ctx, by, batch, holdDecision{
		action: "confirm_removals", revision: revision, why: why,
		event: func(m model.Attribution) model.Event { return model.RemovalsConfirmed{By: m} },
		next: func(h store.RemovalHoldMembers) store.RemovalHoldMembers {
			confirmedBy := by.Actor()
			h.By = &confirmedBy
			return h
		},
	})
}

// MoveMembers confirms the removal hold of a batch of which the data source moves most members to one
// other start: the members who move do so with their finished phases and outputs. A member ends the
// phase that it is in first, and no removal steps run. The next ticks add them to the batch of their
// start. The others of the hold stay, and the next tick judges them anew. Errors: as ConfirmRemovals.
func (r *Registrar) MoveMembers(ctx context.Context, by audit.Caller, batch int, revision, why string) (api.Batch, error) {
	if revision == "" {
		return api.Batch{}, problem.New(api.CodeInvalid, "the revision is missing: use the revision of the list of held removals that you reviewed")
	}
	return r.decideRemovalHold(ctx, by, batch, holdDecision{
		action: "move_members", revision: revision, why: why,
		event: func(m model.Attribution) model.Event { return model.RemovalsConfirmed{By: m, Move: true} },
		next: func(h store.RemovalHoldMembers) store.RemovalHoldMembers {
			confirmedBy := by.Actor()
			h.By = &confirmedBy
			return h
		},
	})
}

// EndMoves ends a hold whose members other batches have. Lost has the keys of those whom no batch has,
// because the data source dropped them, or the batch of their start ended, before: an audit record names them.
func (r *Registrar) EndMoves(ctx context.Context, batch int, lost []string) error {
	return r.endRemovalHold(ctx, batch, model.MovesDone{}, lost)
}

// DiscardRemovals keeps the members of a removal hold in the batch. The data source is taken to
// miss them by mistake until it has had them again. Errors: as ConfirmRemovals.
func (r *Registrar) DiscardRemovals(ctx context.Context, by audit.Caller, batch int, revision, why string) (api.Batch, error) {
	return r.decideRemovalHold(ctx, by, batch, holdDecision{
		action: "discard_removals", revision: revision, why: why,
		event: func(m model.Attribution) model.Event { return model.RemovalsDiscarded{By: m} },
		next: func(h store.RemovalHoldMembers) store.RemovalHoldMembers {
			kept := slices.Concat(h.Discarded, h.Members)
			slices.Sort(kept)
			return store.RemovalHoldMembers{Discarded: slices.Compact(kept)}
		},
	})
}

// repeats reports whether the batch's last decision is this one: it has the same idempotency key, or
// the same revision and the hold has ended.
func (d holdDecision) repeats(b *model.Batch, last *store.HoldDecision) bool {
	if last == nil || last.Action != d.action {
		return false
	}
	return d.key != "" && d.key == last.Key || b.RemovalHold == nil && d.revision == last.Revision
}

// holdDecision is an administrator's decision on a removal hold.
type holdDecision struct {
	action, why string
	revision    string // of the hold that is decided on; empty for any
	key         string // a digest of the request's idempotency key; empty for none
	event       func(model.Attribution) model.Event
	next        func(store.RemovalHoldMembers) store.RemovalHoldMembers // gives the hold after the decision
}

// decideRemovalHold applies a decision to the batch and its removal hold, in one write.
func (r *Registrar) decideRemovalHold(ctx context.Context, by audit.Caller, batch int, d holdDecision) (api.Batch, error) {
	if err := audit.CheckReason(d.why); err != nil {
		return api.Batch{}, err
	}
	if _, err := r.applier.ReadBatch(ctx, batch); err != nil {
		return api.Batch{}, err
	}
	if by.Key != "" {
		d.key = idempotency.Digest(by.Identity(), by.Key)
	}
	var h store.Item[store.RemovalHoldMembers]
	s, ds, err := r.applier.Run(ctx, batch, applier.Command{
		Events: func(s *applier.Snapshot) ([]model.Event, error) {
			var b *model.Batch
			var err error
			if b, h, err = r.LoadRemovalHold(ctx, s); err != nil || d.repeats(b, h.Doc.Decided) {
				return nil, err
			}
			if b.RemovalHold != nil && d.revision != "" && d.revision != apiview.RemovalRevision(h.Doc) {
				return nil, problem.New(api.CodeConflict, "the held removals of batch %d have changed: review them again (revision %s)", batch, apiview.RemovalRevision(h.Doc))
			}
			return []model.Event{d.event(model.Attribution{By: by.Name, At: s.Now.UTC(), Why: d.why})}, nil
		},
		Extra: func(s *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
			if len(ds) == 0 || ds[0].Empty() {
				return nil, nil
			}
			next := d.next(h.Doc)
			next.Decided = &store.HoldDecision{Action: d.action, Revision: apiview.RemovalRevision(h.Doc), Key: d.key}
			return store.Writes{WriteRemovalHold(batch, h, next), r.audit.Record(store.AuditRecord{
				At: s.Now.UTC(), Actor: by.Actor(), Action: d.action, Batch: batch, Target: humanize.Count(len(h.Doc.Members), "member"), Why: d.why,
				Before: audit.RemovalHoldState(h.Doc, nil).JSON(), After: audit.RemovalHoldState(next, confirmation(s.After())).JSON(),
			})}, nil
		},
	})
	if err != nil {
		return api.Batch{}, err
	}
	next := s.After()
	if len(ds) > 0 && !ds[0].Empty() {
		r.log.InfoContext(ctx, "held removals decided", logkey.BatchID, batch, logkey.Action, d.action, logkey.Members, len(h.Doc.Members), logkey.By, by.Name)
	}
	if next.RemovalHold != nil && next.RemovalHold.Confirmed != nil && !next.RemovalHold.Out {
		work := applier.BatchWorkMessage(batch, message.WorkLeave, RemovalTask(next.RemovalHold), 0)
		if err := r.bus.Send(ctx, message.TopicOrchestratorEvents, work); err != nil {
			return api.Batch{}, err
		}
	}
	return apiview.Batch(*next, r.now()), nil
}

// confirmation gives who confirmed the batch's removal hold; nil where no one has.
func confirmation(b *model.Batch) *model.Attribution {
	if b.RemovalHold == nil {
		return nil
	}
	return b.RemovalHold.Confirmed
}

// RemovalTask names the task that carries out the confirmation of a removal hold. Each
// confirmation has a task of its own.
func RemovalTask(h *model.RemovalHold) string { return fmt.Sprintf("at-%d", h.Confirmed.At.UnixNano()) }

// EndRemovalHold ends a confirmed removal hold whose members are out of the batch. A hold whose members
// move ends with EndMoves.
func (r *Registrar) EndRemovalHold(ctx context.Context, batch int) error {
	return r.endRemovalHold(ctx, batch, model.RemovalsDone{}, nil)
}

func (r *Registrar) endRemovalHold(ctx context.Context, batch int, e model.Event, lost []string) error {
	var h store.Item[store.RemovalHoldMembers]
	_, _, err := r.applier.Run(ctx, batch, applier.Command{
		Events: func(s *applier.Snapshot) (_ []model.Event, err error) {
			_, h, err = r.LoadRemovalHold(ctx, s)
			return []model.Event{e}, err
		},
		Extra: func(s *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
			if ds[0].Empty() || s.After().RemovalHold != nil {
				return nil, nil
			}
			writes := store.Writes{WriteRemovalHold(batch, h, store.RemovalHoldMembers{Discarded: h.Doc.Discarded, Decided: h.Doc.Decided})}
			if len(lost) > 0 {
				writes = append(writes, r.audit.Record(store.AuditRecord{
					At: s.Now.UTC(), Actor: audit.Scheduler.Actor(), Action: "move_members", Batch: batch, Target: humanize.Count(len(lost), "member"),
					Why: model.ClipReason("no batch has them: the data source dropped them, or the batch of their start ended, before another batch could take them, and no removal steps ran: " + strings.Join(lost, ", ")),
				}))
			}
			return writes, nil
		},
	})
	return err
}
