package servicebus_test

import (
	"context"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/testenv"
	movable "github.com/matoolkit/matoolkit/local/clock"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// newMovable starts a server whose messages go by a clock that can be moved and
// whose locks go by the real time, as the whole system on one machine has it.
func newMovable(t *testing.T, c *movable.Clock) *environment {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	server := testenv.Started(servicebus.Start(ctx, servicebus.Config{
		Addr: "127.0.0.1:0", Topology: conformanceTopology(t), Key: testKey, Now: c.Now, Locks: time.Now,
	}))(t)
	e := &environment{t: t, ctx: ctx, server: server}
	e.connect(server.ConnectionString())
	return e
}

const days = 24 * time.Hour

func TestAMoveOfTheClockTakesNoLockAway(t *testing.T) {
	t.Parallel()
	c := movable.New(nil)
	e := newMovable(t, c)
	r := e.receiver("events/all", nil)
	e.must(e.sender("events").SendMessage(e.ctx, message("held"), nil))
	held := e.one(r, "held")

	e.must(c.Advance(5 * days))
	e.server.Tick()
	e.must(r.RenewMessageLock(e.ctx, held, nil))
	if left := time.Until(*held.LockedUntil); left < 0 || left > time.Minute {
		t.Errorf("renewed, the lock ends in %s of the real time by which the clients renew", left)
	}
	e.must(r.CompleteMessage(e.ctx, held, nil))

	e.must(e.sender("events").SendMessage(e.ctx, message("later"), nil))
	later := e.one(r, "later")
	if left := time.Until(*later.LockedUntil); later.DeliveryCount != 1 || left < 0 || left > time.Minute {
		t.Errorf("delivery %d, locked for %s", later.DeliveryCount, left)
	}
	if ahead := time.Until(*later.EnqueuedTime); ahead < 4*days {
		t.Errorf("it was enqueued %s ahead of the real time", ahead)
	}
}

func TestAMoveOfTheClockEnqueuesWhatIsDue(t *testing.T) {
	t.Parallel()
	c := movable.New(nil)
	e := newMovable(t, c)
	start := c.Now()
	s := e.sender("events")
	for id, at := range map[string]time.Time{"day 3": start.Add(3 * days), "day 6": start.Add(6 * days)} {
		if _, err := s.ScheduleMessages(e.ctx, []*azservicebus.Message{message(id)}, at, nil); err != nil {
			t.Fatal(err)
		}
	}
	r := e.receiver("events/all", nil)
	e.must(c.Advance(5 * days))
	e.server.Tick()
	e.must(r.CompleteMessage(e.ctx, e.one(r, "day 3"), nil))

	// A message that falls due soon after the move arrives by itself: the test
	// calls Tick no more.
	if _, err := s.ScheduleMessages(e.ctx, []*azservicebus.Message{message("soon")}, c.Now().Add(50*time.Millisecond), nil); err != nil {
		t.Fatal(err)
	}
	e.must(r.CompleteMessage(e.ctx, e.one(r, "soon"), nil))
	e.must(c.To(start.Add(6*days - 900*time.Millisecond)))
	e.server.Tick()
	e.must(r.CompleteMessage(e.ctx, e.one(r, "day 6"), nil))
}

// A message that waits while the clock is moved has waited as long as the move.
func TestAMoveOfTheClockAgesWhatWaits(t *testing.T) {
	t.Parallel()
	c := movable.New(nil)
	e := newMovable(t, c)
	s := e.sender("expiring")
	e.must(s.SendMessage(e.ctx, message("old"), nil))
	e.must(c.Advance(30 * days))
	e.server.Tick()
	e.must(s.SendMessage(e.ctx, message("new"), nil))
	dead := e.one(e.deadLetters("expiring"), "old")
	if *dead.DeadLetterReason != "TTLExpiredException" {
		t.Errorf("dead for %s", *dead.DeadLetterReason)
	}
	e.one(e.receiver("expiring", nil), "new")
}
