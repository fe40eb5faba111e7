package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/consumer"
	"github.com/matoolkit/matoolkit/internal/logkey"
	contract "github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/panics"
)

// concurrency is how many messages of one subscription are processed at once, as host.json says
// for the Functions host.
const concurrency = 128

// receive does the work of the Functions host where there is none: it receives the messages of
// the two subscriptions, and fires the scheduler's timer, until ctx ends and all calls in flight
// have ended. Several processes may do so: a tick may run together with another.
func receive(ctx context.Context, w *wiring, deadline time.Duration, log *slog.Logger) error {
	var all errgroup.Group
	for topic, handle := range map[string]func(context.Context, contract.Delivery) error{
		contract.TopicOrchestratorEvents: w.app.HandleEvent, contract.TopicWorkerResults: w.app.HandleResult,
	} {
		all.Go(func() error {
			return consumer.Run(ctx, consumer.Config{
				Client: w.bus, Topic: topic, Subscription: contract.SubscriptionOrchestrator,
				Handle: handle, Concurrency: concurrency, Deadline: deadline, Log: log,
			})
		})
	}
	all.Go(func() error {
		for now := time.Now(); ; now = time.Now() {
			select {
			case <-time.After(now.Truncate(model.TickInterval).Add(model.TickInterval).Sub(now)):
			case <-ctx.Done():
				return nil
			}
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), deadline)
			if err := panics.Catch(bounded, func() error { return w.app.Tick(bounded) }); err != nil {
				log.WarnContext(ctx, "tick failed", logkey.Error, err)
			}
			cancel()
		}
	})
	return all.Wait()
}

// wait waits until ctx ends, or returns why the process cannot go on.
func wait(ctx context.Context, served, received <-chan error) error {
	for {
		select {
		case err := <-served:
			return err
		case err, ok := <-received:
			if ok && err != nil {
				return errors.Join(errors.New("receive messages"), err)
			}
			received = nil // the Functions host receives
		case <-ctx.Done():
			return nil
		}
	}
}
