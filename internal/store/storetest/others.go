package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/store"
)

// testRunbooks: the reads of runbooks. Three runbooks of the test end with -a, -b and -c; no
// version of -c is active.
func testRunbooks(t *testing.T, d Driver) {
	s, mine := d.Store, tag()
	a, b, c := mine+"-a", mine+"-b", mine+"-c"
	must(t, s,
		store.Create(store.RunbookKey(a), store.RunbookHead{Name: a, Latest: 3, Active: 3, PublishedAt: at(2), PublishedBy: "bob"}),
		store.Create(store.RunbookKey(b), store.RunbookHead{Name: b, Latest: 1, Active: 1, PublishedAt: at(1), PublishedBy: "ada"}),
		store.Create(store.RunbookKey(c), store.RunbookHead{Name: c, Latest: 1}),
		store.Create(store.VersionKey(a, 1), store.RunbookVersion{Name: a, Version: 1, YAML: "one", Deactivated: &model.Attribution{By: "ada", At: at(1)}}),
		store.Create(store.VersionKey(a, 2), store.RunbookVersion{Name: a, Version: 2, YAML: "two", Overdue: "rerun", RerunInit: true}),
		store.Create(store.VersionKey(a, 10), store.RunbookVersion{Name: a, Version: 10, YAML: "ten"}),
		store.Create(store.VersionKey(b, 1), store.RunbookVersion{Name: b, Version: 1, YAML: "other"}),
		store.Create(store.AutomationKey(a), store.Automation{Runbook: a, Enabled: true}),
		store.Create(store.AutomationKey(b), store.Automation{Runbook: b}),
		store.Create(store.SyncKey(a), store.SyncRecord{Runbook: a, LastRunAt: when(7), Rows: 5}),
		store.Create(store.SyncKey(b), store.SyncRecord{Runbook: b}),
		store.Create(store.AdditionsKey(a, "list", 0), store.AdditionsPage{Runbook: a, List: "list", People: []store.HeldAddition{{Key: "x"}}}),
		store.Create(store.AdditionsKey(a, "old", 0), store.AdditionsPage{Runbook: a, List: "old"}),
		store.Create(store.AdditionsKey(b, "list", 0), store.AdditionsPage{Runbook: b, List: "list"}),
	)
	short := func(name string) string { return strings.TrimPrefix(name, mine) }
	ours := func(name string) bool { return strings.HasPrefix(name, mine) }
	list := func(f store.RunbookFilter, sort store.Sort) func(context.Context) (any, error) {
		f.NamePrefix = mine + f.NamePrefix
		return func(ctx context.Context) (any, error) {
			return pages(func(p store.Paging) (store.Page[store.RunbookHead], error) { return s.Runbooks(ctx, f, p) }, sort,
				func(h store.RunbookHead) string { return short(h.Name) })
		}
	}
	versions := func(name string, sort store.Sort) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			return pages(func(p store.Paging) (store.Page[store.RunbookVersion], error) { return s.RunbookVersions(ctx, name, p) }, sort,
				func(v store.RunbookVersion) string {
					return fmt.Sprintf("%d/%s%s/%t%t", v.Version, v.YAML, v.Overdue, v.RerunInit, v.Deactivated != nil)
				})
		}
	}
	check(t, []row{
		{"list", list(store.RunbookFilter{}, store.Sort{}), "-a -b", false},
		{"list by a prefix", list(store.RunbookFilter{NamePrefix: "-b"}, store.Sort{}), "-b", false},
		{"list by publication", list(store.RunbookFilter{}, store.Sort{By: store.FieldPublishedAt}), "-b -a", false},
		{"list by publisher", list(store.RunbookFilter{}, store.Sort{By: store.FieldPublishedBy, Descending: true}), "-a -b", false},
		{"heads", func(ctx context.Context) (any, error) {
			found, err := s.RunbookHeads(ctx)
			found = slices.DeleteFunc(found, func(h store.Item[store.RunbookHead]) bool { return !ours(h.Doc.Name) })
			return shorten(found, err, func(h store.RunbookHead) string { return short(h.Name) })
		}, "-a -b -c", true},
		{"versions, without YAML", versions(a, store.Sort{}), "10//falsefalse 2/rerun/truefalse 1//falsetrue", false},
		{"versions, the oldest first", versions(a, store.Sort{By: store.FieldVersion}), "1//falsetrue 2/rerun/truefalse 10//falsefalse", false},
		{"no versions", versions(c, store.Sort{}), "", false},
		{"automations", func(ctx context.Context) (any, error) {
			found, err := s.Automations(ctx, []string{a, b, c})
			return shorten(found, err, func(a store.Automation) string { return fmt.Sprint(short(a.Runbook), "/", a.Enabled) })
		}, "-a/true -b/false", true},
		{"automations of none", func(ctx context.Context) (any, error) {
			found, err := s.Automations(ctx, nil)
			return len(found), err
		}, "0", false},
		{"enabled automations", func(ctx context.Context) (any, error) {
			found, err := s.EnabledAutomations(ctx)
			found = slices.DeleteFunc(found, func(a store.Item[store.Automation]) bool { return !ours(a.Doc.Runbook) })
			return shorten(found, err, func(a store.Automation) string { return short(a.Runbook) })
		}, "-a", true},
		{"sync records", func(ctx context.Context) (any, error) {
			found, err := s.SyncRecords(ctx, []string{b, a, c})
			return shorten(found, err, func(r store.SyncRecord) string { return fmt.Sprint(short(r.Runbook), "/", r.Rows) })
		}, "-a/5 -b/0", true},
		{"sync turns", func(ctx context.Context) (any, error) {
			found, err := s.SyncTurns(ctx)
			var all []string
			for _, turn := range found {
				if ours(turn.Runbook) {
					all = append(all, fmt.Sprintf("%s/%t%t", short(turn.Runbook), turn.Last.Equal(at(7)), turn.Last.IsZero()))
				}
			}
			return all, err
		}, "-a/truefalse -b/falsetrue", true},
		{"pages of additions", func(ctx context.Context) (any, error) {
			found, err := s.AdditionsPages(ctx, a)
			return shorten(found, err, func(p store.AdditionsPage) string { return fmt.Sprint(p.List, "/", len(p.People)) })
		}, "list/1 old/0", true},
	})
}

// testWorkers: the reads of worker records.
func testWorkers(t *testing.T, d Driver) {
	s, mine := d.Store, tag()
	must(t, s,
		store.Create(store.WorkerKey(mine+"-b"), store.WorkerRecord{ID: mine + "-b", AnsweredAt: at(1)}),
		store.Create(store.WorkerKey(mine+"-a"), store.WorkerRecord{ID: mine + "-a", Catalog: &store.AnnouncedCatalog{Version: "v1", FunctionCount: 2}, Replicas: []store.ReplicaRecord{{ID: "r"}}}),
		store.Create(store.CatalogKey(mine+"-a"), store.Catalog{Functions: []signature.Function{{Name: "f"}}}),
	)
	short := func(w store.WorkerRecord) string {
		id, ours := strings.CutPrefix(w.ID, mine)
		if !ours {
			return ""
		}
		return fmt.Sprint(id, "/", len(w.Replicas))
	}
	check(t, []row{
		{"all", func(ctx context.Context) (any, error) {
			found, err := s.AllWorkers(ctx)
			return shorten(found, err, short)
		}, "-a/1 -b/0", false},
		{"announcements", func(ctx context.Context) (any, error) {
			found, err := s.WorkerAnnouncements(ctx)
			var all []string
			for _, w := range found {
				if id, ours := strings.CutPrefix(w.ID, mine); ours {
					all = append(all, fmt.Sprint(id, "/", w.Catalog != nil && w.Catalog.FunctionCount == 2))
				}
			}
			return all, err
		}, "-a/true -b/false", true},
	})
}

// testAudit: the reads of audit records. Each record of the test has a number as its target.
func testAudit(t *testing.T, d Driver) {
	s, batch, mine := d.Store, batchNumber(), tag()
	record := func(minute int, r store.AuditRecord) store.Write {
		r.At = at(minute)
		return store.Create(store.AuditKey(r.Partition(), store.SortableTime(r.At)+"-"+mine+r.Target), r)
	}
	ada, bob := store.Actor{By: "ada-" + mine, Kind: store.ActorUser}, store.Actor{By: "bob-" + mine}
	must(t, s,
		record(3, store.AuditRecord{Actor: ada, Action: "pause", Batch: batch, Target: "1", Why: "lunch"}),
		record(1, store.AuditRecord{Actor: bob, Action: "resume", Batch: batch, Target: "2"}),
		record(2, store.AuditRecord{Actor: ada, Action: "resume", Batch: batch, Target: "3"}),
	)
	must(t, s, record(4, store.AuditRecord{Actor: ada, Action: "publish", Runbook: mine, Target: "4"}), record(5, store.AuditRecord{Actor: ada, Action: "publish", Runbook: "other", Target: "5"}))
	must(t, s, record(6, store.AuditRecord{Actor: ada, Action: "replay", Target: "6"}))
	target := func(r store.AuditRecord) string { return r.Target }
	records := func(partition string, f store.AuditFilter) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			return pages(func(p store.Paging) (store.Page[store.AuditRecord], error) {
				return s.AuditRecords(ctx, partition, f, p)
			}, store.Sort{}, target)
		}
	}
	everywhere := func(f store.AuditFilter) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			return pages(func(p store.Paging) (store.Page[store.AuditRecord], error) { return s.AuditEverywhere(ctx, f, p) }, store.Sort{}, target)
		}
	}
	of := store.BatchPartition(batch)
	check(t, []row{
		{"of a batch", records(of, store.AuditFilter{}), "1 3 2", false},
		{"by action", records(of, store.AuditFilter{Action: "resume"}), "3 2", false},
		{"by actor", records(of, store.AuditFilter{By: ada.By}), "1 3", false},
		{"by reason", records(of, store.AuditFilter{Why: "lunch"}), "1", false},
		{"by target", records(of, store.AuditFilter{Target: "2"}), "2", false},
		{"from a moment on", records(of, store.AuditFilter{From: at(2)}), "1 3", false},
		{"before a moment", records(of, store.AuditFilter{To: at(2)}), "2", false},
		{"between two moments", records(of, store.AuditFilter{From: at(2), To: at(3).Add(-time.Nanosecond)}), "3", false},
		{"of a runbook", records(store.PartitionRunbooks, store.AuditFilter{Runbook: mine}), "4", false},
		{"of messages", records(store.PartitionUnprocessable, store.AuditFilter{By: ada.By}), "6", false},
		{"of nothing", records(store.BatchPartition(batch+1), store.AuditFilter{}), "", false},
		{"everywhere", everywhere(store.AuditFilter{By: ada.By}), "1 3 4 5 6", true},
		{"everywhere, by action", everywhere(store.AuditFilter{By: ada.By, Action: "publish", Runbook: mine}), "4", true},
	})
}

// testMessages: the read of unprocessable messages.
func testMessages(t *testing.T, d Driver) {
	s, mine := d.Store, tag()
	message := func(id string, u store.Unprocessable) store.Write {
		u.MessageID, u.Topic = id, mine+u.Topic
		return store.Create(store.UnprocessableKey(mine+id), u)
	}
	must(t, s,
		message("1", store.Unprocessable{Status: store.UnprocessableOpen, Type: "b", Place: "2026-1"}),
		message("2", store.Unprocessable{Status: store.UnprocessableOpen, Type: "a", Place: "2026-3", Body: []byte{0xff, 0}}),
		message("3", store.Unprocessable{Status: store.UnprocessableReplayed, Type: "c", Place: "2026-2"}),
		message("4", store.Unprocessable{Status: store.UnprocessableOpen, Topic: "-other", Place: "2026-4"}),
		store.Create(store.AttemptsKey(mine), store.Attempts{Topic: mine, Count: 1}),
	)
	list := func(f store.MessageFilter, sort store.Sort) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			f := f
			f.Topic = mine + f.Topic
			return pages(func(p store.Paging) (store.Page[store.Unprocessable], error) {
				return s.UnprocessableMessages(ctx, f, p)
			}, sort,
				func(u store.Unprocessable) string { return fmt.Sprint(u.MessageID, "/", len(u.Body)) })
		}
	}
	check(t, []row{
		{"of a topic", list(store.MessageFilter{}, store.Sort{}), "2/2 3/0 1/0", false},
		{"open", list(store.MessageFilter{Statuses: []store.UnprocessableStatus{store.UnprocessableOpen}}, store.Sort{}), "2/2 1/0", false},
		{"open or replayed", list(store.MessageFilter{Statuses: []store.UnprocessableStatus{store.UnprocessableReplayed, store.UnprocessableOpen}}, store.Sort{By: store.FieldMessageType}), "2/2 1/0 3/0", false},
		{"of another topic", list(store.MessageFilter{Topic: "-other"}, store.Sort{}), "4/0", false},
		{"the oldest first", list(store.MessageFilter{}, store.Sort{By: store.FieldPlace}), "1/0 3/0 2/2", false},
		{"by type", list(store.MessageFilter{}, store.Sort{By: store.FieldMessageType}), "2/2 1/0 3/0", false},
	})
}
