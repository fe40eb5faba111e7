package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
	"github.com/Azure/go-amqp"
	"github.com/coder/websocket"
)

var servicebus = map[string]func(run){
	"send-and-receive": func(r run) {
		q := r.queue("orders")
		defer q.close()
		q.send(&azservicebus.Message{
			Body: []byte("b"), MessageID: ptr("id-1"), Subject: ptr("s"), CorrelationID: ptr("c"), ContentType: ptr("text/plain"),
			ApplicationProperties: map[string]any{"text": "t", "number": int64(5), "yes": true},
		})
		m := q.one()
		r.equal([]any{string(m.Body), m.MessageID, *m.Subject, *m.CorrelationID, *m.ContentType, m.DeliveryCount}, []any{"b", "id-1", "s", "c", "text/plain", uint32(1)})
		r.equal(m.ApplicationProperties, map[string]any{"text": "t", "number": int64(5), "yes": true})
		r.must(q.receiver.CompleteMessage(r, m, nil))
		r.equal(len(q.peek()), 0)
	},
	"tls": func(r run) {
		r.roundTrip(azservicebus.NewClientFromConnectionString(os.Getenv("SERVICEBUS_TLS_CONNECTION_STRING"), r.secure()))
	},
	"websockets": func(r run) {
		options := r.secure()
		options.NewWebSocketConn = func(ctx context.Context, _ azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
			c, _, err := websocket.Dial(ctx, "wss://"+os.Getenv("SERVICEBUS_ADDRESS")+"/$servicebus/websocket", &websocket.DialOptions{
				Subprotocols: []string{"AMQPWSB10"}, HTTPClient: &http.Client{Transport: r.transport()},
			})
			if err != nil {
				return nil, err
			}
			return websocket.NetConn(context.WithoutCancel(ctx), c, websocket.MessageBinary), nil
		}
		r.roundTrip(azservicebus.NewClientFromConnectionString(os.Getenv("SERVICEBUS_TLS_CONNECTION_STRING"), options))
	},
	"token-credential": func(r run) {
		r.roundTrip(azservicebus.NewClient("localhost", r.credential(), r.secure()))
	},
	"batch": func(r run) {
		q := r.queue("orders")
		defer q.close()
		batch, err := q.sender.NewMessageBatch(r, nil)
		r.must(err)
		for range 20 {
			r.must(batch.AddMessage(text("b"), nil))
		}
		r.must(q.sender.SendMessageBatch(r, batch, nil))
		all := q.receive(20)
		r.equal(len(all), 20)
		for _, m := range all {
			r.must(q.receiver.CompleteMessage(r, m, nil))
		}
	},
	"schedule": func(r run) {
		q := r.queue("orders")
		defer q.close()
		due := time.Now().Add(time.Second).Truncate(time.Millisecond) // as AMQP has it
		q.schedule("later", due)
		m := q.one()
		r.equal([]any{string(m.Body), time.Now().Before(due)}, []any{"later", false})
		r.must(q.receiver.CompleteMessage(r, m, nil))
	},
	"cancel": func(r run) {
		q := r.queue("orders")
		defer q.close()
		numbers := q.schedule("never", time.Now().Add(time.Minute))
		r.must(q.sender.CancelScheduledMessages(r, numbers, nil))
		r.equal(len(q.peek()), 0)
		r.refused(q.sender.CancelScheduledMessages(r, numbers, nil), "no scheduled message")
	},
	"peek": func(r run) {
		q := r.queue("orders")
		defer q.close()
		r.equal(len(q.peek()), 0)
		q.send(text("a"))
		q.send(text("b"))
		peeked := q.peek()
		r.equal([]string{string(peeked[0].Body), string(peeked[1].Body)}, []string{"a", "b"})
	},
	"peek-scheduled": func(r run) {
		q := r.queue("orders")
		defer q.close()
		numbers := q.schedule("later", time.Now().Add(time.Minute))
		m := q.peek()[0]
		r.equal([]any{string(m.Body), m.State, *m.SequenceNumber}, []any{"later", azservicebus.MessageStateScheduled, numbers[0]})
		r.must(q.sender.CancelScheduledMessages(r, numbers, nil))
	},
	"abandon": func(r run) {
		q := r.queue("orders")
		defer q.close()
		q.send(text("a"))
		r.must(q.receiver.AbandonMessage(r, q.one(), &azservicebus.AbandonMessageOptions{PropertiesToModify: map[string]any{"why": "busy"}}))
		m := q.one()
		r.equal([]any{m.DeliveryCount, m.ApplicationProperties["why"]}, []any{uint32(2), "busy"})
		r.must(q.receiver.CompleteMessage(r, m, nil))
	},
	"defer": func(r run) {
		q := r.queue("orders")
		defer q.close()
		q.send(text("a"))
		m := q.one()
		r.must(q.receiver.DeferMessage(r, m, nil))
		deferred, err := q.receiver.ReceiveDeferredMessages(r, []int64{*m.SequenceNumber}, nil)
		r.must(err)
		r.equal([]any{string(deferred[0].Body), deferred[0].State}, []any{"a", azservicebus.MessageStateDeferred})
		r.must(q.receiver.CompleteMessage(r, deferred[0], nil))
		r.equal(len(q.peek()), 0)
	},
	"dead-letter": func(r run) {
		q := r.queue("orders")
		defer q.close()
		q.send(text("a"))
		r.must(q.receiver.DeadLetterMessage(r, q.one(), &azservicebus.DeadLetterOptions{Reason: ptr("bad"), ErrorDescription: ptr("very bad")}))
		dead := q.dead()
		m := dead.one()
		r.equal([]string{string(m.Body), *m.DeadLetterReason, *m.DeadLetterErrorDescription}, []string{"a", "bad", "very bad"})
		r.must(dead.receiver.CompleteMessage(r, m, nil))
	},
	"delivery-count": func(r run) {
		q := r.queue("orders")
		defer q.close()
		q.send(text("a"))
		for i := range 3 {
			m := q.one()
			r.equal(m.DeliveryCount, uint32(i+1))
			r.must(q.receiver.AbandonMessage(r, m, nil))
		}
		dead := q.dead()
		m := dead.one()
		r.equal(*m.DeadLetterReason, "MaxDeliveryCountExceeded")
		r.must(dead.receiver.CompleteMessage(r, m, nil))
	},
	"renew-lock": func(r run) {
		q := r.queue("orders")
		defer q.close()
		q.send(text("a"))
		m := q.one()
		before := *m.LockedUntil
		time.Sleep(10 * time.Millisecond)
		r.must(q.receiver.RenewMessageLock(r, m, nil))
		r.equal(m.LockedUntil.After(before), true)
		r.must(q.receiver.CompleteMessage(r, m, nil))
	},
	"lock-lost": func(r run) {
		q := r.queue("short-lock")
		defer q.close()
		q.send(text("a"))
		m := q.one()
		time.Sleep(time.Until(*m.LockedUntil) + 200*time.Millisecond)
		r.code(q.receiver.CompleteMessage(r, m, nil), azservicebus.CodeLockLost)
		r.code(q.receiver.RenewMessageLock(r, m, nil), azservicebus.CodeLockLost)
	},
	"message-not-found": func(r run) {
		q := r.queue("orders")
		defer q.close()
		numbers := q.schedule("a", time.Now().Add(time.Minute)) // not a deferred one
		_, err := q.receiver.ReceiveDeferredMessages(r, numbers, nil)
		r.refused(err, "no deferred message")
		r.must(q.sender.CancelScheduledMessages(r, numbers, nil))
	},
	"entity-not-found": func(r run) {
		client := r.client()
		defer client.Close(r)
		sender, err := client.NewSender("nowhere", nil)
		r.must(err)
		r.condition(sender.SendMessage(r, text("a"), nil), amqp.ErrCondNotFound)
	},
	"duplicate-detection": func(r run) {
		q := r.queue("unique")
		defer q.close()
		id := ptr(fmt.Sprint(time.Now().UnixNano()))
		q.send(&azservicebus.Message{Body: []byte("a"), MessageID: id})
		q.send(&azservicebus.Message{Body: []byte("b"), MessageID: id})
		peeked := q.peek()
		r.equal([]any{len(peeked), string(peeked[0].Body)}, []any{1, "a"})
	},
	"subscription-filter": func(r run) {
		client := r.client()
		defer client.Close(r)
		sender, err := client.NewSender("events", nil)
		r.must(err)
		for _, region := range []string{"north", "south"} {
			r.must(sender.SendMessage(r, &azservicebus.Message{Body: []byte(region), ApplicationProperties: map[string]any{"Region": region}}, nil))
		}
		for name, want := range map[string][]string{"all": {"north", "south"}, "north": {"north"}} {
			receiver, err := client.NewReceiverForSubscription("events", name, nil)
			r.must(err)
			q := queue{run: r, client: client, receiver: receiver}
			var got []string
			for _, m := range q.peek() {
				got = append(got, string(m.Body))
			}
			r.equal(got, want)
			for _, m := range q.receive(len(want)) {
				r.must(receiver.CompleteMessage(r, m, nil))
			}
		}
	},
	"message-too-large": func(r run) {
		q := r.queue("orders")
		defer q.close()
		err := q.sender.SendMessage(r, &azservicebus.Message{Body: make([]byte, 300<<10)}, nil)
		r.equal(errors.Is(err, azservicebus.ErrMessageTooLarge), true)
	},
	"sessions": func(r run) {
		client := r.client()
		defer client.Close(r)
		_, err := client.AcceptSessionForQueue(r, "orders", "s1", nil)
		r.must(err)
	},
	"administration": func(r run) {
		client, err := admin.NewClientFromConnectionString(os.Getenv("SERVICEBUS_TLS_CONNECTION_STRING"), &admin.ClientOptions{
			ClientOptions: azcore.ClientOptions{Transport: toAddress{r.transport()}, Retry: policy.RetryOptions{MaxRetries: -1}},
		})
		r.must(err)
		_, err = client.GetQueue(r, "orders", nil)
		r.must(err)
	},
}

// toAddress sends the requests to SERVICEBUS_ADDRESS: the administration client knows no
// custom endpoint.
type toAddress struct{ *http.Transport }

// Do sends a request.
func (t toAddress) Do(r *http.Request) (*http.Response, error) {
	r.URL.Host = os.Getenv("SERVICEBUS_ADDRESS")
	return t.RoundTrip(r)
}

// client connects with the connection string, without retries.
func (r run) client() *azservicebus.Client {
	client, err := azservicebus.NewClientFromConnectionString(os.Getenv("SERVICEBUS_CONNECTION_STRING"), &azservicebus.ClientOptions{
		RetryOptions: azservicebus.RetryOptions{MaxRetries: -1},
	})
	r.must(err)
	return client
}

// secure returns the options of a client that uses TLS.
func (r run) secure() *azservicebus.ClientOptions {
	return &azservicebus.ClientOptions{
		TLSConfig: r.transport().TLSClientConfig, CustomEndpoint: os.Getenv("SERVICEBUS_ADDRESS"),
		RetryOptions: azservicebus.RetryOptions{MaxRetries: -1},
	}
}

// transport trusts the local CA.
func (r run) transport() *http.Transport {
	certificate, err := os.ReadFile(os.Getenv("CA_FILE"))
	r.must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
}

func (r run) credential() azcore.TokenCredential {
	credential, err := azidentity.NewClientSecretCredential(os.Getenv("TENANT_ID"), os.Getenv("CLIENT_ID"), os.Getenv("CLIENT_SECRET"), &azidentity.ClientSecretCredentialOptions{
		ClientOptions: azcore.ClientOptions{
			Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: os.Getenv("ENTRA_AUTHORITY")}, Transport: &http.Client{Transport: r.transport()},
		},
		DisableInstanceDiscovery: true,
	})
	r.must(err)
	return credential
}

// roundTrip sends, receives and completes a message.
func (r run) roundTrip(client *azservicebus.Client, err error) {
	r.must(err)
	q := r.open(client, "orders")
	defer q.close()
	q.send(text("hello"))
	m := q.one()
	r.equal(string(m.Body), "hello")
	r.must(q.receiver.CompleteMessage(r, m, nil))
}

// queue is an empty queue with a sender and a receiver.
type queue struct {
	run
	client   *azservicebus.Client
	name     string
	sender   *azservicebus.Sender
	receiver *azservicebus.Receiver
}

func (r run) queue(name string) queue { return r.open(r.client(), name) }

func (r run) open(client *azservicebus.Client, name string) queue {
	q := queue{run: r, client: client, name: name}
	var err error
	q.sender, err = q.client.NewSender(name, nil)
	r.must(err)
	drain, err := q.client.NewReceiverForQueue(name, &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete})
	r.must(err)
	for {
		ctx, cancel := context.WithTimeout(r, 200*time.Millisecond)
		got, err := drain.ReceiveMessages(ctx, 50, nil)
		cancel()
		if len(got) == 0 {
			if !errors.Is(err, context.DeadlineExceeded) {
				r.must(err)
			}
			break
		}
	}
	r.must(drain.Close(r))
	q.receiver, err = q.client.NewReceiverForQueue(name, nil)
	r.must(err)
	return q
}

func (q queue) close() { q.must(q.client.Close(q)) }

// dead is the dead-letter queue.
func (q queue) dead() queue {
	receiver, err := q.client.NewReceiverForQueue(q.name, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	q.must(err)
	return queue{run: q.run, client: q.client, receiver: receiver}
}

func (q queue) send(m *azservicebus.Message) { q.must(q.sender.SendMessage(q, m, nil)) }

// schedule returns the sequence numbers of the message.
func (q queue) schedule(body string, due time.Time) []int64 {
	numbers, err := q.sender.ScheduleMessages(q, []*azservicebus.Message{text(body)}, due, nil)
	q.must(err)
	return numbers
}

// receive waits for n messages.
func (q queue) receive(n int) (all []*azservicebus.ReceivedMessage) {
	for len(all) < n {
		got, err := q.receiver.ReceiveMessages(q, n-len(all), nil)
		q.must(err)
		all = append(all, got...)
	}
	return all
}

func (q queue) one() *azservicebus.ReceivedMessage { return q.receive(1)[0] }

// peek returns the messages of the queue, from the first.
func (q queue) peek() []*azservicebus.ReceivedMessage {
	got, err := q.receiver.PeekMessages(q, 10, &azservicebus.PeekMessagesOptions{FromSequenceNumber: ptr(int64(0))})
	q.must(err)
	return got
}

// code checks the code of an error.
func (r run) code(err error, want azservicebus.Code) {
	var refused *azservicebus.Error
	if !errors.As(err, &refused) || refused.Code != want {
		panic(fmt.Errorf("got error %w, want code %s", err, want))
	}
}

// refused checks the text of an error for which the package has no code.
func (r run) refused(err error, want string) {
	if err == nil || !strings.Contains(err.Error(), want) {
		panic(fmt.Errorf("got error %w, want %q", err, want))
	}
}

// condition checks the AMQP condition of an error.
func (r run) condition(err error, want amqp.ErrCond) {
	var refused *amqp.Error
	if !errors.As(err, &refused) || refused.Condition != want {
		panic(fmt.Errorf("got error %w, want condition %s", err, want))
	}
}

func text(body string) *azservicebus.Message { return &azservicebus.Message{Body: []byte(body)} }

func ptr[T any](v T) *T { return &v }
