package batches

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// Source reads a batch with its phases, unless it has not changed since the read with the tag seen;
// *apiclient.Client implements it.
type Source interface {
	Follow(ctx context.Context, id int, seen string) (b api.Batch, tag string, changed bool, err error)
}

// WatchOptions sets the end and the interval of a watch. Zero values are the defaults.
type WatchOptions struct {
	// UntilIdle ends the watch when the last phase has ended or its stop_when has paused the
	// batch, not when the batch has ended.
	UntilIdle bool
	// Interval is the time between two reads while the batch changes, 1 s by default. It grows to
	// four times as long while nothing changes.
	Interval time.Duration
	Now      func() time.Time
	Wait     func(context.Context, time.Duration) error
}

// Watch reads a batch until it has ended, or is idle, and passes each read to show. It
// continues after outages of the API until ctx ends. It returns the last read.
func Watch(ctx context.Context, source Source, id int, o WatchOptions, show func(render.Progress)) (render.Progress, error) {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = command.Sleep
	}
	var last render.Progress
	pause, tag := o.Interval, ""
	for seen := false; ; {
		next, is, err := look(ctx, source, id, tag, last)
		next.At = o.Now()
		switch {
		case err == nil:
			if !seen || moved(last, next) {
				pause = o.Interval
			} else {
				pause = min(pause*3/2, 4*o.Interval)
			}
			last, seen, tag = next, true, is
			show(last)
			if last.Batch.Terminal() || o.UntilIdle && (render.Idle(last) || render.Stopped(last)) {
				return last, nil
			}
		case !outage(err):
			return last, err
		default:
			last.At, last.Lost = next.At, err
			pause = 4 * o.Interval
			show(last)
		}
		if err := o.Wait(ctx, pause); err != nil {
			return last, err
		}
	}
}

// look reads the batch with its phases if it has changed since the last read, whose tag it gets.
func look(ctx context.Context, source Source, id int, tag string, last render.Progress) (render.Progress, string, error) {
	batch, tag, changed, err := source.Follow(ctx, id, tag)
	if err == nil && !changed {
		last.Lost = nil
		return last, tag, nil
	}
	phases := batch.Phases
	batch.Phases = nil
	return render.Progress{Batch: batch, Phases: phases}, tag, err
}

// outage reports whether an error is temporary: the API or the identity provider is not
// reachable, or the API failed.
func outage(err error) bool {
	var e *apiclient.Error
	var x *exit.Error
	return errors.As(err, &e) && (e.Temporary() || e.Status >= 500) || errors.As(err, &x) && x.Status == exit.Unavailable
}

func moved(a, b render.Progress) bool {
	if a.Lost != nil || a.Batch.Status != b.Batch.Status || (a.Batch.Paused == nil) != (b.Batch.Paused == nil) ||
		a.Batch.Filling != b.Batch.Filling || render.Held(a) != render.Held(b) || len(a.Phases) != len(b.Phases) {
		return true
	}
	for i := range a.Phases {
		x, y := a.Phases[i], b.Phases[i]
		if x.Status != y.Status || x.Reason != y.Reason || x.Succeeded != y.Succeeded || x.Failed != y.Failed || x.Cancelled != y.Cancelled || x.Running != y.Running {
			return true
		}
	}
	return false
}

func watchCommand(c *runner) *cobra.Command {
	var o WatchOptions
	watch := &cobra.Command{
		Use: "watch <id>", Short: "Follow a batch until it ends", Args: command.Needs("the id"),
		Long: `Follows a batch: with a bar per phase on a terminal, with a line per change otherwise. It
continues after an outage of the API. Ctrl-C ends the command, not the batch.

The exit status is 0 when the batch completed and 1 when it failed or was cancelled. With
--until-idle the command returns when nothing is running, with the outcome of the last
phase, and with status 1 when the stop_when of a phase paused the batch. A batch that an
administrator paused, or that waits for an approval or for its next phase, has not ended:
the command shows what it waits for and continues. A retry that was asked for a moment ago
may not have begun yet: follow it with matoolkit batch retry --wait first.`,
		Example: `  matoolkit batch watch 42
  matoolkit batch advance 42 && matoolkit batch watch 42 --until-idle
  matoolkit batch retry 42 --yes --wait && matoolkit batch watch 42 --until-idle`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Interval < 100*time.Millisecond || o.Interval > time.Minute {
				return exit.Usagef("--interval is %s; use 100ms to 1m", o.Interval)
			}
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.watch(cmd.Context(), s.Client, id, o)
		},
	}
	watch.Flags().BoolVar(&o.UntilIdle, "until-idle", false, "return when the running phase has ended")
	watch.Flags().DurationVar(&o.Interval, "interval", time.Second, "time between two reads, 100ms to 1m")
	return watch
}

// watch follows a batch on the console and turns its outcome into an exit status.
func (c *runner) watch(ctx context.Context, source Source, id int, o WatchOptions) error {
	o.Now, o.Wait = c.Env.Now, c.Env.Wait
	r := c.Renderer(o.UntilIdle)
	last, err := Watch(ctx, source, id, o, r.Show)
	r.Close()
	if err != nil {
		return err
	}
	if c.Structured() {
		if err := c.Document(map[string]any{"batch": last.Batch, "phases": last.Phases}); err != nil {
			return err
		}
	}
	if n := failed(last); n > 0 {
		c.Notice("%s failed. Show them: matoolkit batch members %d --status failed", render.Count(n, "member"), id)
	}
	return outcome(last, o.UntilIdle)
}

// failed counts the failed members. A failed member takes part in no later phase.
func failed(p render.Progress) (n int) {
	for _, phase := range p.Phases {
		if phase.Kind == api.KindPhase {
			n += phase.Failed
		}
	}
	return n
}

// outcome returns the failure of a batch, or of the last phase if the batch continues. With
// phaseOnly it returns the failure of the last phase even if the batch completed.
func outcome(p render.Progress, phaseOnly bool) error {
	if phaseOnly && render.Stopped(p) && !p.Batch.Terminal() {
		return &exit.Error{
			Status: exit.Failed, Text: render.Because(fmt.Sprintf("batch %d is paused by %s", p.Batch.ID, p.Batch.Paused.By), p.Batch.Paused.Why),
			Hint: fmt.Sprintf("Check the failures. To continue: matoolkit batch resume %d\nTo end the batch: matoolkit batch cancel %[1]d", p.Batch.ID),
		}
	}
	last, ok := render.Current(p)
	lastFailed := ok && last.Status == api.PhaseFailed
	if p.Batch.Terminal() && !(phaseOnly && lastFailed && p.Batch.Status == api.BatchCompleted) {
		switch p.Batch.Status {
		case api.BatchFailed:
			return &exit.Error{Status: exit.Failed, Text: render.Because(fmt.Sprintf("batch %d failed", p.Batch.ID), p.Batch.Error)}
		case api.BatchCancelled:
			return &exit.Error{Status: exit.Failed, Text: cancelled(p.Batch)}
		}
		return nil
	}
	if lastFailed {
		return &exit.Error{Status: exit.Failed, Text: render.Because("phase "+last.Name+" failed", last.Reason)}
	}
	return nil
}

func cancelled(b api.Batch) string {
	if b.Cancelled == nil {
		return fmt.Sprintf("batch %d was cancelled", b.ID)
	}
	return render.Because(fmt.Sprintf("batch %d was cancelled by %s", b.ID, b.Cancelled.By), b.Cancelled.Why)
}
