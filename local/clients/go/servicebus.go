package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

var servicebus = map[string]func(run){
	"send-and-receive": func(r run) {
		q := r.queue("orders")
		defer q.close()
		q.send(&azservicebus.Message{
			Body: []byte("b"), MessageID: ptr("id-1"), Subject: ptr("s"), CorrelationID: ptr("c"), ContentType: ptr("text/plain"),
			ApplicationProperties: map[string]any{"text": "t", "number": int64(5), "yes": true},
		})
		m := q.receive(1)[0]
		r.equal([]any{string(m.Body), m.MessageID, *m.Subject, *m.CorrelationID, *m.ContentType, m.DeliveryCount}, []any{"b", "id-1", "s", "c", "text/plain", uint32(1)})
		r.equal(m.ApplicationProperties, map[string]any{"text": "t", "number": int64(5), "yes": true})
		r.must(q.receiver.CompleteMessage(r, m, nil))
		r.equal(len(q.peek()), 0)
	},
	"batch": func(r run) {
		q := r.queue("orders")
		defer q.close()
		batch, err := q.sender.NewMessageBatch(r, nil)
		r.must(err)
		for range 20 {
			r.must(batch.AddMessage(&azservicebus.Message{Body: []byte("b")}, nil))
		}
		r.must(q.sender.SendMessageBatch(r, batch, nil))
		all := q.receive(20)
		r.equal(len(all), 20)
		for _, m := range all {
			r.must(q.receiver.CompleteMessage(r, m, nil))
		}
	},
	"peek": func(r run) {
		q := r.queue("orders")
		defer q.close()
		r.equal(len(q.peek()), 0)
		q.send(&azservicebus.Message{Body: []byte("a")})
		q.send(&azservicebus.Message{Body: []byte("b")})
		peeked := q.peek()
		r.equal([]string{string(peeked[0].Body), string(peeked[1].Body)}, []string{"a", "b"})
	},
	"sessions": func(r run) {
		client := r.client()
		defer client.Close(r)
		_, err := client.AcceptSessionForQueue(r, "orders", "s1", nil)
		r.must(err)
	},
}

// client connects with the connection string, without retries.
func (r run) client() *azservicebus.Client {
	client, err := azservicebus.NewClientFromConnectionString(os.Getenv("SERVICEBUS_CONNECTION_STRING"), &azservicebus.ClientOptions{
		RetryOptions: azservicebus.RetryOptions{MaxRetries: -1},
	})
	r.must(err)
	return client
}

// queue is an empty queue with a sender and a receiver.
type queue struct {
	run
	client   *azservicebus.Client
	sender   *azservicebus.Sender
	receiver *azservicebus.Receiver
}

func (r run) queue(name string) queue {
	q := queue{run: r, client: r.client()}
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

func (q queue) send(m *azservicebus.Message) { q.must(q.sender.SendMessage(q, m, nil)) }

// receive waits for n messages.
func (q queue) receive(n int) (all []*azservicebus.ReceivedMessage) {
	for len(all) < n {
		got, err := q.receiver.ReceiveMessages(q, n-len(all), nil)
		q.must(err)
		all = append(all, got...)
	}
	return all
}

// peek returns the messages of the queue, from the first.
func (q queue) peek() []*azservicebus.ReceivedMessage {
	got, err := q.receiver.PeekMessages(q, 10, &azservicebus.PeekMessagesOptions{FromSequenceNumber: ptr(int64(0))})
	q.must(err)
	return got
}

func ptr[T any](v T) *T { return &v }
