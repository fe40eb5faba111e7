package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/store"
)

// testNotifications: the reads of notification rules and deliveries, and that of ended batches. The
// rules of the test end with -a and -b.
func testNotifications(t *testing.T, d Driver) {
	s, mine := d.Store, tag()
	a, b := mine+"-a", mine+"-b"
	place := func(minutes int) string { return store.SortableTime(at(minutes)) + mine }
	must(t, s,
		store.Create(store.NotificationRuleKey(a), store.NotificationRule{Name: a, Events: []string{"failures"}}),
		store.Create(store.NotificationRuleKey(b), store.NotificationRule{Name: b}),
		store.Create(store.DeliveryKey(a, "1"), store.Delivery{Rule: a, Event: "one", Place: place(1), WakeAt: at(5)}),
		store.Create(store.DeliveryKey(a, "2"), store.Delivery{Rule: a, Event: "two", Place: place(3), WakeAt: at(6)}),
		store.Create(store.DeliveryKey(a, "3"), store.Delivery{Rule: a, Event: "three", Place: place(2), WakeAt: at(7)}),
		store.Create(store.DeliveryKey(b, "1"), store.Delivery{Rule: b, Event: "four", Place: place(4), WakeAt: at(4)}),
	)
	if _, err := s.Apply(t.Context(), store.Writes{store.Create(store.DeliveryKey(a, "1"), store.Delivery{})}); !errors.Is(err, store.ErrExists) {
		t.Errorf("a second delivery of an event: %v", err)
	}
	events := func(found []store.Item[store.Delivery], err error) (any, error) {
		found = slices.DeleteFunc(found, func(d store.Item[store.Delivery]) bool { return !strings.HasPrefix(d.Doc.Rule, mine) })
		return shorten(found, err, func(d store.Delivery) string { return d.Event })
	}
	deliveries := func(rule string) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			return pages(func(p store.Paging) (store.Page[store.Delivery], error) { return s.Deliveries(ctx, rule, p) }, store.Sort{},
				func(d store.Delivery) string { return d.Event })
		}
	}
	check(t, []row{
		{"rules", func(ctx context.Context) (any, error) {
			found, err := s.NotificationRules(ctx)
			found = slices.DeleteFunc(found, func(r store.Item[store.NotificationRule]) bool { return !strings.HasPrefix(r.Doc.Name, mine) })
			return shorten(found, err, func(r store.NotificationRule) string {
				return fmt.Sprint(strings.TrimPrefix(r.Name, mine), "/", len(r.Events))
			})
		}, "-a/1 -b/0", true},
		{"due deliveries", func(ctx context.Context) (any, error) { return events(s.DueDeliveries(ctx, at(6))) }, "four one", true},
		{"deliveries by key", func(ctx context.Context) (any, error) {
			return events(s.DeliveriesByKey(ctx, []store.Key{store.DeliveryKey(a, "2"), store.DeliveryKey(b, "2"), store.DeliveryKey(b, "1")}))
		}, "four two", true},
		{"no deliveries", func(ctx context.Context) (any, error) { return events(s.DeliveriesByKey(ctx, nil)) }, "", true},
		{"deliveries of a rule", deliveries(a), "two three one", false},
		{"deliveries of another rule", deliveries(mine), "", false},
	})
	first := batchNumber()
	for i, ended := range []int{10, 20} {
		must(t, s, store.Create(store.EntryKey(first+i), store.BatchSummary{ID: first + i, Status: "completed", CompletedAt: when(ended)}))
	}
	must(t, s, store.Create(store.EntryKey(first+2), store.BatchSummary{ID: first + 2, Status: "active"}))
	ended := func(minutes int) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			found, err := s.BatchesEndedSince(ctx, at(minutes))
			found = slices.DeleteFunc(found, func(b store.Item[store.BatchSummary]) bool { return b.Doc.ID/10 != first/10 })
			return shorten(found, err, func(b store.BatchSummary) int { return b.ID - first })
		}
	}
	check(t, []row{
		{"batches that ended", ended(9), "0 1", true},
		{"batches that ended later", ended(11), "1", true},
	})
}
