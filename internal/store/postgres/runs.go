package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

func ofRuns(batch int) (pk string, q *statement) {
	pk = store.BatchPartition(batch)
	return pk, of(pk, "run")
}

// Runs implements store.Runs.
func (s *Store) Runs(ctx context.Context, batch int, f store.RunFilter, page store.Paging) (store.Page[model.Run], error) {
	pk, q := ofRuns(batch)
	if len(f.Phases) > 0 {
		q.where("fields->'phaseId' = ANY(SELECT to_jsonb(n) FROM unnest(?::int[]) n)", f.Phases)
	}
	if len(f.StepStatuses) > 0 {
		q.where("jsonb_exists_any(fields->'stepStatuses', ?)", texts(f.StepStatuses))
	}
	if f.Waking {
		q.where("fields->>'wakeAt' IS NOT NULL")
	}
	q.number("memberId", "=", f.Member).startsWith("fields->>'key'", f.KeyPrefix)
	o := order{store.Sort{By: store.FieldID}, []store.Field{store.FieldID, store.FieldMemberID}}
	return list[model.Run](ctx, s, pk, q, o, documentColumns, page)
}

// RunsOfPage implements store.Runs.
func (s *Store) RunsOfPage(ctx context.Context, batch, page int, of store.RunSelection) ([]store.Item[model.Run], error) {
	pk, q := ofRuns(batch)
	q.where("fields->'page' = to_jsonb(?::int)", page) // page 0 has the runs without a member
	q.number("phaseId", "=", of.Phase).number("phaseId", "<=", of.LastPhase)
	var any []string
	if len(of.Statuses) > 0 {
		any = append(any, q.place("fields->>'status' = ANY(?)", texts(of.Statuses)))
	}
	if of.Paused {
		any = append(any, "fields->>'pausedAt' IS NOT NULL")
	}
	if len(of.Tasks) > 0 {
		any = append(any, q.place("fields->>'task' = ANY(?)", of.Tasks))
	}
	if len(any) > 0 {
		q.where("(" + strings.Join(any, " OR ") + ")")
	}
	return items[model.Run](ctx, s, pk, q, "")
}

// RunsOfMember implements store.Runs.
func (s *Store) RunsOfMember(ctx context.Context, batch, member int) ([]store.Item[model.Run], error) {
	pk, q := ofRuns(batch)
	q.where("fields->'memberId' = to_jsonb(?::int)", member) // member 0 has the runs of the batch
	return items[model.Run](ctx, s, pk, q, " ORDER BY id")
}

// CountRuns implements store.Runs.
func (s *Store) CountRuns(ctx context.Context, batch, phase int, statuses ...model.RunStatus) (int, error) {
	pk, q := ofRuns(batch)
	return s.count(ctx, pk, q.number("phaseId", "=", phase).where("fields->>'status' = ANY(?)", texts(statuses)))
}

// OpenRuns implements store.Runs.
func (s *Store) OpenRuns(ctx context.Context, batch, limit int) ([]store.Item[model.Run], error) {
	pk, q := ofRuns(batch)
	in(q, "status", []model.RunStatus{model.RunWaiting, model.RunRunning, model.RunRollingBack})
	return items[model.Run](ctx, s, pk, q, q.place(" LIMIT ?", limit))
}

// HasPausedRuns implements store.Runs.
func (s *Store) HasPausedRuns(ctx context.Context, batch int) (bool, error) {
	pk, q := ofRuns(batch)
	found, err := items[model.Run](ctx, s, pk, q.where("fields->>'pausedAt' IS NOT NULL"), " LIMIT 1")
	return len(found) > 0, err
}

// OverdueRuns implements store.Runs.
func (s *Store) OverdueRuns(ctx context.Context, batch int, bounds store.OverdueBounds, limit int) ([]store.Item[model.Run], bool, error) {
	pk, q := ofRuns(batch)
	q.where("id > ?", bounds.After)
	q.where("("+timeOf("wakeAt")+" < ? OR "+timeOf("deadlineAt")+" < ?)", stored(bounds.WakeBefore), stored(bounds.DeadlineBefore))
	found, err := items[model.Run](ctx, s, pk, q, q.place(" ORDER BY id LIMIT ?", limit+1))
	if err != nil || len(found) <= limit {
		return found, false, err
	}
	return found[:limit], true, nil
}

// WorkersWithJobs implements store.Runs. It is one query, for all workers.
func (s *Store) WorkersWithJobs(ctx context.Context, batch int, at time.Time) (map[string]time.Time, error) {
	pk, q := ofRuns(batch)
	q.where("fields->>'worker' > ''")
	oldest := map[string]time.Time{}
	sql := q.selected("fields->>'worker', min("+timeOf("sentAt")+")", " GROUP BY fields->>'worker'")
	err := s.query(ctx, pk, sql, q.params, func(rows pgx.Rows) error {
		var worker string
		var sent *string
		if err := rows.Scan(&worker, &sent); err != nil || sent == nil {
			return err
		}
		visible, err := time.Parse(time.RFC3339Nano, *sent)
		if err != nil {
			return fmt.Errorf("store: the time %q of a job cannot be read: %w", *sent, err)
		}
		if !visible.After(at) {
			oldest[worker] = visible
		}
		return nil
	})
	return oldest, err
}

// CountJobs implements store.Runs.
func (s *Store) CountJobs(ctx context.Context, batch int, f store.JobFilter) (int, error) {
	pk, q := ofRuns(batch)
	if f.Worker == "" {
		q.where("fields->>'worker' > ''")
	}
	if !f.VisibleAt.IsZero() {
		q.where(timeOf("sentAt")+" <= ?", stored(f.VisibleAt))
	}
	q.is("worker", f.Worker).is("task", f.Task).number("phaseId", "=", f.Phase).number("page", ">=", f.FirstPage).number("page", "<", f.BeforePage)
	return s.count(ctx, pk, q)
}

// Shards implements store.Shards.
func (s *Store) Shards(ctx context.Context, batch int, f store.ShardFilter) ([]store.Item[model.Shard], error) {
	pk := store.BatchPartition(batch)
	return s.shards(ctx, pk, of(pk, "shard"), f)
}

// ShardsOfPage implements store.Shards.
func (s *Store) ShardsOfPage(ctx context.Context, batch, page int, f store.ShardFilter) ([]store.Item[model.Shard], error) {
	pk := store.BatchPartition(batch)
	return s.shards(ctx, pk, of(pk, "shard").where("fields->'page' = to_jsonb(?::int)", page), f)
}

func (s *Store) shards(ctx context.Context, pk string, q *statement, f store.ShardFilter) ([]store.Item[model.Shard], error) {
	q.number("phaseId", "=", f.Phase)
	if f.Open {
		q.where("fields->'open' > '0'")
	}
	if f.Unreported {
		q.where("fields->'open' = '0' AND fields->'reported' = 'false'")
	}
	after := " ORDER BY id"
	if f.Limit > 0 {
		after = q.place(" ORDER BY id LIMIT ?", f.Limit)
	}
	return items[model.Shard](ctx, s, pk, q, after)
}

// LastShard implements store.Shards.
func (s *Store) LastShard(ctx context.Context, batch, phase int) (*store.Item[model.Shard], error) {
	pk := store.BatchPartition(batch)
	q := of(pk, "shard").number("phaseId", "=", phase)
	found, err := items[model.Shard](ctx, s, pk, q, " ORDER BY id DESC LIMIT 1")
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}
