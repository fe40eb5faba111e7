package engine_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
)

// TestUpcomingPhases pins which phases are announced before a tick ends, for which time, and which of
// the announcements a broker may take for one that it has delivered.
func TestUpcomingPhases(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	quiet := read(t, three+quietly).QuietHours // until six
	for name, tt := range map[string]struct {
		now    time.Time
		due    time.Duration // after now
		change func(*model.Batch)
		want   []model.Message
	}{
		"due in the interval":         {due: model.LookAhead - time.Second, want: []model.Message{model.Announce{Phase: 1, At: at.Add(model.LookAhead - time.Second)}}},
		"due later":                   {due: model.LookAhead},
		"due now":                     {want: []model.Message{model.Announce{Phase: 1, At: at}}},
		"within the grace, once":      {due: -model.SweepGrace, want: []model.Message{model.Announce{Phase: 1, At: at}}},
		"late, with an id of its own": {due: -model.SweepGrace - time.Second, want: []model.Message{model.Announce{Phase: 1, FanOut: "tick", At: at}}},
		"paused":                      {change: func(b *model.Batch) { b.Paused = &model.Attribution{By: "ada"} }},
		"cancelled":                   {change: func(b *model.Batch) { b.Status, b.Cancelled = model.BatchCancelling, &model.Attribution{By: "ada"} }},
		"being filled":                {change: func(b *model.Batch) { b.Filling = true }},
		"ended":                       {change: func(b *model.Batch) { b.Status = model.BatchCompleted }},
		"begun":                       {change: func(b *model.Batch) { b.Phases[0].Status = model.PhaseDispatched }},
		"due in quiet hours that end later": {
			due: time.Minute, change: func(b *model.Batch) { b.Quiet = quiet },
			want: []model.Message{model.Announce{Phase: 1, At: at.Add(time.Minute)}}, // notes the reason
		},
		"due in quiet hours that end soon": {
			now: six.Add(-10 * time.Minute), due: time.Minute, change: func(b *model.Batch) { b.Quiet = quiet },
			want: []model.Message{
				model.Announce{Phase: 1, FanOut: "at-1772384400", At: six.Add(time.Second)},
				model.Announce{Phase: 1, At: six.Add(-9 * time.Minute)},
			},
		},
		"waits for the end of quiet hours": {
			now: six.Add(-10 * time.Minute), due: -time.Hour, change: func(b *model.Batch) { b.Quiet, b.Phases[0].Reason = quiet, untilSix },
			want: []model.Message{model.Announce{Phase: 1, FanOut: "at-1772384400", At: six.Add(time.Second)}},
		},
		"started by hand": {change: func(b *model.Batch) { b.Phases[0].DueAt = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.now.IsZero() {
				tt.now = at
			}
			due := tt.now.Add(tt.due)
			b := &model.Batch{ID: 7, Status: model.BatchActive, Phases: []model.Phase{{ID: 1, Kind: model.KindPhase, Status: model.PhasePending, DueAt: &due}}}
			if tt.change != nil {
				tt.change(b)
			}
			if got := engine.UpcomingPhases(b, tt.now, "tick"); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("UpcomingPhases = %+v, want %+v", got, tt.want)
			}
		})
	}
}
