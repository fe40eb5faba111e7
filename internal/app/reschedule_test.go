package app_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

func (s *stage) reschedule(id int, start time.Time) api.RescheduleResult {
	s.t.Helper()
	v := must(s.app.Reschedule(s.ctx, ada, id, start.Format(time.RFC3339), "the customer asked", false))(s.t)
	s.deliverAll()
	return v
}

// The messages of the times before are scheduled, and come.
func TestPostponedBatchStartsItsPhasesAtTheNewTimesOnly(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(overlapping) // a T-2d, b T-1d, c T-0
		const id = 100
		s.schedule(id, overlapping, 2, dawn.Add(24*time.Hour+10*time.Minute)) // b is due in ten minutes
		s.tick()
		s.wantCalls(1, "A")
		for range 2 { // and again
			v := s.reschedule(id, dawn.Add(72*time.Hour))
			var moves []string
			for _, p := range v.Phases {
				moves = append(moves, p.Phase+" "+p.From.Format("02 15:04")+" "+p.To.Format("02 15:04"))
			}
			if got := strings.Join(moves, ", "); !v.Unchanged && got != "b 01 09:10 03 09:00, c 02 09:10 04 09:00" {
				t.Fatalf("moved: %s", got)
			}
		}
		s.tickAfter(10 * time.Minute)
		s.pass(24 * time.Hour)
		s.tick()
		s.wantCalls(1, "A")
		s.wantPhases(id, "a completed 2/0/0, b pending 0/0/0, c pending 0/0/0")
		s.tickAfter(24*time.Hour - 10*time.Minute)
		s.wantCalls(1, "A B")
		s.tickAfter(24 * time.Hour)
		s.wantCalls(1, "A B C")
		s.wantStatus(id, "completed")
		if got := auditText(s.listAudit(id)); strings.Count(got, "ada reschedule: the customer asked") != 1 {
			t.Errorf("the trail: %s", got)
		}
	})
}

func TestBatchThatIsBroughtForwardStartsWhatIsDueAtOnce(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(overlapping)
		const id = 100
		s.schedule(id, overlapping, 2, dawn.Add(10*day))
		s.tick()
		dry := must(s.app.Reschedule(s.ctx, ada, id, dawn.Add(24*time.Hour).Format(time.RFC3339), "", true))(t)
		if !dry.DryRun || len(dry.Phases) != 3 || !dry.Phases[0].Due || !dry.Phases[1].Due || dry.Phases[2].Due || !dry.Batch.BatchStartTime.Equal(dawn.Add(24*time.Hour)) {
			t.Fatalf("%+v", dry)
		}
		s.tick()
		s.wantCalls(1, "")
		s.reschedule(id, dawn.Add(24*time.Hour))
		s.wantCalls(1, "A B") // without a tick
		s.pass(24 * time.Hour)
		s.tick()
		s.wantStatus(id, "completed")
	})
}

func TestRefusedReschedule(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.tableOf(dawn.Add(3*day), "p000")
		s.findBatches(found(twoPhases, ""))
		manual := must(s.app.CreateBatch(s.ctx, ada, "found", []byte("Upn,Name\nx@x,X\n")))(t)
		for _, tt := range []struct {
			id    int
			start string
			code  api.Code
			want  string
		}{
			{manual.ID, "2026-03-09", api.CodeConflict, "batch 2 has no schedule"},
			{1, "soon", api.CodeInvalid, `invalid start: "soon" is not a time; use a time such as`},
			{9, "2026-03-09", api.CodeNotFound, ""},
		} {
			for _, dry := range []bool{true, false} {
				s.wantRefused(errorOf(s.app.Reschedule(s.ctx, ada, tt.id, tt.start, "", dry)), tt.code, tt.want)
			}
		}
	})
}

// Two waves of one runbook cannot have one time: rows with it are of one batch.
func TestBatchIsNotRescheduledToTheStartOfAnother(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(3*day), "p000")
		people.put(dawn.Add(5*day), "p001")
		s.findBatches(found(twoPhases, ""))
		s.wantRefused(errorOf(s.app.Reschedule(s.ctx, ada, 1, dawn.Add(5*day).Format(time.RFC3339), "", true)), api.CodeConflict, `batch 2 of runbook "found" has the start 2026-03-06T09:00:00Z: use another time`)
	})
}

// An administrator postpones a wave, the data source follows later, and then has a new wave at the old time.
func TestRescheduledBatchKeepsItsRowsUntilTheSourceAgrees(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(3*day), "p000", "p001", "p002")
		s.findBatches(found(twoPhases, "on_member_removed:\n  - {name: undo, worker_id: worker-01, function: Undo}\n"))
		s.reschedule(1, dawn.Add(6*day))
		people.put(dawn.Add(3*day), "p003")
		s.tick()
		s.wantBatches("1 07 09:00 active: p000 p001 p002 p003")
		people.put(dawn.Add(6*day), "p000", "p001", "p002", "p003", "p004")
		s.tick()
		if b := s.batchOf(1); len(b.EarlierStarts) > 0 || b.Rescheduled.By != "ada" {
			t.Errorf("%+v", b)
		}
		people.put(dawn.Add(3*day), "p005")
		for range 4 { // the slot is freed, and then taken
			s.tickAfter(5 * time.Minute)
		}
		s.wantBatches("1 07 09:00 active: p000 p001 p002 p003 p004", "2 04 09:00 active: p005")
	})
}

// The request takes the slot of the new start before it moves the batch.
func TestRescheduleSurvivesTheDeathOfItsProcess(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(3*day), "p000", "p001")
		s.findBatches(found(twoPhases, ""))
		for write, died := 1, true; died; write++ {
			start := dawn.Add(time.Duration(5+write) * day)
			died = s.kill(write, func(ctx context.Context, a *app.App) error {
				_, err := a.Reschedule(ctx, ada, 1, start.Format(time.RFC3339), "", false)
				return err
			})
			people.put(start, "p000")
			s.tick()
			s.reschedule(1, start)
			s.tick()
			s.wantBatches("1 " + start.Format("02 15:04") + " active: p000 p001")
		}
	})
}

// A slot that no batch took in the end is free again.
func TestSlotOfARescheduleThatDiedIsFreed(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(3*day), "p000", "p001")
		s.findBatches(found(twoPhases, ""))
		if !s.kill(1, func(ctx context.Context, a *app.App) error {
			_, err := a.Reschedule(ctx, ada, 1, dawn.Add(5*day).Format(time.RFC3339), "", false)
			return err
		}) {
			t.Fatal("it did not die")
		}
		slot := must(store.Read[store.StartSlot](s.ctx, s.store, store.SlotKey("found", dawn.Add(5*day))))(t)
		b := must(store.Read[model.Batch](s.ctx, s.store, store.BatchKey(1)))(t)
		if slot.Doc.Batch != 1 || !b.Doc.StartTime.Equal(dawn.Add(3*day)) {
			t.Fatalf("%+v %s", slot.Doc, b.Doc.StartTime)
		}
		people.put(dawn.Add(5*day), "p002")
		s.tick()
		s.wantBatches("1 04 09:00 active: p000 p001")
		for range 3 {
			s.tickAfter(6 * time.Minute)
		}
		s.wantBatches("1 04 09:00 active: p000 p001", "2 06 09:00 active: p002")
	})
}

// An emptied wave does not wait for an approval, which no one would give.
func TestBatchWithoutMembersDoesNotWaitForAnApproval(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		gatedPhases := strings.Replace(found(twoPhases, ""), "offset: T-0\n", "offset: T-0\n    approval: required\n", 1)
		people := s.tableOf(dawn.Add(day), "p000", "p001", "p002")
		s.findBatches(gatedPhases)
		s.tickAfter(day + time.Minute)
		people.drop("p000", "p001", "p002")
		people.put(dawn.Add(5*day), "p009")
		s.tick()
		held := must(s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{}))(t)
		must(s.app.ConfirmRemovals(s.ctx, ada, 1, held.Revision, ""))(t)
		s.deliverAll()
		s.tick()
		if b := s.batchOf(1); !b.Terminal() {
			t.Fatalf("it is %s: %+v", b.Status, s.phases(1))
		}
	})
}
