package applier

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
)

// send sends the messages of decisions that are written, and the revocation of a batch that the
// decisions find paused or cancelled.
func (a *Applier) send(s *Snapshot, decisions []model.Decision) error {
	o, err := a.collect(s, decisions)
	if err == nil {
		err = a.Send(s.ctx, o)
	}
	if err == nil {
		err = a.sent(s, o)
	}
	return err
}

// collect returns the messages of decisions.
func (a *Applier) collect(s *Snapshot, decisions []model.Decision) (*Outbox, error) {
	o := &Outbox{}
	for _, d := range decisions {
		if s.After() == nil && slices.ContainsFunc(d.Messages, aboutBatch) {
			if _, err := s.LoadBatch(); err != nil {
				return nil, err
			}
		}
		if err := o.Add(s.After(), d.Messages, a.now()); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// sent notes that the messages of decisions were sent, and sends the revocation that they lack.
func (a *Applier) sent(s *Snapshot, o *Outbox) error {
	switch b := s.After(); {
	case b == nil:
		return nil
	case len(o.controls) > 0:
		a.batches.noteRevoked(b)
		return nil
	default:
		return a.ensureRevoked(s.ctx, b)
	}
}

// Send sends the messages of an outbox. Jobs that wait for the key of their secrets do not delay
// other messages; the error then asks the caller to repeat its work.
func (a *Applier) Send(ctx context.Context, o *Outbox) error {
	waiting := a.fillSecrets(ctx, o)
	return errors.Join(a.sendFilled(ctx, o), waiting)
}

func (a *Applier) sendFilled(ctx context.Context, o *Outbox) error {
	for _, topic := range []struct {
		name     string
		messages []bus.Message
	}{
		{message.TopicWorkerControl, o.controls},
		{message.TopicWorkerJobs, o.jobs},
		{message.TopicWorkerResults, o.results},
		{message.TopicOrchestratorEvents, o.Events},
	} {
		if len(topic.messages) == 0 {
			continue
		}
		if err := a.bus.Send(ctx, topic.name, topic.messages...); err != nil {
			return err
		}
	}
	return nil
}

// AnnounceUpcoming announces the phases that begin before the next tick in a batch that was just created
// or resumed. The sweep of each tick announces those of all batches.
func (a *Applier) AnnounceUpcoming(ctx context.Context, b *model.Batch) error {
	now := a.now().UTC()
	var o Outbox
	if err := o.Add(b, engine.UpcomingPhases(b, now, model.TickTask(now)), now); err != nil {
		return err
	}
	return a.Send(ctx, &o)
}

// revokeAgain is how long after a pause or a cancellation the sweep sends the revocation again, in
// case the process that decided it died before it sent it.
const revokeAgain = time.Hour

// longestWrite is longer than any write takes, from the decision of a pause or a cancellation.
const longestWrite = 5 * time.Minute

// Revoke sends the revocation of a batch that was paused or cancelled within the last hour. In a
// paused batch it covers all jobs dispatched by now. In a cancelled batch rollbacks go on, so it
// covers the jobs that can have been dispatched before the cancellation was stored.
func (a *Applier) Revoke(ctx context.Context, b *model.Batch, now time.Time) error {
	var o Outbox
	for _, m := range engine.Revocation(b) {
		r, ok := m.(model.Revoke)
		if !ok || now.Sub(r.Through) >= revokeAgain {
			continue
		}
		by := now
		if b.Cancelled != nil && now.Sub(b.Cancelled.At) > longestWrite {
			by = b.Cancelled.At.Add(longestWrite)
		}
		o.controls = append(o.controls, controlMessage(b.ID, engine.ExtendRevocation(r, by).Through))
	}
	return a.Send(ctx, &o)
}

// ensureRevoked sends the revocation of a batch that this process sees paused or cancelled for the
// first time: the process that stored the pause may have died before it sent the revocation. Each
// result of a job leads here, so that few jobs begin before the workers know.
func (a *Applier) ensureRevoked(ctx context.Context, b *model.Batch) error {
	if b.DispatchMode() == model.Running || b.Status.Terminal() || a.batches.revoked(b) {
		return nil
	}
	if err := a.Revoke(ctx, b, a.now()); err != nil {
		return err
	}
	a.batches.noteRevoked(b)
	return nil
}
