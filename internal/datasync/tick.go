package datasync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxParallel is how many runbooks a tick syncs at once: enough that a slow data source does not
// delay the others, few enough for a small instance.
const maxParallel = 4

// maxProblems is how many row problems are stored with a runbook.
const maxProblems = 100

// SyncAll syncs runbooks, in their order. When it has done one it calls synced, concurrently, with the
// version by which it synced the runbook; 0 where it could not. An error of one runbook is stored with
// it and does not keep the others from their turn; SyncAll returns the errors that could not be stored.
func (s *Syncer) SyncAll(ctx context.Context, heads []store.RunbookHead, synced func(runbook string, version int)) error {
	failures := make([]error, len(heads))
	var all errgroup.Group
	all.SetLimit(maxParallel)
	for i, head := range heads {
		all.Go(func() error {
			version := 0
			err := panics.Catch(ctx, func() (err error) {
				version, err = s.syncRunbook(ctx, head.Name, head.Active)
				return err
			})
			if err != nil {
				failures[i] = fmt.Errorf("runbook %s: %w", head.Name, err)
			}
			synced(head.Name, version)
			return nil
		})
	}
	_ = all.Wait()
	return errors.Join(failures...)
}

// RunbooksToSync gives the active runbooks with automation, or with batches that were made from
// their data source, the one that waits longest first: where data sources are slow, a tick may not
// reach all of them. listed are the batches that the tick found.
func (s *Syncer) RunbooksToSync(ctx context.Context, listed []store.Item[store.BatchSummary]) ([]store.RunbookHead, error) {
	all, err := s.store.RunbookHeads(ctx)
	if err != nil {
		return nil, err
	}
	settings, err := s.store.EnabledAutomations(ctx)
	if err != nil {
		return nil, err
	}
	turns, err := s.store.SyncTurns(ctx)
	if err != nil {
		return nil, err
	}
	automated := map[string]bool{}
	for _, s := range settings {
		automated[s.Doc.Runbook] = true
	}
	for _, b := range listed {
		automated[b.Doc.RunbookName] = automated[b.Doc.RunbookName] || !b.Doc.IsManual && !b.Doc.Requested
	}
	last := map[string]time.Time{}
	for _, t := range turns {
		last[t.Runbook] = t.Last
	}
	var heads []store.RunbookHead
	for _, h := range all {
		if h.Doc.Active != 0 && automated[h.Doc.Name] {
			heads = append(heads, h.Doc)
		}
	}
	slices.SortStableFunc(heads, func(p, q store.RunbookHead) int { return last[p.Name].Compare(last[q.Name]) })
	return heads, nil
}

// syncRunbook syncs one runbook and stores the result, unless another tick has its lease. It returns
// the version by which it did; 0 where it did not, or failed.
func (s *Syncer) syncRunbook(ctx context.Context, name string, version int) (synced int, err error) {
	rb, unreadable := s.runbooks.Load(ctx, name, version)
	if unreadable == nil && !rb.DataSource.Queried() {
		return 0, nil
	}
	held, err := s.lease(ctx, name, s.newID())
	if errors.Is(err, errLeased) {
		s.log.WarnContext(ctx, "runbook not synced: another tick has its lease", logkey.Runbook, name, logkey.Until, held.Doc.Until)
		return 0, nil
	}
	if errors.Is(err, errPaused) {
		s.log.InfoContext(ctx, "runbook not synced: its data source asked for no query yet", logkey.Runbook, name, logkey.Until, *held.Doc.NotBefore)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	began := s.now().UTC()
	run := &syncRun{syncer: s, name: name, now: began}
	if err = unreadable; err == nil {
		err = run.run(ctx)
	}
	last, was := &held.Doc, held.Doc.Additions
	last.LastRunAt, last.Milliseconds = &began, s.now().Sub(began).Milliseconds()
	if run.applied {
		err = errors.Join(err, run.summarize(ctx, last))
	}
	if err != nil {
		s.log.ErrorContext(ctx, "failed to sync a runbook with its data source", logkey.Event, alert.RunbookNotSynced, logkey.Runbook, name, logkey.Error, err)
		last.LastError, last.LastErrorAt = publicMessage(err), &began
	} else {
		last.LastError, last.LastErrorAt, last.LastGoodAt = "", nil, &began
		synced = run.version
	}
	last.NotBefore = pause(err)
	run.note(last, last.LastError)
	// The result is stored also where the tick is out of time.
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := s.endLease(storing, held); err != nil {
		return synced, err
	}
	return synced, run.dropAdditions(storing, was, last.Additions)
}

// pause returns the time before which a data source asked for no query; nil for none.
func pause(err error) *time.Time {
	var source *datasource.Error
	if !errors.As(err, &source) || source.NotBefore.IsZero() {
		return nil
	}
	return &source.NotBefore
}

// summarize puts the result of a sync that was applied into its record.
func (s *syncRun) summarize(ctx context.Context, last *store.SyncRecord) (err error) {
	last.Rows, last.ProblemCount = s.result.Len(), s.plan.Counts.Problems
	last.Problems = s.plan.Problems[:min(len(s.plan.Problems), maxProblems)]
	last.Held = s.held
	last.Additions, err = s.holdAdditions(ctx, last.Additions)
	return err
}
