//go:build rabbitmq

package rabbitmq_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// network opens the connections of a client and cuts them.
type network struct {
	mu   sync.Mutex
	away bool
	open []net.Conn
	last string // no byte is written after the write that contains it
}

func (n *network) connect(ctx context.Context, kind, address string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away {
		return nil, errAway
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, kind, address)
	if err != nil {
		return nil, err
	}
	n.open = append(n.open, conn)
	return &cable{conn, n}, nil
}

var errAway = errors.New("the network is down")

type cable struct {
	net.Conn
	network *network
}

func (c *cable) Write(b []byte) (int, error) {
	n := c.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away {
		return 0, errAway
	}
	n.away = n.last != "" && strings.Contains(string(b), n.last)
	return c.Conn.Write(b)
}

// writesUntil makes the write that contains a text the last one. Answers still arrive.
func (n *network) writesUntil(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = text
}

// cut closes the connections, and refuses others while it is away.
func (n *network) cut(away bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.away = away
	for _, conn := range n.open {
		_ = conn.Close()
	}
	n.open = nil
}

// over returns a client of the same namespace whose connections a network cuts.
func over(t *testing.T, prefix string, n *network) *rabbitmq.Client {
	t.Helper()
	return testenv.Connected(rabbitmq.Dial(rabbitmq.Config{URL: brokerURL, Prefix: prefix, Connect: n.connect}))(t)
}

func prefixOf(c *rabbitmq.Client) string {
	return strings.TrimSuffix(c.Topic(message.TopicWorkerJobs), message.TopicWorkerJobs)
}

const worker = "worker-01"

func job(id string) bus.Message {
	return bus.Message{ID: id, Body: []byte("{}"), Properties: map[string]any{message.PropertyWorkerID: worker}}
}

func jobs(t *testing.T, c *rabbitmq.Client) bus.Receiver {
	t.Helper()
	return testenv.Must(c.Receiver(message.TopicWorkerJobs, message.WorkerSubscription(worker)))(t)
}

// receive waits for n messages.
func receive(t *testing.T, r bus.Receiver, n int) []*bus.Received {
	t.Helper()
	var all []*bus.Received
	for len(all) < n {
		some, err := r.Receive(t.Context(), n-len(all), 20*time.Second)
		if err != nil || len(some) == 0 {
			t.Fatalf("%d of %d messages: %v", len(all), n, err)
		}
		all = append(all, some...)
	}
	return all
}

func TestBrokerThatIsAwayIsUnavailableAndUsedAgainWhenItIsBack(t *testing.T) {
	t.Parallel()
	var n network
	client := over(t, prefixOf(open(t)), &n)
	r := jobs(t, client)
	if err := client.Send(t.Context(), message.TopicWorkerJobs, job("1")); err != nil {
		t.Fatal(err)
	}
	held := receive(t, r, 1)[0]
	waiting := make(chan error, 1)
	go func() {
		_, err := r.Receive(t.Context(), 1, time.Minute)
		waiting <- err
	}()
	n.cut(true)
	if err := <-waiting; !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("receive: %v", err)
	}
	if err := client.Send(t.Context(), message.TopicWorkerJobs, job("2")); !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("send: %v", err)
	}
	if err := client.Ping(t.Context()); !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("ping: %v", err)
	}
	if _, err := r.Renew(t.Context(), held); !errors.Is(err, bus.ErrLockLost) {
		t.Errorf("renew: %v", err)
	}
	n.cut(false)
	for call, err := range map[string]error{
		"complete": r.Complete(t.Context(), held), "abandon": r.Abandon(t.Context(), held, nil), "dead-letter": r.DeadLetter(t.Context(), held, "a", "b"),
	} {
		if !errors.Is(err, bus.ErrLockLost) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if err := client.Send(t.Context(), message.TopicWorkerJobs, job("3")); err != nil {
		t.Error(err)
	}
	got := receive(t, r, 2)
	if got[0].ID != "1" || got[0].DeliveryCount != 2 || got[0].Sequence != held.Sequence || got[1].ID != "3" || got[1].DeliveryCount != 1 {
		t.Errorf("%+v, %+v", got[0], got[1])
	}
	if client.Sent() != 2 {
		t.Errorf("%d messages are acknowledged", client.Sent())
	}
}

// A process that is killed between the two halves of a settlement leaves the message and its copy.
func TestKilledSettlementLosesNothing(t *testing.T) {
	t.Parallel()
	const mark = "mark-of-the-copy"
	for _, name := range []string{"abandon", "dead-letter"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := open(t)
			var n network
			client := over(t, prefixOf(whole), &n)
			if err := client.Send(t.Context(), message.TopicWorkerJobs, job("1")); err != nil {
				t.Fatal(err)
			}
			r := jobs(t, client)
			m := receive(t, r, 1)[0]
			n.writesUntil(mark)
			var err error
			if name == "abandon" {
				err = r.Abandon(t.Context(), m, map[string]any{"Mark": mark})
			} else {
				err = r.DeadLetter(t.Context(), m, mark, "")
			}
			if !errors.Is(err, bus.ErrUnavailable) {
				t.Errorf("the settlement that was interrupted: %v", err)
			}
			n.cut(true)
			again := jobs(t, whole)
			if m := receive(t, again, 1)[0]; m.ID != "1" || m.Properties["Mark"] != nil || m.DeliveryCount != 2 {
				t.Errorf("the message: %+v", m)
			}
			if name == "abandon" {
				if m := receive(t, again, 1)[0]; m.ID != "1" || m.Properties["Mark"] != mark || m.DeliveryCount != 2 {
					t.Errorf("the copy: %+v", m)
				}
				return
			}
			taken, err := whole.TakeDeadLetters(t.Context(), message.TopicWorkerJobs, message.WorkerSubscription(worker), 5, func(_ context.Context, d bus.DeadLetter) error {
				if d.ID != "1" || d.Reason != mark {
					t.Errorf("the copy: %+v", d)
				}
				return nil
			})
			if taken != 1 || err != nil {
				t.Errorf("%d dead letters: %v", taken, err)
			}
		})
	}
}

// A scheduled message that no subscription wants leaves the ladder.
func TestScheduledMessageOfNoSubscriptionIsDropped(t *testing.T) {
	t.Parallel()
	client := open(t)
	conn := testenv.Must(amqp.Dial(brokerURL))(t)
	defer conn.Close()
	ch := testenv.Must(conn.Channel())(t)
	q := testenv.Must(ch.QueueDeclare("", false, true, true, false, nil))(t)
	if err := ch.QueueBind(q.Name, "", "matoolkit.unrouted", false, nil); err != nil {
		t.Fatal(err)
	}
	dropped := testenv.Must(ch.Consume(q.Name, "", true, true, false, false, nil))(t)
	nobodys := bus.Message{ID: t.Name(), Body: []byte("{}"), At: time.Now().Add(300 * time.Millisecond)}
	if err := client.Send(t.Context(), message.TopicWorkerJobs, nobodys); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case d := <-dropped: // other tests send such messages, too
			if d.MessageId == nobodys.ID {
				return
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the message stays in the ladder")
		}
	}
}

// A dead-letter queue that is missing loses no message.
func TestMissingDeadLetterQueueIsAnError(t *testing.T) {
	t.Parallel()
	client := open(t)
	conn := testenv.Must(amqp.Dial(brokerURL))(t)
	defer conn.Close()
	ch := testenv.Must(conn.Channel())(t)
	if _, err := ch.QueueDelete(client.Topic(message.TopicWorkerJobs)+"/"+message.WorkerSubscription(worker)+"/dead-letters", false, false, false); err != nil {
		t.Fatal(err)
	}
	if err := client.Send(t.Context(), message.TopicWorkerJobs, job("1")); err != nil {
		t.Fatal(err)
	}
	r := jobs(t, client)
	m := receive(t, r, 1)[0]
	if err := r.DeadLetter(t.Context(), m, "a", "b"); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := client.Declare(t.Context(), worker); err != nil { // which adds the queue
		t.Fatal(err)
	}
	if err := r.DeadLetter(t.Context(), m, "a", "b"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	prefix := prefixOf(open(t))
	dial := func(roots *x509.CertPool) *rabbitmq.Client {
		return testenv.Connected(rabbitmq.Dial(rabbitmq.Config{URL: brokerTLS, Prefix: prefix, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}))(t)
	}
	if err := dial(brokerRoots).Send(t.Context(), message.TopicWorkerJobs, job("1")); err != nil {
		t.Error(err)
	}
	if err := dial(x509.NewCertPool()).Ping(t.Context()); !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("an unknown certificate authority: %v", err)
	}
}

func TestWrongPasswordIsUnauthorizedAndNotTold(t *testing.T) {
	t.Parallel()
	u := testenv.Must(url.Parse(brokerURL))(t)
	u.User = url.UserPassword("guest", "very-secret")
	client := testenv.Must(rabbitmq.Dial(rabbitmq.Config{URL: u.String()}))(t)
	_, receive := jobs(t, client).Receive(t.Context(), 1, time.Second)
	for call, err := range map[string]error{"receive": receive, "send": client.Send(t.Context(), message.TopicWorkerJobs, job("1")), "ping": client.Ping(t.Context())} {
		if !errors.Is(err, bus.ErrUnauthorized) || strings.Contains(err.Error(), "very-secret") {
			t.Errorf("%s: %v", call, err)
		}
	}
	missing := testenv.Must(url.Parse(brokerURL))(t)
	missing.Path = "/missing"
	client = testenv.Must(rabbitmq.Dial(rabbitmq.Config{URL: missing.String()}))(t)
	if err := client.Ping(t.Context()); !errors.Is(err, bus.ErrUnauthorized) {
		t.Errorf("a missing virtual host: %v", err)
	}
}
