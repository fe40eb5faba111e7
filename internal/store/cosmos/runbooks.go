package cosmos

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/store"
)

// Runbooks implements store.Runbooks.
func (s *Store) Runbooks(ctx context.Context, f store.RunbookFilter, page store.Paging) (store.Page[store.RunbookHead], error) {
	q := newQuery("c.type = 'runbook'", "c.doc.active > 0")
	q.startsWith("c.doc.name", f.NamePrefix)
	order, err := orderBy(page.Sort, store.Sort{By: store.FieldName}, store.FieldName, store.FieldPublishedAt, store.FieldPublishedBy)
	if err != nil {
		return store.Page[store.RunbookHead]{}, err
	}
	return list[store.RunbookHead](ctx, s, store.PartitionRunbooks, q.items(order), page)
}

// RunbookHeads implements store.Runbooks.
func (s *Store) RunbookHeads(ctx context.Context) ([]store.Item[store.RunbookHead], error) {
	return all[store.RunbookHead](ctx, s, store.PartitionRunbooks, newQuery("c.type = 'runbook'").items(""))
}

// RunbookVersions implements store.Runbooks. A page could have 1000 times 1 MiB of YAML.
func (s *Store) RunbookVersions(ctx context.Context, runbook string, page store.Paging) (store.Page[store.RunbookVersion], error) {
	q := newQuery("c.type = 'version'")
	q.where("c.doc.name = @name", "@name", runbook)
	order, err := orderBy(page.Sort, store.Sort{By: store.FieldVersion, Descending: true}, store.FieldVersion)
	if err != nil {
		return store.Page[store.RunbookVersion]{}, err
	}
	return list[store.RunbookVersion](ctx, s, store.PartitionRunbooks, q.fields(`c.id, {"name": c.doc.name, "version": c.doc.version, "description": c.doc.description, `+
		`"overdue": c.doc.overdue, "rerunInit": c.doc.rerunInit, "publishedAt": c.doc.publishedAt, "publishedBy": c.doc.publishedBy, `+
		`"deactivated": c.doc.deactivated} AS doc`).sorted(order), page)
}

// Automations implements store.Runbooks.
func (s *Store) Automations(ctx context.Context, runbooks []string) ([]store.Item[store.Automation], error) {
	ids := make([]string, len(runbooks))
	for i, name := range runbooks {
		ids[i] = store.AutomationKey(name).ID
	}
	return byID[store.Automation](ctx, s, store.PartitionRunbooks, "automation", ids)
}

// EnabledAutomations implements store.Runbooks.
func (s *Store) EnabledAutomations(ctx context.Context) ([]store.Item[store.Automation], error) {
	return all[store.Automation](ctx, s, store.PartitionRunbooks, newQuery("c.type = 'automation'", "c.doc.enabled = true").items(""))
}

// SyncRecords implements store.Runbooks.
func (s *Store) SyncRecords(ctx context.Context, runbooks []string) ([]store.Item[store.SyncRecord], error) {
	ids := make([]string, len(runbooks))
	for i, name := range runbooks {
		ids[i] = store.SyncKey(name).ID
	}
	return byID[store.SyncRecord](ctx, s, store.PartitionRunbooks, "sync", ids)
}

// AdditionsPages implements store.Runbooks.
func (s *Store) AdditionsPages(ctx context.Context, runbook string) ([]store.Item[store.AdditionsPage], error) {
	q := newQuery("c.type = 'additions'")
	q.where("c.doc.runbook = @runbook", "@runbook", runbook)
	return all[store.AdditionsPage](ctx, s, store.PartitionRunbooks, q.items(""))
}

// SyncTurns implements store.Runbooks.
func (s *Store) SyncTurns(ctx context.Context) ([]store.SyncTurn, error) {
	return project[store.SyncTurn](ctx, s, store.PartitionRunbooks, newQuery("c.type = 'sync'").fields("c.doc.runbook AS runbook, c.doc.lastRunAt AS last"))
}
