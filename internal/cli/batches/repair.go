package batches

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// repairFlags are the options of the commands that let many failed members go on.
type repairFlags struct {
	which             api.Selection
	members           []string
	why               string
	yes, dryRun, wait bool
}

// selecting are the options that select failed members by a text.
var selecting = []string{"member", "step-id", "status", "phase", "step", "error", "error-group"}

// add adds the options to a command, whose help says what it does to the members.
func (f *repairFlags) add(cmd *cobra.Command, verb string) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.members, "member", nil, "only the member with this key or number; repeat it for others")
	flags.Int64SliceVar(&f.which.Steps, "step-id", nil, "only members that failed at the steps with these numbers")
	flags.StringVar(&f.which.Status, "status", "", "only members whose step ended with this status: "+strings.Join(api.RepairStatuses, " or "))
	flags.StringVar(&f.which.Phase, "phase", "", "only members that failed in this phase")
	flags.StringVar(&f.which.Step, "step", "", "only members that failed at this step")
	flags.StringVar(&f.which.Error, "error", "", "only members whose error contains this text, case-insensitive")
	flags.StringVar(&f.which.ErrorGroup, "error-group", "", "only members whose error is of this group, or like this error")
	f.addRunning(cmd, verb)
	command.CompleteOption(cmd, "status", command.Fixed(api.RepairStatuses...))
}

// addRunning adds the options that say how the command runs.
func (f *repairFlags) addRunning(cmd *cobra.Command, verb string) {
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "show which members it would "+verb+", and change nothing")
	flags.BoolVar(&f.wait, "wait", false, "show the progress until the last member is done")
	flags.BoolVarP(&f.yes, "yes", "y", false, "skip the confirmation")
}

// check refuses an option that is empty: an empty variable in a script must not select all members.
func (f *repairFlags) check(cmd *cobra.Command) error {
	for _, name := range selecting {
		if err := nonEmpty(cmd, name); err != nil {
			return err
		}
	}
	return nil
}

// nonEmpty refuses an option that is given and empty.
func nonEmpty(cmd *cobra.Command, name string) error {
	flag := cmd.Flags().Lookup(name)
	values := []string{flag.Value.String()}
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		values = list.GetSlice()
	}
	if flag.Changed && (len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) == "" })) {
		return exit.Usagef("--%s is empty; omit it to select all failed members", name)
	}
	return nil
}

// refuse refuses the options that select members beside the number of one step.
func (f *repairFlags) refuse(cmd *cobra.Command) error {
	for _, name := range append([]string{"wait", "yes"}, selecting...) {
		if cmd.Flags().Changed(name) {
			return exit.Usagef("--%s selects failed members; omit the step-id", name)
		}
	}
	return nil
}

// oneOrMany takes a batch and, of one step, its number.
func oneOrMany(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return command.Needs("the id", "the step-id")(cmd, args)
}

// repairTexts are the names of a repair in its question and its outcome.
var repairTexts = map[string]struct{ question, started string }{
	api.RepairRetry: {"Retry", "Started the retry of"},
	api.RepairSkip:  {"Skip the failed step of", "Started to skip the failed step of"},
	api.RepairDone:  {"Mark the failed step as done of", "Started to mark the failed step as done of"},

	api.RepairRemove: {"Remove", "Started the removal of"},
	api.RepairMove:   {"Move", "Started the move of"},
}

// repairFailed repairs failed members. It refuses options that are empty.
func (c *runner) repairFailed(cmd *cobra.Command, batch string, f *repairFlags, r api.Repair) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	return c.repair(cmd, batch, f, r)
}

// repair shows what a repair does, asks for confirmation, and carries it out.
func (c *runner) repair(cmd *cobra.Command, batch string, f *repairFlags, r api.Repair) error {
	if r.Action != api.RepairRetry && !f.dryRun && strings.TrimSpace(f.why) == "" {
		return exit.Usagef("--reason is missing; the audit record needs it")
	}
	ask := !f.yes && !f.dryRun
	if ask && !c.Env.Terminal { // nothing can be confirmed
		return c.Confirm(cmd.Context(), "")
	}
	s, id, err := c.OnBatch(cmd.Context(), batch)
	if err != nil {
		return err
	}
	r.Selection, r.MemberRefs, r.Reason, r.DryRun = f.which, f.members, f.why, true
	texts := repairTexts[r.Action]
	if !f.yes || f.dryRun {
		view, err := s.Client.Repair(cmd.Context(), id, r)
		if err != nil {
			return err
		}
		if f.dryRun {
			if err := c.Print(view, c.RepairTable(view)); err != nil {
				return err
			}
			if r.Action == api.RepairMove && view.Preview != nil {
				c.NoticePreview(*view.Preview)
			}
			c.NoticeVersions(view)
			c.Outcome(command.InEarnest(cmd, r.Action != api.RepairRetry), "Dry run: nothing was changed.")
			return nil
		}
		c.NoticeRepair(view)
		if err := c.Confirm(cmd.Context(), "%s %s of batch %d?", texts.question, render.RepairCount(view), id); err != nil {
			return err
		}
	}
	r.DryRun = false
	view, err := s.Client.Repair(cmd.Context(), id, r)
	if err != nil {
		return err
	}
	if f.yes { // nothing has shown it yet
		c.NoticeVersions(view)
	}
	if f.wait {
		c.Notice("%s %s of batch %d.", texts.started, render.RepairCount(view), id)
		return c.followTask(cmd.Context(), s.Client, id, view.Task)
	}
	next := fmt.Sprintf("matoolkit batch watch %d", id)
	if r.Action == api.RepairRemove || r.Action == api.RepairMove {
		next = fmt.Sprintf("matoolkit batch task %d %s", id, view.Task)
	}
	return c.Done(view, c.RepairTable(view), next, "%s %s of batch %d.", texts.started, render.RepairCount(view), id)
}
