package memory

import (
	"context"
	"strings"

	"github.com/matoolkit/matoolkit/internal/store"
)

// Runbooks implements store.Runbooks.
func (s *Store) Runbooks(ctx context.Context, f store.RunbookFilter, page store.Paging) (store.Page[store.RunbookHead], error) {
	o := order{store.Sort{By: store.FieldName}, []store.Field{store.FieldName, store.FieldPublishedAt, store.FieldPublishedBy}}
	return list(ctx, s, "Runbooks", store.PartitionRunbooks, "runbook", f, o, page, func(_ *document, h *store.RunbookHead) bool {
		return h.Active > 0 && strings.HasPrefix(h.Name, f.NamePrefix)
	})
}

// RunbookHeads implements store.Runbooks.
func (s *Store) RunbookHeads(ctx context.Context) ([]store.Item[store.RunbookHead], error) {
	return all(ctx, s, "RunbookHeads", store.PartitionRunbooks, "runbook", always[store.RunbookHead])
}

// RunbookVersions implements store.Runbooks.
func (s *Store) RunbookVersions(ctx context.Context, runbook string, page store.Paging) (store.Page[store.RunbookVersion], error) {
	o := order{store.Sort{By: store.FieldVersion, Descending: true}, []store.Field{store.FieldVersion}}
	found, err := list(ctx, s, "RunbookVersions", store.PartitionRunbooks, "version", runbook, o, page, func(_ *document, v *store.RunbookVersion) bool {
		return v.Name == runbook
	})
	for i := range found.Items {
		v := &found.Items[i]
		v.Doc.YAML, v.Doc.Secrets, v.Version = "", nil, store.Version{} // a projection has no version
	}
	return found, err
}

// Automations implements store.Runbooks.
func (s *Store) Automations(ctx context.Context, runbooks []string) ([]store.Item[store.Automation], error) {
	ids := map[string]bool{}
	for _, name := range runbooks {
		ids[store.AutomationKey(name).ID] = true
	}
	return byID[store.Automation](ctx, s, "Automations", store.PartitionRunbooks, "automation", ids)
}

// EnabledAutomations implements store.Runbooks.
func (s *Store) EnabledAutomations(ctx context.Context) ([]store.Item[store.Automation], error) {
	return all(ctx, s, "EnabledAutomations", store.PartitionRunbooks, "automation", func(_ *document, a *store.Automation) bool { return a.Enabled })
}

// SyncRecords implements store.Runbooks.
func (s *Store) SyncRecords(ctx context.Context, runbooks []string) ([]store.Item[store.SyncRecord], error) {
	ids := map[string]bool{}
	for _, name := range runbooks {
		ids[store.SyncKey(name).ID] = true
	}
	return byID[store.SyncRecord](ctx, s, "SyncRecords", store.PartitionRunbooks, "sync", ids)
}

// AdditionsPages implements store.Runbooks.
func (s *Store) AdditionsPages(ctx context.Context, runbook string) ([]store.Item[store.AdditionsPage], error) {
	return all(ctx, s, "AdditionsPages", store.PartitionRunbooks, "additions", func(_ *document, p *store.AdditionsPage) bool { return p.Runbook == runbook })
}

// SyncTurns implements store.Runbooks.
func (s *Store) SyncTurns(ctx context.Context) ([]store.SyncTurn, error) {
	return project(ctx, s, "SyncTurns", store.PartitionRunbooks, "sync", always, func(r *store.SyncRecord) store.SyncTurn {
		turn := store.SyncTurn{Runbook: r.Runbook}
		if r.LastRunAt != nil {
			turn.Last = *r.LastRunAt
		}
		return turn
	})
}
