package memory

import (
	"context"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

// NotificationRules implements store.Notifications.
func (s *Store) NotificationRules(ctx context.Context) ([]store.Item[store.NotificationRule], error) {
	return all(ctx, s, "NotificationRules", store.PartitionNotifications, "rule", always[store.NotificationRule])
}

// DueDeliveries implements store.Notifications.
func (s *Store) DueDeliveries(ctx context.Context, now time.Time) ([]store.Item[store.Delivery], error) {
	return all(ctx, s, "DueDeliveries", store.PartitionNotifications, "delivery", func(_ *document, d *store.Delivery) bool { return d.WakeAt.Before(now) })
}

// DeliveriesByKey implements store.Notifications.
func (s *Store) DeliveriesByKey(ctx context.Context, keys []store.Key) ([]store.Item[store.Delivery], error) {
	ids := map[string]bool{}
	for _, k := range keys {
		ids[k.ID] = true
	}
	return byID[store.Delivery](ctx, s, "DeliveriesByKey", store.PartitionNotifications, "delivery", ids)
}

// Deliveries implements store.Notifications.
func (s *Store) Deliveries(ctx context.Context, rule string, page store.Paging) (store.Page[store.Delivery], error) {
	o := order{store.Sort{By: store.FieldPlace, Descending: true}, []store.Field{store.FieldPlace}}
	page.Sort = store.Sort{}
	return list(ctx, s, "Deliveries", store.PartitionNotifications, "delivery", rule, o, page, func(d *document, _ *store.Delivery) bool {
		return strings.HasPrefix(d.key.ID, store.DeliveryPrefix(rule))
	})
}
