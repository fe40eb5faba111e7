package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

type run = model.Run

// Runs implements store.Runs.
func (s *Store) Runs(ctx context.Context, batch int, f store.RunFilter, page store.Paging) (store.Page[run], error) {
	o := order{store.Sort{By: store.FieldID}, []store.Field{store.FieldID, store.FieldMemberID}}
	return list(ctx, s, "Runs", store.BatchPartition(batch), "run", f, o, page, func(_ *document, r *run) bool {
		return (len(f.Phases) == 0 || slices.Contains(f.Phases, r.Phase)) && (f.Member == 0 || r.Member == f.Member) && (!f.Waking || r.WakeAt != nil) &&
			(len(f.StepStatuses) == 0 || slices.ContainsFunc(f.StepStatuses, func(s model.StepStatus) bool { return slices.Contains(r.StepStatuses, s) })) &&
			strings.HasPrefix(r.Key, f.KeyPrefix)
	})
}

// RunsOfPage implements store.Runs.
func (s *Store) RunsOfPage(ctx context.Context, batch, page int, of store.RunSelection) ([]store.Item[run], error) {
	return all(ctx, s, "RunsOfPage", store.BatchPartition(batch), "run", func(_ *document, r *run) bool {
		return r.Page == page && (of.Phase == 0 || r.Phase == of.Phase) && (of.LastPhase == 0 || r.Phase <= of.LastPhase) &&
			(len(of.Statuses) == 0 && !of.Paused && len(of.Tasks) == 0 ||
				slices.Contains(of.Statuses, r.Status) || of.Paused && r.PausedAt != nil || slices.Contains(of.Tasks, r.Task))
	})
}

// RunsOfMember implements store.Runs.
func (s *Store) RunsOfMember(ctx context.Context, batch, member int) ([]store.Item[run], error) {
	return all(ctx, s, "RunsOfMember", store.BatchPartition(batch), "run", func(_ *document, r *run) bool { return r.Member == member })
}

// CountRuns implements store.Runs.
func (s *Store) CountRuns(ctx context.Context, batch, phase int, statuses ...model.RunStatus) (int, error) {
	found, err := query(ctx, s, "CountRuns", store.BatchPartition(batch), "run", func(_ *document, r *run) bool {
		return r.Phase == phase && slices.Contains(statuses, r.Status)
	})
	return len(found), err
}

// OpenRuns implements store.Runs.
func (s *Store) OpenRuns(ctx context.Context, batch, limit int) ([]store.Item[run], error) {
	found, err := query(ctx, s, "OpenRuns", store.BatchPartition(batch), "run", func(_ *document, r *run) bool { return !r.Status.Terminal() })
	if err != nil {
		return nil, err
	}
	return items[run](found[:min(limit, len(found))])
}

// HasPausedRuns implements store.Runs.
func (s *Store) HasPausedRuns(ctx context.Context, batch int) (bool, error) {
	found, err := query(ctx, s, "HasPausedRuns", store.BatchPartition(batch), "run", func(_ *document, r *run) bool { return r.PausedAt != nil })
	return len(found) > 0, err
}

// OverdueRuns implements store.Runs.
func (s *Store) OverdueRuns(ctx context.Context, batch int, bounds store.OverdueBounds, limit int) ([]store.Item[run], bool, error) {
	found, err := query(ctx, s, "OverdueRuns", store.BatchPartition(batch), "run", func(d *document, r *run) bool {
		return d.key.ID > bounds.After && (before(r.WakeAt, bounds.WakeBefore) || before(r.DeadlineAt, bounds.DeadlineBefore))
	})
	if err != nil {
		return nil, false, err
	}
	runs, err := items[run](found[:min(limit, len(found))])
	return runs, len(found) > limit, err
}

func before(at *time.Time, bound time.Time) bool { return at != nil && at.Before(bound) }

// WorkersWithJobs implements store.Runs.
func (s *Store) WorkersWithJobs(ctx context.Context, batch int, at time.Time) (map[string]time.Time, error) {
	found, err := query(ctx, s, "WorkersWithJobs", store.BatchPartition(batch), "run", func(_ *document, r *run) bool { return r.Worker != "" && r.SentAt != nil && !r.SentAt.After(at) })
	if err != nil {
		return nil, err
	}
	oldest := map[string]time.Time{}
	for _, d := range found {
		r, err := decoded[run](d)
		if err != nil {
			return nil, err
		}
		if first, ok := oldest[r.Worker]; !ok || r.SentAt.Before(first) {
			oldest[r.Worker] = *r.SentAt
		}
	}
	return oldest, nil
}

// CountJobs implements store.Runs.
func (s *Store) CountJobs(ctx context.Context, batch int, f store.JobFilter) (int, error) {
	found, err := query(ctx, s, "CountJobs", store.BatchPartition(batch), "run", func(_ *document, r *run) bool {
		return r.Worker != "" && (f.VisibleAt.IsZero() || r.SentAt != nil && !r.SentAt.After(f.VisibleAt)) && (f.Worker == "" || r.Worker == f.Worker) && (f.Task == "" || r.Task == f.Task) && (f.Phase == 0 || r.Phase == f.Phase) &&
			(f.FirstPage == 0 || r.Page >= f.FirstPage) && (f.BeforePage == 0 || r.Page < f.BeforePage)
	})
	return len(found), err
}
