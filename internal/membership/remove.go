package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// RemoveMember removes a member from a batch: it cancels the member's pending and running steps,
// and runs the on_member_removed steps of the runbook. A rollback that has begun ends first.
// Errors: CodeNotFound, CodeConflict, CodeInvalid, CodeUnavailable.
func (r *Registrar) RemoveMember(ctx context.Context, by audit.Caller, batch, member int, why string) (api.Member, error) {
	if err := audit.CheckReason(why); err != nil {
		return api.Member{}, err
	}
	b, err := r.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.Member{}, err
	}
	m, err := r.applier.ReadMember(ctx, batch, member)
	if err != nil {
		return api.Member{}, err
	}
	c := applier.On(model.MemberLeft{Member: member, By: by.Name})
	c.Prime = func(s *applier.Snapshot) {
		applier.Prime(s, s.BatchKey(), b)
		applier.Prime(s, store.MemberKey(batch, member), m)
	}
	c.Extra = func(s *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		was, next := s.Member(member)
		return store.Writes{r.audit.Record(store.AuditRecord{
			At: s.Now.UTC(), Actor: by.Actor(), Action: "remove_member", Batch: batch, Target: fmt.Sprintf("member %d (%s)", member, next.Key), Why: why,
			Before: audit.MemberStates(map[int]model.MemberStatus{member: was.Status}).JSON(), After: audit.MemberStates(map[int]model.MemberStatus{member: next.Status}).JSON(),
		})}, nil
	}
	s, ds, err := r.applier.Run(ctx, batch, c)
	if err != nil {
		return api.Member{}, err
	}
	if !ds[0].Empty() {
		r.log.InfoContext(ctx, "member removed", logkey.BatchID, batch, logkey.MemberID, member, logkey.By, by.Name)
	}
	rb, err := r.runbooks.Load(ctx, b.Doc.Runbook, b.Doc.Version)
	if err != nil {
		return api.Member{}, err
	}
	_, next := s.Member(member)
	return apiview.Member(s.After(), *next, rb.Secret), nil
}

// Leave says how members leave a batch.
type Leave struct {
	By  audit.Caller
	Why string
	// Start is the start of the batch that the removal was decided for; where the batch has another by
	// now, no one is removed. nil for any.
	Start *time.Time
	// Moves has the start of another batch for the members who move there with their finished phases and
	// outputs. The others are removed.
	Moves map[int]time.Time
	// Move is the batch to which an administrator moves the members in that way; zero for none.
	Move model.Move
	// Chosen says that an administrator chose the members: those too whom one has kept are removed, and
	// the data source does not add them again.
	Chosen bool
	// OnRefused receives each member whom the engine refuses to remove, and the reason; nil logs it only.
	OnRefused func(m *model.Member, reason string)
}

// RemoveMembers removes members from a batch, several in each write, and returns those whose
// removal is complete: no run and no removal step is left. A member who has failed
// meanwhile stays, and so does one whom an administrator has just kept.
func (r *Registrar) RemoveMembers(ctx context.Context, batch int, members []int, leave Leave) (out []int, err error) {
	limit := 40
	for len(members) > 0 {
		var gone []int
		n := 0
		err := store.RetryOnConflict(ctx, func() (err error) {
			n = min(limit, len(members))
			gone, err = r.removeChunk(ctx, batch, members[:n], leave)
			if errors.Is(err, store.ErrTooLarge) && limit > 1 {
				err = fmt.Errorf("%w: %w", store.ErrChanged, err)
			}
			if store.Overtaken(err) {
				limit = max(1, limit/2) // fewer members are less likely to be changed by another process
			}
			return err
		})
		if err != nil {
			return out, err
		}
		out, members = append(out, gone...), members[n:]
	}
	return out, nil
}

// removeChunk removes members in one write.
func (r *Registrar) removeChunk(ctx context.Context, batch int, ids []int, leave Leave) (out []int, err error) {
	rm := &removal{members: r, leave: leave}
	if err := rm.load(ctx, batch, ids); err != nil {
		return nil, err
	}
	s, ds, err := r.applier.Run(ctx, batch, applier.Command{
		Prime:  rm.prime,
		Events: func(s *applier.Snapshot) ([]model.Event, error) { return rm.events(ctx, s) },
		Extra:  rm.auditRecord,
		Once:   true, // RemoveMembers tries again with fewer members
	})
	if err != nil {
		return nil, err
	}
	removed := 0
	for i, id := range rm.removable {
		if !ds[i].Empty() {
			removed++
		}
		if _, m := s.Member(id); m.OpenPhase == 0 && m.Removal == 0 && !m.Busy(s.Now) {
			out = append(out, id)
		}
	}
	if removed > 0 {
		r.log.InfoContext(ctx, "members removed", logkey.BatchID, batch, logkey.Members, removed, logkey.By, leave.By.Name)
	}
	return out, nil
}

// removal removes some members of a batch in one write.
type removal struct {
	members   *Registrar
	leave     Leave
	batch     store.Item[model.Batch]
	loaded    []store.Item[model.Member]
	removable []int // ids of the members whom the events remove, in their order
}

// load reads the batch and those of the members whom no administrator has kept.
func (r *removal) load(ctx context.Context, batch int, ids []int) (err error) {
	if r.batch, err = store.Read[model.Batch](ctx, r.members.store, store.BatchKey(batch)); err != nil {
		return err
	}
	if start := r.leave.Start; start != nil && !r.batch.Doc.StartTime.Equal(*start) {
		return nil
	}
	if r.batch.Doc.DiscardedRemovals > 0 && !r.leave.Chosen {
		h, err := store.ReadRemovalHold(ctx, r.members.store, &r.batch.Doc)
		if err != nil {
			return err
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return slices.Contains(h.Doc.Discarded, id) })
	}
	r.loaded, err = r.members.store.MembersByID(ctx, batch, ids)
	return err
}

func (r *removal) prime(s *applier.Snapshot) {
	applier.Prime(s, s.BatchKey(), r.batch)
	for _, m := range r.loaded {
		applier.Prime(s, store.MemberKey(r.batch.Doc.ID, m.Doc.ID), m)
	}
}

// events removes the members whom the engine does not refuse to remove: a refusal of one does not
// keep the others.
func (r *removal) events(ctx context.Context, s *applier.Snapshot) (events []model.Event, err error) {
	r.removable = nil
	for _, m := range r.loaded {
		e := model.MemberLeft{Member: m.Doc.ID, Move: r.leave.Move}
		if r.leave.Chosen {
			e.By = r.leave.By.Name
		}
		if to, moves := r.leave.Moves[m.Doc.ID]; moves {
			e.MovesTo = &to
		}
		_, err := engine.Decide(s, e, s.Now)
		var refusal *model.Refusal
		if errors.As(err, &refusal) {
			r.members.log.InfoContext(ctx, "member not removed", logkey.BatchID, r.batch.Doc.ID, logkey.MemberID, m.Doc.ID, logkey.Reason, refusal.Reason)
			if r.leave.OnRefused != nil {
				r.leave.OnRefused(&m.Doc, refusal.Reason)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		events, r.removable = append(events, e), append(r.removable, m.Doc.ID)
	}
	return events, nil
}

func (r *removal) auditRecord(s *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
	before, after := map[int]model.MemberStatus{}, map[int]model.MemberStatus{}
	for i, id := range r.removable {
		if was, is := s.Member(id); !ds[i].Empty() {
			before[id], after[id] = was.Status, is.Status
		}
	}
	if len(after) == 0 {
		return nil, nil
	}
	return store.Writes{r.members.audit.Record(store.AuditRecord{
		At: s.Now.UTC(), Actor: r.leave.By.Actor(), Action: r.leave.action(), Batch: r.batch.Doc.ID, Why: r.leave.Why,
		Target: fmt.Sprintf("%s: %s", humanize.Count(len(after), "member"), listIDs(r.removable)),
		Before: audit.MemberStates(before).JSON(), After: audit.MemberStates(after).JSON(),
	})}, nil
}

// action names the audit records of members who leave.
func (l Leave) action() string {
	switch {
	case l.Moves != nil:
		return "move_members"
	case l.Move != (model.Move{}):
		return api.RepairMove
	}
	return "remove_member"
}

// listIDs writes ids as a list: 3, 7 and 9.
func listIDs(ids []int) string {
	text := ""
	for i, id := range ids {
		switch {
		case i == 0:
		case i == len(ids)-1:
			text += " and "
		default:
			text += ", "
		}
		text += fmt.Sprint(id)
	}
	return text
}
