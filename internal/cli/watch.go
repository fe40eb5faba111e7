package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
)

// Progress is where a batch stands at one moment. While the API cannot be reached,
// Lost says why and the rest is what was last seen.
type Progress struct {
	At     time.Time
	Batch  api.Batch
	Phases []api.Phase
	Lost   error
}

// Source is what a batch is watched through; *apiclient.Client is one.
type Source interface {
	Batch(ctx context.Context, id int) (api.Batch, error)
	Phases(ctx context.Context, id int) (api.Page[api.Phase], error)
}

// WatchOptions says until when and how often to look. Zero values take defaults.
type WatchOptions struct {
	// UntilIdle ends the watch when the phase that the batch was last advanced to has
	// ended or its stop_when has paused the batch, rather than when the batch has ended.
	UntilIdle bool
	// Interval is the time between two looks while something moves; it grows to four
	// times as long while nothing does. 500 ms by default.
	Interval time.Duration
	Now      func() time.Time
	Wait     func(context.Context, time.Duration) error
}

// Watch looks at a batch until it has ended, or is idle, and shows each look. It
// outlives outages of the API, for as long as ctx does. It returns the last look.
func Watch(ctx context.Context, source Source, id int, o WatchOptions, show func(Progress)) (Progress, error) {
	if o.Interval <= 0 {
		o.Interval = 500 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = sleep
	}
	var last Progress
	pause := o.Interval
	for seen := false; ; {
		next, err := look(ctx, source, id)
		next.At = o.Now()
		switch {
		case err == nil:
			if !seen || moved(last, next) {
				pause = o.Interval
			} else {
				pause = min(pause*3/2, 4*o.Interval)
			}
			last, seen = next, true
			show(last)
			if last.Batch.Terminal() || o.UntilIdle && (idle(last) || stopped(last)) {
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

// look reads the phases before the batch, and of a batch that has ended once more:
// it is then never shown with phases that have not.
func look(ctx context.Context, source Source, id int) (Progress, error) {
	phases, err := source.Phases(ctx, id)
	if err != nil {
		return Progress{}, err
	}
	batch, err := source.Batch(ctx, id)
	if err == nil && batch.Terminal() {
		phases, err = source.Phases(ctx, id)
	}
	return Progress{Batch: batch, Phases: phases.Items}, err
}

// outage tells whether looking again later may go better: the API or the identity
// provider is away, or the API stumbled.
func outage(err error) bool {
	var e *apiclient.Error
	var x *exit
	return errors.As(err, &e) && (e.Temporary() || e.Status >= 500) || errors.As(err, &x) && x.status == ExitUnavailable
}

// idle tells whether nothing runs: the phase that was advanced to has ended, even if
// it was announced a moment ago and has not yet begun, and no other has begun.
func idle(p Progress) bool {
	begun := p.Batch.CurrentPhase == ""
	for _, phase := range p.Phases {
		if phase.Status == api.PhaseDispatched && (phase.Kind != api.KindRemoval || phase.Running+phase.Waiting > 0) {
			return false
		}
		// Of a phase that a new version runs again there is one more that is pending.
		begun = begun || phase.Name == p.Batch.CurrentPhase && phase.Status != api.PhasePending
	}
	return begun && p.Batch.Status != api.BatchInitDispatched && p.Batch.Status != api.BatchCancelling
}

// stopped reports whether a stop_when has paused the batch: the phase does not end before
// a person has looked at the failures. Only a stop_when pauses as the system.
func stopped(p Progress) bool {
	return p.Batch.Paused != nil && p.Batch.Paused.By == string(api.ActorSystem)
}

// current is the phase that the batch was last advanced to, of the newest version.
func current(p Progress) (api.Phase, bool) {
	for i := len(p.Phases) - 1; i >= 0; i-- {
		if p.Phases[i].Name == p.Batch.CurrentPhase {
			return p.Phases[i], true
		}
	}
	return api.Phase{}, false
}

func moved(a, b Progress) bool {
	if a.Lost != nil || a.Batch.Status != b.Batch.Status || (a.Batch.Paused == nil) != (b.Batch.Paused == nil) ||
		a.Batch.Filling != b.Batch.Filling || held(a) != held(b) || len(a.Phases) != len(b.Phases) {
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

func watchCommand(c *console) *cobra.Command {
	var o WatchOptions
	watch := &cobra.Command{
		Use: "watch <id>", Short: "Follow a batch until it has ended", Args: needs("the id"),
		Long: `Follow a batch until it has ended: a bar for each phase on a terminal, otherwise a
line whenever something has changed. It goes on by itself after an outage of the
API. Ctrl-C stops the watching, not the batch.

The exit status is 0 when the batch completed and 1 when it failed or was cancelled.
With --until-idle it returns as soon as nothing runs any more, with the outcome of
the phase that ran last, or with 1 as soon as the stop_when of a phase has paused the
batch. A batch that an administrator paused, that waits for an approval or for its next
phase to be due has not ended: the command says so and watches on.`,
		Example: `  matoolkit batch watch 42
  matoolkit batch advance 42 && matoolkit batch watch 42 --until-idle`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := batchID(args[0])
			if err != nil {
				return err
			}
			if o.Interval < 100*time.Millisecond || o.Interval > time.Minute {
				return usagef("--interval is %s; it can be 100ms to 1m", o.Interval)
			}
			s, err := c.session()
			if err != nil {
				return err
			}
			return c.watch(cmd.Context(), s.Client, id, o)
		},
	}
	watch.Flags().BoolVar(&o.UntilIdle, "until-idle", false, "return when the phase that runs now has ended")
	watch.Flags().DurationVar(&o.Interval, "interval", 500*time.Millisecond, "time between two looks, 100ms to 1m")
	return watch
}

// watch follows a batch on the console and turns its outcome into an exit status.
func (c *console) watch(ctx context.Context, source Source, id int, o WatchOptions) error {
	o.Now, o.Wait = c.env.Now, c.env.Wait
	r := c.renderer(o.UntilIdle)
	last, err := Watch(ctx, source, id, o, r.Show)
	r.Close()
	if err != nil {
		return err
	}
	if c.structured() {
		if err := c.document(map[string]any{"batch": last.Batch, "phases": last.Phases}); err != nil {
			return err
		}
	}
	if n := failed(last); n > 0 {
		c.notice("%s failed. Show them: matoolkit batch members %d --status failed", count(n, "member"), id)
	}
	return outcome(last, o.UntilIdle)
}

// failed counts the failed members. A member who failed takes no part in later phases.
func failed(p Progress) (n int) {
	for _, phase := range p.Phases {
		if phase.Kind == api.KindPhase {
			n += phase.Failed
		}
	}
	return n
}

// outcome is the failure of a batch, or of the phase that ran last in one that goes
// on. Whoever waited for that phase only is told of it though the batch has ended too.
func outcome(p Progress, phaseOnly bool) error {
	if phaseOnly && stopped(p) && !p.Batch.Terminal() {
		return &exit{
			status: ExitFailed, text: because(fmt.Sprintf("batch %d is paused by %s", p.Batch.ID, p.Batch.Paused.By), p.Batch.Paused.Why),
			hint: fmt.Sprintf("Look at the failures, then go on with matoolkit batch resume %d, or end the batch with matoolkit batch cancel %[1]d", p.Batch.ID),
		}
	}
	last, ok := current(p)
	lastFailed := ok && last.Status == api.PhaseFailed
	if p.Batch.Terminal() && !(phaseOnly && lastFailed && p.Batch.Status == api.BatchCompleted) {
		switch p.Batch.Status {
		case api.BatchFailed:
			return &exit{status: ExitFailed, text: because(fmt.Sprintf("batch %d failed", p.Batch.ID), p.Batch.Error)}
		case api.BatchCancelled:
			return &exit{status: ExitFailed, text: cancelled(p.Batch)}
		}
		return nil
	}
	if lastFailed {
		return &exit{status: ExitFailed, text: because("phase "+last.Name+" failed", last.Reason)}
	}
	return nil
}

func cancelled(b api.Batch) string {
	if b.Cancelled == nil {
		return fmt.Sprintf("batch %d was cancelled", b.ID)
	}
	return because(fmt.Sprintf("batch %d was cancelled by %s", b.ID, b.Cancelled.By), b.Cancelled.Why)
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// renderer is how the console shows progress: not at all, as bars or as lines.
func (c *console) renderer(untilIdle bool) Renderer {
	switch {
	case c.quiet || c.structured():
		return silent{}
	case c.env.Terminal && c.env.Getenv("TERM") != "dumb":
		return NewBars(c.env.Stdout, c.env.Width, c.colored())
	}
	return NewLines(c.env.Stdout, !untilIdle)
}
