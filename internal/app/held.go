package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// revisionOf tells one set of held members from another.
func revisionOf(h store.RemovalHold) string {
	text, _ := json.Marshal(store.RemovalHold{Members: h.Members, Moves: h.Moves}) // numbers and times
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:8])
}

func heldSummary(batch int, h *engine.Held) *api.RemovalHoldSummary {
	if h == nil {
		return nil
	}
	return &api.RemovalHoldSummary{BatchID: batch, Members: h.Members, Of: h.Of, Reason: h.Reason, Since: h.Since, Confirmed: markView(h.Confirmed)}
}

// hold keeps with a batch whose removal is held, or that it no longer is, and those
// who were missed and are back.
func (s *synchronization) hold(ctx context.Context, c schedule.Change) error {
	id := c.Batch
	if b := s.batches[id].Doc; b.Held != nil && b.Held.Confirmed != nil {
		s.held = append(s.held, id)
		return nil
	}
	var missing []int
	moves := map[int]time.Time{}
	e := engine.RemovalsHeld{}
	if c.Held != nil {
		s.held = append(s.held, id)
		e.Members, e.Of, e.Reason = len(c.Held.Removals), c.Held.Active, c.Held.Reason
		for _, r := range c.Held.Removals {
			missing = append(missing, r.Member)
			if r.MovesTo != nil {
				moves[r.Member] = *r.MovesTo
			}
			s.stays[r.Key] = true
		}
		slices.Sort(missing)
	}
	was := s.holds[id]
	kept := slices.DeleteFunc(slices.Clone(was.Kept), func(member int) bool { return slices.Contains(c.Returned, member) })
	same := slices.Equal(missing, was.Members) && maps.EqualFunc(moves, was.Moves, time.Time.Equal) && told(s.batches[id].Doc.Held, e)
	if same && len(kept) == len(was.Kept) {
		return nil
	}
	var h store.Item[store.RemovalHold]
	_, ds, err := s.app.run(ctx, id, command{
		events: func(st *snapshot) (events []engine.Event, err error) {
			var b *engine.Batch
			if b, h, err = st.loadHold(); err != nil {
				return nil, err
			}
			if b.Held != nil && b.Held.Confirmed != nil || !slices.Equal(h.Doc.Members, was.Members) || !slices.Equal(h.Doc.Kept, was.Kept) {
				return nil, nil // an administrator has decided meanwhile: the next tick looks again
			}
			events = append(events, e)
			if len(kept) != len(was.Kept) {
				events = append(events, engine.MembersKept{Count: len(kept)})
			}
			return events, nil
		},
		extra: func(st *snapshot, ds []engine.Decision) (store.Writes, error) {
			if len(ds) == 0 {
				return nil, nil
			}
			return append(st.guard(), writeHold(id, h, store.RemovalHold{Members: missing, Moves: moves, Kept: kept})), nil
		},
	})
	var refusal *engine.Refusal
	if errors.As(err, &refusal) || err == nil && len(ds) == 0 { // confirmed or ended meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	if c.Held != nil {
		s.app.log.WarnContext(ctx, "removals are held", logkey.Event, EventRemovalsHeld, logkey.BatchID, id, logkey.Members, e.Members, logkey.Of, e.Of, logkey.Reason, e.Reason)
	}
	return nil
}

// holdChanged tells whether a batch or its hold was written since they were read.
func holdChanged(err error) bool {
	return errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists)
}

// told tells whether a hold says what is to be said.
func told(h *engine.Held, e engine.RemovalsHeld) bool {
	if h == nil {
		return e.Members == 0
	}
	return h.Members == e.Members && h.Of == e.Of && h.Reason == e.Reason
}

// HeldRemovals shows whose removal from a batch is held, and why. That somebody read it is
// recorded first. Errors: CodeNotFound, also where nothing is held; CodeInvalid for a
// continuation of another list; CodeUnavailable.
func (a *App) HeldRemovals(ctx context.Context, by Caller, batch int, o api.ListOptions) (api.RemovalHold, error) {
	b, h, err := a.holdOf(ctx, batch)
	if err != nil {
		return api.RemovalHold{}, err
	}
	summary := heldSummary(batch, b.Doc.Held)
	if summary == nil {
		return api.RemovalHold{}, fail(api.CodeNotFound, "no removals are held in batch %d", batch)
	}
	first, err := strconv.Atoi(cmp.Or(o.Continuation, "0"))
	if err != nil || first < 0 || first > len(h.Doc.Members) {
		return api.RemovalHold{}, fail(api.CodeInvalid, "%q is no continuation token of this list", o.Continuation)
	}
	view := api.RemovalHold{RemovalHoldSummary: *summary, Revision: revisionOf(h.Doc), Items: []api.HeldMember{}}
	some := h.Doc.Members[first:min(first+min(limit(o), 200), len(h.Doc.Members))]
	if err := a.noteRead(ctx, by, store.AuditRecord{Action: api.ActionReadRemovals, Batch: batch}); err != nil {
		return api.RemovalHold{}, err
	}
	members, err := a.store.MembersByID(ctx, batch, some)
	if err != nil {
		return api.RemovalHold{}, err
	}
	secrets, err := a.secretsOf(ctx, &b.Doc)
	if err != nil {
		return api.RemovalHold{}, err
	}
	for _, m := range members {
		one := api.HeldMember{Member: memberView(&b.Doc, m.Doc, secrets)}
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

// holdOf reads a batch and its hold, which has no ETag where there is none yet.
func (a *App) holdOf(ctx context.Context, batch int) (store.Item[engine.Batch], store.Item[store.RemovalHold], error) {
	b, err := a.batch(ctx, batch)
	if err != nil {
		return b, store.Item[store.RemovalHold]{}, err
	}
	h, err := orNone(store.Read[store.RemovalHold](ctx, a.store, store.HoldKey(batch)))
	return b, h, err
}

// loadHold gives the batch and what is held of it.
func (s *snapshot) loadHold() (*engine.Batch, store.Item[store.RemovalHold], error) {
	b, err := s.LoadBatch()
	if err != nil {
		return nil, store.Item[store.RemovalHold]{}, err
	}
	h, err := orNone(store.Read[store.RemovalHold](s.ctx, s.app.store, store.HoldKey(s.batch)))
	return b, h, err
}

// writeHold stores a batch's next hold in place of the one that was read.
func writeHold(batch int, read store.Item[store.RemovalHold], next store.RemovalHold) store.Write {
	if read.ETag == "" {
		return store.Create(store.HoldKey(batch), next)
	}
	return store.Replace(store.HoldKey(batch), next, read.Version)
}

// ConfirmRemovals lets the members go whose removal is held: they are removed by the
// work that this begins. The revision is that of the members who were looked at, and
// must be the one that is held. Errors: CodeNotFound, CodeConflict, CodeInvalid,
// CodeUnavailable.
func (a *App) ConfirmRemovals(ctx context.Context, by Caller, batch int, revision, why string) (api.Batch, error) {
	if revision == "" {
		return api.Batch{}, fail(api.CodeInvalid, "the revision is missing: it comes with the list of the members whose removal is held, and says that these are the ones who are to go")
	}
	return a.settleHold(ctx, by, batch, revision, why, "confirm-removals",
		func(m engine.Mark) engine.Event { return engine.RemovalsConfirmed{By: m} },
		func(h store.RemovalHold) store.RemovalHold {
			confirmedBy := by.actor()
			h.By = &confirmedBy
			return h
		})
}

// DiscardRemovals keeps the members whose removal is held: that the source does not
// have them is taken for its mistake, until it has had them again. Errors: as
// ConfirmRemovals.
func (a *App) DiscardRemovals(ctx context.Context, by Caller, batch int, revision, why string) (api.Batch, error) {
	return a.settleHold(ctx, by, batch, revision, why, "discard-removals",
		func(m engine.Mark) engine.Event { return engine.RemovalsDiscarded{By: m} },
		func(h store.RemovalHold) store.RemovalHold {
			kept := slices.Concat(h.Kept, h.Members)
			slices.Sort(kept)
			return store.RemovalHold{Kept: slices.Compact(kept)}
		})
}

// settleHold takes an administrator's decision on what is held, in one write with the
// members that it is about.
func (a *App) settleHold(ctx context.Context, by Caller, batch int, revision, why, action string, event func(engine.Mark) engine.Event, then func(store.RemovalHold) store.RemovalHold) (api.Batch, error) {
	if err := checkWhy(why); err != nil {
		return api.Batch{}, err
	}
	if _, err := a.batch(ctx, batch); err != nil {
		return api.Batch{}, err
	}
	var h store.Item[store.RemovalHold]
	s, ds, err := a.run(ctx, batch, command{
		events: func(s *snapshot) ([]engine.Event, error) {
			var b *engine.Batch
			var err error
			if b, h, err = s.loadHold(); err != nil {
				return nil, err
			}
			if b.Held != nil && revision != "" && revision != revisionOf(h.Doc) {
				return nil, fail(api.CodeConflict, "the members whose removal is held in batch %d have changed since: look at them again (revision %s)", batch, revisionOf(h.Doc))
			}
			return []engine.Event{event(engine.Mark{By: by.Name, At: s.now.UTC(), Why: why})}, nil
		},
		extra: func(s *snapshot, ds []engine.Decision) (store.Writes, error) {
			if ds[0].Empty() {
				return nil, nil
			}
			return store.Writes{writeHold(batch, h, then(h.Doc)), a.auditOp(store.AuditRecord{
				At: s.now.UTC(), Actor: by.actor(), Action: action, Batch: batch, Target: plural(len(h.Doc.Members), "member"), Why: why,
				Before: holdFacts(h.Doc, nil).text(), After: holdFacts(then(h.Doc), confirmation(s.after())).text(),
			})}, nil
		},
	})
	if err != nil {
		return api.Batch{}, err
	}
	next := s.after()
	if !ds[0].Empty() {
		a.log.InfoContext(ctx, "held removals decided", logkey.BatchID, batch, logkey.Action, action, logkey.Members, len(h.Doc.Members), logkey.By, by.Name)
	}
	if next.Held != nil && next.Held.Confirmed != nil {
		if err := a.bus.Send(ctx, message.TopicOrchestratorEvents, workMessage(batch, message.WorkLeave, leaveTask(next.Held), 0)); err != nil {
			return api.Batch{}, err
		}
	}
	return batchView(*next), nil
}

func confirmation(b *engine.Batch) *engine.Mark {
	if b.Held == nil {
		return nil
	}
	return b.Held.Confirmed
}

// leaveAtOnce is how many confirmed removals one message carries out.
const leaveAtOnce = 40

// leaveTask names the work that carries out one confirmation. A message of an earlier one
// has another name.
func leaveTask(h *engine.Held) string { return fmt.Sprintf("at-%d", h.Confirmed.At.UnixNano()) }

// leavePage removes some of the members whose removal was confirmed, and asks for the
// next of them.
func (a *App) leavePage(ctx context.Context, b *engine.Batch, m message.BatchWork) (more bool, err error) {
	if b.Held == nil || b.Held.Confirmed == nil || b.Status.Terminal() {
		return false, nil // all are out, and this came again
	}
	h, err := orNone(store.Read[store.RemovalHold](ctx, a.store, store.HoldKey(b.ID)))
	if err != nil {
		return false, err
	}
	// Another hold may have followed this one before its members were read.
	fresh, err := a.known(ctx, b.ID)
	if err != nil {
		return false, err
	}
	if now := fresh.Doc.Held; now == nil || now.Confirmed == nil || *now.Confirmed != *b.Held.Confirmed || !strings.HasPrefix(m.Task+"-", leaveTask(now)+"-") {
		return false, nil
	}
	first := min(m.Page*leaveAtOnce, len(h.Doc.Members))
	some := h.Doc.Members[first:min(first+leaveAtOnce, len(h.Doc.Members))]
	by := Caller{Name: b.Held.Confirmed.By}
	if h.Doc.By != nil {
		by.Kind, by.TenantID, by.ObjectID = api.ActorKind(h.Doc.By.Kind), h.Doc.By.TenantID, h.Doc.By.ObjectID
	}
	if _, err := a.takeOut(ctx, b.ID, some, by, b.Held.Confirmed.Why); err != nil {
		return false, err
	}
	if first+len(some) < len(h.Doc.Members) {
		return true, nil
	}
	return false, a.removalsDone(ctx, b.ID)
}

// removalsDone ends a hold whose members are out.
func (a *App) removalsDone(ctx context.Context, id int) error {
	var h store.Item[store.RemovalHold]
	_, _, err := a.run(ctx, id, command{
		events: func(s *snapshot) (_ []engine.Event, err error) {
			_, h, err = s.loadHold()
			return []engine.Event{engine.RemovalsDone{}}, err
		},
		extra: func(_ *snapshot, ds []engine.Decision) (store.Writes, error) {
			if ds[0].Empty() {
				return nil, nil
			}
			return store.Writes{writeHold(id, h, store.RemovalHold{Kept: h.Doc.Kept})}, nil
		},
	})
	return err
}
