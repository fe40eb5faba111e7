package storetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// fiveMembers writes five members of a new batch.
func fiveMembers(t *testing.T, s store.Store) (batch int) {
	batch = batchNumber()
	var writes store.Writes
	for i := range 5 {
		writes = append(writes, store.Create(store.MemberKey(batch, i+1), model.Member{ID: i + 1, Page: 1, Key: string(rune('e'-i)) + "@x", Status: model.MemberActive}))
	}
	must(t, s, writes...)
	return batch
}

// testPaging: how a list of five members comes in pages.
func testPaging(t *testing.T, d Driver) {
	batch := fiveMembers(t, d.Store)
	for _, r := range []struct {
		name   string
		batch  int
		filter store.MemberFilter
		sort   store.Sort
		limit  int
		want   string // the ids, by page
	}{
		{"one page", batch, store.MemberFilter{}, store.Sort{}, 10, "1 2 3 4 5"},
		{"a page of the limit", batch, store.MemberFilter{}, store.Sort{}, 5, "1 2 3 4 5"},
		{"three pages", batch, store.MemberFilter{}, store.Sort{}, 2, "1 2|3 4|5"},
		{"descending", batch, store.MemberFilter{}, store.Sort{By: store.FieldID, Descending: true}, 2, "5 4|3 2|1"},
		{"by a field", batch, store.MemberFilter{}, store.Sort{By: store.FieldMemberKey}, 3, "5 4 3|2 1"},
		{"no such member", batch, store.MemberFilter{KeyPrefix: "z"}, store.Sort{}, 2, ""},
		{"no such batch", batchNumber(), store.MemberFilter{}, store.Sort{}, 2, ""},
	} {
		var got []string
		for paging := (store.Paging{Limit: r.limit, Sort: r.sort}); ; {
			page, err := d.Store.Members(t.Context(), r.batch, r.filter, paging)
			if err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
			var ids []string
			for _, m := range page.Items {
				ids = append(ids, itoa(m.Doc.ID))
			}
			if len(ids) > 0 {
				got = append(got, strings.Join(ids, " "))
			}
			if paging.Continuation = page.Continuation; paging.Continuation == "" {
				break
			}
			if len(ids) == 0 {
				t.Fatalf("%s: an empty page has a continuation", r.name)
			}
		}
		if text := strings.Join(got, "|"); text != r.want {
			t.Errorf("%s: got %q, want %q", r.name, text, r.want)
		}
	}
	if _, err := d.Store.Members(t.Context(), batch, store.MemberFilter{}, store.Paging{Limit: 2, Sort: store.Sort{By: store.FieldTopic}}); err == nil || errors.Is(err, store.ErrContinuation) {
		t.Errorf("members by topic: %v", err)
	}
	// Writes between two pages do not shift the following pages.
	first, err := d.Store.Members(t.Context(), batch, store.MemberFilter{}, store.Paging{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	must(t, d.Store, store.Delete(store.MemberKey(batch, 1), first.Items[0].ETag))
	second, err := d.Store.Members(t.Context(), batch, store.MemberFilter{}, store.Paging{Limit: 2, Continuation: first.Continuation})
	if err != nil || len(second.Items) != 2 || second.Items[0].Doc.ID != 3 {
		t.Errorf("after a deletion the second page is %+v, %v", second.Items, err)
	}
}

// testContinuations: a continuation is of one list, with its filter and its order. Any other
// text is ErrContinuation: it comes from outside.
func testContinuations(t *testing.T, d Driver) {
	batch := fiveMembers(t, d.Store)
	list := func(paging store.Paging) (store.Page[model.Member], error) {
		return d.Store.Members(t.Context(), batch, store.MemberFilter{}, paging)
	}
	page, err := list(store.Paging{Limit: 2})
	if err != nil || page.Continuation == "" {
		t.Fatalf("no second page: %v", err)
	}
	next := page.Continuation
	if _, err := list(store.Paging{Limit: 2, Continuation: next}); err != nil {
		t.Errorf("the continuation of the list: %v", err)
	}
	if len(next) > 2048 || strings.ContainsAny(next, "\r\n") {
		t.Errorf("a continuation does not fit into an address: %q", next)
	}
	for _, continuation := range []string{"x", "{}", "a\nb", "münchen", next[:len(next)-4]} {
		if _, err := list(store.Paging{Limit: 2, Continuation: continuation}); !errors.Is(err, store.ErrContinuation) {
			t.Errorf("continuation %q: %v", continuation, err)
		}
	}
	if _, err := list(store.Paging{Limit: 2, Continuation: next, Sort: store.Sort{By: store.FieldID, Descending: true}}); !errors.Is(err, store.ErrContinuation) {
		t.Errorf("the continuation of another order: %v", err)
	}
}
