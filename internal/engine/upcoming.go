package engine

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// UpcomingPhases returns the announcements of the phases of a batch that begin before the next tick has
// announced them, each for the time at which the phase begins. An announcement that finds the init
// steps unfinished changes nothing. Phases that are late are announced as the given
// fan-out: their first announcement may be lost, and the broker would drop one with the same id.
func UpcomingPhases(b *model.Batch, now time.Time, fanOut string) (announcements []model.Message) {
	if b.DispatchMode() != model.Running || b.Filling || b.Status.Terminal() {
		return nil
	}
	for _, p := range b.Phases {
		if p.Status != model.PhasePending || p.DueAt == nil {
			continue
		}
		soon := now.Add(model.LookAhead)
		first := announcement(b, &p, now, fanOut)
		if first.At.Before(soon) {
			announcements = append(announcements, first)
		}
		if p.Reason == "" && first.At.After(*p.DueAt) && first.At.After(now) && p.DueAt.Before(soon) { // it notes the quiet hours as the waiting reason
			announcements = append(announcements, model.Announce{Phase: p.ID, At: *p.DueAt, FanOut: dueFanOut(b, &p)})
		}
	}
	return announcements
}

// announcement returns the announcement of a pending phase for the time at which it begins. Its FanOut
// distinguishes it from the announcements for other times.
func announcement(b *model.Batch, p *model.Phase, now time.Time, fanOut string) model.Announce {
	m := model.Announce{Phase: p.ID, At: StartsAt(b, p, now), FanOut: dueFanOut(b, p)}
	switch {
	case m.At.Equal(*p.DueAt):
	case m.At.After(now): // quiet hours end then, also by a clock that is a little behind
		m.FanOut = fmt.Sprintf("at-%d", m.At.Unix())
		m.At = m.At.Add(time.Second)
	case now.Sub(*p.DueAt) > model.SweepGrace:
		m.FanOut = fanOut
	}
	return m
}

// dueFanOut distinguishes the announcement of a phase for its time from those for its times before the
// batch was rescheduled, whose ids the broker remembers. It is empty in other batches.
func dueFanOut(b *model.Batch, p *model.Phase) string {
	if b.Rescheduled == nil {
		return ""
	}
	return fmt.Sprintf("due-%d", p.DueAt.Unix())
}
