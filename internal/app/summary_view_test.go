package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
)

func attentionText(v api.Summary) string {
	var all []string
	for _, one := range v.Attention {
		text := fmt.Sprintf("%s %d/%s%s", one.Event, one.BatchID, one.Phase, one.WorkerID)
		if one.Count > 0 {
			text += fmt.Sprintf(" %d", one.Count)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestSummaryShowsWhatWaitsForAPerson(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		threeHeld(s)
		s.script = script{"Join": func(j message.Job) (string, error) {
			if who(j) == 1 {
				return "", errNo
			}
			return "true", nil
		}}
		b := s.startBatch(gated("approval: required"), people(3), api.AllowInOtherBatches)
		s.deliverAll()
		v := must(s.app.Summary(s.ctx))(t)
		if got, want := attentionText(v), fmt.Sprintf("failures %d/first 1, gate_waiting %d/second, removals_held 1/ 3", b.ID, b.ID); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		for _, one := range v.Attention {
			if strings.Contains(one.Text+one.Subject, "@x") || one.Text == "" || one.Subject == "" {
				t.Errorf("%+v", one)
			}
		}
	})
}

func TestSummaryShowsThePhasesOfTheNextSevenDaysAndTheirGates(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		yaml := strings.Replace(overlapping, "{name: c, offset: T-0,", "{name: c, offset: T-0, approval: required,", 1)
		s.publish(yaml)
		s.schedule(100, yaml, 2, dawn.Add(8*day))
		s.tick()
		text := func() string {
			v := must(s.app.Summary(s.ctx))(t)
			var all []string
			for _, p := range v.Upcoming {
				all = append(all, fmt.Sprintf("%d/%s %s %d", p.BatchID, p.Phase, p.StartsAt.Format(time.DateOnly), p.Members))
			}
			return fmt.Sprintf("%s; %s", strings.Join(all, ", "), attentionText(v))
		}
		if got := text(); got != "100/a 2026-03-07 2, 100/b 2026-03-08 2; " {
			t.Error(got)
		}
		s.tickAfter(day)
		if got := text(); got != "100/a 2026-03-07 2, 100/b 2026-03-08 2, 100/c 2026-03-09 2; gate_waiting 100/c" {
			t.Error(got)
		}
		v := must(s.app.Summary(s.ctx))(t)
		if gate, ahead := v.Attention[0].BatchName, v.Upcoming[0].BatchName; gate == "" || gate != ahead {
			t.Errorf("the batch is %q at its gate and %q in the calendar", gate, ahead)
		}
		s.approve(100, "c")
		if got := text(); got != "100/a 2026-03-07 2, 100/b 2026-03-08 2, 100/c 2026-03-09 2; " {
			t.Error(got)
		}
	})
}

func TestSummaryCountsThePhasesThatRun(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": func(j message.Job) (string, error) {
			switch {
			case who(j) == 1:
				return "", errNo
			case who(j) > 10:
				return "", errLost
			}
			return "true", nil
		}}
		s.startBatch(twoSteps, people(60))
		s.pass(2 * time.Minute)
		v := must(s.app.Summary(s.ctx))(t)
		if len(v.Running) != 1 || v.RunningBatches != 1 {
			t.Fatalf("%+v", v.Running)
		}
		r := v.Running[0]
		if r.Phase != "first" || r.Members != 60 || r.Succeeded != 9 || r.Failed != 1 || r.Running != 50 || r.PerMinute <= 0 {
			t.Errorf("%+v", r)
		}
		if got := attentionText(v); !strings.Contains(got, "failures 1/first 1") {
			t.Error(got)
		}
	})
}

// A summary costs the same for batches of any size.
func TestCostOfASummaryDoesNotDependOnTheSizeOfBatches(t *testing.T) {
	t.Parallel()
	var costs []int64
	for _, size := range []int{5, 500} {
		s := newStage(t, false, azure)
		s.script = script{"New": fails(errLost)}
		s.publish(twoSteps)
		for range 2 {
			s.advance(s.batch("two", people(size), api.AllowInOtherBatches).ID)
		}
		cost := func() int64 {
			before := s.store.Counts()
			must(s.app.Summary(s.ctx))(t)
			after := s.store.Counts()
			return after.Reads - before.Reads + after.Queries - before.Queries + after.Writes - before.Writes
		}
		costs = append(costs, cost())
		if n := cost(); n != 3+2 { // the batches, the automations and the messages; the open pages of each phase that runs
			t.Errorf("%d members: soon after it costs %d operations", size, n)
		}
	}
	if costs[0] != costs[1] || costs[0] > 3+2*(1+4) {
		t.Errorf("%v operations", costs)
	}
}
