package storetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// testBatches: the reads of batch summaries, start slots and claims. The batches of the test
// are numbered from 0; 3 is being created, 4 has ended and has secrets to erase, 5 has ended and expires.
func testBatches(t *testing.T, d Driver) {
	s, first, mine := d.Store, batchNumber(), tag()
	var writes store.Writes
	for i, b := range []store.BatchSummary{
		{RunbookName: mine + "-a", Status: model.BatchActive, BatchStartTime: when(10), DetectedAt: at(5), MemberCount: 3},
		{RunbookName: mine + "-b", Status: model.BatchCompleted, DetectedAt: at(4), MemberCount: 1, OpenDetached: true, BatchDetails: model.BatchDetails{Name: mine + " Wave 3", Owner: mine + " Ada"}},
		{RunbookName: mine + "-a", Status: model.BatchCancelling, BatchStartTime: when(5), DetectedAt: at(3), MemberCount: 2},
		{RunbookName: mine + "-a", Creating: true},
		{RunbookName: mine + "-b", Status: model.BatchFailed, BatchStartTime: when(20), DetectedAt: at(6), EraseAt: when(30)},
		{RunbookName: mine + "-c", Status: model.BatchCompleted, BatchStartTime: when(20), DetectedAt: at(7), ExpiresAt: when(40)},
	} {
		b.ID = first + i
		writes = append(writes, store.Create(store.EntryKey(b.ID), b))
	}
	must(t, s, writes...)
	must(t, s,
		store.Create(store.SlotKey(mine, at(1)), store.StartSlot{Runbook: mine, Start: at(1), Batch: 7}),
		store.Create(store.SlotKey(mine, at(2)), store.StartSlot{Runbook: mine, Start: at(2), Batch: 8, Ended: true}),
		store.Create(store.ClaimKey(mine+"@x"), store.PersonClaim{Holders: []store.ClaimHolder{{Batch: first, Key: mine + "@x"}}}),
	)
	number := func(b store.BatchSummary) int { return b.ID - first }
	list := func(f store.BatchFilter, sort store.Sort) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			f := f
			if f.Runbook != "" {
				f.Runbook = mine + f.Runbook
			}
			f.RunbookPrefix = mine + f.RunbookPrefix
			return pages(func(p store.Paging) (store.Page[store.BatchSummary], error) { return s.Batches(ctx, f, p) }, sort, number)
		}
	}
	sweep := func(now time.Time) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			found, err := s.BatchesToSweep(ctx, now)
			found = slices.DeleteFunc(found, func(b store.Item[store.BatchSummary]) bool { return !strings.HasPrefix(b.Doc.RunbookName, mine) })
			return shorten(found, err, number)
		}
	}
	must(t, s,
		store.Create(store.BatchKey(first), model.Batch{ID: first}),
		store.Create(store.MemberKey(first, 1), model.Member{ID: 1}), store.Create(store.MemberKey(first, 2), model.Member{ID: 2}),
	)
	remains := func(most int) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			found, err := s.Remains(ctx, first, most)
			var ids []string
			for _, d := range found {
				if d.PK != store.BatchPartition(first) || d.Type != "member" || d.ETag == "" || d.Doc != nil {
					t.Errorf("%+v", d)
				}
				ids = append(ids, d.ID)
			}
			slices.Sort(ids)
			return ids, err
		}
	}
	unfinished := func(runbook string) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			found, err := s.UnfinishedBatches(ctx, runbook)
			var all []string
			for _, b := range found {
				if b.ID >= first && b.ID < first+10 {
					all = append(all, strconv.Itoa(b.ID-first))
				}
			}
			return all, err
		}
	}
	check(t, []row{
		{"all", list(store.BatchFilter{}, store.Sort{}), "5 4 2 1 0", false},
		{"with those being created", list(store.BatchFilter{Runbook: "-a", Creating: true}, store.Sort{}), "3 2 0", false},
		{"by status", list(store.BatchFilter{Statuses: []model.BatchStatus{model.BatchActive}}, store.Sort{}), "0", false},
		{"in one of two statuses", list(store.BatchFilter{Statuses: []model.BatchStatus{model.BatchActive, model.BatchCompleted}}, store.Sort{}), "5 1 0", false},
		{"of a runbook", list(store.BatchFilter{Runbook: "-a"}, store.Sort{}), "2 0", false},
		{"by a prefix of the runbook", list(store.BatchFilter{RunbookPrefix: "-b"}, store.Sort{}), "4 1", false},
		{"up to a number", list(store.BatchFilter{Newest: first + 2}, store.Sort{}), "2 1 0", false},
		{"by name, in any case", list(store.BatchFilter{Name: strings.ToUpper(mine) + " wave 3"}, store.Sort{}), "1", false},
		{"by another name", list(store.BatchFilter{Name: mine + " wave"}, store.Sort{}), "", false},
		{"by owner, in any case", list(store.BatchFilter{Owner: mine + " ADA"}, store.Sort{}), "1", false},
		{"the oldest first", list(store.BatchFilter{}, store.Sort{By: store.FieldID}), "0 1 2 4 5", false},
		{"by start, no start first", list(store.BatchFilter{}, store.Sort{By: store.FieldStartTime}), "1 2 0 4 5", false},
		{"by detection", list(store.BatchFilter{}, store.Sort{By: store.FieldDetectedAt, Descending: true}), "5 4 0 1 2", false},
		{"by members", list(store.BatchFilter{}, store.Sort{By: store.FieldMemberCount}), "4 5 1 2 0", false},
		{"to sweep", sweep(at(29)), "0 1 2 3", true},
		{"to sweep and erase", sweep(at(31)), "0 1 2 3 4", true},
		{"to sweep, erase and delete", sweep(at(41)), "0 1 2 3 4 5", true},
		{"what remains of a batch", remains(10), "member-0000001 member-0000002", true},
		{"some of what remains", func(ctx context.Context) (any, error) {
			found, err := s.Remains(ctx, first, 1)
			return len(found), err
		}, "1", false},
		{"unfinished", unfinished(""), "0 2 3", true},
		{"unfinished of a runbook", unfinished(mine + "-b"), "", true},
		{"slots", func(ctx context.Context) (any, error) {
			found, err := s.StartSlots(ctx, mine, []time.Time{at(2), at(1), at(3)})
			return shorten(found, err, func(s store.StartSlot) string { return fmt.Sprintf("%d/%t", s.Batch, s.Ended) })
		}, "7/false 8/true", true},
		{"no slots", func(ctx context.Context) (any, error) {
			found, err := s.StartSlots(ctx, mine, nil)
			return len(found), err
		}, "0", false},
		{"many slots", func(ctx context.Context) (any, error) {
			var starts []time.Time
			for i := range 450 {
				starts = append(starts, at(i))
			}
			found, err := s.StartSlots(ctx, mine, starts)
			return len(found), err
		}, "2", false},
		{"claims", func(ctx context.Context) (any, error) {
			found, err := s.Claims(ctx, []string{strings.ToUpper(mine) + "@X", "nobody-" + mine})
			return shorten(found, err, func(c store.PersonClaim) int { return c.Holders[0].Batch - first })
		}, "0", true},
	})
}
