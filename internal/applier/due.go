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

// LookAhead is how long before their start phases are announced: a tick may take ten minutes, and
// the next tick begins after it.
const LookAhead = 3 * TickInterval

// SweepGrace is how late a message may be before the sweep takes it for lost.
const SweepGrace = 2 * time.Minute

// AbandonAfter is how long the summary of a batch that is being created stays if the batch itself
// does not exist.
const AbandonAfter = 24 * time.Hour

// SweepTask returns the name of the work of the tick at a time.
func SweepTask(now time.Time) string {
	return fmt.Sprintf("tick-%d", now.Unix()/int64(TickInterval/time.Second))
}

// AnnounceDue announces the phases that fall due before the next tick in a batch that was just created
// or resumed.
func (a *Applier) AnnounceDue(ctx context.Context, b *model.Batch) error {
	now := a.now().UTC()
	return a.Send(ctx, &Outbox{Events: UpcomingPhases(b, now, SweepTask(now))})
}

// UpcomingPhases returns the announcements of the phases that begin soon, for the time at which they
// begin. If the init steps have not ended by then, the announcement changes nothing.
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

// start returns when a pending phase begins, and the walk that distinguishes its announcement from
// those for other times.
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
