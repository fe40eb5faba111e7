package cosmos

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

// NotificationRules implements store.Notifications.
func (s *Store) NotificationRules(ctx context.Context) ([]store.Item[store.NotificationRule], error) {
	return all[store.NotificationRule](ctx, s, store.PartitionNotifications, newQuery("c.type = 'rule'").items(""))
}

// DueDeliveries implements store.Notifications.
func (s *Store) DueDeliveries(ctx context.Context, now time.Time) ([]store.Item[store.Delivery], error) {
	q := newQuery("c.type = 'delivery'")
	q.where("c.doc.wakeAt < @now", "@now", now.UTC().Format(time.RFC3339Nano))
	return all[store.Delivery](ctx, s, store.PartitionNotifications, q.items(""))
}

// DeliveriesByKey implements store.Notifications.
func (s *Store) DeliveriesByKey(ctx context.Context, keys []store.Key) ([]store.Item[store.Delivery], error) {
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = k.ID
	}
	return byID[store.Delivery](ctx, s, store.PartitionNotifications, "delivery", ids)
}

// Deliveries implements store.Notifications.
func (s *Store) Deliveries(ctx context.Context, rule string, page store.Paging) (store.Page[store.Delivery], error) {
	q := newQuery("c.type = 'delivery'")
	q.startsWith("c.id", store.DeliveryPrefix(rule))
	return list[store.Delivery](ctx, s, store.PartitionNotifications, q.items(" ORDER BY c.doc.place DESC"), page)
}
