package applier

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

// AddOverdue adds what a run waits for: a deadline for its moment, anything else at once.
func (o *Outbox) AddOverdue(run *model.Run, now time.Time, again string) error {
	if run.Status.Terminal() {
		return nil
	}
	if at := run.DeadlineAt; at != nil {
		m := deadlineMessage(run, run.Current, *at)
		if at.Before(now) {
			m.ID += "-" + again
		}
		o.Events = append(o.Events, m)
		return nil
	}
	first := len(o.Events)
	if err := o.Add(nil, runstate.Outstanding(run), now); err != nil {
		return err
	}
	for i := first; i < len(o.Events); i++ {
		o.Events[i].ID += "-" + again
		o.Events[i].At = time.Time{}
	}
	return nil
}
