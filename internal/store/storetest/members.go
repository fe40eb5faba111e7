package storetest

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

func itoa(n int) string { return strconv.Itoa(n) }

// testMembers: the reads of members, of a batch with these:
//
//	1 active        page 1  a@x   2 failed        page 1  b@x in phase p at step s
//	3 removed       page 1  a@x   4 removed, left page 2  c@x
//	5 leaving       page 2  ab@x  6 failed        page 2  d@x
//	7 removed, busy page 3  e@x   8 removed       page 3  f@x
func testMembers(t *testing.T, d Driver) {
	s, batch := d.Store, batchNumber()
	must(t, s,
		member(batch, model.Member{ID: 1, Page: 1, Key: "a@x", Search: "a@x\nada lövelace", Data: map[string]json.RawMessage{`Full "name"`: json.RawMessage(`"Ada Lövelace"`), "Size": json.RawMessage(`7`)}, Status: model.MemberActive, AddedAt: at(3), Hash: "h1", AddedBy: "ada", Claim: "round"}),
		member(batch, model.Member{ID: 2, Page: 1, Key: "b@x", Search: "b@x", Data: map[string]json.RawMessage{"Size": json.RawMessage(`8`)}, Status: model.MemberFailed, AddedAt: at(2), FailedIn: "p", FailedStep: "s", FailedAs: model.StepPollTimeout, FailedBy: 3, Undone: true, Error: "why", FailedAt: new(at(4))}),
		member(batch, model.Member{ID: 3, Page: 1, Key: "a@x", Status: model.MemberRemoved, AddedAt: at(1), OpenPhase: 2, RemovedBy: "bob"}),
		member(batch, model.Member{ID: 4, Page: 2, Key: "c@x", Status: model.MemberRemoved, AddedAt: at(4), Removal: 3}),
		member(batch, model.Member{ID: 5, Page: 2, Key: "ab@x", Status: model.MemberRemoved, AddedAt: at(5), Leaving: true, Removal: 3}),
		member(batch, model.Member{ID: 6, Page: 2, Key: "d@x", Status: model.MemberFailed, AddedAt: at(6)}),
		member(batch, model.Member{ID: 7, Page: 3, Key: "e@x", Status: model.MemberRemoved, AddedAt: at(7), BusyUntil: when(10), UndoingUntil: when(11)}),
		member(batch, model.Member{ID: 8, Page: 3, Key: "f@x", Status: model.MemberRemoved, AddedAt: at(8), BusyUntil: when(10)}),
	)
	must(t, s, store.Create(store.RunKey(batch, 1, 1), model.Run{Batch: batch, Phase: 1, Member: 1, Page: 1})) // which no read of members returns
	id := func(m model.Member) int { return m.ID }
	list := func(filter store.MemberFilter, sort store.Sort) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			return pages(func(p store.Paging) (store.Page[model.Member], error) { return s.Members(ctx, batch, filter, p) }, sort, id)
		}
	}
	ofPage := func(page int, status model.MemberStatus) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			found, err := s.MembersOfPage(ctx, batch, page, status)
			return shorten(found, err, id)
		}
	}
	check(t, []row{
		{"all", list(store.MemberFilter{}, store.Sort{}), "1 2 3 4 5 6 7 8", false},
		{"failed", list(store.MemberFilter{Statuses: []model.MemberStatus{model.MemberFailed}}, store.Sort{}), "2 6", false},
		{"removed or failed", list(store.MemberFilter{Statuses: []model.MemberStatus{model.MemberRemoved, model.MemberFailed}}, store.Sort{}), "2 3 4 5 6 7 8", false},
		{"by a prefix of the key", list(store.MemberFilter{KeyPrefix: "a"}, store.Sort{}), "1 3 5", false},
		{"by status and prefix", list(store.MemberFilter{Statuses: []model.MemberStatus{model.MemberActive}, KeyPrefix: "a"}, store.Sort{}), "1", false},
		{"by a text within the search text", list(store.MemberFilter{Text: "da löv"}, store.Sort{}), "1", false},
		{"by a text and status", list(store.MemberFilter{Text: "@x", Statuses: []model.MemberStatus{model.MemberFailed}}, store.Sort{}), "2", false},
		{"values of a column", func(ctx context.Context) (any, error) {
			found, err := s.MemberValues(ctx, batch, "Size", []int{1, 2, 3, 99})
			return string(found[1]) + "/" + string(found[2]) + "/" + strconv.Itoa(len(found)), err
		}, "7/8/2", false},
		{"values of a column with quotes", func(ctx context.Context) (any, error) {
			found, err := s.MemberValues(ctx, batch, `Full "name"`, []int{1, 2})
			return string(found[1]) + "/" + strconv.Itoa(len(found)), err
		}, `"Ada Lövelace"/1`, false},
		{"values of no members", func(ctx context.Context) (any, error) {
			found, err := s.MemberValues(ctx, batch, "Size", nil)
			return strconv.Itoa(len(found)), err
		}, "0", false},
		{"in another case", list(store.MemberFilter{KeyPrefix: "A"}, store.Sort{}), "", false},
		{"by the time of addition", list(store.MemberFilter{}, store.Sort{By: store.FieldAddedAt, Descending: true}), "8 7 6 5 4 1 2 3", false},
		{"page 1", ofPage(1, ""), "1 2 3", false},
		{"page 1, failed", ofPage(1, model.MemberFailed), "2", false},
		{"page 4", ofPage(4, ""), "", false},
		{"by id", func(ctx context.Context) (any, error) {
			found, err := s.MembersByID(ctx, batch, []int{6, 2, 99})
			return shorten(found, err, id)
		}, "2 6", false},
		{"by key", func(ctx context.Context) (any, error) {
			found, err := s.MembersByKey(ctx, batch, []string{"a@x", "ab@x", "c@x", "A@X", "e@x", "f@x"})
			var all []string
			for _, m := range found {
				all = append(all, m.Key+"/"+string(m.Status)+"/"+m.Claim+"/"+strconv.FormatBool(m.StillLeaving(at(10))))
			}
			return all, err
		}, "a@x/active/round/false a@x/removed//true ab@x/removed//true c@x/removed//false e@x/removed//true f@x/removed//false", true},
		{"last", func(ctx context.Context) (any, error) { return s.LastMember(ctx, batch) }, "8", false},
		{"last of no batch", func(ctx context.Context) (any, error) { return s.LastMember(ctx, batch+1) }, "0", false},
		{"leaving", func(ctx context.Context) (any, error) {
			found, err := s.LeavingMembers(ctx, batch)
			return shorten(found, err, id)
		}, "5", true},
		{"failed, projected", func(ctx context.Context) (any, error) {
			found, err := s.FailedMembers(ctx, batch)
			var all []string
			for _, m := range found {
				all = append(all, itoa(m.ID)+"/"+itoa(m.Page)+"/"+m.Key+"/"+m.FailedIn+"/"+m.FailedStep+"/"+string(m.FailedAs)+"/"+itoa(m.FailedBy)+"/"+strconv.FormatBool(m.Undone)+"/"+m.Error+"/"+strconv.FormatBool(m.FailedAt != nil && m.FailedAt.Equal(at(4))))
			}
			return all, err
		}, "2/1/b@x/p/s/poll_timeout/3/true/why/true 6/2/d@x////0/false//false", true},
		{"projected", func(ctx context.Context) (any, error) {
			found, err := s.MemberProjections(ctx, batch)
			var all []string
			for _, m := range found {
				all = append(all, itoa(m.ID)+"/"+m.Hash+m.AddedBy+m.RemovedBy+"/"+itoa(m.OpenPhase)+itoa(m.Removal)+"/"+strconv.FormatBool(m.StillLeaving(at(10))))
			}
			return all, err
		}, "1/h1ada/00/false 2//00/false 3/bob/20/true 4//03/false 5//03/true 6//00/false 7//00/true 8//00/false", true},
	})
}

func member(batch int, m model.Member) store.Write {
	return store.Create(store.MemberKey(batch, m.ID), m)
}
