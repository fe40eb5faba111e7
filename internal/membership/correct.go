package membership

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Member gives one member of a batch, with the ETag. It records first that the caller read the member.
// Errors: CodeNotFound, CodeUnavailable.
func (r *Registrar) Member(ctx context.Context, by audit.Caller, batch, member int) (api.Member, error) {
	if err := r.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadMembers, Batch: batch}); err != nil {
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
	view, err := r.memberView(ctx, &b.Doc, m)
	if err != nil {
		return api.Member{}, err
	}
	view.Actions, err = r.memberActions(ctx, b, m)
	return view, err
}

func (r *Registrar) viewMember(ctx context.Context, b *model.Batch, member int) (api.Member, error) {
	m, err := r.applier.ReadMember(ctx, b.ID, member)
	if err != nil {
		return api.Member{}, err
	}
	return r.memberView(ctx, b, m)
}

func (r *Registrar) memberView(ctx context.Context, b *model.Batch, m store.Item[model.Member]) (api.Member, error) {
	secrets, err := r.runbooks.SecretsOf(ctx, b)
	if err != nil {
		return api.Member{}, err
	}
	view := apiview.Member(b, m.Doc, secrets)
	view.ETag = apiview.ETag(m.ETag)
	return view, nil
}

// CorrectMember gives columns of a member other values, and withdraws earlier corrections. In a batch
// from a data source the correction overrides the source until the source has the same value. Steps
// use the values from their next attempt on. A correction that changes nothing is recorded as a read, and
// one with a secret that the member has. A dry run changes nothing, is recorded as a read, and gives
// each given secret as changed. With tags, it changes the member only if they have one
// of these ETags. Errors: CodeNotFound, CodeInvalid with every bad column, CodeConflict, CodeChanged,
// CodeUnavailable.
func (r *Registrar) CorrectMember(ctx context.Context, by audit.Caller, batch, member int, request api.CorrectionRequest, why string, tags ...string) (api.MemberCorrection, error) {
	if err := audit.CheckReason(why); err != nil {
		return api.MemberCorrection{}, err
	}
	done := corrected{changes: []api.ColumnChange{}}
	err := store.RetryOnConflict(ctx, func() error {
		c, err := r.newCorrector(ctx, by, batch, why, request.DryRun)
		if err != nil {
			return err
		}
		m, err := r.applier.ReadMember(ctx, batch, member)
		if err != nil {
			return err
		}
		change := correction{member: m, given: request.Data, clear: request.ClearOverrides}
		bad, err := c.check(ctx, &change)
		if err != nil {
			return err
		}
		if len(bad) > 0 {
			return &problem.Error{Code: api.CodeInvalid, Message: fmt.Sprintf("%s was not changed: %s", m.Doc.Label(), bad[0].Message), Problems: bad}
		}
		foreseen, err := c.foresee([]correction{change})
		if err == nil && foreseen.members > 0 && !apiview.Matches(tags, apiview.ETag(m.ETag)) { // else the request may come again
			err = problem.New(api.CodeChanged, "%s of batch %d has changed since you read the data: read it again before you correct it", m.Doc.Label(), batch)
		}
		if err != nil {
			return err
		}
		if request.DryRun {
			done.changes = append(done.changes, foreseen.changes...)
			return nil
		}
		if err := c.recordTold(ctx, foreseen.members); err != nil {
			return err
		}
		done, err = c.apply(ctx, []correction{change})
		return err
	})
	if err != nil {
		return api.MemberCorrection{}, err
	}
	b, err := r.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.MemberCorrection{}, err
	}
	view, err := r.viewMember(ctx, &b.Doc, member)
	return api.MemberCorrection{DryRun: request.DryRun, Member: view, Changes: done.changes, InFlight: done.inFlight}, err
}

// corrector corrects members of one batch. It is not safe for concurrent use.
type corrector struct {
	members *Registrar
	by      audit.Caller
	why     string
	batch   store.Item[model.Batch]
	runbook *runbook.Runbook
	rules   lint.ColumnRules // what the functions require of the columns
	dry     bool
	told    bool // a given secret is the one that a member has, which the answer tells
}

// newCorrector makes a corrector. A dry one shows data of members and leaves no record of a correction,
// so it records first that the caller reads them.
func (r *Registrar) newCorrector(ctx context.Context, by audit.Caller, batch int, why string, dry bool) (*corrector, error) {
	b, err := r.applier.ReadBatch(ctx, batch)
	if err != nil {
		return nil, err
	}
	if b.Doc.Requested != nil {
		return nil, problem.New(api.CodeConflict, "batch %d was started by a request, which brought its members: send another request with the right items", batch)
	}
	if dry {
		if err := r.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadMembers, Batch: batch}); err != nil {
			return nil, err
		}
	}
	rb, err := r.runbooks.Load(ctx, b.Doc.Runbook, b.Doc.Version)
	if err != nil {
		return nil, err
	}
	rules, err := r.ColumnRules(ctx, rb)
	return &corrector{members: r, by: by, why: why, batch: b, runbook: rb, rules: rules, dry: dry}, err
}

// recordTold records that the caller reads members where no record of a correction says so: nothing
// changes, and the answer tells that the given values are right. A secret that is right is recorded also
// beside changes.
func (c *corrector) recordTold(ctx context.Context, changed int) error {
	if changed > 0 && !c.told {
		return nil
	}
	return c.members.audit.RecordRead(ctx, c.by, store.AuditRecord{Action: api.ActionReadMembers, Batch: c.batch.Doc.ID})
}

// correction has the values that an administrator gives for one member.
type correction struct {
	member store.Item[model.Member]
	given  map[string]json.RawMessage
	clear  []string
	set    map[string]json.RawMessage // given, as it is stored; secrets are encrypted
}

// check checks a correction, sets what to store, and returns the problems of its columns, by name.
func (c *corrector) check(ctx context.Context, change *correction) (bad []api.InputProblem, err error) {
	b, m := &c.batch.Doc, &change.member.Doc
	if err := engine.RefuseCorrection(b, m); err != nil {
		return nil, err
	}
	add := func(name string, e *columnError) {
		bad = append(bad, api.InputProblem{Field: name, Code: e.code, Message: e.message})
	}
	current, err := c.members.sealer.OpenData(ctx, b.ID, m, slices.Collect(maps.Keys(change.given)))
	if err != nil {
		return nil, err
	}
	plain := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(change.given)) {
		if e := checkColumn(b, c.runbook, m, name); e != nil {
			add(name, e)
			continue
		}
		value, e := columnValue(c.runbook, c.rules, name, current[name], change.given[name])
		if e != nil {
			add(name, e)
			continue
		}
		plain[name] = value
	}
	for _, name := range change.clear {
		_, also := change.given[name]
		_, corrected := m.Overrides[name]
		switch {
		case also:
			add(name, columnErrorf("bad-value", "column %s is to be corrected and its correction to be cleared: choose one", name))
		case !b.FollowsSource():
			add(name, columnErrorf("no-override", "batch %d has no data source, so its members have no overrides: give column %s another value", b.ID, name))
		case !corrected:
			if e := checkColumn(b, c.runbook, m, name); e != nil {
				add(name, e)
			} // cleared before: there is nothing to do
		}
	}
	if len(bad) > 0 {
		return bad, nil
	}
	if c.dry { // a given secret always differs: else a caller could try which value it has
		change.set, err = c.members.sealer.SealData(ctx, c.runbook, b.ID, m.ID, plain)
	} else {
		change.set, err = c.members.sealer.SealCorrection(ctx, c.runbook, b.ID, m, plain)
		for name, value := range change.set {
			_, secret := model.Sealed(value)
			c.told = c.told || secret && bytes.Equal(value, m.Data[name])
		}
	}
	next := maps.Clone(m.Data)
	if next == nil {
		next = map[string]json.RawMessage{}
	}
	maps.Copy(next, change.set)
	if n := model.PayloadSize(next); n > membercsv.MaxRow {
		bad = append(bad, api.InputProblem{Code: "row-too-long", Message: fmt.Sprintf("the data of %s would have %d bytes; at most %d are allowed", m.Label(), n, membercsv.MaxRow)})
	}
	return bad, err
}

// corrected is the change that corrections made.
type corrected struct {
	members  int
	changes  []api.ColumnChange
	inFlight []api.StepInFlight
}

// apply writes checked corrections in one write, with an audit record of each member who changes. It
// fails with ErrChanged where another process has changed one of them.
func (c *corrector) apply(ctx context.Context, all []correction) (done corrected, err error) {
	batch := c.batch.Doc.ID
	var events []model.Event
	for _, change := range all {
		events = append(events, c.event(change))
	}
	cmd := applier.On(events...)
	cmd.Once = true // the caller checks the members anew
	cmd.Prime = func(s *applier.Snapshot) {
		applier.Prime(s, s.BatchKey(), c.batch)
		for _, change := range all {
			applier.Prime(s, store.MemberKey(batch, change.member.Doc.ID), change.member)
		}
	}
	cmd.Extra = func(s *applier.Snapshot, ds []model.Decision) (writes store.Writes, err error) {
		done = corrected{changes: []api.ColumnChange{}}
		for i, change := range all {
			if ds[i].Empty() {
				continue
			}
			was, is := s.Member(change.member.Doc.ID)
			changes := c.changes(was, is)
			inFlight, err := c.inFlight(s, ds[i].Runs, changes)
			if err != nil {
				return nil, err
			}
			done.members++
			done.changes, done.inFlight = append(done.changes, changes...), append(done.inFlight, inFlight...)
			writes = append(writes, c.auditRecord(s, was, changes))
		}
		return writes, nil
	}
	if _, _, err = c.members.applier.Run(ctx, batch, cmd); err != nil {
		return corrected{}, err
	}
	if done.members > 0 {
		c.members.log.InfoContext(ctx, "members corrected", logkey.BatchID, batch, logkey.Members, done.members, logkey.By, c.by.Name)
	}
	return done, nil
}

// event gives the event of a checked correction.
func (c *corrector) event(change correction) model.MemberCorrected {
	return model.MemberCorrected{Member: change.member.Doc.ID, Set: change.set, ClearOverrides: change.clear, By: c.by.Name}
}

// foresee gives what checked corrections would change, without the steps in flight.
func (c *corrector) foresee(all []correction) (foreseen corrected, err error) {
	for _, change := range all {
		next, err := engine.Correct(&c.batch.Doc, &change.member.Doc, c.event(change), c.members.now())
		if err != nil {
			return foreseen, err
		}
		if changes := c.changes(&change.member.Doc, next); len(changes) > 0 {
			foreseen.members++
			foreseen.changes = append(foreseen.changes, changes...)
		}
	}
	return foreseen, nil
}

// changes lists the columns of a member that a correction changed, for people: without secrets.
func (c *corrector) changes(was, is *model.Member) (changes []api.ColumnChange) {
	names := map[string]bool{}
	for _, data := range []map[string]json.RawMessage{was.Data, is.Data} {
		for name := range data {
			names[name] = true
		}
	}
	display := apiview.Display(&c.batch.Doc, is.Data[c.batch.Doc.Display], c.runbook.Secret)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, before := was.Overrides[name]
		_, after := is.Overrides[name]
		if model.SameValue(was.Data[name], is.Data[name]) && before == after {
			continue
		}
		changes = append(changes, api.ColumnChange{
			MemberID: is.ID, MemberKey: is.Key, Display: display, Column: name, Before: c.shown(name, was.Data), After: c.shown(name, is.Data), Override: after,
		})
	}
	return changes
}

// shown gives a value of a member for people; nil for none.
func (c *corrector) shown(name string, data map[string]json.RawMessage) json.RawMessage {
	if _, has := data[name]; !has {
		return nil
	}
	return sealing.RedactData(map[string]json.RawMessage{name: data[name]}, c.runbook.Secret)[name]
}

// inFlight finds the step of a member that a worker has with the values from before, if it uses one of
// those that changed. Runs are those that the decision changes.
func (c *corrector) inFlight(s *applier.Snapshot, runs []*model.Run, changes []api.ColumnChange) (steps []api.StepInFlight, err error) {
	for _, run := range runs {
		if run.Current >= len(run.Steps) || !run.Steps[run.Current].JobInFlight() {
			continue
		}
		definition, err := s.Definition(run, run.Current)
		if err != nil {
			return nil, err
		}
		used := definition.References()
		if slices.ContainsFunc(changes, func(change api.ColumnChange) bool { return slices.Contains(used, change.Column) }) {
			steps = append(steps, api.StepInFlight{MemberID: run.Member, MemberKey: run.Key, Display: changes[0].Display, Phase: run.PhaseName, Step: definition.Name})
		}
	}
	return steps, nil
}

// auditRecord gives the audit record of a corrected member, with the values before and after.
func (c *corrector) auditRecord(s *applier.Snapshot, m *model.Member, changes []api.ColumnChange) store.Write {
	before, after := audit.State{}, audit.State{}
	for _, change := range changes {
		before[change.Column], after[change.Column] = change.Before, change.After
	}
	return c.members.audit.Record(store.AuditRecord{
		At: s.Now.UTC(), Actor: c.by.Actor(), Action: api.ActionCorrectMember, Batch: c.batch.Doc.ID, Target: m.Label(), Why: c.why,
		Before: before.JSON(), After: after.JSON(),
	})
}
