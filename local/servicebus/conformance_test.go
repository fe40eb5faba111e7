package servicebus_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"
)

func TestMessageArrivesAsItWasSent(t *testing.T) {
	e := newEnvironment(t)
	at := time.UnixMilli(1700000000123)
	sent := &azservicebus.Message{
		Body: []byte("body"), MessageID: ptr("id-1"), Subject: ptr("subject"), CorrelationID: ptr("correlation"),
		ContentType: ptr("application/json"), ReplyTo: ptr("reply"), ReplyToSessionID: ptr("reply-session"), To: ptr("to"),
		SessionID: ptr("session"), PartitionKey: ptr("session"), TimeToLive: ptr(10 * time.Minute),
		ApplicationProperties: map[string]any{
			"text": "täxt", "yes": true, "int": int32(-5), "long": int64(1) << 40, "float": 1.5,
			"bytes": []byte{1, 2}, "time": at,
		},
	}
	before := e.now().Truncate(time.Millisecond)
	e.send("plain", sent)
	got := e.one(e.receiver("plain", nil), "body")
	if got.MessageID != "id-1" || *got.Subject != "subject" || *got.CorrelationID != "correlation" || *got.ContentType != "application/json" ||
		*got.ReplyTo != "reply" || *got.ReplyToSessionID != "reply-session" || *got.To != "to" || *got.SessionID != "session" || *got.PartitionKey != "session" {
		t.Errorf("properties differ: %+v", got)
	}
	for name, want := range sent.ApplicationProperties {
		if name == "time" {
			continue // equal times may differ in their location
		}
		if v := got.ApplicationProperties[name]; !reflect.DeepEqual(v, want) {
			t.Errorf("application property %s is %v (%T), want %v (%T)", name, v, v, want, want)
		}
	}
	if v, ok := got.ApplicationProperties["time"].(time.Time); !ok || !v.Equal(at) {
		t.Errorf("application property time is %v", got.ApplicationProperties["time"])
	}
	if *got.TimeToLive != 10*time.Minute {
		t.Errorf("time to live is %v", *got.TimeToLive)
	}
	if e.server != nil && (got.EnqueuedTime.Before(before) || !got.LockedUntil.Equal(got.EnqueuedTime.Add(5*time.Second))) {
		t.Errorf("enqueued %v, locked until %v", got.EnqueuedTime, got.LockedUntil)
	}
	if got.LockToken == [16]byte{} || got.DeliveryCount != 1 || got.State != azservicebus.MessageStateActive {
		t.Errorf("token %x, delivery count %d, state %d", got.LockToken, got.DeliveryCount, got.State)
	}
	if *got.SequenceNumber < 1 || *got.EnqueuedSequenceNumber != *got.SequenceNumber {
		t.Errorf("sequence numbers %d, %d", *got.SequenceNumber, *got.EnqueuedSequenceNumber)
	}
}

func TestMissingMessageIDIsAssigned(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", message("a"))
	if got := e.one(e.receiver("plain", nil), "a"); got.MessageID == "" {
		t.Fatal("message has no id")
	}
}

func TestCompletedMessageIsGone(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", message("a"))
	r := e.receiver("plain", nil)
	e.must(r.CompleteMessage(e.ctx, e.one(r, "a"), nil))
	e.none(r)
}

func TestMessagesComeInOrder(t *testing.T) {
	e := newEnvironment(t)
	for i := range 20 {
		e.send("plain", message(fmt.Sprint(i)))
	}
	r := e.receiver("plain", nil)
	last := int64(0)
	for i := range 20 {
		m := e.one(r, fmt.Sprint(i))
		if *m.SequenceNumber <= last {
			t.Fatalf("sequence number %d after %d", *m.SequenceNumber, last)
		}
		last = *m.SequenceNumber
		e.must(r.CompleteMessage(e.ctx, m, nil))
	}
}

func TestAbandonedMessageComesBackAtOnceAndFirst(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", message("a"), message("b"))
	r := e.receiver("plain", nil)
	e.must(r.AbandonMessage(e.ctx, e.one(r, "a"), &azservicebus.AbandonMessageOptions{PropertiesToModify: map[string]any{"why": "busy"}}))
	again := e.one(r, "a")
	if again.DeliveryCount != 2 || again.ApplicationProperties["why"] != "busy" {
		t.Fatalf("delivery count %d, properties %v", again.DeliveryCount, again.ApplicationProperties)
	}
}

func TestTooManyDeliveriesDeadLetter(t *testing.T) {
	for _, path := range []string{"plain", "events/all"} {
		t.Run(path, func(t *testing.T) {
			e := newEnvironment(t)
			entity, _, _ := cut(path)
			e.send(entity, message("poison"))
			r := e.receiver(path, nil)
			for i := range 3 {
				m := e.one(r, "poison")
				if m.DeliveryCount != uint32(i+1) {
					t.Fatalf("delivery %d has count %d", i+1, m.DeliveryCount)
				}
				e.must(r.AbandonMessage(e.ctx, m, nil))
			}
			e.none(r)
			dead := e.deadLetters(path)
			m := e.one(dead, "poison")
			if m.DeadLetterReason == nil || *m.DeadLetterReason != "MaxDeliveryCountExceeded" || m.DeadLetterErrorDescription == nil {
				t.Fatalf("dead letter reason %v, description %v", m.DeadLetterReason, m.DeadLetterErrorDescription)
			}
			e.must(dead.CompleteMessage(e.ctx, m, nil))
			e.none(dead)
		})
	}
}

func TestDeadLetterKeepsReasonAndProperties(t *testing.T) {
	e := newEnvironment(t)
	e.send("events", &azservicebus.Message{Body: []byte("a"), ApplicationProperties: map[string]any{"k": "v"}})
	r := e.receiver("events/all", nil)
	e.must(r.DeadLetterMessage(e.ctx, e.one(r, "a"), &azservicebus.DeadLetterOptions{
		Reason: ptr("bad"), ErrorDescription: ptr("very bad"),
		PropertiesToModify: map[string]any{"extra": int64(1)},
	}))
	e.none(r)
	m := e.one(e.deadLetters("events/all"), "a")
	if *m.DeadLetterReason != "bad" || *m.DeadLetterErrorDescription != "very bad" || m.ApplicationProperties["k"] != "v" || m.ApplicationProperties["extra"] != int64(1) {
		t.Fatalf("properties %v", m.ApplicationProperties)
	}
}

func TestExpiredLockIsLostAndTheMessageComesBack(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", message("a"))
	r := e.receiver("plain", nil)
	first := e.one(r, "a")
	e.advance(6 * time.Second)
	e.code(r.CompleteMessage(e.ctx, first, nil), azservicebus.CodeLockLost)
	e.code(r.RenewMessageLock(e.ctx, first, nil), azservicebus.CodeLockLost)
	if second := e.one(r, "a"); second.DeliveryCount != 2 || second.LockToken == first.LockToken {
		t.Fatalf("delivery count %d", second.DeliveryCount)
	}
}

func TestRenewedLockHolds(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", message("a"))
	r := e.receiver("plain", nil)
	m := e.one(r, "a")
	until := *m.LockedUntil
	for range 3 {
		e.advance(3 * time.Second)
		e.must(r.RenewMessageLock(e.ctx, m, nil))
		if !m.LockedUntil.After(until) {
			t.Fatalf("locked until %v, before it was %v", m.LockedUntil, until)
		}
		until = *m.LockedUntil
	}
	e.must(r.CompleteMessage(e.ctx, m, nil))
	e.none(r)
}

func TestCompletingTwiceIsLockLost(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", message("a"))
	r := e.receiver("plain", nil)
	m := e.one(r, "a")
	e.must(r.CompleteMessage(e.ctx, m, nil))
	other := e.receiver("plain", nil)
	copied := &azservicebus.ReceivedMessage{LockToken: m.LockToken}
	e.code(other.CompleteMessage(e.ctx, copied, nil), azservicebus.CodeLockLost)
}

func TestMessageIsSettledAfterItsReceiverClosed(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", message("a"), message("b"), message("c"))
	r := e.receiver("plain", nil)
	a, b, c := e.one(r, "a"), e.one(r, "b"), e.one(r, "c")
	e.must(r.Close(e.ctx))
	other := e.receiver("plain", nil)
	e.must(other.CompleteMessage(e.ctx, a, nil))
	e.must(other.AbandonMessage(e.ctx, b, nil))
	e.must(other.DeadLetterMessage(e.ctx, c, &azservicebus.DeadLetterOptions{Reason: ptr("late")}))
	if again := e.one(other, "b"); again.DeliveryCount != 2 {
		t.Fatalf("delivery count %d", again.DeliveryCount)
	}
	if dead := e.one(e.deadLetters("plain"), "c"); *dead.DeadLetterReason != "late" {
		t.Fatalf("reason %q", *dead.DeadLetterReason)
	}
}

func TestDeferredMessageIsReceivedByNumberOnly(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", message("a"), message("b"))
	r := e.receiver("plain", nil)
	a := e.one(r, "a")
	e.must(r.DeferMessage(e.ctx, a, nil))
	b := e.one(r, "b")
	e.must(r.CompleteMessage(e.ctx, b, nil))
	peeked, err := r.PeekMessages(e.ctx, 10, nil)
	e.must(err)
	if len(peeked) != 1 || peeked[0].State != azservicebus.MessageStateDeferred {
		t.Fatalf("peeked %d messages", len(peeked))
	}
	got, err := r.ReceiveDeferredMessages(e.ctx, []int64{*a.SequenceNumber}, nil)
	e.must(err)
	if len(got) != 1 || string(got[0].Body) != "a" || got[0].State != azservicebus.MessageStateDeferred {
		t.Fatalf("received %d deferred messages", len(got))
	}
	e.must(r.RenewMessageLock(e.ctx, got[0], nil))
	e.must(r.AbandonMessage(e.ctx, got[0], nil))
	got, err = r.ReceiveDeferredMessages(e.ctx, []int64{*a.SequenceNumber}, nil)
	e.must(err)
	e.must(r.CompleteMessage(e.ctx, got[0], nil))
	e.none(r)
	if _, err = r.ReceiveDeferredMessages(e.ctx, []int64{*a.SequenceNumber}, nil); err == nil {
		t.Fatal("received a deferred message that was completed")
	}
}

func TestScheduledMessageComesWhenItIsDue(t *testing.T) {
	e := newEnvironment(t)
	s, r := e.sender("events"), e.receiver("events/all", nil)
	at := e.now().Add(10 * time.Second)
	_, err := s.ScheduleMessages(e.ctx, []*azservicebus.Message{message("scheduled")}, at, nil)
	e.must(err)
	annotated := message("annotated")
	annotated.ScheduledEnqueueTime = ptr(at.Add(2 * time.Second))
	e.must(s.SendMessage(e.ctx, annotated, nil))
	e.advance(5 * time.Second)
	e.none(r)
	e.advance(6 * time.Second)
	m := e.one(r, "scheduled")
	if m.ScheduledEnqueueTime.UnixMilli() != at.UnixMilli() || m.EnqueuedTime.Before(at.Truncate(time.Millisecond)) {
		t.Fatalf("scheduled for %v, enqueued %v", m.ScheduledEnqueueTime, m.EnqueuedTime)
	}
	e.must(r.CompleteMessage(e.ctx, m, nil))
	e.none(r)
	e.advance(2 * time.Second)
	e.one(r, "annotated")
}

func TestPeekShowsScheduledMessagesOfAQueue(t *testing.T) {
	e := newEnvironment(t)
	s, r := e.sender("plain"), e.receiver("plain", nil)
	e.must(s.SendMessage(e.ctx, message("first"), nil))
	numbers, err := s.ScheduleMessages(e.ctx, []*azservicebus.Message{message("scheduled")}, e.now().Add(10*time.Second), nil)
	e.must(err)
	e.must(s.SendMessage(e.ctx, message("last"), nil))
	peeked, err := r.PeekMessages(e.ctx, 10, nil)
	e.must(err)
	var got []string
	for _, m := range peeked {
		got = append(got, fmt.Sprint(string(m.Body), " ", m.State))
	}
	if want := []string{"first 0", "scheduled 2", "last 0"}; !reflect.DeepEqual(got, want) {
		t.Errorf("peeked %q, want %q", got, want)
	}
	if *peeked[1].SequenceNumber != numbers[0] {
		t.Errorf("sequence number %d, scheduled as %d", *peeked[1].SequenceNumber, numbers[0])
	}
	peeked, err = r.PeekMessages(e.ctx, 1, &azservicebus.PeekMessagesOptions{FromSequenceNumber: &numbers[0]})
	e.must(err)
	if len(peeked) != 1 || string(peeked[0].Body) != "scheduled" {
		t.Errorf("peeked %d messages from the scheduled one on", len(peeked))
	}
	e.must(s.CancelScheduledMessages(e.ctx, numbers, nil))
}

func TestCancelledMessageNeverComes(t *testing.T) {
	e := newEnvironment(t)
	s, r := e.sender("events"), e.receiver("events/all", nil)
	numbers, err := s.ScheduleMessages(e.ctx, []*azservicebus.Message{message("a"), message("b")}, e.now().Add(10*time.Second), nil)
	e.must(err)
	if len(numbers) != 2 || numbers[0] == numbers[1] {
		t.Fatalf("sequence numbers %v", numbers)
	}
	e.must(s.CancelScheduledMessages(e.ctx, numbers[:1], nil))
	e.advance(11 * time.Second)
	e.must(r.CompleteMessage(e.ctx, e.one(r, "b"), nil))
	e.none(r)
	if err := s.CancelScheduledMessages(e.ctx, numbers[1:], nil); err == nil {
		t.Fatal("cancelled a message that was enqueued")
	}
}

func TestRepeatIsDroppedInsideTheWindowOnly(t *testing.T) {
	e := newEnvironment(t)
	repeated := func(body string) *azservicebus.Message {
		return &azservicebus.Message{Body: []byte(body), MessageID: ptr("same")}
	}
	e.send("events", repeated("first"), repeated("second"))
	r := e.receiver("events/all", nil)
	e.must(r.CompleteMessage(e.ctx, e.one(r, "first"), nil))
	e.advance(10 * time.Second)
	e.send("events", repeated("third"))
	e.none(r)
	e.advance(11 * time.Second)
	e.send("events", repeated("fourth"))
	e.one(r, "fourth")
}

func TestQueueWithoutDuplicateDetectionTakesRepeats(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", &azservicebus.Message{Body: []byte("a"), MessageID: ptr("same")}, &azservicebus.Message{Body: []byte("b"), MessageID: ptr("same")})
	r := e.receiver("plain", nil)
	e.one(r, "a")
	e.one(r, "b")
}

func TestBatch(t *testing.T) {
	e := newEnvironment(t)
	s := e.sender("plain")
	batch, err := s.NewMessageBatch(e.ctx, nil)
	e.must(err)
	for i := range 50 {
		e.must(batch.AddMessage(&azservicebus.Message{Body: fmt.Append(nil, i), ApplicationProperties: map[string]any{"i": int64(i)}}, nil))
	}
	e.must(s.SendMessageBatch(e.ctx, batch, nil))
	r := e.receiver("plain", nil)
	for i := range 50 {
		m := e.one(r, fmt.Sprint(i))
		if m.ApplicationProperties["i"] != int64(i) || m.MessageID == "" {
			t.Fatalf("message %d has properties %v", i, m.ApplicationProperties)
		}
		e.must(r.CompleteMessage(e.ctx, m, nil))
	}
}

func TestLargeMessagePassesAndATooLargeOneIsRefused(t *testing.T) {
	e := newEnvironment(t)
	body := bytes.Repeat([]byte("0123456789abcdef"), 200<<10/16)
	e.send("plain", &azservicebus.Message{Body: body})
	r := e.receiver("plain", nil)
	e.must(r.CompleteMessage(e.ctx, e.one(r, string(body)), nil))
	if err := e.sender("plain").SendMessage(e.ctx, &azservicebus.Message{Body: make([]byte, 300<<10)}, nil); err == nil {
		t.Fatal("a message of 300 KB was taken")
	}
}

func TestPeekDoesNotLock(t *testing.T) {
	e := newEnvironment(t)
	for i := range 5 {
		e.send("plain", message(fmt.Sprint(i)))
	}
	r := e.receiver("plain", nil)
	e.one(r, "0")
	for want := 0; want < 5; {
		got, err := r.PeekMessages(e.ctx, 2, nil)
		e.must(err)
		for _, m := range got {
			if string(m.Body) != fmt.Sprint(want) {
				t.Fatalf("peeked %q, want %d", m.Body, want)
			}
			want++
		}
	}
	for i := 1; i < 5; i++ {
		e.one(r, fmt.Sprint(i))
	}
}

func TestExpiredMessageIsDeadLettered(t *testing.T) {
	e := newEnvironment(t)
	e.send("expiring", &azservicebus.Message{Body: []byte("a"), TimeToLive: ptr(10 * time.Second)})
	r := e.receiver("expiring", nil)
	e.advance(11 * time.Second)
	dead := e.one(e.deadLetters("expiring"), "a")
	if *dead.DeadLetterReason != "TTLExpiredException" {
		t.Fatalf("reason %q", *dead.DeadLetterReason)
	}
	e.none(r)
}

func TestExpiredMessageIsDropped(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", &azservicebus.Message{Body: []byte("a"), TimeToLive: ptr(5 * time.Second)})
	e.advance(6 * time.Second)
	e.send("plain", message("b"))
	r := e.receiver("plain", nil)
	e.must(r.CompleteMessage(e.ctx, e.one(r, "b"), nil))
	e.none(r)
	e.none(e.deadLetters("plain"))
}

func TestReceiveAndDelete(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", message("a"))
	e.one(e.receiver("plain", &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete}), "a")
	e.none(e.receiver("plain", nil))
}

func TestReceiverGetsNoMoreThanItsCredit(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", message("a"), message("b"))
	first, second := e.receiver("plain", nil), e.receiver("plain", nil)
	e.one(first, "a")
	e.one(second, "b")
}

// The SDK leaves credit behind when it returns fewer messages than were asked for,
// and releases what arrives on it.
func TestIdleMessageIsReleasedUncounted(t *testing.T) {
	e := newEnvironment(t)
	e.send("plain", message("a"))
	r := e.receiver("plain", nil)
	got, err := r.ReceiveMessages(e.ctx, 5, nil)
	e.must(err)
	e.must(r.CompleteMessage(e.ctx, got[0], nil))
	e.send("plain", message("b"))
	other := e.receiver("plain", nil)
	if m := e.one(other, "b"); m.DeliveryCount != 1 {
		t.Fatalf("delivery count %d", m.DeliveryCount)
	}
}

func TestWaitingReceiverGetsTheMessageWhenItIsSent(t *testing.T) {
	e := newEnvironment(t)
	r := e.receiver("plain", nil)
	got := make(chan *azservicebus.ReceivedMessage, 1)
	go func() {
		messages, err := r.ReceiveMessages(e.ctx, 1, nil)
		if err != nil || len(messages) != 1 {
			t.Errorf("received %d messages, error %v", len(messages), err)
			got <- nil
			return
		}
		got <- messages[0]
	}()
	e.send("plain", message("a"))
	if m := <-got; m == nil || string(m.Body) != "a" {
		t.Fatal("got another message")
	}
}

func TestSubscriptionsTakeWhatTheirRulesMatch(t *testing.T) {
	e := newEnvironment(t)
	m := func(body, label, region string, size int64) *azservicebus.Message {
		return &azservicebus.Message{Body: []byte(body), Subject: &label, ApplicationProperties: map[string]any{"Region": region, "Size": size}}
	}
	e.send("events", m("small", "x", "north", 5), m("large", "x", "north", 11), m("south", "x", "south", 11),
		m("label", "bigger", "north", 5), m("invoice", "invoice", "north", 1), m("other invoice", "invoice", "south", 1))
	for path, want := range map[string][]string{
		"events/all":         {"small", "large", "south", "label", "invoice", "other invoice"},
		"events/sql":         {"large", "label"},
		"events/correlation": {"invoice"},
	} {
		r := e.receiver(path, nil)
		for _, body := range want {
			e.must(r.CompleteMessage(e.ctx, e.one(r, body), nil))
		}
		e.none(r)
	}
}

func TestUnknownEntityIsNotFound(t *testing.T) {
	e := newEnvironment(t)
	_, err := e.receiver("events/nobody", nil).ReceiveMessages(e.ctx, 1, nil)
	for _, err := range []error{err, e.sender("nowhere").SendMessage(e.ctx, message("a"), nil)} {
		var refused *amqp.Error
		if !errors.As(err, &refused) || refused.Condition != amqp.ErrCondNotFound {
			t.Fatalf("got error %v", err)
		}
	}
}
