package servicebus_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

type credential string

func (c credential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(c), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func TestTokenOfAnIdentityWithoutAPort(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	server := testenv.Started(servicebus.Start(ctx, servicebus.Config{
		Topology: servicebus.DefaultTopology(), Key: testKey,
		VerifyToken: func(token, audience string) error {
			if token != "good" || !strings.Contains(audience, "/worker-results") {
				return errors.New("not this one")
			}
			return nil
		},
	}))(t)
	send := func(token, topic string) error {
		client := testenv.Must(azservicebus.NewClient("matoolkit.servicebus.windows.net", credential(token), &azservicebus.ClientOptions{
			RetryOptions:     azservicebus.RetryOptions{MaxRetries: -1},
			NewWebSocketConn: func(context.Context, azservicebus.NewWebSocketConnArgs) (net.Conn, error) { return server.Dial() },
		}))(t)
		defer client.Close(ctx)
		sender := testenv.Must(client.NewSender(topic, nil))(t)
		return sender.SendMessage(ctx, message("a"), nil)
	}
	if err := send("good", "worker-results"); err != nil {
		t.Fatal(err)
	}
	var refused *azservicebus.Error
	for _, err := range []error{send("bad", "worker-results"), send("good", "worker-jobs")} {
		if !errors.As(err, &refused) || refused.Code != azservicebus.CodeUnauthorizedAccess {
			t.Fatalf("got error %v", err)
		}
	}
	if got := server.Stats().Entities["worker-results"].Sent; got != 1 {
		t.Fatalf("%d messages were sent", got)
	}
}

func TestWrongKeyIsRefused(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	client, err := azservicebus.NewClientFromConnectionString(strings.Replace(e.server.ConnectionString(), testKey, "another", 1),
		&azservicebus.ClientOptions{RetryOptions: azservicebus.RetryOptions{MaxRetries: -1}})
	e.must(err)
	defer client.Close(e.ctx)
	sender, err := client.NewSender("plain", nil)
	e.must(err)
	e.code(sender.SendMessage(e.ctx, message("a"), nil), azservicebus.CodeUnauthorizedAccess)
}

// raw connects without the SDK, and with a token when one is wanted.
func raw(e *environment, o *amqp.ConnOptions) *amqp.Conn {
	e.t.Helper()
	nc, err := e.server.Dial()
	e.must(err)
	c, err := amqp.NewConn(e.ctx, nc, o)
	e.must(err)
	e.t.Cleanup(func() { _ = c.Close() })
	return c
}

func condition(t *testing.T, err error, want amqp.ErrCond) {
	t.Helper()
	var refused *amqp.Error
	if !errors.As(err, &refused) || refused.Condition != want {
		t.Fatalf("got error %v, want %s", err, want)
	}
}

func TestLinksThatAreNotUnderstoodAreRefused(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	session, err := raw(e, &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous()}).NewSession(e.ctx, nil)
	e.must(err)
	_, err = session.NewSender(e.ctx, "plain", nil)
	condition(t, err, amqp.ErrCondUnauthorizedAccess)
	_, err = session.NewReceiver(e.ctx, "plain", &amqp.ReceiverOptions{Filters: []amqp.LinkFilter{amqp.NewSelectorFilter("a = 1")}})
	condition(t, err, amqp.ErrCondNotImplemented)
	_, err = session.NewReceiver(e.ctx, "", &amqp.ReceiverOptions{DynamicAddress: true})
	condition(t, err, amqp.ErrCondNotImplemented)
}

func TestOtherProtocolLearnsWhatIsSpokenHere(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	nc, err := net.Dial("tcp", e.server.Addr())
	e.must(err)
	defer nc.Close()
	_, err = io.WriteString(nc, "EHLO localhost\r\n")
	e.must(err)
	got := make([]byte, 8)
	_, err = io.ReadFull(nc, got)
	e.must(err)
	if !bytes.Equal(got, []byte{'A', 'M', 'Q', 'P', 3, 1, 0, 0}) {
		t.Fatalf("answer is % x", got)
	}
}

func TestHeartbeatsKeepAnIdleConnectionOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock no stall of the machine moves
		server := testenv.Must(servicebus.Start(t.Context(), servicebus.Config{Topology: conformanceTopology(t), Key: testKey}))(t)
		defer server.Close()
		const idle = time.Minute
		c := raw(&environment{t: t, ctx: t.Context(), server: server}, &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous(), IdleTimeout: idle})
		defer c.Close()
		select {
		case <-c.Done():
			t.Fatalf("the connection ended: %v", c.Err())
		case <-time.After(3 * idle):
		}
	})
}

// authorized opens a session on a connection that holds a token for the entity.
func authorized(e *environment, entity string) (*amqp.Session, *amqp.Conn) {
	e.t.Helper()
	c := raw(e, &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous()})
	session, err := c.NewSession(e.ctx, nil)
	e.must(err)
	reply := call(e, session, "$cbs", &amqp.Message{
		Value:                 sign("amqp://localhost/"+entity, testKey, time.Now().Add(time.Hour)),
		ApplicationProperties: map[string]any{"operation": "put-token", "type": "servicebus.windows.net:sastoken", "name": "amqp://localhost/" + entity},
	})
	if code := reply.ApplicationProperties["status-code"]; code != int32(202) {
		e.t.Fatalf("put-token: %v (%T)", reply.ApplicationProperties, code)
	}
	return session, c
}

// call sends a request to a node and returns the answer.
func call(e *environment, session *amqp.Session, node string, request *amqp.Message) *amqp.Message {
	e.t.Helper()
	sender, err := session.NewSender(e.ctx, node, nil)
	e.must(err)
	receiver, err := session.NewReceiver(e.ctx, node, &amqp.ReceiverOptions{
		TargetAddress:  "answers",
		SettlementMode: amqp.ReceiverSettleModeFirst.Ptr(), RequestedSenderSettleMode: amqp.SenderSettleModeSettled.Ptr(),
	})
	e.must(err)
	request.Properties = &amqp.MessageProperties{MessageID: "request-1", ReplyTo: ptr("answers")}
	e.must(sender.Send(e.ctx, request, nil))
	reply, err := receiver.Receive(e.ctx, nil)
	e.must(err)
	if reply.Properties.CorrelationID != "request-1" {
		e.t.Fatalf("correlation id is %v", reply.Properties.CorrelationID)
	}
	e.must(sender.Close(e.ctx))
	e.must(receiver.Close(e.ctx))
	return reply
}

func TestManagementRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	session, _ := authorized(e, "plain")
	for name, c := range map[string]struct {
		operation string
		body      any
		want      int32
	}{
		"unknown operation":     {"com.microsoft:add-rule", map[string]any{}, 501},
		"other namespace":       {"peek", map[string]any{}, 400},
		"no map":                {"com.microsoft:peek-message", "text", 400},
		"of a session":          {"com.microsoft:peek-message", map[string]any{"from-sequence-number": int64(1), "message-count": int32(1), "session-id": "s"}, 501},
		"missing argument":      {"com.microsoft:peek-message", map[string]any{"from-sequence-number": int64(1)}, 400},
		"lock that is lost":     {"com.microsoft:renew-lock", map[string]any{"lock-tokens": []amqp.UUID{{1}}}, 410},
		"unknown disposition":   {"com.microsoft:update-disposition", map[string]any{"disposition-status": "lost", "lock-tokens": []amqp.UUID{{1}}}, 400},
		"no deferred message":   {"com.microsoft:receive-by-sequence-number", map[string]any{"sequence-numbers": []int64{1}, "receiver-settle-mode": uint32(1)}, 404},
		"no scheduled message":  {"com.microsoft:cancel-scheduled-message", map[string]any{"sequence-numbers": []int64{1}}, 404},
		"nothing to peek":       {"com.microsoft:peek-message", map[string]any{"from-sequence-number": int64(1), "message-count": int32(1)}, 204},
		"message without bytes": {"com.microsoft:schedule-message", map[string]any{"messages": []any{map[string]any{"message": "text"}}}, 400},
	} {
		reply := call(e, session, "plain/$management", &amqp.Message{Value: c.body, ApplicationProperties: map[string]any{"operation": c.operation}})
		if got := reply.ApplicationProperties["status-code"]; got != c.want {
			t.Errorf("%s: %v, want %d", name, reply.ApplicationProperties, c.want)
		}
	}
}

// What a client sees of a delivery before any SDK makes sense of it.
func TestDeliveryOnTheWire(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	e.send("plain", message("a"))
	session, _ := authorized(e, "plain")
	sender, err := session.NewSender(e.ctx, "plain", nil)
	e.must(err)
	if sender.MaxMessageSize() != 256<<10 {
		t.Errorf("max-message-size is %d", sender.MaxMessageSize())
	}
	r, err := session.NewReceiver(e.ctx, "plain", &amqp.ReceiverOptions{SettlementMode: amqp.ReceiverSettleModeSecond.Ptr(), Credit: 1})
	e.must(err) // the SDK's link layer refuses when settlement modes are not echoed
	m, err := r.Receive(e.ctx, nil)
	e.must(err)
	if len(m.DeliveryTag) != 16 {
		t.Errorf("delivery tag has %d bytes", len(m.DeliveryTag))
	}
	if m.Header == nil {
		t.Error("there is no header section")
	}
	for key, want := range map[string]any{
		"x-opt-sequence-number": int64(0), "x-opt-enqueue-sequence-number": int64(0),
		"x-opt-enqueued-time": time.Time{}, "x-opt-locked-until": time.Time{}, "x-opt-message-state": int32(0),
	} {
		if got := m.Annotations[key]; got == nil || typeName(got) != typeName(want) {
			t.Errorf("annotation %s is %v, a %s, not a %s", key, got, typeName(got), typeName(want))
		}
	}
	e.must(r.RejectMessage(e.ctx, m, &amqp.Error{Condition: "com.microsoft:dead-letter"}))
	if st := e.server.Stats().Entities["plain"]; st.DeadLettered != 1 || st.Delivered != 1 || st.Messages != 0 {
		t.Errorf("stats %+v", st)
	}
}

// A client that never confirms nor refills its session window still gets all that
// its window allows, and the rest once it does.
func TestTransfersWaitForTheSessionWindow(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	body := strings.Repeat("x", 100<<10) // several frames each
	e.send("plain", message(body), message(body), message(body))
	_, c := authorized(e, "plain")
	session, err := c.NewSession(e.ctx, nil)
	e.must(err)
	r, err := session.NewReceiver(e.ctx, "plain", &amqp.ReceiverOptions{Credit: 3})
	e.must(err)
	for range 3 {
		m, err := r.Receive(e.ctx, nil)
		e.must(err)
		if len(m.GetData()) != len(body) {
			t.Fatalf("message has %d bytes", len(m.GetData()))
		}
	}
}

// The counters have all that Service Bus bills.
func TestOperationsAreCounted(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	e.send("plain", message("a"), message("b"), message("c"), message("d"))
	r := e.receiver("plain", nil)
	a, b, c := e.one(r, "a"), e.one(r, "b"), e.one(r, "c")
	for range 2 {
		e.must(r.RenewMessageLock(e.ctx, a, nil))
		_, err := r.PeekMessages(e.ctx, 2, nil)
		e.must(err)
	}
	e.must(r.CompleteMessage(e.ctx, a, nil))
	e.must(r.DeadLetterMessage(e.ctx, b, nil))
	e.must(r.AbandonMessage(e.ctx, c, nil))
	e.one(r, "c")
	want := servicebus.EntityStats{Messages: 2, Sent: 4, Delivered: 4, Completed: 1, Abandoned: 1, DeadLettered: 1, Renewed: 2, Peeked: 2}
	if got := e.server.Stats().Entities["plain"]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestServerListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	if _, err := servicebus.Start(context.Background(), servicebus.Config{Addr: "0.0.0.0:0", Key: testKey}); err == nil {
		t.Fatal("listens on every address")
	}
}

func TestServerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	server := testenv.Must(servicebus.Start(ctx, servicebus.Config{Addr: "127.0.0.1:0", Key: testKey}))(t)
	nc := testenv.Must(net.Dial("tcp", server.Addr()))(t)
	defer nc.Close()
	cancel()
	if _, err := io.ReadAll(nc); err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Fatal(err)
	}
}
