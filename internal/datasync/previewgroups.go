package datasync

import (
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

// previewGroups gives the batches that exist, the batches that a tick would create, and the start
// times of rows for which it would create none, in the order of their start times.
func (s *syncRun) previewGroups() []api.PreviewGroup {
	rows := s.rowsByStart()
	waiting := map[time.Time]int{} // people whose addition is held
	if s.plan.Additions != nil {
		for _, p := range s.plan.Additions.People {
			waiting[p.Start]++
		}
	}
	groups := s.existingGroups()
	for _, n := range s.plan.New {
		groups = append(groups, api.PreviewGroup{BatchStartTime: &n.Start, Add: len(n.Rows), Note: s.newNote(n.Start)})
	}
	shown := map[time.Time]bool{}
	for i, g := range groups {
		start := *g.BatchStartTime
		shown[start] = true
		groups[i].Rows, groups[i].AddHeld = rows[start], waiting[start]
		for _, earlier := range s.batches[g.BatchID].Doc.EarlierStarts {
			earlier = earlier.UTC()
			if _, other := s.batchAt(earlier); !other {
				groups[i].Rows, shown[earlier] = groups[i].Rows+rows[earlier], true
			}
		}
	}
	for start, n := range rows {
		if !shown[start] {
			groups = append(groups, s.groupWithoutBatch(start, n, waiting[start]))
		}
	}
	slices.SortFunc(groups, func(p, q api.PreviewGroup) int { return p.BatchStartTime.Compare(*q.BatchStartTime) })
	return groups
}

// batchAt gives the batch that starts at a time and follows the data source.
func (s *syncRun) batchAt(start time.Time) (id int, ok bool) {
	for id, b := range s.batches {
		if followsSource(&b.Doc) && b.Doc.StartTime.Equal(start) {
			return id, true
		}
	}
	return 0, false
}

// rowsByStart counts the rows for each start time.
func (s *syncRun) rowsByStart() map[time.Time]int {
	rows := map[time.Time]int{}
	for row := range s.result.Rows() {
		if row.Start.IsZero() {
			row.Start = schedule.ImmediateStart(s.now)
		}
		rows[row.Start]++
	}
	return rows
}

// existingGroups gives the batches that follow the data source, with their changes.
func (s *syncRun) existingGroups() []api.PreviewGroup {
	changes := map[int]schedule.Change{}
	for _, c := range s.plan.Changes {
		changes[c.Batch] = c
	}
	var groups []api.PreviewGroup
	for id, b := range s.batches {
		if !followsSource(&b.Doc) {
			continue
		}
		start, c := b.Doc.StartTime.UTC(), changes[id]
		g := api.PreviewGroup{
			BatchStartTime: &start, BatchID: id, Status: string(b.Doc.Status),
			Add: len(c.Add), Refresh: len(c.Refresh), Remove: len(c.Remove),
		}
		if c.Held != nil {
			g.Held, g.Note = len(c.Held.Removals), c.Held.Reason
		}
		groups = append(groups, g)
	}
	return groups
}

// groupWithoutBatch gives a start time for which a tick creates no batch, with the reason.
func (s *syncRun) groupWithoutBatch(start time.Time, rows, waiting int) api.PreviewGroup {
	g := api.PreviewGroup{BatchStartTime: &start, Rows: rows, BatchID: s.ended[start], AddHeld: waiting}
	switch {
	case g.AddHeld > 0:
		g.Note = "the batch is created after the additions are confirmed"
	case g.BatchID != 0:
		g.Note = fmt.Sprintf("batch %d for this start has ended: no member is added to it", g.BatchID)
	case s.plan.Counts.Discarded > 0:
		g.Note = "no batch is created: the addition of these people was discarded, or they are still in another batch, or their rows have problems"
	default:
		g.Note = "no batch is created: these members are still in another batch, or their rows have problems"
	}
	return g
}

// newNote says how many phases of a new batch are already due.
func (s *syncRun) newNote(start time.Time) string {
	b := engine.NewDetected(0, s.rb, s.version, start, s.now)
	due := 0
	for _, p := range b.Phases {
		if p.DueAt != nil && !p.DueAt.After(s.now) {
			due++
		}
	}
	switch due {
	case 0:
		return ""
	case 1:
		return "1 phase is already due and starts when the batch is created"
	}
	return fmt.Sprintf("%d phases are already due and start one after another when the batch is created", due)
}
