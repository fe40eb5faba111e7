package store

import (
	"context"
)

// Runbooks implements Runbooks.
func (s *Store) Runbooks(ctx context.Context, f RunbookFilter, page Paging) (Page[RunbookHead], error) {
	q := newQuery("c.type = 'runbook'", "c.doc.active > 0")
	q.startsWith("c.doc.name", f.NamePrefix)
	order, err := orderBy(page.Sort, Sort{By: FieldName}, FieldName, FieldPublishedAt, FieldPublishedBy)
	if err != nil {
		return Page[RunbookHead]{}, err
	}
	return list[RunbookHead](ctx, s, PartitionRunbooks, q.items(order), page)
}

// RunbookHeads implements Runbooks.
func (s *Store) RunbookHeads(ctx context.Context) ([]Item[RunbookHead], error) {
	return all[RunbookHead](ctx, s, PartitionRunbooks, newQuery("c.type = 'runbook'").items(""))
}

// RunbookVersions implements Runbooks. A page could have 1000 times 1 MiB of YAML.
func (s *Store) RunbookVersions(ctx context.Context, runbook string, page Paging) (Page[RunbookVersion], error) {
	q := newQuery("c.type = 'version'")
	q.where("c.doc.name = @name", "@name", runbook)
	order, err := orderBy(page.Sort, Sort{By: FieldVersion, Descending: true}, FieldVersion)
	if err != nil {
		return Page[RunbookVersion]{}, err
	}
	return list[RunbookVersion](ctx, s, PartitionRunbooks, q.fields(`c.id, {"name": c.doc.name, "version": c.doc.version, "description": c.doc.description, `+
		`"overdue": c.doc.overdue, "rerunInit": c.doc.rerunInit, "publishedAt": c.doc.publishedAt, "publishedBy": c.doc.publishedBy, `+
		`"deactivated": c.doc.deactivated} AS doc`).sorted(order), page)
}

// Automations implements Runbooks.
func (s *Store) Automations(ctx context.Context, runbooks []string) ([]Item[Automation], error) {
	ids := make([]string, len(runbooks))
	for i, name := range runbooks {
		ids[i] = AutomationKey(name).ID
	}
	return byID[Automation](ctx, s, PartitionRunbooks, "automation", ids)
}

// EnabledAutomations implements Runbooks.
func (s *Store) EnabledAutomations(ctx context.Context) ([]Item[Automation], error) {
	return all[Automation](ctx, s, PartitionRunbooks, newQuery("c.type = 'automation'", "c.doc.enabled = true").items(""))
}

// SyncRecords implements Runbooks.
func (s *Store) SyncRecords(ctx context.Context, runbooks []string) ([]Item[SyncRecord], error) {
	ids := make([]string, len(runbooks))
	for i, name := range runbooks {
		ids[i] = SyncKey(name).ID
	}
	return byID[SyncRecord](ctx, s, PartitionRunbooks, "sync", ids)
}

// AdditionsPages implements Runbooks.
func (s *Store) AdditionsPages(ctx context.Context, runbook string) ([]Item[AdditionsPage], error) {
	q := newQuery("c.type = 'additions'")
	q.where("c.doc.runbook = @runbook", "@runbook", runbook)
	return all[AdditionsPage](ctx, s, PartitionRunbooks, q.items(""))
}

// SyncTurns implements Runbooks.
func (s *Store) SyncTurns(ctx context.Context) ([]SyncTurn, error) {
	return project[SyncTurn](ctx, s, PartitionRunbooks, newQuery("c.type = 'sync'").fields("c.doc.runbook AS runbook, c.doc.lastRunAt AS last"))
}
