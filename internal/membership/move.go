package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Moves are the outcome of a move of members.
type Moves struct {
	Moved   int                 // who are in the other batch, also by an earlier call
	Waiting int                 // who end the phase that they are in first, or whom the other batch takes later
	Stayed  []store.TaskRefusal // whom the batch did not let go
	Refused []store.TaskRefusal // whom the other batch did not take
	Lost    store.Writes        // the audit record of those whom no batch has, for the write that counts them; none: nil
}

// MoveOut takes those of the members out of their batch whom a task moves to another one, and returns the
// members whom it cannot. They end the phase that they are in. A call with the same members and task later
// takes no one out twice.
func (r *Registrar) MoveOut(ctx context.Context, b *model.Batch, members []store.Item[model.Member], move model.Move, task *store.Task) ([]store.TaskRefusal, error) {
	s := api.Selection(task.Selection)
	var selected []store.Item[model.Member]
	for _, m := range members {
		if SelectsForRemoval(b, s, &m.Doc) && !m.Doc.AddedAt.After(task.By.At) {
			selected = append(selected, m)
		}
	}
	taken, err := r.takenFor(ctx, b, move, selected)
	if err != nil {
		return nil, err
	}
	refused := map[int]store.TaskRefusal{}
	var leaving []int
	for _, m := range selected {
		if t, ok := taken[m.Doc.Key]; ok {
			refused[m.Doc.ID] = store.TaskRefusal{Member: m.Doc.ID, Key: m.Doc.Key, Reason: fmt.Sprintf("stays in batch %d: is in %s", b.ID, t.Reason)}
			continue
		}
		leaving = append(leaving, m.Doc.ID)
	}
	leave := Leave{By: taskCaller(task), Why: task.By.Why, Chosen: true, Move: move, OnRefused: func(m *model.Member, reason string) {
		refused[m.ID] = store.TaskRefusal{Member: m.ID, Key: m.Key, Reason: reason}
	}}
	if _, err := r.RemoveMembers(ctx, b.ID, leaving, leave); err != nil {
		return nil, err
	}
	return sortedRefusals(refused), nil
}

// takenFor gives those of the members, by key, whom the batch to which they are to move cannot have: another
// one has them, too.
func (r *Registrar) takenFor(ctx context.Context, b *model.Batch, move model.Move, members []store.Item[model.Member]) (map[string]InOtherBatch, error) {
	if len(members) == 0 {
		return nil, nil
	}
	to, err := r.applier.ReadBatch(ctx, move.To)
	if err != nil {
		return nil, err
	}
	rb, err := r.runbooks.Load(ctx, to.Doc.Runbook, to.Doc.Version)
	if err != nil {
		return nil, err
	}
	c := r.newClaimant(move.To, rb, r.newID(), b.Shared)
	c.leaves = b.ID
	keys := make([]string, len(members))
	for i, m := range members {
		keys[i] = m.Doc.Key
	}
	found, err := c.look(ctx, keys)
	return byKey(found), err
}

func byKey(taken []InOtherBatch) map[string]InOtherBatch {
	found := map[string]InOtherBatch{}
	for _, t := range taken {
		found[t.Key] = t
	}
	return found
}

func sortedRefusals(refused map[int]store.TaskRefusal) (all []store.TaskRefusal) {
	for _, id := range slices.Sorted(maps.Keys(refused)) {
		all = append(all, refused[id])
	}
	return all
}

// MoveIn adds those of the members whom a task took out of their batch, and who have ended their phase, to
// the other one. Those whom that does not take any more return to the batch that they were in. A call with
// the same members and task later adds no one twice.
func (r *Registrar) MoveIn(ctx context.Context, b *model.Batch, members []store.Item[model.Member], move model.Move, task *store.Task) (out Moves, err error) {
	var ready []store.Item[model.Member]
	for _, m := range members {
		presence := store.MemberPresence{Status: m.Doc.Status, OpenPhase: m.Doc.OpenPhase, BusyUntil: m.Doc.BusyUntil, UndoingUntil: m.Doc.UndoingUntil}
		switch {
		case m.Doc.Status != model.MemberRemoved || m.Doc.MoveTask != move.Task:
		case presence.StillLeaving(r.now()):
			out.Waiting++
		default:
			ready = append(ready, m)
		}
	}
	to, err := r.applier.ReadBatch(ctx, move.To)
	if err != nil {
		return out, err
	}
	came, err := r.cameFrom(ctx, to.Doc.ID, b.ID, ready)
	if err != nil {
		return out, err
	}
	left := without(ready, came)
	out.Moved = len(came)
	if to.Doc.HasEnded() {
		why := fmt.Sprintf("batch %d has ended (%s)", to.Doc.ID, to.Doc.Status)
		err = r.moveBack(ctx, b, left, task, func(string) string { return why }, &out)
		return out, err
	}
	back, err := r.cameFrom(ctx, b.ID, b.ID, left) // by an earlier call that was cut short
	if err != nil {
		return out, err
	}
	if engine.CheckJoin(&to.Doc) != nil { // too many pages catch up
		out.Waiting += len(left)
		return out, nil
	}
	taken, err := r.takeOver(ctx, to, b, without(left, back), task, false)
	if err != nil {
		if refusal := new(model.Refusal); errors.As(err, &refusal) { // it has just ended, or filled up
			out.Waiting += len(left)
			return out, nil
		}
		return out, err
	}
	var refused []store.Item[model.Member]
	for _, m := range left {
		switch t, ok := taken[m.Doc.Key]; {
		case t.Passing:
			out.Waiting++
		case ok || back[m.Doc.ID]:
			refused = append(refused, m)
		default:
			out.Moved++
		}
	}
	if out.Waiting > 0 { // the last call decides on all of them
		out.Waiting += len(refused)
		return out, nil
	}
	err = r.moveBack(ctx, b, refused, task, func(key string) string {
		if t, ok := taken[key]; ok {
			return "is in " + t.Reason
		}
		return "another batch had them"
	}, &out)
	return out, err
}

// without gives the members who are not among some.
func without(members []store.Item[model.Member], some map[int]bool) (left []store.Item[model.Member]) {
	for _, m := range members {
		if !some[m.Doc.ID] {
			left = append(left, m)
		}
	}
	return left
}

// cameFrom gives those of the members of a batch, by their ids there, whom another batch has taken over,
// or had.
func (r *Registrar) cameFrom(ctx context.Context, in, from int, members []store.Item[model.Member]) (map[int]bool, error) {
	came := map[int]bool{}
	if len(members) == 0 {
		return came, nil
	}
	keys := make([]string, len(members))
	for i, m := range members {
		keys[i] = m.Doc.Key
	}
	known, err := r.store.MembersByKey(ctx, in, keys)
	if err != nil || len(known) == 0 {
		return came, err
	}
	ids := make([]int, len(known))
	for i, m := range known {
		ids[i] = m.ID
	}
	there, err := r.store.MembersByID(ctx, in, ids)
	for _, m := range there {
		if m.Doc.MovedFrom == from && m.Doc.MovedFromMember != 0 {
			came[m.Doc.MovedFromMember] = true
		}
	}
	return came, err
}

// takeOver adds members of another batch to a batch, with their data, finished phases, outputs and
// corrections, and gives those whom another batch has by now, by key; those who return it adds also where one
// has.
func (r *Registrar) takeOver(ctx context.Context, to store.Item[model.Batch], from *model.Batch, members []store.Item[model.Member], task *store.Task, returns bool) (map[string]InOtherBatch, error) {
	if len(members) == 0 {
		return nil, nil
	}
	rb, err := r.runbooks.Load(ctx, to.Doc.Runbook, to.Doc.Version)
	if err != nil {
		return nil, err
	}
	people := make([]Newcomer, len(members))
	for i, m := range members {
		people[i] = Newcomer{Key: m.Doc.Key, From: &Former{Batch: from.ID, Member: m.Doc.ID, ByHand: true}, Data: func() (map[string]json.RawMessage, error) {
			return r.sealer.OpenData(ctx, from.ID, &m.Doc, slices.Collect(maps.Keys(m.Doc.Data)))
		}}
	}
	a := addition{members: r, by: taskCaller(task), batch: to, claims: r.newClaimant(to.Doc.ID, rb, r.newID(), from.Shared), movedFrom: from.ID}
	a.claims.partly, a.claims.returns = true, returns
	found, err := a.run(ctx, people, false)
	return byKey(found), err
}

// moveBack returns members to the batch that they were to leave, as new members with what they had. Where
// that has ended, too, an audit record names them. Why says why the other batch does not take them.
func (r *Registrar) moveBack(ctx context.Context, b *model.Batch, members []store.Item[model.Member], task *store.Task, why func(key string) string, out *Moves) error {
	if len(members) == 0 {
		return nil
	}
	refuse := func(m model.Member, reason string) {
		out.Refused = append(out.Refused, store.TaskRefusal{Member: m.ID, Key: m.Key, Reason: reason})
	}
	if b.HasEnded() && out.Waiting > 0 { // they are recorded once, with the last ones
		out.Waiting += len(members)
		return nil
	}
	if b.HasEnded() {
		out.Lost = r.recordLost(b, members, why, refuse)
		return nil
	}
	came, err := r.cameFrom(ctx, b.ID, b.ID, members)
	if err != nil {
		return err
	}
	home, err := r.applier.ReadBatch(ctx, b.ID)
	if err != nil {
		return err
	}
	taken, err := r.takeOver(ctx, home, b, without(members, came), task, true)
	if refusal := new(model.Refusal); errors.As(err, &refusal) { // it has just ended, or filled up
		out.Waiting += len(members)
		return nil
	}
	if err != nil {
		return err
	}
	for _, m := range members {
		switch t, ok := taken[m.Doc.Key]; {
		case t.Passing:
			out.Waiting++
		case ok:
			refuse(m.Doc, "is in "+t.Reason)
		default:
			refuse(m.Doc, fmt.Sprintf("stays in batch %d: %s", b.ID, why(m.Doc.Key)))
		}
	}
	return nil
}

// recordLost returns the audit record of members whom no batch has: both have ended.
func (r *Registrar) recordLost(b *model.Batch, members []store.Item[model.Member], why func(key string) string, refuse func(model.Member, string)) store.Writes {
	var keys []string
	for _, m := range members {
		refuse(m.Doc, fmt.Sprintf("is in neither batch: %s, and batch %d has ended (%s)", why(m.Doc.Key), b.ID, b.Status))
		keys = append(keys, m.Doc.Key)
	}
	return store.Writes{r.audit.Record(store.AuditRecord{
		At: r.now().UTC(), Actor: audit.Scheduler.Actor(), Action: api.RepairMove, Batch: b.ID, Target: humanize.Count(len(keys), "member"),
		Why: model.ClipReason("no batch has them: " + why(keys[0]) + ", and this batch has ended: " + strings.Join(keys, ", ")),
	})}
}
