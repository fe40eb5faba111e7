package batches

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func advanceCommand(c *runner) *cobra.Command {
	var wait, yes bool
	var phase string
	advance := &cobra.Command{
		Use: "advance <id>", Short: "Start the next phase of a batch", Args: command.Needs("the id"),
		Long: `Start the next phase of a batch that was created by hand: its init steps first, if
its runbook has any, then each phase in order. A phase has to end before the next
can be started.

On a terminal the command shows how the last phase ended and which one comes next,
and asks. Without a terminal, give --phase or --yes:

  --phase names the phase, or init. The command starts that phase only, and only
    once: when you give it again, for example because there was no answer, it does
    not start the phase after it.
  --yes starts the next phase, whichever it is. It does not go on after a phase in
    which no member succeeded: name the next phase then.

With --wait the command follows the phase and returns when it has ended: exit
status 0 when it completed, 1 when it failed or its stop_when has paused the batch.`,
		Example: `  matoolkit batch advance 42
  matoolkit batch advance 42 --phase cut-over --wait
  matoolkit batch advance 42 --yes --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := command.BatchID(args[0])
			if err != nil {
				return err
			}
			switch {
			case phase == "" && cmd.Flags().Changed("phase"):
				return exit.Usagef("--phase is empty: name the phase to start")
			case phase == "" && !yes && !c.Env.Terminal:
				return exit.Usagef("cannot ask which phase to start without a terminal; give --phase <name>, or --yes for the next phase")
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			view, err := c.advance(cmd.Context(), s.Client, id, phase, !yes && c.Env.Terminal)
			if err != nil {
				return err
			}
			c.Notice("%s", render.Printable(render.Advanced(view)))
			if wait {
				return c.watch(cmd.Context(), s.Client, id, WatchOptions{UntilIdle: true})
			}
			return c.Print(view, c.BatchTable(view.Batch))
		},
	}
	advance.Flags().BoolVar(&wait, "wait", false, "follow the phase until it has ended")
	advance.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	advance.Flags().StringVar(&phase, "phase", "", "the phase to start, or init")
	return advance
}

// advance starts the phase that is named, or the next one where none is.
func (c *runner) advance(ctx context.Context, client *apiclient.Client, id int, phase string, ask bool) (view api.AdvanceResult, err error) {
	for look := 1; ; look++ {
		name, tag := phase, ""
		if ask || phase == "" {
			if name, tag, err = c.chooseAdvance(ctx, client, id, phase, ask); err != nil {
				return view, err
			}
		}
		view, err = client.Advance(ctx, id, name, tag)
		// An advance that finds a newer version of the runbook takes the batch over to it,
		// which can have another next phase.
		if look == 1 && phase == "" && outdated(err, name) {
			continue
		}
		return view, err
	}
}

// outdated tells whether the API refused an advance because the batch, or its next phase,
// is not as it was looked at.
func outdated(err error, phase string) bool {
	var e *apiclient.Error
	return errors.As(err, &e) && (e.Code == string(api.CodeChanged) || e.Code == string(api.CodeConflict) && e.NextPhase != "" && e.NextPhase != phase)
}

// chooseAdvance looks at the batch and chooses the phase to start: the one that is
// named, or the next. With ask it shows what would be started and asks; the tag that it
// returns then keeps a batch from being advanced that has changed since. What cannot be
// started is not asked about: the API refuses it and says why.
func (c *runner) chooseAdvance(ctx context.Context, source Source, id int, phase string, ask bool) (chosen, tag string, err error) {
	batch, err := source.Batch(ctx, id) // before the phases: they are not older than the tag
	if err != nil {
		return "", "", err
	}
	phases, err := source.Phases(ctx, id)
	if err != nil {
		return "", "", err
	}
	p := render.Progress{Batch: batch, Phases: phases.Items}
	at := slices.IndexFunc(p.Phases, func(v api.Phase) bool { return v.Status == api.PhasePending })
	if at < 0 {
		if phase == "" {
			return "", "", &exit.Error{Status: exit.Refused, Text: fmt.Sprintf("batch %d is %s: no phase is left to start", id, render.Words(batch.Status))}
		}
		return phase, batch.ETag, nil
	}
	next := p.Phases[at]
	if phase != "" && phase != next.Name || !startable(p, next) {
		if phase == "" {
			phase = next.Name
		}
		return phase, batch.ETag, nil
	}
	last, begun := lastStarted(p)
	switch {
	case ask:
		question := startQuestion(p, next)
		if begun {
			question = render.EndWords(last) + "\n" + question
		}
		return next.Name, batch.ETag, c.Confirm(ctx, "%s", question)
	case phase == "" && begun && last.Kind == api.KindPhase && last.Succeeded == 0:
		return "", "", &exit.Error{
			Status: exit.Refused, Text: render.EndWords(last),
			Hint: fmt.Sprintf("To start the next phase all the same, name it: matoolkit batch advance %d --phase %s", id, render.ShellWord(next.Name)),
		}
	}
	return next.Name, "", nil
}

// startQuestion asks whether to start a phase.
func startQuestion(p render.Progress, next api.Phase) string {
	stops := ""
	if next.StopWhen != "" {
		stops = ", stops when " + render.Printable(next.StopWhen) + " failed"
	}
	return fmt.Sprintf("Start %s of batch %d of %s (%s%s)?", render.PhaseWords(next.Name), p.Batch.ID, render.Printable(p.Batch.RunbookName), render.Count(takingPart(p, next), "member"), stops)
}

// startable tells whether the API may start a phase: what it tells of the batch is no
// reason to refuse.
func startable(p render.Progress, next api.Phase) bool {
	running := slices.ContainsFunc(p.Phases, func(v api.Phase) bool {
		return v.Status == api.PhaseDispatched && v.Kind != api.KindRemoval
	})
	return p.Batch.IsManual && p.Batch.Paused == nil && p.Batch.Cancelled == nil && !p.Batch.Terminal() && !running && !render.Gated(next)
}

// lastStarted is the phase that was started last, init included.
func lastStarted(p render.Progress) (api.Phase, bool) {
	for _, v := range slices.Backward(p.Phases) {
		if v.Name == p.Batch.CurrentPhase && v.DispatchedAt != nil {
			return v, true
		}
	}
	return api.Phase{}, false
}

// takingPart is how many members a pending phase begins with. The API counts the steps of
// init.
func takingPart(p render.Progress, next api.Phase) int {
	if next.Kind == api.KindInit {
		return p.Batch.MemberCount - p.Batch.RemovedCount
	}
	return next.Members
}
