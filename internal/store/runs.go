package store

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// Runs are the named reads of a batch's runs. Each is one query within the batch's partition,
// which costs about 3 RU and 1 RU for every 10 runs that it returns, unless its comment says
// otherwise. All fail with ErrUnavailable.
type Runs interface {
	// Runs lists the runs of a batch, by phase execution and member unless Sort asks for another
	// order: FieldID or FieldMemberID. It also fails with ErrContinuation.
	Runs(ctx context.Context, batch int, filter RunFilter, page Paging) (Page[model.Run], error)

	// RunsOfPage returns the runs of one page of members, or of page 0 the runs without a
	// member, in any order. There are at most model.PageSize for each phase execution, so that
	// the cost does not grow with the batch.
	RunsOfPage(ctx context.Context, batch, page int, selection RunSelection) ([]Item[model.Run], error)

	// RunsOfMember returns the runs of one member, by phase execution.
	RunsOfMember(ctx context.Context, batch, member int) ([]Item[model.Run], error)

	// CountRuns counts the runs of a phase execution that are in one of the given statuses. It costs
	// about 3 RU.
	CountRuns(ctx context.Context, batch, phase int, statuses ...model.RunStatus) (int, error)

	// OpenRuns returns runs that have not ended, in any order and at most limit of them.
	OpenRuns(ctx context.Context, batch, limit int) ([]Item[model.Run], error)

	// HasPausedRuns reports whether a run waits for its batch to be resumed. It costs about 3 RU.
	HasPausedRuns(ctx context.Context, batch int) (bool, error)

	// OverdueRuns returns runs that should have been woken, or whose deadline passes soon, by id
	// and at most limit of them. More reports whether the batch may have others behind the last
	// one. Times are compared to the second.
	OverdueRuns(ctx context.Context, batch int, bounds OverdueBounds, limit int) (runs []Item[model.Run], more bool, err error)

	// WorkersWithJobs returns the workers that at a time have jobs of the batch without a result, each
	// with the time at which the oldest of them became visible to it. It leaves out jobs that are not
	// visible yet: polls that were sent ahead. It costs two queries for each worker and one more, of
	// about 3 RU each, however many jobs there are.
	WorkersWithJobs(ctx context.Context, batch int, at time.Time) (map[string]time.Time, error)

	// CountJobs counts the jobs of the batch that have no result. Times are compared to the second.
	// It costs about 3 RU.
	CountJobs(ctx context.Context, batch int, filter JobFilter) (int, error)
}

// RunFilter narrows a list of runs. An empty field takes all; those that are given must all hold.
type RunFilter struct {
	Phases       []int // executions of phases; in any of them
	Member       int
	StepStatuses []model.StepStatus // runs with at least one step in one of them
	Waking       bool               // only runs that wait for a poll or a retry
	KeyPrefix    string             // of the member's key, compared exactly
}

// JobFilter narrows the jobs that are counted. An empty field takes all; those that are given
// must all hold.
type JobFilter struct {
	VisibleAt  time.Time // jobs that were visible to their worker by then
	Worker     string    // jobs that this worker has
	Task       string    // jobs of runs that this task released or retried last
	Phase      int       // jobs of this phase execution
	FirstPage  int       // jobs of this page of members and those behind it
	BeforePage int       // jobs of the pages of members before this one
}

// RunSelection narrows the runs of a page. Phase and LastPhase must hold where they are given,
// and at least one of Statuses, Paused and Tasks where any of them is.
type RunSelection struct {
	Phase     int // runs of this phase execution
	LastPhase int // runs of this phase execution and those before it

	Statuses []model.RunStatus // runs in one of them
	Paused   bool              // runs that wait for their batch to be resumed
	Tasks    []string          // runs that one of these tasks released or retried last
}

// OverdueBounds says which runs are overdue.
type OverdueBounds struct {
	After          string    // the id of the run behind which the search begins; empty for the first
	WakeBefore     time.Time // runs that should have been woken before this time
	DeadlineBefore time.Time // runs with a deadline before this time
}
