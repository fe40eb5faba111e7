package applier

import (
	"context"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
)

// TickInterval is how often the scheduler ticks.
const TickInterval = 5 * time.Minute

// LookAhead is for how long in advance the beginning of phases is announced: a tick may
// take ten minutes, and the next begins only then.
const LookAhead = 3 * TickInterval

// SweepGrace is how long something due may be late before the sweep takes it up: its
// message is then taken for lost.
const SweepGrace = 2 * time.Minute

// AbandonAfter is after how long a batch is given up that is listed as in the making and
// is not there.
const AbandonAfter = 24 * time.Hour

// SweepTask names the work of the tick at a time.
func SweepTask(now time.Time) string {
	return fmt.Sprintf("tick-%d", now.Unix()/int64(TickInterval/time.Second))
}

// AnnounceDue announces what falls due before the next tick in a batch that has just
// been made, or may just go on.
func (a *Applier) AnnounceDue(ctx context.Context, b *model.Batch) error {
	now := a.now().UTC()
	return a.Send(ctx, &Outbox{Events: UpcomingPhases(b, now, SweepTask(now))})
}

// UpcomingPhases returns the announcements of the phases that begin soon, for their moment. Init
// may end before: should it not, the announcement changes nothing.
func UpcomingPhases(b *model.Batch, now time.Time, again string) (events []bus.Message) {
	if b.DispatchMode() != model.Running || b.Filling || b.Status.Terminal() {
		return nil
	}
	for _, p := range b.Phases {
		if p.Status != model.PhasePending || p.DueAt == nil {
			continue
		}
		soon := now.Add(LookAhead)
		at, walk := start(b, p, now, again)
		if at.Before(soon) {
			events = append(events, PhaseDueMessage(b, p, 1, walk, at))
		}
		if p.Reason == "" && at.After(*p.DueAt) && at.After(now) && p.DueAt.Before(soon) { // it will say that it is quiet
			events = append(events, PhaseDueMessage(b, p, 1, "", *p.DueAt))
		}
	}
	return events
}

// start is when a pending phase is to begin, and what tells its announcement from
// those for other moments.
func start(b *model.Batch, p model.Phase, now time.Time, again string) (at time.Time, walk string) {
	at = engine.StartsAt(b, &p, now)
	switch {
	case at.Equal(*p.DueAt):
		return at, ""
	case at.After(now): // quiet hours end then, also by a clock that is a little behind
		return at.Add(time.Second), fmt.Sprintf("at-%d", at.Unix())
	case now.Sub(*p.DueAt) > SweepGrace:
		return at, again
	}
	return at, ""
}
