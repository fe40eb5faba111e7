package membership

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// UpdateMembers calls UpdateMembersFrom with a CSV in memory.
func (r *Registrar) UpdateMembers(ctx context.Context, by audit.Caller, batch int, csv []byte, dry bool, why string, options ...api.UploadOption) (api.MembersUpdate, error) {
	return r.UpdateMembersFrom(ctx, by, batch, bytes.NewReader(csv), dry, why, options...)
}

// UpdateMembersFrom corrects the members whose keys a CSV has, in the columns of the file and in no
// other. It checks all rows before it changes anyone, and changes no one unless every row is good.
// With dry it says what it would change. A request that was cut short is repeated: members who have
// the values already stay as they are. Errors: as CorrectMember, with the line of each bad row, and
// CodeTooLarge.
func (r *Registrar) UpdateMembersFrom(ctx context.Context, by audit.Caller, batch int, csv membercsv.File, dry bool, why string, options ...api.UploadOption) (api.MembersUpdate, error) {
	if err := errors.Join(checkSize(csv), audit.CheckReason(why)); err != nil {
		return api.MembersUpdate{}, err
	}
	c, err := r.newCorrector(ctx, by, batch, why, dry)
	if err != nil {
		return api.MembersUpdate{}, err
	}
	file, err := membercsv.Read(csv, c.runbook, membercsv.Options{Delimiter: api.UploadOptionsOf(options).Delimiter, Rules: c.rules, SomeColumns: true})
	if err != nil {
		return api.MembersUpdate{}, err
	}
	if n := max(len(file.Rows), len(file.Lines)); n > maxAdded {
		return api.MembersUpdate{}, problem.New(api.CodeTooLarge, "the CSV has %d rows; at most %d members can be updated at once", n, maxAdded)
	}
	if len(file.Problems) > 0 {
		unknown, err := c.unknown(ctx, file.Lines)
		if err != nil {
			return api.MembersUpdate{}, err
		}
		return api.MembersUpdate{}, notUpdated(slices.Concat(csvProblems(file.Problems), unknown))
	}
	u := update{corrector: c, view: api.MembersUpdate{BatchID: batch, DryRun: dry, Changes: []api.ColumnChange{}, Warnings: file.Warnings}}
	if err := u.match(ctx, file.Rows); err != nil {
		return api.MembersUpdate{}, err
	}
	if err := u.checkAll(ctx); err != nil || dry {
		return u.view, err
	}
	if err := u.recordTold(ctx, u.view.Changed); err != nil {
		return api.MembersUpdate{}, err
	}
	u.view.Changed, u.view.Unchanged, u.view.ChangeCount, u.view.Changes = 0, 0, 0, []api.ColumnChange{}
	err = u.applyAll(ctx)
	return u.view, err
}

// notUpdated refuses a CSV with its problems, in the order of its lines; those of the whole file come last.
func notUpdated(problems []api.InputProblem) error {
	place := func(p api.InputProblem) int { return cmp.Or(p.Line, math.MaxInt) }
	slices.SortStableFunc(problems, func(a, b api.InputProblem) int { return cmp.Compare(place(a), place(b)) })
	return &problem.Error{Code: api.CodeInvalid, Message: fmt.Sprintf("the CSV has %s; no member was changed", humanize.Count(len(problems), "problem")), Problems: problems}
}

// find gives the numbers of the members with these keys.
func (c *corrector) find(ctx context.Context, keys []string) (map[string]int, error) {
	ids := map[string]int{}
	for chunk := range slices.Chunk(keys, 200) {
		found, err := c.members.store.MembersByKey(ctx, c.batch.Doc.ID, chunk)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			ids[m.Key] = max(ids[m.Key], m.ID) // all but the last were removed
		}
	}
	return ids, nil
}

// unknown reports the keys that no member has, of those on these lines.
func (c *corrector) unknown(ctx context.Context, lines map[string]int) ([]api.InputProblem, error) {
	ids, err := c.find(ctx, slices.Collect(maps.Keys(lines)))
	if err != nil {
		return nil, err
	}
	var unknown []api.InputProblem
	for key, line := range lines {
		if ids[key] == 0 {
			unknown = append(unknown, c.noMember(key, line))
		}
	}
	return unknown, nil
}

func (c *corrector) noMember(key string, line int) api.InputProblem {
	return api.InputProblem{
		Line: line, Field: c.runbook.DataSource.PrimaryKey, Code: "unknown-member",
		Message: fmt.Sprintf("batch %d has no member %q; keys are case-sensitive", c.batch.Doc.ID, key),
	}
}

// update corrects the members of a CSV. It is not safe for concurrent use.
type update struct {
	*corrector
	rows      map[int]membercsv.Row // by the number of the member
	ids       []int                 // in the order of the file
	strangers []api.InputProblem    // of rows whose key no member has
	view      api.MembersUpdate
}

// match finds the members of the rows.
func (u *update) match(ctx context.Context, rows []membercsv.Row) error {
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = row.Key
	}
	ids, err := u.find(ctx, keys)
	if err != nil {
		return err
	}
	u.rows = map[int]membercsv.Row{}
	for _, row := range rows {
		id := ids[row.Key]
		if id == 0 {
			u.strangers = append(u.strangers, u.noMember(row.Key, row.Line))
			continue
		}
		u.rows[id] = row
		u.ids = append(u.ids, id)
	}
	return nil
}

// pageOfUpdate is how many members are read, and changed in one write: each with the run that the
// member is in and an audit record.
const pageOfUpdate = 30

// load reads members, with what the file has of them.
func (u *update) load(ctx context.Context, ids []int) (changes []correction, bad []api.InputProblem, err error) {
	members, err := u.members.store.MembersByID(ctx, u.batch.Doc.ID, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range members {
		row := u.rows[m.Doc.ID]
		change := correction{member: m}
		if change.given, err = row.Data(); err != nil {
			return nil, nil, err
		}
		delete(change.given, u.runbook.DataSource.PrimaryKey)
		problems, err := u.check(ctx, &change)
		var refusal *model.Refusal
		if errors.As(err, &refusal) {
			problems, err = []api.InputProblem{{Field: u.runbook.DataSource.PrimaryKey, Code: "member-ended", Message: refusal.Reason}}, nil
		}
		if err != nil {
			return nil, nil, err
		}
		for _, p := range problems {
			p.Line = row.Line
			bad = append(bad, p)
		}
		changes = append(changes, change)
	}
	return changes, bad, nil
}

// checkAll checks all rows, and notes what they change.
func (u *update) checkAll(ctx context.Context) error {
	bad := u.strangers
	for ids := range slices.Chunk(u.ids, pageOfUpdate) {
		changes, problems, err := u.load(ctx, ids)
		if err != nil {
			return err
		}
		if bad = append(bad, problems...); len(bad) > 0 {
			continue
		}
		foreseen, err := u.foresee(changes)
		if err != nil {
			return err
		}
		u.note(len(changes), foreseen)
	}
	if len(bad) > 0 {
		return notUpdated(bad)
	}
	return nil
}

// applyAll changes the members, some in each write. Where another process changes one of them, it
// checks them anew.
func (u *update) applyAll(ctx context.Context) error {
	limit := pageOfUpdate
	for left := u.ids; len(left) > 0; {
		n := 0
		err := store.RetryOnConflict(ctx, func() error {
			n = min(limit, len(left))
			changes, bad, err := u.load(ctx, left[:n])
			if err != nil {
				return err
			}
			if len(bad) > 0 { // since all rows were checked
				return &problem.Error{Code: api.CodeConflict, Message: fmt.Sprintf("the batch changed meanwhile: %s; %s were changed before. Send the file again", bad[0].Message, humanize.Count(u.view.Changed, "member")), Problems: bad}
			}
			done, err := u.apply(ctx, changes)
			if errors.Is(err, store.ErrTooLarge) && limit > 1 {
				err = fmt.Errorf("%w: %w", store.ErrChanged, err)
			}
			if store.Overtaken(err) {
				limit = max(1, limit/2)
			}
			if err == nil {
				u.note(n, done)
			}
			return err
		})
		if err != nil {
			return err
		}
		left = left[n:]
	}
	return nil
}

// note adds the changes of so many members to the answer.
func (u *update) note(members int, done corrected) {
	u.view.Changed += done.members
	u.view.Unchanged += members - done.members
	u.view.ChangeCount += len(done.changes)
	room := max(0, api.MaxColumnChanges-len(u.view.Changes))
	u.view.Changes = append(u.view.Changes, done.changes[:min(room, len(done.changes))]...)
	room = max(0, api.MaxColumnChanges-len(u.view.InFlight))
	u.view.InFlight = append(u.view.InFlight, done.inFlight[:min(room, len(done.inFlight))]...)
}
