package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// testRuns: the reads of runs. Their phase execution and member name them: 1/2 is the run of
// member 2 in execution 1; 1/0 is one without a member.
func testRuns(t *testing.T, d Driver) {
	s, batch := d.Store, batchNumber()
	step := func(status model.StepStatus) []model.Step {
		return []model.Step{{Status: model.StepSucceeded}, {Status: status}}
	}
	must(t, s,
		newRun(batch, model.Run{Phase: 1, PhaseName: "init", Status: model.RunFailed, Task: "t1"}),
		newRun(batch, model.Run{Phase: 2, Member: 1, Page: 1, PhaseName: "go", Key: "a@x", Status: model.RunRunning, Steps: step(model.StepDispatched), Worker: "w2", SentAt: when(5), DeadlineAt: when(60)}),
		newRun(batch, model.Run{Phase: 2, Member: 2, Page: 1, PhaseName: "go", Key: "ab@x", Status: model.RunRunning, Steps: step(model.StepPending), WakeAt: when(10), Task: "t1"}),
		newRun(batch, model.Run{Phase: 2, Member: 3, Page: 1, PhaseName: "go", Key: "b@x", Status: model.RunWaiting, PausedAt: when(1)}),
		newRun(batch, model.Run{Phase: 2, Member: 60, Page: 2, PhaseName: "go", Key: "c@x", Status: model.RunRollingBack, Steps: step(model.StepDispatched), Worker: "w1", SentAt: when(3), DeadlineAt: when(20)}),
		newRun(batch, model.Run{Phase: 3, Member: 1, Page: 1, PhaseName: "end", Key: "a@x", Status: model.RunSucceeded, Steps: step(model.StepSucceeded)}),
		newRun(batch, model.Run{Phase: 3, Member: 60, Page: 2, PhaseName: "end", Key: "c@x", Status: model.RunRunning, Steps: step(model.StepDispatched), Worker: "w1", SentAt: when(4), Task: "t2"}),
	)
	must(t, s, member(batch, model.Member{ID: 1, Page: 1, Key: "a@x", Status: model.MemberActive})) // which no read of runs returns
	name := func(r model.Run) string { return fmt.Sprintf("%d/%d", r.Phase, r.Member) }
	list := func(filter store.RunFilter, sort store.Sort) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			return pages(func(p store.Paging) (store.Page[model.Run], error) { return s.Runs(ctx, batch, filter, p) }, sort, name)
		}
	}
	ofPage := func(page int, of store.RunSelection) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			found, err := s.RunsOfPage(ctx, batch, page, of)
			return shorten(found, err, name)
		}
	}
	overdue := func(after string, wake, deadline, limit int) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			found, more, err := s.OverdueRuns(ctx, batch, store.OverdueBounds{After: after, WakeBefore: at(wake), DeadlineBefore: at(deadline)}, limit)
			names := []string{}
			for _, r := range found {
				names = append(names, name(r.Doc))
			}
			return append(names, fmt.Sprint(more)), err
		}
	}
	jobs := func(f store.JobFilter) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) { return s.CountJobs(ctx, batch, f) }
	}
	check(t, []row{
		{"all", list(store.RunFilter{}, store.Sort{}), "1/0 2/1 2/2 2/3 2/60 3/1 3/60", false},
		{"by member", list(store.RunFilter{}, store.Sort{By: store.FieldID, Descending: true}), "3/60 3/1 2/60 2/3 2/2 2/1 1/0", false},
		{"of a phase", list(store.RunFilter{Phases: []int{3}}, store.Sort{}), "3/1 3/60", false},
		{"of a member", list(store.RunFilter{Member: 60}, store.Sort{}), "2/60 3/60", false},
		{"by the status of a step", list(store.RunFilter{StepStatuses: []model.StepStatus{model.StepDispatched}}, store.Sort{}), "2/1 2/60 3/60", false},
		{"by several statuses of a step", list(store.RunFilter{StepStatuses: []model.StepStatus{model.StepPending, model.StepPolling, model.StepDispatched}}, store.Sort{}), "2/1 2/2 2/60 3/60", false},
		{"that wait for a poll or a retry", list(store.RunFilter{StepStatuses: []model.StepStatus{model.StepPending}, Waking: true}, store.Sort{}), "2/2", false},
		{"by a prefix of the key", list(store.RunFilter{KeyPrefix: "a"}, store.Sort{}), "2/1 2/2 3/1", false},
		{"page 1", ofPage(1, store.RunSelection{}), "2/1 2/2 2/3 3/1", true},
		{"page 0", ofPage(0, store.RunSelection{}), "1/0", true},
		{"page 1 of a phase", ofPage(1, store.RunSelection{Phase: 2}), "2/1 2/2 2/3", true},
		{"page 1 up to a phase", ofPage(1, store.RunSelection{LastPhase: 2}), "2/1 2/2 2/3", true},
		{"page 1, by status", ofPage(1, store.RunSelection{Statuses: []model.RunStatus{model.RunWaiting, model.RunRunning}}), "2/1 2/2 2/3", true},
		{"page 1, paused", ofPage(1, store.RunSelection{Paused: true}), "2/3", true},
		{"page 1, of a task", ofPage(1, store.RunSelection{Tasks: []string{"t1"}}), "2/2", true},
		{"page 1, paused or of a task", ofPage(1, store.RunSelection{Paused: true, Tasks: []string{"t1"}}), "2/2 2/3", true},
		{"page 0, failed or of a task", ofPage(0, store.RunSelection{Statuses: []model.RunStatus{model.RunFailed}, Tasks: []string{"t9"}}), "1/0", true},
		{"page 1, succeeded, of a phase", ofPage(1, store.RunSelection{Phase: 3, Statuses: []model.RunStatus{model.RunSucceeded}, Paused: true}), "3/1", true},
		{"of member 60", func(ctx context.Context) (any, error) {
			found, err := s.RunsOfMember(ctx, batch, 60)
			return shorten(found, err, name)
		}, "2/60 3/60", false},
		{"of no member", func(ctx context.Context) (any, error) {
			found, err := s.RunsOfMember(ctx, batch, 0)
			return shorten(found, err, name)
		}, "1/0", false},
		{"the number of a phase, in some statuses", func(ctx context.Context) (any, error) {
			return s.CountRuns(ctx, batch, 2, model.RunRunning, model.RunWaiting, model.RunSucceeded)
		}, "3", false},
		{"the number of no phase", func(ctx context.Context) (any, error) { return s.CountRuns(ctx, batch, 9, model.RunRunning) }, "0", false},
		{"open", func(ctx context.Context) (any, error) {
			found, err := s.OpenRuns(ctx, batch, 10)
			return shorten(found, err, name)
		}, "2/1 2/2 2/3 2/60 3/60", true},
		{"some that are open", func(ctx context.Context) (any, error) {
			found, err := s.OpenRuns(ctx, batch, 2)
			return len(found), err
		}, "2", false},
		{"paused", func(ctx context.Context) (any, error) { return s.HasPausedRuns(ctx, batch) }, "true", false},
		{"paused in no batch", func(ctx context.Context) (any, error) { return s.HasPausedRuns(ctx, batch+1) }, "false", false},
		{"overdue", overdue("", 11, 61, 10), "2/1 2/2 2/60 false", false},
		{"overdue, the first", overdue("", 11, 61, 2), "2/1 2/2 true", false},
		{"overdue, behind one", overdue(store.RunKey(batch, 2, 2).ID, 11, 61, 2), "2/60 false", false},
		{"overdue deadlines", overdue("", 10, 21, 10), "2/60 false", false},
		{"none overdue", overdue("", 0, 0, 10), "false", false},
		{"workers with jobs", func(ctx context.Context) (any, error) {
			oldest, err := s.WorkersWithJobs(ctx, batch, at(5))
			var all []string
			for _, worker := range slices.Sorted(maps.Keys(oldest)) {
				all = append(all, worker+"/"+oldest[worker].UTC().Format("15:04"))
			}
			return all, err
		}, "w1/09:03 w2/09:05", false},
		{"workers with visible jobs", func(ctx context.Context) (any, error) {
			oldest, err := s.WorkersWithJobs(ctx, batch, at(4))
			return slices.Sorted(maps.Keys(oldest)), err
		}, "w1", false},
		{"workers of no batch", func(ctx context.Context) (any, error) {
			oldest, err := s.WorkersWithJobs(ctx, batch+1, at(5))
			return len(oldest), err
		}, "0", false},
		{"jobs", jobs(store.JobFilter{}), "3", false},
		{"visible jobs", jobs(store.JobFilter{VisibleAt: at(4)}), "2", false},
		{"jobs of a worker", jobs(store.JobFilter{Worker: "w1"}), "2", false},
		{"jobs of no worker", jobs(store.JobFilter{Worker: "w9"}), "0", false},
		{"jobs of a task", jobs(store.JobFilter{Task: "t2"}), "1", false},
		{"jobs of a phase", jobs(store.JobFilter{Phase: 3}), "1", false},
		{"jobs from page 2", jobs(store.JobFilter{FirstPage: 2}), "2", false},
		{"jobs before page 2", jobs(store.JobFilter{BeforePage: 2}), "1", false},
	})
}

func newRun(batch int, r model.Run) store.Write {
	r.Batch = batch
	r.NoteStatuses()
	return store.Create(store.RunKey(batch, r.Phase, r.Member), r)
}

// testShards: the reads of shards. Their phase execution and page name them.
func testShards(t *testing.T, d Driver) {
	s, batch := d.Store, batchNumber()
	var writes store.Writes
	for _, shard := range []model.Shard{
		{Phase: 2, Page: 1, Open: 1}, {Phase: 2, Page: 2}, {Phase: 2, Page: 10, Reported: true}, {Phase: 3, Page: 1}, {Phase: 3, Page: 2, Open: 2},
	} {
		writes = append(writes, store.Create(store.ShardKey(batch, shard.Phase, shard.Page), shard))
	}
	must(t, s, writes...)
	name := func(d model.Shard) string { return fmt.Sprintf("%d/%d", d.Phase, d.Page) }
	shards := func(f store.ShardFilter) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			found, err := s.Shards(ctx, batch, f)
			return shorten(found, err, name)
		}
	}
	ofPage := func(page int, f store.ShardFilter) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			found, err := s.ShardsOfPage(ctx, batch, page, f)
			return shorten(found, err, name)
		}
	}
	last := func(phase int) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			found, err := s.LastShard(ctx, batch, phase)
			if err != nil || found == nil {
				return "none", err
			}
			return name(found.Doc), nil
		}
	}
	check(t, []row{
		{"all", shards(store.ShardFilter{}), "2/1 2/2 2/10 3/1 3/2", false},
		{"of a phase", shards(store.ShardFilter{Phase: 2}), "2/1 2/2 2/10", false},
		{"open", shards(store.ShardFilter{Open: true}), "2/1 3/2", false},
		{"unreported", shards(store.ShardFilter{Unreported: true}), "2/2 3/1", false},
		{"one that is unreported", shards(store.ShardFilter{Unreported: true, Limit: 1}), "2/2", false},
		{"unreported of a phase", shards(store.ShardFilter{Phase: 3, Unreported: true}), "3/1", false},
		{"of page 2", ofPage(2, store.ShardFilter{}), "2/2 3/2", false},
		{"of page 2, open", ofPage(2, store.ShardFilter{Open: true}), "3/2", false},
		{"of page 2, unreported", ofPage(2, store.ShardFilter{Unreported: true}), "2/2", false},
		{"of page 0", ofPage(0, store.ShardFilter{}), "", false},
		{"the last of a phase", last(2), "2/10", false},
		{"the last of no phase", last(9), "none", false},
	})
}
