package schedule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/schedule"
)

// Where each person has an appointment, and so a batch of their own, no batch loses more than one. A result that lacks many
// of them is held all the same.
func TestManyLeaveBatchesOfOne(t *testing.T) {
	t.Parallel()
	rb := parse(t, scheduled)
	for _, tc := range []struct {
		note                  string
		batches, absent, move int
		held                  bool
	}{
		{"ten leave", 12, 10, 0, false},
		{"eleven of twelve leave", 12, 11, 0, true},
		{"eleven of a hundred leave, as the guard allows", 100, 11, 0, false},
		{"twenty-one of a hundred leave", 100, 21, 0, true},
		{"many get another appointment", 100, 0, 60, false},
		{"some leave, and many get another appointment", 100, 20, 60, false},
	} {
		s := schedule.Situation{Now: now, Automation: true}
		var rows [][]any
		for i := range tc.batches {
			key, start := fmt.Sprintf("p%03d", i), now.AddDate(0, 0, i+1)
			member := schedule.Member{ID: i + 1, Key: key}
			at := start.Format("2006-01-02T15:04:05Z")
			row := []any{key, key + "@contoso.com", "a;b", at}
			for r := range answer(t, rb, row).Rows() {
				member.Hash = r.Hash
			}
			s.Batches = append(s.Batches, schedule.Batch{ID: i + 1, Start: start, Members: []schedule.Member{member}})
			switch {
			case i < tc.absent:
				continue
			case i < tc.absent+tc.move:
				row[3] = start.AddDate(1, 0, 0).Format("2006-01-02T15:04:05Z")
			}
			rows = append(rows, row)
		}
		removed, held, reason := 0, 0, ""
		for _, c := range schedule.Make(rb, answer(t, rb, rows...), s).Changes {
			removed += len(c.Remove)
			if c.Held != nil {
				held, reason = held+len(c.Held.Removals), c.Held.Reason
			}
		}
		want := map[bool][2]int{true: {tc.move, tc.absent}, false: {tc.absent + tc.move, 0}}[tc.held]
		if removed != want[0] || held != want[1] {
			t.Errorf("%s: %d removed and %d held, want %d", tc.note, removed, held, want)
		}
		if says := fmt.Sprintf("the query no longer returns %d of %d members of all batches, more than the removal_guard of 20%% allows", tc.absent, tc.batches); tc.held && !strings.Contains(reason, says) {
			t.Errorf("%s: %s", tc.note, reason)
		}
	}
}
