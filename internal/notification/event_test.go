package notification

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func at(hours int) *time.Time {
	t := now.Add(time.Duration(hours) * time.Hour)
	return &t
}

// keys lists the kinds of events with the ends of their keys.
func keys(events []Event) string {
	var all []string
	for _, e := range events {
		all = append(all, e.Kind+":"+e.Key[strings.LastIndex(e.Key, e.Kind)+len(e.Kind)+1:])
	}
	return strings.Join(all, " ")
}

func TestEventsOfABatch(t *testing.T) {
	t.Parallel()
	phase := func(id int, status model.PhaseStatus, change func(*model.Phase)) model.Phase {
		p := model.Phase{ID: id, Kind: model.KindPhase, Name: "p", Status: status}
		if change != nil {
			change(&p)
		}
		return p
	}
	gate := func(due int) func(*model.Phase) {
		return func(p *model.Phase) { p.Approval, p.DueAt = true, at(due) }
	}
	for name, tc := range map[string]struct {
		batch  func(b *model.Batch)
		failed map[int]int
		want   string
	}{
		"nothing": {func(*model.Batch) {}, nil, ""},
		"a gate that is due": {
			func(b *model.Batch) { b.Phases = []model.Phase{phase(1, model.PhasePending, gate(-1))} }, nil, "gate_waiting:1/1772352000",
		},
		"a gate that is not due": {func(b *model.Batch) { b.Phases = []model.Phase{phase(1, model.PhasePending, gate(1))} }, nil, ""},
		"an approved gate": {func(b *model.Batch) {
			b.Phases = []model.Phase{phase(1, model.PhasePending, gate(-1))}
			b.Phases[0].Approved = &model.Attribution{By: "ada"}
		}, nil, ""},
		"a gate of a manual batch": {func(b *model.Batch) {
			b.Manual, b.DetectedAt = true, *at(-3)
			b.Phases = []model.Phase{
				phase(1, model.PhaseCompleted, func(p *model.Phase) { p.CompletedAt = at(-2) }),
				phase(2, model.PhasePending, func(p *model.Phase) { p.Approval = true }),
			}
		}, nil, "gate_waiting:2/1772348400"},
		"a gate behind a phase in progress": {func(b *model.Batch) {
			b.Manual = true
			b.Phases = []model.Phase{phase(1, model.PhaseDispatched, nil), phase(2, model.PhasePending, func(p *model.Phase) { p.Approval = true })}
		}, nil, ""},
		"held removals": {
			func(b *model.Batch) { b.RemovalHold = &model.RemovalHold{Members: 2, Of: 4, Since: now} }, nil, "removals_held:1772355600",
		},
		"confirmed removals": {func(b *model.Batch) {
			b.RemovalHold = &model.RemovalHold{Members: 2, Since: now, Confirmed: &model.Attribution{}}
		}, nil, ""},
		"failures": {
			func(b *model.Batch) {
				b.Phases = []model.Phase{phase(1, model.PhaseDispatched, func(p *model.Phase) { p.Failed = 1 })}
			}, nil, "failures:1",
		},
		"a phase in which all failed": {
			func(b *model.Batch) {
				b.Phases = []model.Phase{phase(1, model.PhaseFailed, func(p *model.Phase) { p.Failed = 4 })}
			}, nil, "failures:1",
		},
		"failures on pages in progress": {
			func(b *model.Batch) { b.Phases = []model.Phase{phase(1, model.PhaseDispatched, nil)} }, map[int]int{1: 2}, "failures:1",
		},
		"a batch that has ended": {func(b *model.Batch) {
			b.Status, b.RemovalHold = model.BatchCompleted, &model.RemovalHold{Members: 2, Since: now}
		}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &model.Batch{ID: 7, Runbook: "moves", Status: model.BatchActive, Members: 4}
			tc.batch(b)
			got := BatchEvents(b, tc.failed, now)
			if keys(got) != tc.want {
				t.Errorf("got %q, want %q", keys(got), tc.want)
			}
			if again := keys(BatchEvents(b, tc.failed, now.Add(time.Minute))); again != tc.want {
				t.Errorf("a minute later: %q", again)
			}
		})
	}
}

// The text of a wave that the source moves names the answers to it, which differ from those to removals.
func TestTextOfHeldRemovals(t *testing.T) {
	t.Parallel()
	for hold, want := range map[*model.RemovalHold]string{
		{Members: 2, Of: 4}:                                        "The data source of runbook moves no longer has 2 of 4 members of Batch 7. Confirm or discard the removals.",
		{Members: 3, Of: 4, Moving: 2, MovesTo: now}:               "The data source of runbook moves moves 2 of 4 members of Batch 7 to 2026-03-01 09:00 UTC. Reschedule the batch, or move, remove or keep them.",
		{Members: 3, Of: 4, Moving: 2, MovesTo: now, MovesInto: 9}: "The data source of runbook moves moves 2 of 4 members of Batch 7 to 2026-03-01 09:00 UTC, the start of batch 9. Move, remove or keep them.",
	} {
		got := BatchEvents(&model.Batch{ID: 7, Runbook: "moves", Status: model.BatchActive, Members: 4, RemovalHold: hold}, nil, now)
		if len(got) != 1 || got[0].Text != want {
			t.Errorf("%+v", got)
		}
	}
}

func TestEventsOfASource(t *testing.T) {
	t.Parallel()
	held := &store.HeldAdditions{Revision: "r", People: 3, Since: now}
	for name, tc := range map[string]struct {
		record store.SyncRecord
		want   string
	}{
		"a good sync":               {store.SyncRecord{LastGoodAt: at(0)}, ""},
		"held additions":            {store.SyncRecord{LastGoodAt: at(0), Additions: held}, "additions_held:2026-03-01"},
		"a failure":                 {store.SyncRecord{LastGoodAt: at(-1), LastError: "x", LastErrorAt: at(0)}, "source_failing:1772352000"},
		"a source that never works": {store.SyncRecord{LastError: "x", LastErrorAt: at(0)}, "source_failing:first"},
	} {
		tc.record.Runbook = "moves"
		if got := keys(SourceEvents(tc.record)); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	if got := SourceEvents(store.SyncRecord{Runbook: "moves", Additions: held}); got[0].Count != 3 {
		t.Errorf("the event of the held additions counts %d people", got[0].Count)
	}
}

func TestManyUnprocessableMessagesOfOneTypeAreOneEventADay(t *testing.T) {
	t.Parallel()
	message := func(kind string, at time.Time) store.Item[store.Unprocessable] {
		return store.Item[store.Unprocessable]{Doc: store.Unprocessable{Topic: "worker-results", Type: kind, StoredAt: at}}
	}
	got := MessageEvents([]store.Item[store.Unprocessable]{message("a", now), message("a", *at(1)), message("b", now), message("a", *at(24))})
	if len(got) != 3 {
		t.Errorf("%+v", got)
	}
}

func TestRuleSelectsItsEvents(t *testing.T) {
	t.Parallel()
	failures := Event{Kind: api.EventFailures, Runbook: "moves", Owner: "Ada", Failed: 1, Of: 10}
	for name, tc := range map[string]struct {
		rule store.NotificationRule
		want bool
	}{
		"its kind":          {store.NotificationRule{FailedPercent: 10}, true},
		"below its share":   {store.NotificationRule{FailedPercent: 11}, false},
		"its runbook":       {store.NotificationRule{Runbook: "moves"}, true},
		"another runbook":   {store.NotificationRule{Runbook: "other"}, false},
		"the owner":         {store.NotificationRule{Owner: "ada"}, true},
		"another owner":     {store.NotificationRule{Owner: "bea"}, false},
		"an earlier moment": {store.NotificationRule{CreatedAt: now}, true},
	} {
		tc.rule.Events = []string{api.EventFailures}
		if got := matches(&tc.rule, &failures); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	ended := Event{Kind: api.EventBatchEnded, At: now}
	for _, created := range []int{-1, 1} {
		rule := store.NotificationRule{Events: []string{api.EventBatchEnded}, CreatedAt: *at(created)}
		if got := matches(&rule, &ended); got != (created < 0) {
			t.Errorf("a rule of %d hours: %t", created, got)
		}
	}
}

func TestAttemptsAndQuietHours(t *testing.T) {
	t.Parallel()
	night, err := runbook.DailyQuietHours("Europe/Berlin", "20:00", "07:00")
	if err != nil {
		t.Fatal(err)
	}
	evening := time.Date(2026, 3, 28, 21, 0, 0, 0, time.UTC) // the clocks go forward in that night
	for name, tc := range map[string]struct {
		rule     store.NotificationRule
		attempts int
		now      time.Time
		send     bool
		wake     time.Time
	}{
		"the first attempt":  {store.NotificationRule{}, 0, now, true, now.Add(5 * time.Minute)},
		"the third attempt":  {store.NotificationRule{}, 2, now, true, now.Add(20 * time.Minute)},
		"the last attempt":   {store.NotificationRule{}, 9, now, true, now.Add(4 * time.Hour)},
		"after the last one": {store.NotificationRule{}, 10, now, false, now.Add(keptFor)},
		"by day":             {store.NotificationRule{Quiet: night}, 0, now, true, now.Add(5 * time.Minute)},
		"by night":           {store.NotificationRule{Quiet: night}, 0, evening, false, time.Date(2026, 3, 29, 5, 0, 0, 0, time.UTC)},
		"a retry by night":   {store.NotificationRule{Quiet: night}, 3, evening, false, time.Date(2026, 3, 29, 5, 0, 0, 0, time.UTC)},
		"urgent by night":    {store.NotificationRule{Quiet: night, Urgent: []string{api.EventFailures}}, 0, evening, true, evening.Add(5 * time.Minute)},
	} {
		d := store.Delivery{Event: api.EventFailures, Status: store.DeliveryPending, Attempts: tc.attempts}
		if send := begin(&d, &tc.rule, tc.now); send != tc.send || !d.WakeAt.Equal(tc.wake) {
			t.Errorf("%s: %t, %s", name, send, d.WakeAt)
		}
	}
}
