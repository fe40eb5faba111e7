package orchestrator

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// resultsAtOnce is how many results of a group are processed at once: all that a worker puts into
// one, so that the store can write them together.
const resultsAtOnce = message.MaxResults

// handleResults processes a group of results to its end. It tries all together: the results of a batch
// are decided by one goroutine, written together and followed by one send. A result that does not succeed
// so is processed as a message of its own, so that it is decided, stored as unprocessable or requeued
// independently of the others. An error asks the broker to deliver the whole group again: then an
// invocation ended, or the broker did not take a result that has to come again.
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
	parts := make([]*grouped, len(results))
	for i, r := range results {
		parts[i] = o.startGrouped(ctx, r)
	}
	o.tryTogether(ctx, m, parts)
	errs := make([]error, len(parts))
	var all errgroup.Group
	all.SetLimit(resultsAtOnce)
	for i, p := range parts {
		if !p.done {
			all.Go(func() error {
				errs[i] = panics.Catch(p.ctx, func() error { return o.handleGrouped(p) })
				return nil
			})
		}
	}
	_ = all.Wait()
	return errors.Join(errs...)
}

// grouped is one result of a group, while the group is processed.
type grouped struct {
	delivery
	ctx      context.Context // with the trace of the result
	end      func(error)     // of its span
	unread   error           // why the entry of the group cannot be read; nil if it can
	decision *resultDecision // of tryTogether
	done     bool
}

// startGrouped starts to process one result of a group.
func (o *Orchestrator) startGrouped(ctx context.Context, r message.ResultDelivery) *grouped {
	p := &grouped{unread: r.Err}
	p.ctx, p.end = tracecontext.StartPart(ctx, message.TypeWorkerResult, r.Properties)
	p.delivery = delivery{topic: message.TopicWorkerResults, message: r.Delivery, process: func(ctx context.Context) error {
		if p.unread != nil {
			return p.unread
		}
		return panics.Catch(ctx, func() error { return decodeThen(ctx, r.Delivery, o.onResult) })
	}}
	return p
}

// tryTogether tries the results of a group, those of a batch together. It leaves each result that fails to
// handleGrouped, which finds the same failure or succeeds.
func (o *Orchestrator) tryTogether(ctx context.Context, m message.Delivery, parts []*grouped) {
	limited, cancel := context.WithTimeout(ctx, delivery{message: m}.timeLimit(ctx))
	defer cancel()
	batches := map[int][]*grouped{}
	for _, p := range parts {
		if err := panics.Catch(p.ctx, func() error { return o.readGrouped(limited, p) }); err == nil {
			batches[p.decision.batch] = append(batches[p.decision.batch], p)
		}
	}
	var all errgroup.Group
	for batch, parts := range batches {
		all.Go(func() error {
			return panics.Catch(ctx, func() error { o.tryBatch(limited, batch, parts); return nil })
		})
	}
	_ = all.Wait()
}

// readGrouped prepares the decision on a result of a group, which is carried out within ctx.
func (o *Orchestrator) readGrouped(ctx context.Context, p *grouped) error {
	if p.unread != nil {
		return p.unread
	}
	return decodeThen(tracecontext.With(ctx, p.ctx), p.message, func(ctx context.Context, r message.Result) (err error) {
		p.decision, err = o.decisionOnResult(ctx, r)
		return err
	})
}

// tryBatch tries results of a batch together.
func (o *Orchestrator) tryBatch(ctx context.Context, batch int, parts []*grouped) {
	tries := make([]applier.Part, len(parts))
	for i, p := range parts {
		tries[i] = applier.Part{Ctx: tracecontext.With(ctx, p.ctx), Command: p.decision.command}
	}
	for i, err := range o.applier.TryEach(ctx, batch, tries) {
		if err == nil {
			p := parts[i]
			o.noteAnswer(p.ctx, p.decision)
			o.clearAttempts(p.ctx, p.delivery)
			p.end(nil)
			p.done = true
		}
	}
}

// handleGrouped processes one result of a group as a message of its own. A result that asks for another
// delivery is requeued alone, so that the others are not processed again. Its attempts count on in that
// message.
func (o *Orchestrator) handleGrouped(p *grouped) error {
	err := o.handle(p.ctx, p.delivery)
	if err != nil && p.ctx.Err() == nil {
		err = o.requeue(p.ctx, p.delivery, 0, err)
	}
	p.end(err)
	return err
}

// splitResults sends each result of a group as a message of its own. A result that cannot be read
// is stored as unprocessable.
func (o *Orchestrator) splitResults(ctx context.Context, m message.Delivery, results []message.ResultDelivery) error {
	var alone []bus.Message
	for _, r := range results {
		if r.Err != nil {
			if err := o.handleGrouped(o.startGrouped(ctx, r)); err != nil {
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
