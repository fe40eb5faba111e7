package cosmos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Runs implements store.Runs.
func (s *Store) Runs(ctx context.Context, batch int, f store.RunFilter, page store.Paging) (store.Page[model.Run], error) {
	q := newQuery("c.type = 'run'")
	if len(f.Phases) > 0 {
		q.where("ARRAY_CONTAINS(@phases, c.doc.phaseId)", "@phases", f.Phases)
	}
	if f.Member > 0 {
		q.where("c.doc.memberId = @member", "@member", f.Member)
	}
	var any []string
	for i, status := range f.StepStatuses {
		name := fmt.Sprintf("@status%d", i)
		q.param(name, status)
		any = append(any, "ARRAY_CONTAINS(c.doc.stepStatuses, "+name+")")
	}
	if len(any) > 0 {
		q.and("(" + strings.Join(any, " OR ") + ")")
	}
	if f.Waking {
		q.and("IS_DEFINED(c.doc.wakeAt)")
	}
	q.startsWith("c.doc.key", f.KeyPrefix)
	order, err := orderBy(page.Sort, store.Sort{By: store.FieldID}, store.FieldID, store.FieldMemberID)
	if err != nil {
		return store.Page[model.Run]{}, err
	}
	return list[model.Run](ctx, s, store.BatchPartition(batch), q.items(order), page)
}

// RunsOfPage implements store.Runs.
func (s *Store) RunsOfPage(ctx context.Context, batch, page int, of store.RunSelection) ([]store.Item[model.Run], error) {
	q := newQuery("c.type = 'run'")
	q.where("c.doc.page = @page", "@page", page)
	if of.Phase != 0 {
		q.where("c.doc.phaseId = @phase", "@phase", of.Phase)
	}
	if of.LastPhase != 0 {
		q.where("c.doc.phaseId <= @last", "@last", of.LastPhase)
	}
	var any []string
	if len(of.Statuses) > 0 {
		any = append(any, "ARRAY_CONTAINS(@statuses, c.doc.status)")
		q.param("@statuses", of.Statuses)
	}
	if of.Paused {
		any = append(any, "IS_DEFINED(c.doc.pausedAt)")
	}
	if len(of.Tasks) > 0 {
		any = append(any, "ARRAY_CONTAINS(@tasks, c.doc.task)")
		q.param("@tasks", of.Tasks)
	}
	if len(any) > 0 {
		q.and("(" + strings.Join(any, " OR ") + ")")
	}
	return all[model.Run](ctx, s, store.BatchPartition(batch), q.items(""))
}

// RunsOfMember implements store.Runs.
func (s *Store) RunsOfMember(ctx context.Context, batch, member int) ([]store.Item[model.Run], error) {
	q := newQuery("c.type = 'run'")
	q.where("c.doc.memberId = @member", "@member", member)
	return all[model.Run](ctx, s, store.BatchPartition(batch), q.items(" ORDER BY c.id"))
}

// CountRuns implements store.Runs.
func (s *Store) CountRuns(ctx context.Context, batch, phase int, statuses ...model.RunStatus) (int, error) {
	q := newQuery("c.type = 'run'")
	q.where("c.doc.phaseId = @phase", "@phase", phase)
	q.where("ARRAY_CONTAINS(@statuses, c.doc.status)", "@statuses", statuses)
	return s.count(ctx, store.BatchPartition(batch), q)
}

// OpenRuns implements store.Runs.
func (s *Store) OpenRuns(ctx context.Context, batch, limit int) ([]store.Item[model.Run], error) {
	q := newQuery("c.type = 'run'", "c.doc.status IN ('waiting', 'running', 'rolling_back')")
	page, err := list[model.Run](ctx, s, store.BatchPartition(batch), q.items(""), store.Paging{Limit: limit})
	return page.Items, err
}

// HasPausedRuns implements store.Runs.
func (s *Store) HasPausedRuns(ctx context.Context, batch int) (bool, error) {
	paused, err := first[model.Run](ctx, s, store.BatchPartition(batch), newQuery("c.type = 'run'", "IS_DEFINED(c.doc.pausedAt)").items(""))
	return paused != nil, err
}

// OverdueRuns implements store.Runs. The next page begins behind the last run of this one: a
// continuation would be of this query with these times.
func (s *Store) OverdueRuns(ctx context.Context, batch int, bounds store.OverdueBounds, limit int) ([]store.Item[model.Run], bool, error) {
	q := newQuery("c.type = 'run'", "c.id > @after", "(c.doc.wakeAt < @wake OR c.doc.deadlineAt < @deadline)")
	q.param("@after", bounds.After)
	q.param("@wake", bounds.WakeBefore.UTC().Format(time.RFC3339Nano))
	q.param("@deadline", bounds.DeadlineBefore.UTC().Format(time.RFC3339Nano))
	page, err := list[model.Run](ctx, s, store.BatchPartition(batch), q.items(" ORDER BY c.id"), store.Paging{Limit: limit})
	return page.Items, page.Continuation != "" && len(page.Items) > 0, err
}

// WorkersWithJobs implements store.Runs.
func (s *Store) WorkersWithJobs(ctx context.Context, batch int, at time.Time) (map[string]time.Time, error) {
	oldest := map[string]time.Time{}
	for last := ""; ; {
		q := newQuery("c.type = 'run'", "c.doc.worker > @last")
		q.param("@last", last)
		next, err := first[model.Run](ctx, s, store.BatchPartition(batch), q.items(" ORDER BY c.doc.worker ASC"))
		if err != nil || next == nil {
			return oldest, err
		}
		last = next.Doc.Worker
		q = newQuery("c.type = 'run'", "c.doc.worker = @worker")
		q.param("@worker", last)
		run, err := first[model.Run](ctx, s, store.BatchPartition(batch), q.items(" ORDER BY c.doc.sentAt ASC"))
		if err != nil {
			return nil, err
		}
		if run != nil && run.Doc.SentAt != nil && !run.Doc.SentAt.After(at) { // or it was answered in between
			oldest[last] = *run.Doc.SentAt
		}
	}
}

// CountJobs implements store.Runs.
func (s *Store) CountJobs(ctx context.Context, batch int, f store.JobFilter) (int, error) {
	q := newQuery("c.type = 'run'")
	if f.Worker != "" {
		q.where("c.doc.worker = @worker", "@worker", f.Worker)
	} else {
		q.and("c.doc.worker > ''")
	}
	if !f.VisibleAt.IsZero() {
		q.where("c.doc.sentAt <= @visible", "@visible", f.VisibleAt.UTC().Format(time.RFC3339Nano))
	}
	if f.Task != "" {
		q.where("c.doc.task = @task", "@task", f.Task)
	}
	if f.Phase != 0 {
		q.where("c.doc.phaseId = @phase", "@phase", f.Phase)
	}
	if f.FirstPage != 0 {
		q.where("c.doc.page >= @first", "@first", f.FirstPage)
	}
	if f.BeforePage != 0 {
		q.where("c.doc.page < @before", "@before", f.BeforePage)
	}
	return s.count(ctx, store.BatchPartition(batch), q)
}

// count counts the documents of a query. The service may count in parts.
func (s *Store) count(ctx context.Context, partition string, q *statement) (int, error) {
	counts, err := project[int](ctx, s, partition, q.fields("VALUE COUNT(1)"))
	total := 0
	for _, n := range counts {
		total += n
	}
	return total, err
}
