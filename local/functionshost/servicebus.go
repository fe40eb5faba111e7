package functionshost

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/google/uuid"
)

// serviceBusTrigger runs one invocation per message of one queue or subscription,
// under PeekLock: it completes on success and abandons on failure.
type serviceBusTrigger struct {
	server    *Server
	name      string
	binding   *serviceBusBinding
	namespace string
	client    *azservicebus.Client
	slots     chan struct{}  // one element per invocation that may still begin
	renewal   time.Duration  // how long a message's lock is kept alive
	calls     sync.WaitGroup // receivers that still have calls to wait for
}

const (
	// gather is how long a batch waits for more messages after its first.
	gather = time.Millisecond
	// settleWithin bounds a complete, an abandon or a renewal.
	settleWithin = 5 * time.Second
	// brokerBackOff is between two attempts while the broker cannot be reached.
	brokerBackOff = 250 * time.Millisecond
)

func newServiceBus(s *Server, name string, b *serviceBusBinding) (*serviceBusTrigger, error) {
	bus := s.app.host.Extensions.ServiceBus
	t := &serviceBusTrigger{
		server: s, name: name, binding: b,
		slots:   make(chan struct{}, bus.MaxConcurrentCalls),
		renewal: time.Duration(bus.MaxAutoLockRenewalDuration),
	}
	for range bus.MaxConcurrentCalls {
		t.slots <- struct{}{}
	}
	var err error
	t.client, t.namespace, err = connect(s.settings, b.Connection)
	return t, err
}

// connect reads the connection as the Service Bus extension does: a connection
// string under its name, or the namespace under name__fullyQualifiedNamespace
// with the identity of the user that runs this host. It does not dial yet.
func connect(settings map[string]string, name string) (*azservicebus.Client, string, error) {
	options := &azservicebus.ClientOptions{RetryOptions: azservicebus.RetryOptions{
		MaxRetries: 3, RetryDelay: 100 * time.Millisecond, MaxRetryDelay: time.Second,
	}}
	if connection := settings[name]; connection != "" {
		client, err := azservicebus.NewClientFromConnectionString(connection, options)
		if err != nil {
			return nil, "", fmt.Errorf("setting %s is not a Service Bus connection string", name) // without its key
		}
		return client, endpoint(connection), nil
	}
	namespace := settings[name+"__fullyQualifiedNamespace"]
	if namespace == "" {
		return nil, "", fmt.Errorf("set %s or %s__fullyQualifiedNamespace", name, name)
	}
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, "", fmt.Errorf("setting %s__fullyQualifiedNamespace: %w", name, err)
	}
	client, err := azservicebus.NewClient(namespace, credential, options)
	if err != nil {
		return nil, "", fmt.Errorf("setting %s__fullyQualifiedNamespace: %w", name, err)
	}
	return client, namespace, nil
}

// endpoint returns the host name of a connection string, without the port.
func endpoint(connection string) string {
	for _, part := range strings.Split(connection, ";") {
		if value, ok := strings.CutPrefix(part, "Endpoint=sb://"); ok {
			name, _, _ := strings.Cut(strings.TrimSuffix(value, "/"), ":")
			return name
		}
	}
	return ""
}

// run receives until running ends and returns when each message it took is
// settled; invocations may go on until life ends.
func (t *serviceBusTrigger) run(running, life context.Context) {
	reachable := true
	for running.Err() == nil {
		err := t.receive(running, life)
		if running.Err() != nil {
			break
		}
		if reachable {
			t.server.log.Warn("cannot receive messages: retrying", "function", t.name, "error", err)
		}
		reachable = false
		select {
		case <-running.Done():
		case <-time.After(brokerBackOff):
		}
	}
	t.calls.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(life), time.Second)
	defer cancel()
	_ = t.client.Close(ctx) // every message is settled, or its lock runs out
}

// receive takes messages through one receiver until that fails.
func (t *serviceBusTrigger) receive(running, life context.Context) error {
	receiver, err := t.open()
	if err != nil {
		return err
	}
	var mine sync.WaitGroup // calls whose messages are settled through this receiver
	defer func() {
		t.calls.Go(func() { // the next receiver need not wait for them
			mine.Wait()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(life), time.Second)
			defer cancel()
			_ = receiver.Close(ctx) // it failed, or the host stops
		})
	}()
	for {
		// A host that runs takes messages whether or not its handler does.
		if err := t.server.supervisor.runs(running); err != nil {
			return err
		}
		free, err := t.acquire(running)
		if err != nil {
			return err
		}
		messages, err := receiver.ReceiveMessages(running, free, &azservicebus.ReceiveMessagesOptions{TimeAfterFirstMessage: gather})
		t.release(free - len(messages))
		for _, m := range messages {
			mine.Go(func() {
				defer t.release(1)
				t.handle(running, life, receiver, m)
			})
		}
		if err != nil {
			return err
		}
	}
}

func (t *serviceBusTrigger) open() (*azservicebus.Receiver, error) {
	options := &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModePeekLock}
	if t.binding.QueueName != "" {
		return t.client.NewReceiverForQueue(t.binding.QueueName, options)
	}
	return t.client.NewReceiverForSubscription(t.binding.TopicName, t.binding.SubscriptionName, options)
}

// acquire waits for a free slot and takes every one that is free by then.
func (t *serviceBusTrigger) acquire(ctx context.Context) (int, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-t.slots:
	}
	for n := 1; ; n++ {
		select {
		case <-t.slots:
		default:
			return n, nil
		}
	}
}

func (t *serviceBusTrigger) release(n int) {
	for range n {
		t.slots <- struct{}{}
	}
}

// handle runs one message's invocation and settles it. A message whose settlement
// is lost comes again when its lock has run out. When the host stops it abandons the messages
// of calls that succeed, too.
func (t *serviceBusTrigger) handle(running, life context.Context, receiver *azservicebus.Receiver, m *azservicebus.ReceivedMessage) {
	lock := t.keepLock(life, receiver, m)
	err := t.server.invoke(life, t.name, messagePayload(t.name, t.namespace, t.binding, m, t.server.clock.Now()), traceOf(m))
	if err == nil && running.Err() != nil {
		err = errStopping
	}
	lock.stop()
	ctx, cancel := context.WithTimeout(life, settleWithin)
	defer cancel()
	if err == nil {
		if err := receiver.CompleteMessage(ctx, m, nil); err != nil {
			t.server.log.Warn("cannot complete a message: it will be redelivered", "function", t.name, "message", m.MessageID, "error", err)
		}
		return
	}
	t.server.log.Warn("abandoning a message", "function", t.name, "message", m.MessageID, "delivery", m.DeliveryCount, "error", err)
	if err := receiver.AbandonMessage(ctx, m, nil); err != nil {
		t.server.log.Warn("cannot abandon a message: it will be redelivered when its lock ends", "function", t.name, "message", m.MessageID, "error", err)
	}
}

// errStopping is why a message is abandoned whose call succeeded.
var errStopping = errors.New("the host stops")

// traceOf returns the traceparent of a message; empty for none.
func traceOf(m *azservicebus.ReceivedMessage) string {
	for _, name := range []string{"traceparent", "Diagnostic-Id"} {
		if text, ok := m.ApplicationProperties[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// inputMessage is the message of a run by hand.
func inputMessage(input string) *azservicebus.ReceivedMessage {
	return &azservicebus.ReceivedMessage{MessageID: uuid.NewString(), Body: []byte(input), DeliveryCount: 1}
}

// lock keeps a message's lock alive while its invocation runs.
type lock struct {
	cancel context.CancelFunc
	timer  *time.Timer
	mu     sync.Mutex // held while a renewal runs
}

func (t *serviceBusTrigger) keepLock(life context.Context, receiver *azservicebus.Receiver, m *azservicebus.ReceivedMessage) *lock {
	ctx, cancel := context.WithCancel(life)
	l := &lock{cancel: cancel}
	if m.LockedUntil == nil {
		return l
	}
	until := time.Now().Add(t.renewal)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(renewIn(*m.LockedUntil), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if ctx.Err() != nil || time.Now().After(until) {
			return
		}
		bounded, done := context.WithTimeout(ctx, settleWithin)
		defer done()
		if err := receiver.RenewMessageLock(bounded, m, nil); err != nil {
			if ctx.Err() == nil {
				t.server.log.Warn("cannot renew the lock of a message", "function", t.name, "message", m.MessageID, "error", err)
			}
			var bus *azservicebus.Error
			if errors.As(err, &bus) && bus.Code == azservicebus.CodeLockLost {
				return
			}
			l.timer.Reset(time.Second)
			return
		}
		l.timer.Reset(renewIn(*m.LockedUntil))
	})
	return l
}

// stop ends the renewals and waits for one that is running.
func (l *lock) stop() {
	l.cancel()
	if l.timer != nil {
		l.timer.Stop()
		l.mu.Lock()
		defer l.mu.Unlock()
	}
}

// renewIn is how long to wait before renewing a lock: until ten seconds before its
// end, or until half of it is gone where it is short.
func renewIn(lockedUntil time.Time) time.Duration {
	left := time.Until(lockedUntil)
	return max(left-min(10*time.Second, left/2), 0)
}
