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
	var wait, yes, dry bool
	var phase string
	advance := &cobra.Command{
		Use: "advance <id>", Short: "Start the next phase of a batch", Args: command.Needs("the id"),
		Long: `Starts the next phase of a batch that you created by hand: the init steps first, if the
runbook has any, then each phase in order. A phase must end before the next one starts.

On a terminal the command shows how the last phase ended and which phase is next, and asks
for confirmation. Without a terminal, give one of these options:

  --phase  starts the named phase, or init, and no other. You can repeat the command: it
           starts the phase only once.
  --yes    starts the next phase without confirmation. It refuses to continue after a phase
           in which no member succeeded; use --phase then.

With --wait the command follows the phase until it ends. The exit status is 0 when the
phase completed and 1 when it failed or its stop_when paused the batch.`,
		Example: `  matoolkit batch advance 42
  matoolkit batch advance 42 --phase cut-over --wait
  matoolkit batch advance 42 --yes --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case phase == "" && cmd.Flags().Changed("phase"):
				return exit.Usagef("--phase is empty; give the name of the phase")
			case phase == "" && !yes && !dry && !c.Env.Terminal:
				return exit.Usagef("cannot ask for confirmation without a terminal; give --phase <name>, or --yes for the next phase")
			}
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if dry {
				return c.dryRunAdvance(cmd, s.Client, id, phase)
			}
			view, err := c.advance(cmd.Context(), s.Client, id, phase, !yes && c.Env.Terminal)
			if err != nil {
				return err
			}
			if wait {
				c.Notice("%s", render.Printable(render.Advanced(view)))
				return c.watch(cmd.Context(), s.Client, id, WatchOptions{UntilIdle: true})
			}
			return c.Done(view, c.BatchTable(view.Batch), fmt.Sprintf("matoolkit batch watch %d", id), "%s", render.Advanced(view))
		},
	}
	advance.Flags().BoolVar(&wait, "wait", false, "follow the phase until it ends")
	dryRunFlag(advance, &dry)
	advance.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	advance.Flags().StringVar(&phase, "phase", "", "the phase to start, or init")
	return advance
}

// dryRunAdvance prints the effect of starting the named phase, or the next one.
func (c *runner) dryRunAdvance(cmd *cobra.Command, client *apiclient.Client, id int, phase string) error {
	if phase == "" {
		var err error
		if phase, _, err = c.chooseAdvance(cmd.Context(), client, id, "", false); err != nil {
			return err
		}
	}
	return c.dryRun(cmd, client, id, api.ProposedAction{Name: api.ActionAdvance, Phase: phase})
}

// advance starts the named phase, or the next phase if there is no name.
func (c *runner) advance(ctx context.Context, client *apiclient.Client, id int, phase string, ask bool) (view api.AdvanceResult, err error) {
	for look := 1; ; look++ {
		name, tag := phase, ""
		if ask || phase == "" {
			if name, tag, err = c.chooseAdvance(ctx, client, id, phase, ask); err != nil {
				return view, err
			}
		}
		view, err = client.Advance(ctx, id, name, tag)
		// An advance makes the batch take up a newer version of the runbook, which can have
		// another next phase.
		if look == 1 && phase == "" && outdated(err, name) {
			continue
		}
		return view, err
	}
}

// outdated reports whether the API refused an advance because the batch or its next phase has
// changed since it was read.
func outdated(err error, phase string) bool {
	var e *apiclient.Error
	return errors.As(err, &e) && (e.Code == string(api.CodeChanged) || e.Code == string(api.CodeConflict) && e.NextPhase != "" && e.NextPhase != phase)
}

// chooseAdvance reads the batch and chooses the phase to start: the named phase or the next.
// With ask it asks for confirmation and returns the ETag of the batch, so that the API refuses
// the advance if the batch changes meanwhile. It does not ask about a phase that cannot start:
// the API refuses that and returns the reason.
func (c *runner) chooseAdvance(ctx context.Context, client *apiclient.Client, id int, phase string, ask bool) (chosen, tag string, err error) {
	batch, err := client.Batch(ctx, id) // before the phases: they are not older than the tag
	if err != nil {
		return "", "", err
	}
	phases, err := client.Phases(ctx, id)
	if err != nil {
		return "", "", err
	}
	p := render.Progress{Batch: batch, Phases: phases.Items}
	at := slices.IndexFunc(p.Phases, func(v api.Phase) bool { return v.Status == api.PhasePending })
	if at < 0 {
		if phase == "" {
			return "", "", &exit.Error{Status: exit.Refused, Text: fmt.Sprintf("batch %d is %s: no phase remains", id, render.Words(batch.Status))}
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
			c.Notice("%s", render.EndWords(last))
		}
		return next.Name, batch.ETag, c.confirmAction(ctx, client, id, api.ProposedAction{Name: api.ActionAdvance, Phase: next.Name}, "%s", question)
	case phase == "" && begun && last.Kind == api.KindPhase && last.Succeeded == 0:
		return "", "", &exit.Error{
			Status: exit.Refused, Text: render.EndWords(last),
			Hint: fmt.Sprintf("To start the next phase anyway: matoolkit batch advance %d --phase %s", id, render.ShellWord(next.Name)),
		}
	}
	return next.Name, "", nil
}

// startQuestion returns the question before a phase starts.
func startQuestion(p render.Progress, next api.Phase) string {
	stops := ""
	if next.StopWhen != "" {
		stops = ", stops when " + render.Printable(next.StopWhen) + " failed"
	}
	return fmt.Sprintf("Start %s of batch %d of %s (%s%s)?", render.PhaseWords(next.Name), p.Batch.ID, render.Printable(p.Batch.RunbookName), render.Count(takingPart(p, next), "member"), stops)
}

// startable reports whether the state of the batch allows the phase to start.
func startable(p render.Progress, next api.Phase) bool {
	running := slices.ContainsFunc(p.Phases, func(v api.Phase) bool {
		return v.Status == api.PhaseDispatched && v.Kind != api.KindRemoval && v.Kind != api.KindDetached
	})
	return p.Batch.IsManual && p.Batch.Paused == nil && p.Batch.Cancelled == nil && !p.Batch.Terminal() && !running && !render.Gated(next)
}

// lastStarted returns the phase that started last, init included.
func lastStarted(p render.Progress) (api.Phase, bool) {
	for _, v := range slices.Backward(p.Phases) {
		if v.Name == p.Batch.CurrentPhase && v.DispatchedAt != nil {
			return v, true
		}
	}
	return api.Phase{}, false
}

// takingPart returns the number of members with which a pending phase starts. For init the API
// counts steps.
func takingPart(p render.Progress, next api.Phase) int {
	if next.Kind == api.KindInit {
		return p.Batch.MemberCount - p.Batch.RemovedCount
	}
	return next.Members
}
