package datasync

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

const (
	// maxAdditionStarts is how many start times of held additions are stored and shown.
	maxAdditionStarts = 100
	// additionsPerPage is how many people one page document of held additions has. With the
	// longest keys it stays well below the limit of the store.
	additionsPerPage = 500
)

// holdAdditions gives the held additions of this sync, in place of those of the sync before; nil
// for none. It writes the pages of people where they have changed. Those of the list before stay
// until the record no longer names it: see dropAdditions.
func (s *syncRun) holdAdditions(ctx context.Context, was *store.HeldAdditions) (*store.HeldAdditions, error) {
	plan := s.plan.Additions
	if plan == nil {
		return nil, nil
	}
	held := &store.HeldAdditions{Revision: s.plan.Revision, People: len(plan.People), Of: plan.Of, Reason: plan.Reason, Since: s.now, List: listID(plan.People)}
	if was == nil || was.List != held.List {
		if err := s.writeAdditions(ctx, held.List, plan.People); err != nil {
			return was, err
		}
	}
	if was != nil && was.Revision == held.Revision {
		held.Since = was.Since
	} else {
		s.syncer.log.WarnContext(ctx, "additions are held", logkey.Event, alert.AdditionsHeld, logkey.Runbook, s.name, logkey.Members, held.People, logkey.Of, held.Of, logkey.Reason, held.Reason)
	}
	at := map[time.Time]int{}
	for _, p := range plan.People {
		at[p.Start]++
	}
	for _, start := range slices.SortedFunc(maps.Keys(at), time.Time.Compare) {
		held.Starts = append(held.Starts, store.AdditionStart{Start: start, People: at[start]})
	}
	held.Starts = held.Starts[:min(len(held.Starts), maxAdditionStarts)]
	return held, nil
}

// listID identifies a list of people whose addition is held.
func listID(people []schedule.Addition) string {
	digest := sha256.New()
	for _, p := range people {
		fmt.Fprintf(digest, "%q %s\n", p.Key, p.Start.UTC().Format(time.RFC3339Nano))
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}

// writeAdditions writes the pages of a list.
func (s *syncRun) writeAdditions(ctx context.Context, list string, people []schedule.Addition) error {
	display := s.displayTexts()
	held := make([]store.HeldAddition, len(people))
	for i, p := range people {
		held[i] = store.HeldAddition{Key: p.Key, Display: display[p.Key], Start: p.Start}
	}
	return s.writePages(ctx, list, held)
}

// writePages writes the pages of a list of people.
func (s *syncRun) writePages(ctx context.Context, list string, people []store.HeldAddition) error {
	page := 0
	for some := range slices.Chunk(people, additionsPerPage) {
		doc := store.AdditionsPage{Runbook: s.name, List: list, People: some}
		if _, err := s.syncer.store.Apply(ctx, store.Writes{store.Upsert(store.AdditionsKey(s.name, list, page), doc)}); err != nil {
			return err
		}
		page++
	}
	return nil
}

// displayTexts gives the value of the display column of each row, by key; none without such a column, or
// where it is a secret.
func (s *syncRun) displayTexts() map[string]string {
	if s.rb.Display == "" || s.rb.IsSecret(s.rb.Display) {
		return nil
	}
	texts := map[string]string{}
	for row := range s.result.Rows() {
		texts[row.Key] = apiview.DisplayText(row.Data[s.rb.Display])
	}
	return texts
}

// dropAdditions deletes the pages of the lists that the record of the runbook, and its setting, no
// longer name. After a tick that dies before it, the next change of a list deletes the pages that are left.
func (s *syncRun) dropAdditions(ctx context.Context, was, held *store.HeldAdditions) error {
	named := map[string]bool{}
	if held != nil {
		named[held.List] = true
	}
	if !s.relist && (was == nil || named[was.List]) {
		return nil
	}
	// An administrator may have discarded the people of a list during this sync.
	setting, err := store.OrNone(store.Read[store.Automation](ctx, s.syncer.store, store.AutomationKey(s.name)))
	if err != nil {
		return err
	}
	if d := setting.Doc.Discarded; d != nil {
		for _, list := range d.Lists {
			named[list] = true
		}
	}
	all, err := s.syncer.store.AdditionsPages(ctx, s.name)
	if err != nil {
		return err
	}
	for _, page := range all {
		if named[page.Doc.List] {
			continue
		}
		_, err := s.syncer.store.Apply(ctx, store.Writes{store.Delete(page.Key, page.ETag)})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// updateDecisions ends what an administrator decided on additions that the query no longer returns. A
// confirmation ends when the query returns other people than those who were confirmed; while automation is
// off, a tick has another revision than a preview, and the confirmation of a preview stays. A person whose
// addition was discarded is forgotten when the query no longer has the person.
func (s *syncRun) updateDecisions(ctx context.Context, setting store.Item[store.Automation], discarded []store.HeldAddition) error {
	if s.dry {
		return nil
	}
	next := setting.Doc
	expired := s.enabled && next.Additions != nil && next.Additions.Revision != s.plan.Revision
	if expired {
		next.Additions = nil
	}
	still, changed := s.stillDiscarded(&next, discarded)
	if !expired && !changed {
		return nil
	}
	if changed {
		if next.Discarded = still.discarded; still.discarded != nil {
			if err := s.writePages(ctx, still.discarded.Lists[0], still.people); err != nil {
				return err
			}
		}
	}
	_, err := s.syncer.store.Apply(ctx, store.Writes{store.Replace(store.AutomationKey(s.name), next, setting.Version)})
	if errors.Is(err, store.ErrChanged) { // an administrator has decided again, which the next tick reads
		return nil
	}
	s.relist = changed && err == nil
	return err
}
