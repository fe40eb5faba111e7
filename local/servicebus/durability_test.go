package servicebus_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"
)

// killed copies the data directory of a server that goes on running, as a kill at
// this moment would leave it, and starts another server on the copy.
func (e *environment) killed(dir string) *environment {
	e.t.Helper()
	to := e.t.TempDir()
	content, err := os.ReadFile(filepath.Join(dir, "journal"))
	e.must(err)
	e.must(os.WriteFile(filepath.Join(to, "journal"), content, 0o600))
	next := &environment{t: e.t, ctx: e.ctx, clock: e.clock, dir: to}
	next.start(to)
	return next
}

func TestEverythingAcknowledgedSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := newLocal(t, dir)
	repeated := &azservicebus.Message{Body: []byte("once"), MessageID: ptr("same")}
	e.send("events", repeated)
	r := e.receiver("events/all", nil)
	e.must(r.CompleteMessage(e.ctx, e.one(r, "once"), nil))
	numbers, err := e.sender("events").ScheduleMessages(e.ctx, []*azservicebus.Message{message("scheduled"), message("cancelled")}, e.now().Add(10*time.Second), nil)
	e.must(err)
	e.must(e.sender("events").CancelScheduledMessages(e.ctx, numbers[1:], nil))

	e.send("plain", message("completed"), message("abandoned"), message("deferred"), message("dead"), message("locked"), message("waiting"))
	q := e.receiver("plain", nil)
	e.must(q.CompleteMessage(e.ctx, e.one(q, "completed"), nil))
	e.must(q.AbandonMessage(e.ctx, e.one(q, "abandoned"), &azservicebus.AbandonMessageOptions{PropertiesToModify: map[string]any{"k": "v"}}))
	abandoned := e.one(q, "abandoned")
	deferred := e.one(q, "deferred")
	e.must(q.DeferMessage(e.ctx, deferred, nil))
	e.must(q.DeadLetterMessage(e.ctx, e.one(q, "dead"), &azservicebus.DeadLetterOptions{Reason: ptr("reason")}))
	e.one(q, "locked")

	next := e.killed(dir)
	next.send("events", repeated) // still in the window
	r = next.receiver("events/all", nil)
	next.none(r)
	next.advance(11 * time.Second)
	next.must(r.CompleteMessage(next.ctx, next.one(r, "scheduled"), nil))
	next.none(r)
	next.advance(10 * time.Second)
	next.send("events", repeated) // no longer
	next.one(r, "once")

	q = next.receiver("plain", nil)
	again := next.one(q, "abandoned")
	if again.DeliveryCount != 3 || again.ApplicationProperties["k"] != "v" || *again.SequenceNumber != *abandoned.SequenceNumber {
		t.Errorf("abandoned message has delivery count %d, properties %v", again.DeliveryCount, again.ApplicationProperties)
	}
	next.one(q, "locked")
	next.one(q, "waiting")
	got, err := q.ReceiveDeferredMessages(next.ctx, []int64{*deferred.SequenceNumber}, nil)
	next.must(err)
	if string(got[0].Body) != "deferred" {
		t.Errorf("deferred message is %q", got[0].Body)
	}
	if dead := next.one(next.deadLetters("plain"), "dead"); *dead.DeadLetterReason != "reason" {
		t.Errorf("reason %q", *dead.DeadLetterReason)
	}
	next.send("plain", message("new"))
	if m := next.one(q, "new"); *m.SequenceNumber <= *deferred.SequenceNumber {
		t.Errorf("sequence number %d is given anew", *m.SequenceNumber)
	}
}

// A message that was locked when the server ended comes back with that delivery counted.
func TestDeliveriesAreCountedAcrossARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := newLocal(t, dir)
	e.send("plain", message("deferred"), message("locked"), message("released"))
	q := e.receiver("plain", nil)
	deferred := e.one(q, "deferred")
	e.must(q.DeferMessage(e.ctx, deferred, nil))
	e.one(q, "locked")
	_, err := q.ReceiveDeferredMessages(e.ctx, []int64{*deferred.SequenceNumber}, nil)
	e.must(err)
	session, _ := authorized(e, "plain")
	r, err := session.NewReceiver(e.ctx, "plain", &amqp.ReceiverOptions{SettlementMode: amqp.ReceiverSettleModeSecond.Ptr(), Credit: -1})
	e.must(err)
	e.must(r.IssueCredit(1))
	released, err := r.Receive(e.ctx, nil)
	e.must(err)
	e.must(r.ReleaseMessage(e.ctx, released)) // answered when all is written

	for restart := range 2 {
		e = e.killed(dir)
		dir = e.dir
		q = e.receiver("plain", nil)
		if again := e.one(q, "locked"); again.DeliveryCount != uint32(restart+2) {
			t.Errorf("restart %d: delivery count %d", restart+1, again.DeliveryCount)
		}
		back, err := q.ReceiveDeferredMessages(e.ctx, []int64{*deferred.SequenceNumber}, nil)
		e.must(err)
		if back[0].DeliveryCount != uint32(restart+2) {
			t.Errorf("restart %d: deferred message has delivery count %d", restart+1, back[0].DeliveryCount)
		}
		if restart == 0 {
			m := e.one(q, "released")
			if m.DeliveryCount != 1 {
				t.Errorf("released message has delivery count %d", m.DeliveryCount)
			}
			e.must(q.CompleteMessage(e.ctx, m, nil))
		}
		e.send("plain", message("later"))
	}
	e = e.killed(dir)
	if dead := e.one(e.deadLetters("plain"), "deferred"); *dead.DeadLetterReason != "MaxDeliveryCountExceeded" {
		t.Errorf("reason %q", *dead.DeadLetterReason)
	}
}

func TestCloseAndStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := newLocal(t, dir)
	e.send("plain", message("a"), message("b"))
	r := e.receiver("plain", nil)
	e.must(r.CompleteMessage(e.ctx, e.one(r, "a"), nil))
	e.must(e.client.Close(e.ctx))
	e.must(e.server.Close())
	next := &environment{t: t, ctx: e.ctx, clock: e.clock}
	next.start(dir)
	next.one(next.receiver("plain", nil), "b")
}

func TestTornTailLosesOnlyWhatWasNotAcknowledged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := newLocal(t, dir)
	e.send("plain", message("a"))
	size := e.server.Stats().Written
	e.send("plain", message("b"))
	if e.server.Stats().Written <= size {
		t.Fatal("the second message was acknowledged and not written")
	}
	path := filepath.Join(dir, "journal")
	content, err := os.ReadFile(path)
	e.must(err)
	torn := t.TempDir()
	e.must(os.WriteFile(filepath.Join(torn, "journal"), content[:len(content)-1], 0o600))
	next := &environment{t: t, ctx: e.ctx, clock: e.clock}
	next.start(torn)
	r := next.receiver("plain", nil)
	next.must(r.CompleteMessage(next.ctx, next.one(r, "a"), nil))
	next.none(r)
}

// A kill under load keeps every message whose send was acknowledged and none
// whose completion was.
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := newLocal(t, dir)
	const senders, each = 4, 50
	var mu sync.Mutex
	sent, completed := map[string]bool{}, map[string]bool{}
	var group sync.WaitGroup
	ctx, cancel := context.WithCancel(e.ctx)
	for i := range senders {
		s := e.sender("plain")
		group.Go(func() {
			for j := range each {
				body := fmt.Sprintf("%d-%d", i, j)
				if err := s.SendMessage(ctx, message(body), nil); err != nil {
					t.Error(err)
				}
				mu.Lock()
				sent[body] = true
				mu.Unlock()
			}
		})
	}
	r := e.receiver("plain", nil)
	var received sync.WaitGroup
	received.Go(func() {
		for {
			got, err := r.ReceiveMessages(ctx, 10, nil)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			for _, m := range got {
				if err := r.CompleteMessage(e.ctx, m, nil); err != nil {
					t.Error(err)
				}
				mu.Lock()
				completed[string(m.Body)] = true
				mu.Unlock()
			}
		}
	})
	group.Wait()
	mu.Lock()
	next := e.killed(dir)
	before := map[string]bool{}
	for body := range completed {
		before[body] = true
	}
	mu.Unlock()
	cancel()
	received.Wait()
	there := map[string]bool{}
	q := next.receiver("plain", nil)
	for from := int64(0); ; {
		got, err := q.PeekMessages(next.ctx, 100, &azservicebus.PeekMessagesOptions{FromSequenceNumber: &from})
		next.must(err)
		if len(got) == 0 {
			break
		}
		for _, m := range got {
			there[string(m.Body)] = true
			from = *m.SequenceNumber + 1
		}
	}
	for body := range before {
		if there[body] {
			t.Errorf("%s was completed and is there", body)
		}
	}
	for body := range sent {
		if !there[body] && !completed[body] {
			t.Errorf("%s was sent, not completed, and is not there", body)
		}
	}
}
