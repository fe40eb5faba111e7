package datasync

import (
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// TestPlanHold checks the change that a sync makes to a removal hold.
func TestPlanHold(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	held := &schedule.Held{Removals: []schedule.Removal{{Member: 9}, {Member: 4, MovesTo: &start}}, Active: 10, Reason: "2 of 10"}
	hold := &model.RemovalHold{Members: 2, Of: 10, Reason: "2 of 10"}
	stored := store.RemovalHoldMembers{Members: []int{4, 9}, Moves: map[int]time.Time{4: start}}
	confirmed := *hold
	confirmed.Confirmed = &model.Attribution{By: "ada"}
	for _, tt := range []struct {
		name      string
		change    schedule.Change
		before    store.RemovalHoldMembers // when the plan was made
		hold      *model.RemovalHold
		unchanged bool
		now       store.RemovalHoldMembers // when the plan is applied
		nowHold   *model.RemovalHold
		events    int
	}{
		{"a new hold", schedule.Change{Held: held}, store.RemovalHoldMembers{}, nil, false, store.RemovalHoldMembers{}, nil, 1},
		{"the same hold", schedule.Change{Held: held}, stored, hold, true, stored, hold, 1},
		{"no hold", schedule.Change{}, store.RemovalHoldMembers{}, nil, true, store.RemovalHoldMembers{}, nil, 1},
		{"a hold that ends", schedule.Change{}, stored, hold, false, stored, hold, 1},
		{"a hold that an administrator confirmed meanwhile", schedule.Change{}, stored, hold, false, stored, &confirmed, 0},
		{"a hold that an administrator discarded meanwhile", schedule.Change{}, stored, hold, false, store.RemovalHoldMembers{Discarded: []int{4, 9}}, nil, 0},
		{"a kept member who has a row again", schedule.Change{Returned: []int{4}}, store.RemovalHoldMembers{Discarded: []int{4, 9}}, nil, false, store.RemovalHoldMembers{Discarded: []int{4, 9}}, nil, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := planHold(tt.change, tt.before)
			if got := p.unchanged(tt.hold); got != tt.unchanged {
				t.Errorf("unchanged: %v", got)
			}
			if events := p.events(&model.Batch{RemovalHold: tt.nowHold}, store.Item[store.RemovalHoldMembers]{Doc: tt.now}); len(events) != tt.events {
				t.Errorf("events: %+v", events)
			}
			if tt.change.Held != nil && (!slices.Equal(p.next.Members, stored.Members) || !p.next.Moves[4].Equal(start)) {
				t.Errorf("next: %+v", p.next)
			}
			if len(tt.change.Returned) > 0 && !slices.Equal(p.next.Discarded, []int{9}) {
				t.Errorf("kept: %v", p.next.Discarded)
			}
		})
	}
}
