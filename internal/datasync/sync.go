package datasync

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// atOnce is how many runbooks, and how many batches, a tick is at at a time: enough
// that a slow one does not keep the others waiting, few enough for a small instance.
const atOnce = 4

// keptProblems is how many of a result's problems are kept with the runbook.
const keptProblems = 100

// SyncAll compares the batches of every runbook with its data source, beginning with
// the one whose turn was longest ago: where sources are slow, a tick may not come to
// all of them. What goes wrong with a runbook is kept with it and keeps no other from
// its turn; an error is one that could not even be kept.
func (sy *Syncer) SyncAll(ctx context.Context, listed []store.Item[store.BatchSummary]) error {
	heads, err := sy.store.RunbookHeads(ctx)
	if err != nil {
		return err
	}
	heads = slices.DeleteFunc(heads, func(h store.Item[store.RunbookHead]) bool { return h.Doc.Active == 0 })
	settings, err := sy.store.EnabledAutomations(ctx)
	if err != nil {
		return err
	}
	followed := map[string]bool{}
	for _, s := range settings {
		followed[s.Doc.Runbook] = true
	}
	for _, e := range listed {
		followed[e.Doc.RunbookName] = followed[e.Doc.RunbookName] || !e.Doc.IsManual
	}
	turns, err := sy.store.SyncTurns(ctx)
	if err != nil {
		return err
	}
	last := map[string]time.Time{}
	for _, t := range turns {
		last[t.Runbook] = t.Last
	}
	slices.SortStableFunc(heads, func(p, q store.Item[store.RunbookHead]) int { return last[p.Doc.Name].Compare(last[q.Doc.Name]) })

	failures := make([]error, len(heads))
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i, head := range heads {
		if !followed[head.Doc.Name] {
			continue
		}
		all.Go(func() error {
			if err := sy.syncRunbook(ctx, head.Doc.Name, head.Doc.Active); err != nil {
				failures[i] = fmt.Errorf("runbook %s: %w", head.Doc.Name, err)
			}
			return nil
		})
	}
	_ = all.Wait()
	return errors.Join(failures...)
}

// syncRunbook compares one runbook's batches with its data source, where no other tick
// is at it.
func (sy *Syncer) syncRunbook(ctx context.Context, name string, version int) error {
	rb, unreadable := sy.runbooks.Load(ctx, name, version)
	if unreadable == nil && !rb.DataSource.Queried() {
		return nil
	}
	held, err := sy.lease(ctx, name, sy.newID())
	if errors.Is(err, errLeased) {
		sy.log.WarnContext(ctx, "another tick has the runbook in hand", logkey.Runbook, name, logkey.Until, held.Doc.Until)
		return nil
	}
	if err != nil {
		return err
	}
	began := sy.now().UTC()
	s := &syncRun{syncer: sy, name: name, now: began}
	if err = unreadable; err == nil {
		err = s.run(ctx)
	}

	last := &held.Doc
	last.LastRunAt, last.Milliseconds = &began, sy.now().Sub(began).Milliseconds()
	if s.stays != nil { // it came as far as to be applied
		last.Rows, last.ProblemCount = s.result.Len(), s.plan.Counts.Problems
		last.Problems = s.plan.Problems[:min(len(s.plan.Problems), keptProblems)]
		last.Held = s.held
		var notKept error
		last.Additions, notKept = s.additions(ctx, last.Additions)
		err = errors.Join(err, notKept)
	}
	if err != nil {
		sy.log.ErrorContext(ctx, "runbook not brought into line with its data source", logkey.Event, alert.RunbookNotSynced, logkey.Runbook, name, logkey.Error, err)
		last.LastError, last.LastErrorAt = sy.told(err), &began
	} else {
		last.LastError, last.LastErrorAt, last.LastGoodAt = "", nil, &began
	}
	// The outcome is kept also where the tick is out of time.
	keeping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return sy.giveBack(keeping, held)
}

// told is an error as administrators are told of it: what concerns their query or
// their data as it is, what failed inside in general words.
func (sy *Syncer) told(err error) string {
	var source *datasource.Error
	var columns *schedule.ColumnsError
	if errors.Is(err, errOutOfTime) {
		return errOutOfTime.Error()
	}
	switch one := err.(type) {
	case interface{ Unwrap() []error }:
		var all []string
		for _, e := range one.Unwrap() {
			all = append(all, sy.told(e))
		}
		return clip(strings.Join(all, "; "))
	case *concerning:
		return one.what + ": " + sy.told(one.error)
	}
	switch {
	case errors.As(err, &source):
		return clip(source.Error())
	case errors.As(err, &columns):
		return clip(columns.Error())
	}
	return clip(problem.Explain(err).Message) // the cause is left to the log
}

// errOutOfTime is what ends a comparison that goes on for too long. What it has done
// is done, and the next tick goes on.
var errOutOfTime = fmt.Errorf("the comparison with the data source took longer than %s; the next tick goes on with it", syncTime)

// concerning is an error with what it is about.
type concerning struct {
	what string
	error
}

func (c *concerning) Error() string { return c.what + ": " + c.error.Error() }

func (c *concerning) Unwrap() error { return c.error }

// maxTold is how much of an error is kept, in characters.
const maxTold = 2000

func clip(text string) string { return humanize.Clip(text, maxTold) }

// syncRun is one tick's work on one runbook.
type syncRun struct {
	syncer  *Syncer
	name    string
	rb      *runbook.Runbook
	version int
	enabled bool // new batches are made
	dry     bool // nothing is written
	now     time.Time
	// watch is shown the columns, and then each row with them; nil for nobody.
	watch func(columns []string, values []json.RawMessage)

	result  *schedule.Result
	plan    schedule.Plan
	batches map[int]store.Item[model.Batch] // that have not ended
	over    map[time.Time]int               // start → its batch, which has ended
	holds   map[int]store.RemovalHold
	stays   map[string]bool // keys of members who were to leave a batch and are not out of it
	held    []int           // batches of which removals are held
}

// run compares and brings into line, under the runbook's lease: what it goes by is read
// when nobody else can be at it any more.
func (s *syncRun) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, syncTime, errOutOfTime)
	defer cancel()
	err := s.compare(ctx)
	if err == nil {
		err = s.apply(ctx)
	}
	if err != nil && errors.Is(context.Cause(ctx), errOutOfTime) {
		return fmt.Errorf("%w: %w", errOutOfTime, err)
	}
	return err
}

// compare makes the plan, by the runbook's version as it is now.
func (s *syncRun) compare(ctx context.Context) error {
	head, err := store.Read[store.RunbookHead](ctx, s.syncer.store, store.RunbookKey(s.name))
	if err != nil {
		return err
	}
	if s.version = head.Doc.Active; s.version == 0 {
		return errInactive
	}
	if s.rb, err = s.syncer.runbooks.Load(ctx, s.name, s.version); err != nil {
		return err
	}
	if err := s.query(ctx); err != nil {
		return err
	}
	// The query may have taken minutes, and somebody have turned automation off meanwhile.
	setting, err := store.OrNone(store.Read[store.Automation](ctx, s.syncer.store, store.AutomationKey(s.name)))
	if err != nil {
		return err
	}
	s.enabled = setting.Doc.Enabled
	situation, err := s.situation(ctx)
	if err != nil {
		return err
	}
	s.over = situation.Ended
	if setting.Doc.Additions != nil {
		situation.Confirmed = setting.Doc.Additions.Revision
	}
	s.plan = schedule.Make(s.rb, s.result, situation)
	if err := s.expireConfirmation(ctx, setting); err != nil {
		return err
	}
	if len(s.plan.New) > 0 { // the runbook may have been taken out of use meanwhile, too
		if head, err = store.Read[store.RunbookHead](ctx, s.syncer.store, store.RunbookKey(s.name)); err != nil {
			return err
		}
		if head.Doc.Active == 0 {
			return errInactive
		}
	}
	if n := len(s.plan.New); n > maxNew {
		return problem.New(api.CodeConflict, "the rows have %d batch times for which there is no batch, and at most %d batches are made at once: see whether %q is the right column, or let the query find fewer", n, maxNew, cmp.Or(s.rb.DataSource.BatchTimeColumn, s.rb.DataSource.BatchTime))
	}
	return nil
}

var errInactive = problem.New(api.CodeConflict, "no version of the runbook is active any more")

// maxNew is how many batches one result may make. Each costs every later tick some
// operations; more are a column of times that are everybody's own.
const maxNew = 1000

// query runs the runbook's query.
func (s *syncRun) query(ctx context.Context) error {
	var result *schedule.Result
	var names []string
	err := s.syncer.sources.Read(ctx, s.rb, func(columns []string) (err error) {
		if names = columns; s.watch != nil {
			s.watch(names, nil)
		}
		if result, err = schedule.NewResult(s.rb, columns); err != nil || len(s.rb.Secret) == 0 {
			return err
		}
		key, err := s.syncer.sealer.DigestKey(ctx)
		if err == nil {
			result.HashWith(key)
		}
		return err
	}, func(values []json.RawMessage) error {
		if s.watch != nil {
			s.watch(names, values)
		}
		result.Add(values)
		return nil
	})
	if err == nil {
		s.result = result
	}
	return err
}

// situation loads the runbook's batches that have not ended, with their members, and
// what became of the batches for the starts that the result has.
func (s *syncRun) situation(ctx context.Context) (schedule.Situation, error) {
	situation := schedule.Situation{Now: s.now, Automation: s.enabled || s.dry, Ended: map[time.Time]int{}, Former: map[string]bool{}}
	s.batches, s.holds = map[int]store.Item[model.Batch]{}, map[int]store.RemovalHold{}
	unfinished, err := s.syncer.store.UnfinishedBatches(ctx, s.name)
	if err != nil {
		return situation, err
	}
	for _, b := range unfinished {
		if err := s.load(ctx, &situation, b.ID); err != nil {
			return situation, err
		}
	}
	known := map[time.Time]bool{}
	for _, b := range situation.Batches {
		known[b.Start] = known[b.Start] || !b.Manual
	}
	var starts []time.Time
	for _, start := range s.result.Starts(s.now) {
		if !known[start.UTC()] {
			starts = append(starts, start)
		}
	}
	slots, err := s.syncer.store.StartSlots(ctx, s.name, starts)
	if err != nil {
		return situation, err
	}
	for _, item := range slots {
		ended, err := s.ended(ctx, item)
		if err != nil {
			return situation, err
		}
		if ended {
			situation.Ended[item.Doc.Start.UTC()] = item.Doc.Batch
		} else if err := s.load(ctx, &situation, item.Doc.Batch); err != nil { // the list did not have it yet
			return situation, err
		}
	}
	return situation, nil
}

// load adds a batch to the situation, unless it has ended or was not made yet.
func (s *syncRun) load(ctx context.Context, situation *schedule.Situation, id int) error {
	if _, loaded := s.batches[id]; loaded {
		return nil
	}
	// The batch is read before its members: its ETag then guards what is made of them.
	b, err := store.OrNone(store.Read[model.Batch](ctx, s.syncer.store, store.BatchKey(id)))
	if err != nil || b.ETag == "" || b.Doc.Status.Terminal() {
		return err
	}
	s.batches[id] = b
	kept := map[int]bool{}
	if b.Doc.RemovalHold != nil || b.Doc.Kept > 0 {
		h, err := store.OrNone(store.Read[store.RemovalHold](ctx, s.syncer.store, store.HoldKey(id)))
		if err != nil {
			return err
		}
		s.holds[id] = h.Doc
		for _, member := range h.Doc.Kept {
			kept[member] = true
		}
	}
	members, err := s.syncer.store.MemberProjections(ctx, id)
	if err != nil {
		return err
	}
	batch := schedule.Batch{ID: id, Manual: !follows(&b.Doc), Filling: b.Doc.Filling}
	if b.Doc.StartTime != nil {
		batch.Start = b.Doc.StartTime.UTC()
	}
	if b.Doc.RemovalHold != nil {
		batch.HeldOf = b.Doc.RemovalHold.Of
	}
	addedAgain := map[string]int{} // lower-case key → the last member whom an administrator added
	for _, m := range members {
		if key := strings.ToLower(m.Key); m.AddedBy != "" {
			addedAgain[key] = max(addedAgain[key], m.ID)
		}
	}
	for _, m := range members {
		removed := m.Status == model.MemberRemoved
		// A removal by hand ends when an administrator adds the person again.
		byHand := removed && m.RemovedBy != "" && addedAgain[strings.ToLower(m.Key)] <= m.ID
		leaving := m.StillLeaving(s.syncer.now())
		if removed && !byHand && !leaving {
			situation.Former[m.Key] = true
			continue
		}
		batch.Members = append(batch.Members, schedule.Member{
			ID: m.ID, Key: m.Key, Hash: m.Hash,
			Failed: m.Status == model.MemberFailed, RemovedByHand: byHand, Leaving: leaving,
			// Whom an administrator added is not the source's to remove.
			Kept: kept[m.ID] || m.Hash == "",
		})
	}
	situation.Batches = append(situation.Batches, batch)
	return nil
}

// follows tells whether a batch's members are the source's to change. Those of one that
// was made by hand are not, nor those of one that is being cancelled, or that had ended
// and was opened again by a retry: they only count as being in a batch.
func follows(b *model.Batch) bool {
	return !b.Manual && !b.Ended && b.Status != model.BatchCancelling
}
