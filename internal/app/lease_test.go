package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// A tick that does not get the answer to a write of its lease has the runbook all the
// same, and gives it back: the runbook does not stop until the lease is over.
func TestLostAnswerToALeaseDoesNotStopTheRunbook(t *testing.T) {
	t.Parallel()
	writes := []cosmos.Operation{cosmos.Create, cosmos.Replace}
	for name, fault := range map[string]cosmos.Fault{
		"taken, the answer is lost":                 {DropAfter: true, Count: 1},
		"taken, the store was away":                 {Status: 503, Count: 2},
		"taken, another write came first":           {Status: 412, Count: 1},
		"given back, the answer is lost":            {DropAfter: true, Skip: 1, Count: 1},
		"given back, the store was away":            {Status: 503, Skip: 1, Count: 2},
		"taken and given back, both without answer": {DropAfter: true, Count: 2},
	} {
		for _, first := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", the first tick", false: ""}[first], func(t *testing.T) {
				t.Parallel()
				s := newStage(t, false, azure)
				people := s.table()
				s.publishAutomated(found(twoPhases, ""))
				if !first {
					s.tick()
				}
				people.put(dawn.Add(3*day), "ann")
				fault.On = writes
				fault.Match = func(r cosmos.Request) bool { return strings.Contains(r.PartitionKey, `"`+store.PartitionRunbooks+`"`) }
				s.cosmos.Inject(fault)
				noError(t, s.app.Tick(s.ctx))
				people.put(dawn.Add(3*day), "bob")
				s.tickAfter(time.Second)
				s.wantBatches("1 04 09:00 active: ann bob")
				s.verify()
			})
		}
	}
}
