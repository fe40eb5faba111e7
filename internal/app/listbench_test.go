package app_test

import (
	"fmt"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
)

// BenchmarkLists reads pages of the lists of a batch of which every tenth member has
// failed: of 980 members, or of as many as the environment variable MEMBERS says. What the
// local store learns of a query when it comes first is not counted.
func BenchmarkLists(b *testing.B) {
	s, id, members := storeManyMembers(b)
	ctx := s.ctx
	list := func(o api.ListOptions) (int, string) {
		page := must(s.app.Members(ctx, ada, id, o))(s.t)
		return len(page.Items), page.Continuation
	}
	steps := func(o api.ListOptions) (int, string) {
		page := must(s.app.Steps(ctx, ada, id, o))(s.t)
		return len(page.Items), page.Continuation
	}
	for _, tt := range []struct {
		name string
		of   func(api.ListOptions) (int, string)
		o    api.ListOptions
	}{
		{"members", list, api.ListOptions{}},
		{"members, the last first", list, api.ListOptions{Sort: "-id"}},
		{"members who failed", list, api.ListOptions{Statuses: []string{"failed"}}},
		{"members by key", list, api.ListOptions{Sort: "memberKey"}},
		{"members by key, the last first", list, api.ListOptions{Sort: "-memberKey"}},
		{"members who failed, by key", list, api.ListOptions{Sort: "memberKey", Statuses: []string{"failed"}}},
		{"members whose key begins so", list, api.ListOptions{Search: fmt.Sprintf("p%06d", members)[:6]}},
		{"a member by key", list, api.ListOptions{Search: fmt.Sprintf("p%06d@x", members)}},
		{"steps", steps, api.ListOptions{}},
		{"steps that failed", steps, api.ListOptions{Statuses: []string{"failed"}}},
		{"steps that time out, of which there are none", steps, api.ListOptions{Statuses: []string{"poll_timeout"}}},
		{"steps of a member", steps, api.ListOptions{Member: members}},
		{"steps by member", steps, api.ListOptions{Sort: "memberId"}},
	} {
		tt.of(tt.o) // the local store makes an index now, where it needs one
		for page := range 2 {
			o := tt.o
			if page == 1 {
				if _, o.Continuation = tt.of(o); o.Continuation == "" {
					continue
				}
			}
			b.Run(fmt.Sprintf("%s, page %d", tt.name, page+1), func(b *testing.B) {
				before := s.store.Counts().Queries
				items := 0
				for b.Loop() {
					items, _ = tt.of(o)
				}
				b.ReportMetric(float64(s.store.Counts().Queries-before)/float64(b.N), "queries/op")
				b.ReportMetric(float64(items), "items")
			})
		}
	}
}
