package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
)

// tickCost counts a tick's operations at the store and the broker: reads, queries,
// writes, messages sent.
type tickCost [4]int64

func (c tickCost) String() string {
	return fmt.Sprintf("%d reads, %d queries, %d writes and %d messages", c[0], c[1], c[2], c[3])
}

// costOfATick ticks and tells what that cost, and then lets come what follows from it.
func (s *stage) costOfATick() tickCost {
	s.t.Helper()
	before, sent := s.store.Counts(), s.meter.sent
	noError(s.t, s.app.Tick(s.ctx))
	after := s.store.Counts()
	cost := tickCost{after.Reads - before.Reads, after.Queries - before.Queries, after.Writes - before.Writes, s.meter.sent - sent}
	s.deliverAll()
	return cost
}

// ticking is a stage whose ticks are counted, with runbooks whose members are found in
// one table: each in so many batches of so many members, which begin in a few days.
func ticking(t *testing.T, runbooks, batches, members int) (*stage, *table) {
	t.Helper()
	s := newStage(t, false, azure)
	newMeter(s)
	people := s.table()
	for b := range batches {
		people.exec(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i+1 < ?)
			INSERT INTO people SELECT printf('b%d-%03d@x', ?, i), 'Somebody', ? FROM n`, members, b, dawn.Add(time.Duration(5+b)*day).Format(time.RFC3339))
	}
	for r := range runbooks {
		name := fmt.Sprintf("found-%d", r)
		s.publish(strings.NewReplacer("name: found", "name: "+name, "worker-01", fmt.Sprintf("worker-0%d", r+1)).Replace(unguarded(found(twoPhases, ""))))
		s.automate(name)
	}
	s.tick()
	for r := range runbooks {
		if v := s.automation(fmt.Sprintf("found-%d", r)); v.Rows != batches*members || v.LastError != "" || v.ProblemCount != 0 {
			t.Fatalf("%+v", v)
		}
	}
	if page := must(s.app.Batches(s.ctx, api.ListOptions{Limit: 1000}))(t); len(page.Items) != runbooks*batches || page.Items[0].MemberCount != members {
		t.Fatalf("%+v", page.Items)
	}
	return s, people
}

// A tick that finds nothing changed costs so much for itself, so much for each runbook
// and each batch, and nothing for a row, however many there are.
func TestCostOfATickThatFindsNothingChanged(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ runbooks, batches, members int }{{1, 1, 60}, {1, 1, 300}, {1, 4, 60}, {3, 2, 10}} {
		t.Run(fmt.Sprintf("%d runbooks, %d batches, %d members", size.runbooks, size.batches, size.members), func(t *testing.T) {
			t.Parallel()
			s, _ := ticking(t, size.runbooks, size.batches, size.members)
			runbooks, batches := int64(size.runbooks), int64(size.runbooks*size.batches)
			want := tickCost{
				runbooks*3 + // who has the runbook in hand, its active version, its automation
					batches*4 + // the batch for the sweep, the batch for the comparison, the batch and the runbook's active version for its phases
					1, // the routing of pipelines
				9 + // the batches that have not ended, the workers, the runbooks, the automation settings, whose turn it is; the rules of notifications, what is due of them; the expired idempotency records; the expired entries of the cache
					runbooks + // its batches, when nobody else is at it
					batches*5, // what is to be reported, what is held, what is overdue, who is leaving; the members
				2 * runbooks, // the lease, and what came of it
				0,
			}
			for range 2 {
				if got := s.costOfATick(); got != want {
					t.Errorf("it cost %s, want %s", got, want)
				}
			}
		})
	}
}

// Rules cost a tick three queries and a read, and nothing for each member: for the batches that ended, the data
// sources and the unprocessable messages; for the lost containers. An event costs a write before it is sent and one after it, and
// all events together one query.
func TestCostOfATickWithNotifications(t *testing.T) {
	t.Parallel()
	for _, members := range []int{60, 300} {
		t.Run(fmt.Sprintf("%d members", members), func(t *testing.T) {
			t.Parallel()
			s, _ := ticking(t, 1, 2, members)
			same := s.costOfATick()
			s.notify("all", api.NotificationRequest{Target: api.NotificationTarget{Type: api.TargetMail, WorkerID: "worker-01"}}, api.NotificationEvents...)
			if got, want := s.costOfATick(), (tickCost{same[0] + 1, same[1] + 3, same[2], same[3]}); got != want {
				t.Errorf("without an event it cost %s, want %s", got, want)
			}
			poisoned := message.Delivery{ID: "bad", Body: []byte("{"), DeliveryCount: 1}
			noError(t, s.app.HandleEvent(s.ctx, poisoned))
			if got, want := s.costOfATick(), (tickCost{same[0] + 1, same[1] + 4, same[2] + 2, same[3] + 1}); got != want {
				t.Errorf("with a new event it cost %s, want %s", got, want)
			}
			if got, want := s.costOfATick(), (tickCost{same[0] + 1, same[1] + 4, same[2], same[3]}); got != want {
				t.Errorf("with an event that was announced it cost %s, want %s", got, want)
			}
		})
	}
}

// What a change costs does not depend on how many are in the batch.
func TestCostOfAChangeInATick(t *testing.T) {
	t.Parallel()
	for _, members := range []int{60, 300} {
		t.Run(fmt.Sprintf("%d members", members), func(t *testing.T) {
			t.Parallel()
			s, people := ticking(t, 1, 1, members)
			same := s.costOfATick()
			for _, change := range []struct {
				name string
				make func()
				want tickCost // more than of a tick without a change
			}{
				{"three have other data", func() { people.exec("UPDATE people SET Name = 'Other' WHERE Upn < 'b0-003'") }, tickCost{0, 1, 1, 0}},
				{"three are new", func() { people.put(dawn.Add(5*day), "new-1", "new-2", "new-3") }, tickCost{0, 1, 3, 0}},
				{"three are gone", func() { people.drop("b0-000", "b0-001", "b0-002") }, tickCost{1, 1, 2, 3}},
				{"a person has a time that had no batch", func() { people.put(dawn.Add(9*day), "late") }, tickCost{4, 3, 8, 0}},
			} {
				change.make()
				got := s.costOfATick()
				for i := range got {
					got[i] -= same[i]
				}
				if got != change.want {
					t.Errorf("%s: it cost %s more, want %s", change.name, got, change.want)
				}
			}
		})
	}
}

// Batches that have ended cost a tick one look at all of their slots, as long as their
// rows are there; it does not matter how many there are.
func TestCostOfBatchesThatHaveEnded(t *testing.T) {
	t.Parallel()
	for _, ended := range []int{3, 30} {
		t.Run(fmt.Sprintf("%d batches", ended), func(t *testing.T) {
			t.Parallel()
			s, people := ticking(t, 1, 2, 10)
			same := s.costOfATick()
			for i := range ended {
				people.put(dawn.Add(-time.Duration(i)*time.Minute), fmt.Sprintf("past-%d", i))
			}
			s.tick()
			if n := s.batchesEnded(); n != ended {
				t.Fatalf("%d batches have ended", n)
			}
			s.tick() // notes of each slot that its batch has
			got := s.costOfATick()
			if want := (tickCost{same[0], same[1] + 1, same[2], 0}); got != want {
				t.Errorf("it cost %s, want %s", got, want)
			}
			people.exec("DELETE FROM people WHERE Upn LIKE 'past-%'")
			if got := s.costOfATick(); got != same {
				t.Errorf("without their rows it cost %s, want %s", got, same)
			}
		})
	}
}

func (s *stage) batchesEnded() (n int) {
	s.t.Helper()
	page := must(s.app.Batches(s.ctx, api.ListOptions{Limit: 1000}))(s.t)
	for _, b := range page.Items {
		if b.CompletedAt != nil {
			n++
		}
	}
	return n
}
