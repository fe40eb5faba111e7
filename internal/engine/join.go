package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// onCatchUpDue brings a page of late members, phase by phase in their order, to where the
// others are. A page that has caught up is left as it is.
func onCatchUpDue(b *model.Batch, e model.CatchUpDue) model.Decision {
	for _, j := range b.Joining {
		if j.Page != e.Page || b.DispatchMode() != model.Running { // resuming the batch comes back to it
			continue
		}
		var d model.Decision
		for _, phase := range j.Phases {
			d.Next = append(d.Next, model.PageDue{Phase: phase, Page: e.Page})
		}
		d.Next = append(d.Next, model.PageCaughtUp(e))
		return d
	}
	return model.Decision{Stale: true}
}

// mostJoining is how many pages of members may catch up at a time: the batch document
// lists each of them.
const mostJoining = 500

// joiningReason says what the pages that catch up wait for.
func joiningReason(b *model.Batch) string {
	if b.Paused != nil {
		return "the batch is paused"
	}
	return "they are still running"
}

// CheckJoin refuses members for a batch to which none can be added now.
func CheckJoin(b *model.Batch) error {
	if b.HasEnded() {
		return refuseEnded(b, "no member can be added")
	}
	if len(b.Joining) >= mostJoining {
		return model.Refusef("%d pages of members that were added to batch %d have not caught up (%s): add more members later", len(b.Joining), b.ID, joiningReason(b))
	}
	return nil
}

// onMembersJoined adds members of one page to a batch, and the page to what the phases that
// are under way or done wait for. Where there are none the page has nothing to catch
// up on: the fan-out of the phase that comes next, or of the one that is under way, comes
// to it as to the others.
func onMembersJoined(b *model.Batch, e model.MembersJoined) (model.Decision, error) {
	if err := CheckJoin(b); err != nil {
		return model.Decision{}, err
	}
	join := model.Join{Page: b.PageCount() + 1, First: b.Members + 1, Key: e.Key}
	for _, p := range fannedOutPhases(b) {
		join.Phases = append(join.Phases, p.ID)
		p.Shards++
		reopenPhase(p)
	}
	b.Members, b.Pages, b.Shared = b.Members+e.Members, join.Page, b.Shared || e.Shared
	checks := checksDue(b)
	if len(join.Phases) == 0 {
		return batchChanged(b, checks...), nil
	}
	b.Joining = append(slices.Clone(b.Joining), join)
	return batchChanged(b, append(checks, model.CatchUp{Join: join})...), nil
}

// fannedOutPhases returns the newest execution of every phase that is fanned out, in
// the order of the phases, of any version.
func fannedOutPhases(b *model.Batch) []*model.Phase {
	newest := map[string]*model.Phase{}
	place := map[int]int{} // of an execution among those of its version
	versions := map[int]int{}
	for _, p := range inOrder(b) {
		place[p.ID] = versions[p.Version]
		versions[p.Version]++
		if p.FannedOut && p.Status != model.PhaseCancelled {
			newest[p.Name] = p
		}
	}
	return slices.SortedFunc(maps.Values(newest), func(p, q *model.Phase) int {
		if p.DueAt != nil && q.DueAt != nil {
			return cmp.Or(q.OffsetMinutes-p.OffsetMinutes, place[p.ID]-place[q.ID], p.ID-q.ID)
		}
		return cmp.Or(place[p.ID]-place[q.ID], p.ID-q.ID)
	})
}

// onPageCaughtUp notes that a page of late members is where the others are.
func onPageCaughtUp(b *model.Batch, page int, now time.Time) model.Decision {
	at := slices.IndexFunc(b.Joining, func(j model.Join) bool { return j.Page == page })
	if at < 0 {
		if len(b.Joining) == 0 {
			return model.Decision{Stale: true}
		}
		return model.Decision{Repeated: true, Messages: catchUps(b, FanOutWindow)}
	}
	b.Joining = slices.Delete(slices.Clone(b.Joining), at, at+1)
	_, f := endPhases(b, now)
	d := batchChanged(b, catchUps(b, FanOutWindow)...)
	appendFollowUp(&d, f)
	return d
}

// catchUps announces the first pages of late members that have not caught up, at most so
// many: the ones behind them wait until they have.
func catchUps(b *model.Batch, most int) []model.Message {
	var messages []model.Message
	for _, j := range b.Joining[:min(most, len(b.Joining))] {
		messages = append(messages, model.CatchUp{Join: j})
	}
	return messages
}

// joinsBefore reports whether a page of late members has still to come to phases before
// this one.
func joinsBefore(b *model.Batch, page, phase int) bool {
	return slices.ContainsFunc(b.Joining, func(j model.Join) bool { return j.Page == page && !slices.Contains(j.Phases, phase) })
}
