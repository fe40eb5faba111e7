package orchestrator

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// resultsAtOnce is how many results of a group are processed at once: all that a worker puts into
// one, so that the store can write them together.
const resultsAtOnce = message.MaxResults

// handleResults processes a group of results to its end. Each result is processed as a message of
// its own, so that it is decided, stored as unprocessable or requeued whatever becomes of the
// others. An error asks the broker to deliver the whole group again: then an invocation ended, or
// the broker did not take a result that has to come again.
//
// A suspect group is taken apart without processing its results: the one that ends the process is
// found among messages of their own, by the attempts that are counted for it.
func (o *Orchestrator) handleResults(ctx context.Context, m message.Delivery) error {
	results, err := m.Results()
	if err != nil || m.Size > 0 {
		return o.handle(ctx, delivery{topic: message.TopicWorkerResults, message: m, process: func(context.Context) error { return err }})
	}
	if (delivery{message: m}).suspect() {
		return o.splitResults(ctx, m, results)
	}
	errs := make([]error, len(results))
	var all errgroup.Group
	all.SetLimit(resultsAtOnce)
	for i, r := range results {
		all.Go(func() error {
			errs[i] = panics.Catch(ctx, func() error { return o.handleGrouped(ctx, r) })
			return nil
		})
	}
	_ = all.Wait()
	return errors.Join(errs...)
}

// handleGrouped processes one result of a group. A result that asks for another delivery is
// requeued alone, so that the others are not processed again. Its attempts count on in that
// message.
func (o *Orchestrator) handleGrouped(ctx context.Context, r message.ResultDelivery) error {
	d := delivery{topic: message.TopicWorkerResults, message: r.Delivery, process: func(ctx context.Context) error {
		if r.Err != nil {
			return r.Err
		}
		return panics.Catch(ctx, func() error { return decodeThen(ctx, r.Delivery, o.onResult) })
	}}
	ctx, end := tracecontext.StartPart(ctx, message.TypeWorkerResult, r.Properties)
	err := o.handle(ctx, d)
	if err != nil && ctx.Err() == nil {
		err = o.requeue(ctx, d, 0, err)
	}
	end(err)
	return err
}

// splitResults sends each result of a group as a message of its own. A result that cannot be read
// is stored as unprocessable.
func (o *Orchestrator) splitResults(ctx context.Context, m message.Delivery, results []message.ResultDelivery) error {
	var alone []bus.Message
	for _, r := range results {
		if r.Err != nil {
			if err := o.handleGrouped(ctx, r); err != nil {
				return err
			}
			continue
		}
		alone = append(alone, bus.Message{ID: r.FirstID(), Body: r.Body, Properties: message.WithType(r.Properties, r.Type)})
	}
	o.deadLetters.ExpectResults(o.now()) // they are behind others in the queue now
	if err := o.bus.Send(ctx, message.TopicWorkerResults, alone...); err != nil {
		return err
	}
	o.log.WarnContext(ctx, "group of results split", logkey.Topic, message.TopicWorkerResults, logkey.MessageID, m.ID, logkey.Results, len(results), logkey.DeliveryCount, m.DeliveryCount)
	return nil
}
