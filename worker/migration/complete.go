package migration

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// soon is how far from now the time is that a completion sets. Pages disagree on whether a time may have passed.
const soon = 5 * time.Second

// maxLate is how often the time of the cut-over is written where the request took so long that it had passed.
const maxLate = 3

// CompleteJobResult is the result of Complete-CrossTenantMigrationJob.
type CompleteJobResult struct{ JobName string }

// completeJob brings the time of a job forward to now. A redelivered job does not bring it forward again if the job was
// changed since, such as by a postponement.
func (s service) completeJob(ctx context.Context, p catalog.Params) (any, error) {
	name, err := jobName(p)
	if err != nil {
		return nil, err
	}
	step, written := catalog.JobOf(ctx), false
	look := lookFor(name, false, func(have *job) (catalog.Shown, bool, error) {
		at, err := time.Parse(time.RFC3339, have.CompleteAfterDateTime)
		due := err == nil && !at.After(s.graph.Now().Add(soon))
		reason := fmt.Sprintf("the job %s is %s, and CompleteAfter is %s", name, have.describe(), cmp.Or(have.CompleteAfterDateTime, "not set"))
		switch {
		case have.is("cuttingOver", "completed", "completedWithErrors"), have.is(running...) && due:
			return catalog.Shown{Answer: CompleteJobResult{name}, Met: true}, false, nil
		case !have.is(running...):
			return catalog.Shown{}, false, conflict(fmt.Sprintf("the job %s is %s, expected that it copies: start it with Start-CrossTenantMigrationJob", name, have.describe()))
		case step.Redelivered && !written && have.updatedSince(step.Enqueued):
			return catalog.Shown{}, false, conflict(reason + ", which was changed since the step was sent: retry the step if people are to be cut over now")
		}
		return catalog.Shown{Reason: reason + ", expected now"}, false, nil
	})
	return s.unless(ctx, look, func() (bool, error) {
		written = true
		for tries := 1; ; tries++ {
			done, err := s.graph.Write(ctx, http.MethodPatch, jobPath(name), graph.Fresh(func() any {
				return map[string]any{"completeAfterDateTime": s.graph.Now().Add(soon).UTC().Format(time.RFC3339)}
			}))
			if !tooLate(err) {
				return done, err
			}
			if tries == maxLate {
				return false, failed(fmt.Sprintf("Graph takes a time in %s for passed: compare the clock of the worker, and retry the step (%v)", soon, err))
			}
		}
	}, "the time was written, but Graph does not show it")
}
