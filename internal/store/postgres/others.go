package postgres

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

// Runbooks implements store.Runbooks.
func (s *Store) Runbooks(ctx context.Context, f store.RunbookFilter, page store.Paging) (store.Page[store.RunbookHead], error) {
	q := of(store.PartitionRunbooks, "runbook").where("fields->'active' > '0'").startsWith("fields->>'name'", f.NamePrefix)
	o := order{store.Sort{By: store.FieldName}, []store.Field{store.FieldName, store.FieldPublishedAt, store.FieldPublishedBy}}
	return list[store.RunbookHead](ctx, s, store.PartitionRunbooks, q, o, documentColumns, page)
}

// RunbookHeads implements store.Runbooks.
func (s *Store) RunbookHeads(ctx context.Context) ([]store.Item[store.RunbookHead], error) {
	return items[store.RunbookHead](ctx, s, store.PartitionRunbooks, of(store.PartitionRunbooks, "runbook"), "")
}

// RunbookVersions implements store.Runbooks. The fields of a version are all but its YAML and its secrets.
func (s *Store) RunbookVersions(ctx context.Context, runbook string, page store.Paging) (store.Page[store.RunbookVersion], error) {
	q := of(store.PartitionRunbooks, "version").is("name", runbook)
	o := order{store.Sort{By: store.FieldVersion, Descending: true}, []store.Field{store.FieldVersion}}
	return list[store.RunbookVersion](ctx, s, store.PartitionRunbooks, q, o, fieldColumns, page)
}

// Automations implements store.Runbooks.
func (s *Store) Automations(ctx context.Context, runbooks []string) ([]store.Item[store.Automation], error) {
	return byKey[store.Automation](ctx, s, runbooks, store.AutomationKey, "")
}

// EnabledAutomations implements store.Runbooks.
func (s *Store) EnabledAutomations(ctx context.Context) ([]store.Item[store.Automation], error) {
	return items[store.Automation](ctx, s, store.PartitionRunbooks, of(store.PartitionRunbooks, "automation").where("fields->'enabled' = 'true'"), "")
}

// SyncRecords implements store.Runbooks.
func (s *Store) SyncRecords(ctx context.Context, runbooks []string) ([]store.Item[store.SyncRecord], error) {
	return byKey[store.SyncRecord](ctx, s, runbooks, store.SyncKey, "")
}

// AdditionsPages implements store.Runbooks.
func (s *Store) AdditionsPages(ctx context.Context, runbook string) ([]store.Item[store.AdditionsPage], error) {
	return items[store.AdditionsPage](ctx, s, store.PartitionRunbooks, of(store.PartitionRunbooks, "additions").is("runbook", runbook), "")
}

// SyncTurns implements store.Runbooks.
func (s *Store) SyncTurns(ctx context.Context) ([]store.SyncTurn, error) {
	return project[store.SyncTurn](ctx, s, store.PartitionRunbooks, of(store.PartitionRunbooks, "sync"), "fields || jsonb_build_object('last', fields->'lastRunAt')")
}

// AllWorkers implements store.Workers.
func (s *Store) AllWorkers(ctx context.Context) ([]store.Item[store.WorkerRecord], error) {
	return items[store.WorkerRecord](ctx, s, store.PartitionWorkers, of(store.PartitionWorkers, "worker"), " ORDER BY id")
}

// WorkerAnnouncements implements store.Workers.
func (s *Store) WorkerAnnouncements(ctx context.Context) ([]store.WorkerAnnouncement, error) {
	return project[store.WorkerAnnouncement](ctx, s, store.PartitionWorkers, of(store.PartitionWorkers, "worker"), "fields")
}

// AuditRecords implements store.Audit.
func (s *Store) AuditRecords(ctx context.Context, partition string, f store.AuditFilter, page store.Paging) (store.Page[store.AuditRecord], error) {
	page.Sort = store.Sort{By: store.FieldID, Descending: true}
	return s.audit(ctx, partition, f, page)
}

// AuditEverywhere implements store.Audit.
func (s *Store) AuditEverywhere(ctx context.Context, f store.AuditFilter, page store.Paging) (store.Page[store.AuditRecord], error) {
	page.Sort = store.Sort{By: store.FieldID}
	return s.audit(ctx, "", f, page)
}

func (s *Store) audit(ctx context.Context, partition string, f store.AuditFilter, page store.Paging) (store.Page[store.AuditRecord], error) {
	q := of(partition, "audit").is("action", f.Action).is("by", f.By).is("runbook", f.Runbook).is("target", f.Target).is("why", f.Why)
	if !f.From.IsZero() {
		q.where("id >= ?", store.AuditKey("", store.SortableTime(f.From)).ID)
	}
	if !f.To.IsZero() {
		q.where("id < ?", store.AuditKey("", store.SortableTime(f.To)).ID)
	}
	return list[store.AuditRecord](ctx, s, partition, q, order{fields: []store.Field{store.FieldID}}, documentColumns, page)
}

// UnprocessableMessages implements store.Messages.
func (s *Store) UnprocessableMessages(ctx context.Context, f store.MessageFilter, page store.Paging) (store.Page[store.Unprocessable], error) {
	q := in(of(store.PartitionUnprocessable, "unprocessed"), "status", f.Statuses).is("topic", f.Topic)
	o := order{store.Sort{By: store.FieldPlace, Descending: true}, []store.Field{store.FieldPlace, store.FieldTopic, store.FieldMessageType}}
	return list[store.Unprocessable](ctx, s, store.PartitionUnprocessable, q, o, documentColumns, page)
}

// NotificationRules implements store.Notifications.
func (s *Store) NotificationRules(ctx context.Context) ([]store.Item[store.NotificationRule], error) {
	return items[store.NotificationRule](ctx, s, store.PartitionNotifications, of(store.PartitionNotifications, "rule"), "")
}

// DueDeliveries implements store.Notifications.
func (s *Store) DueDeliveries(ctx context.Context, now time.Time) ([]store.Item[store.Delivery], error) {
	return items[store.Delivery](ctx, s, store.PartitionNotifications, of(store.PartitionNotifications, "delivery").where(timeOf("wakeAt")+" < ?", stored(now)), "")
}

// DeliveriesByKey implements store.Notifications.
func (s *Store) DeliveriesByKey(ctx context.Context, keys []store.Key) ([]store.Item[store.Delivery], error) {
	return byKey[store.Delivery](ctx, s, keys, func(k store.Key) store.Key { return k }, "")
}

// Deliveries implements store.Notifications.
func (s *Store) Deliveries(ctx context.Context, rule string, page store.Paging) (store.Page[store.Delivery], error) {
	page.Sort = store.Sort{By: store.FieldPlace, Descending: true}
	q := of(store.PartitionNotifications, "delivery").startsWith("id", store.DeliveryPrefix(rule))
	return list[store.Delivery](ctx, s, store.PartitionNotifications, q, order{fields: []store.Field{store.FieldPlace}}, documentColumns, page)
}
