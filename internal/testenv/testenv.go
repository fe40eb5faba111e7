// Package testenv is the environment of a program in tests: it delivers messages to the handler as
// the Functions host does, and runs jobs as a worker does. It has a clock that only tests move, and
// a log that they read.
//
// It is test code, and no program imports it. What ships has workers of its own: internal/simulate
// answers jobs by the rules of an administrator in simulated time, and local/bench measures the
// worker of the product. The test of worker/verify has a worker that is written from the
// documentation alone, and the simulations decide about each delivery of a message.
package testenv

import (
	"context"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Handler handles what the Functions host gives it.
type Handler interface {
	HandleEvent(ctx context.Context, m message.Delivery) error
	HandleResult(ctx context.Context, m message.Delivery) error
}

// Run gives messages to a handler and jobs to a worker until ctx ends. It returns when all that
// they have begun has ended. A message whose handling fails comes again.
func Run(ctx context.Context, client bus.Receivers, h Handler, w *Worker) error {
	var all sync.WaitGroup
	failures := make(chan error, 3)
	serve := func(topic, subscription string, handle func(context.Context, *bus.Received) error) {
		all.Go(func() { failures <- Serve(ctx, client, topic, subscription, handle, nil) })
	}
	for _, topic := range []string{message.TopicOrchestratorEvents, message.TopicWorkerResults} {
		serve(topic, message.SubscriptionOrchestrator, func(ctx context.Context, m *bus.Received) error {
			return Handle(ctx, h, topic, Delivery(m))
		})
	}
	serve(message.TopicWorkerJobs, message.WorkerSubscription(w.ID), func(ctx context.Context, m *bus.Received) error {
		return w.Work(ctx, m.Body)
	})
	all.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

// Delivery returns a message as the handler gets it from the host.
func Delivery(m *bus.Received) message.Delivery {
	kind, _ := m.Properties[message.PropertyMessageType].(string)
	return message.Delivery{ID: m.ID, Type: kind, Body: m.Body, Properties: m.Properties, DeliveryCount: m.DeliveryCount, EnqueuedAt: m.EnqueuedAt}
}

// Handle has a handler handle a message of a topic: an event or a result.
func Handle(ctx context.Context, h Handler, topic string, m message.Delivery) error {
	if topic == message.TopicWorkerResults {
		return h.HandleResult(ctx, m)
	}
	return h.HandleEvent(ctx, m)
}

// settleTime is how long the settlement of a message may take, also after the end of a Serve.
const settleTime = 10 * time.Second

// Serve gives the messages of a subscription to handle until ctx ends, several at once. It
// completes those for which handle returns nil, and abandons the others. A settlement that fails
// is reported to settled, if that is not nil; its message comes again.
func Serve(ctx context.Context, client bus.Receivers, topic, subscription string, handle func(context.Context, *bus.Received) error, settled func(*bus.Received, error)) error {
	return Receive(ctx, client, topic, subscription, func(r bus.Receiver, messages []*bus.Received) {
		var all sync.WaitGroup
		for _, m := range messages {
			all.Go(func() {
				settle := r.Complete
				if err := handle(ctx, m); err != nil {
					settle = func(ctx context.Context, m *bus.Received) error { return r.Abandon(ctx, m, nil) }
				}
				settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
				defer cancel()
				if err := settle(settling, m); err != nil && settled != nil {
					settled(m, err)
				}
			})
		}
		all.Wait()
	})
}

// Receive receives the messages of a subscription until ctx ends, and gives them to take, which
// settles them. Its error is that of opening the receiver: an interruption is waited out.
func Receive(ctx context.Context, client bus.Receivers, topic, subscription string, take func(r bus.Receiver, messages []*bus.Received)) error {
	receiver, err := client.Receiver(topic, subscription)
	if err != nil {
		return err
	}
	defer func() { _ = receiver.Close(context.WithoutCancel(ctx)) }()
	for ctx.Err() == nil {
		if messages, err := receiver.Receive(ctx, 20, time.Minute); err == nil && len(messages) > 0 {
			take(receiver, messages)
		}
	}
	return nil
}
