package applier

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// Part is a command that TryEach tries with others.
type Part struct {
	Ctx     context.Context // of the command: the messages carry its trace
	Command Command
}

// TryEach carries out commands of one batch as Run does, each for itself, and spares work: one goroutine
// decides them, their writes go to the store together, and their messages are sent together. It returns
// an error for each.
//
// It tries each command once, without waiting for those that lose a race. The caller runs the commands
// that failed with Run, for any error: what TryEach has done of a command is not done twice.
func (a *Applier) TryEach(ctx context.Context, batch int, parts []Part) []error {
	errs := make([]error, len(parts))
	tries := make([]*try, len(parts))
	for i, p := range parts {
		tries[i] = &try{ctx: p.Ctx, work: []Command{p.Command}, failed: &errs[i]}
	}
	for len(tries) > 0 {
		a.decideEach(batch, tries)
		a.writeEach(ctx, tries)
		a.sendEach(ctx, tries)
		tries = a.continueEach(tries)
	}
	return errs
}

// try is a command, with all that follows from it, in a trial with others.
type try struct {
	ctx    context.Context
	work   []Command
	failed *error // the first error; nil while the command is under way
	// changed is the batch whose summary is not written yet. If the try fails, Run writes it, since
	// what the try has done is repeated then.
	changed *model.Batch

	// Of the first command of work:
	snapshot  *Snapshot
	decisions []model.Decision
	outbox    *Outbox
}

// do does the next part of the work of a try that has not failed.
func (t *try) do(f func() error) {
	if *t.failed == nil {
		*t.failed = panics.Catch(t.ctx, f)
	}
}

// decideEach decides the next command of each try. Those that have to read documents read them at the
// same time.
func (a *Applier) decideEach(batch int, tries []*try) {
	decide := func(t *try, from source) (err error) {
		t.snapshot, t.decisions, err = a.decideCurrent(t.ctx, batch, t.work[0], from)
		return err
	}
	var reads errgroup.Group
	for _, t := range tries {
		t.do(func() error { return decide(t, memoryOnly) })
		if errors.Is(*t.failed, errUnread) {
			reads.Go(func() error {
				*t.failed = panics.Catch(t.ctx, func() error { return decide(t, memoryFirst) })
				return nil
			})
		}
	}
	_ = reads.Wait()
}

// writeEach writes the decisions of all tries together.
func (a *Applier) writeEach(ctx context.Context, tries []*try) {
	var all []store.Writes
	var writing []*try
	for _, t := range tries {
		t.do(func() error {
			ops, err := a.operations(t.snapshot, t.decisions, t.work[0])
			if err == nil && len(ops) > 0 {
				err = t.snapshot.writeClaims()
			}
			if err == nil && len(ops) > 0 {
				all, writing = append(all, ops), append(writing, t)
			}
			return err
		})
	}
	if len(all) == 0 {
		return
	}
	outcomes := make([]store.Outcome, len(all))
	err := panics.Catch(ctx, func() error { outcomes = a.store.ApplyEach(ctx, all); return nil })
	for i, t := range writing {
		t.do(func() error { return t.snapshot.written(outcomes[i].Applied, errors.Join(err, outcomes[i].Err)) })
	}
}

// sendEach sends the messages of all tries together. Each carries the trace of its own command.
func (a *Applier) sendEach(ctx context.Context, tries []*try) {
	var all Outbox
	for _, t := range tries {
		t.do(func() (err error) {
			if t.outbox, err = a.collect(t.snapshot, t.decisions); err != nil {
				return err
			}
			waiting := a.fillSecrets(t.ctx, t.outbox)
			all.addFilled(t.ctx, t.outbox)
			return waiting
		})
	}
	err := panics.Catch(ctx, func() error { return a.sendFilled(tracecontext.With(ctx, context.Background()), &all) })
	for _, t := range tries {
		t.do(func() error {
			if err != nil {
				return err
			}
			return a.sent(t.snapshot, t.outbox)
		})
	}
}

// continueEach returns the tries from which something follows.
func (a *Applier) continueEach(tries []*try) (following []*try) {
	for _, t := range tries {
		t.do(func() error {
			if !t.work[0].More && a.needsSummary(t.snapshot, t.decisions) {
				t.changed = t.snapshot.After()
			}
			if t.work = append(t.snapshot.next(t.decisions), t.work[1:]...); len(t.work) > 0 {
				return nil
			}
			return a.summarize(t.ctx, t.changed)
		})
		if *t.failed == nil && len(t.work) > 0 {
			following = append(following, t)
		}
	}
	return following
}
