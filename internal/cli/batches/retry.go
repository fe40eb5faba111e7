package batches

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func retryCommand(c *runner) *cobra.Command {
	var f repairFlags
	r := api.Repair{Action: api.RepairRetry}
	retry := &cobra.Command{
		Use: "retry <id>", Short: "Retry failed members", Args: command.Needs("the id"),
		Long: `Retries members that failed. Each member starts at the failed step, or at the first step of
the phase if a rollback has undone the phase. Skipped steps stay skipped. The retries that
the runbook allows count from zero again. The phases that the member missed follow in
order, and a batch that had ended continues.

A member follows the version of the runbook in which it failed. With --version active it
follows the active version: the steps that have succeeded stay, and the others are those of
the active version. With --from it begins at an earlier step.

Without options the command retries all failed members, and failed init and on_complete
steps. With several options a member must match all of them. An error group is the error of
a step without ids, numbers, addresses and quoted texts; --dry-run shows the groups.

The command asks for confirmation. Without a terminal, give --yes. Before it asks, it shows
what the retry does. It returns at once; members restart one after another. --wait shows the
progress, and ends when the last member has restarted.`,
		Example: `  matoolkit batch retry 42 --dry-run
  matoolkit batch retry 42 --step move-mailbox --error "timed out" --reason "the endpoint is back"
  matoolkit batch retry 42 --version active --reason "corrected the parameter"
  matoolkit batch retry 42 --member ada@contoso.com --from create-user --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"version", "from"} {
				if err := nonEmpty(cmd, name); err != nil {
					return err
				}
			}
			return c.repairFailed(cmd, args[0], &f, r)
		},
	}
	f.add(retry, "retry")
	retry.Flags().StringVar(&r.Version, "version", "", "the version to follow: active; without it, the one in which each member failed")
	retry.Flags().StringVar(&r.From, "from", "", "the step to begin with, at or before the failed step")
	command.CompleteOption(retry, "version", command.Fixed(api.VersionActive))
	command.ReasonFlag(retry, &f.why)
	return retry
}

// onStep opens a session for a command with a batch, a step and a reason.
func (c *runner) onStep(ctx context.Context, args []string, f *repairFlags) (s *command.Session, id int, step int64, err error) {
	if step, err = stepNumber(args[1]); err != nil {
		return nil, 0, 0, err
	}
	if !f.dryRun && strings.TrimSpace(f.why) == "" {
		return nil, 0, 0, exit.Usagef("--reason is missing; the audit record needs it")
	}
	s, id, err = c.OnBatch(ctx, args[0])
	return s, id, step, err
}

func skipStepCommand(c *runner) *cobra.Command {
	var f repairFlags
	skip := &cobra.Command{
		Use: "skip-step <id> [<step-id>]", Short: "Skip a step of one member, or the failed steps of many", Args: oneOrMany,
		Long: `Skips a step that has not ended, or the step at which the member failed. The member
continues with the next step. A step that lies ahead is skipped when the member reaches it.

Without a step-id, the command skips the step at which each selected member failed. The
options that select members are those of matoolkit batch retry.

The command asks for confirmation. Without a terminal, give --yes. It does not ask for one
step.

The result of a job that a worker has is recorded and changes nothing. The values that the
step would have given to later steps (output_params) are missing; if later steps need them,
use matoolkit batch mark-done with --result instead. matoolkit step list shows the numbers
of steps.`,
		Example: `  matoolkit step list 42 --member 7
  matoolkit batch skip-step 42 20000007001 --reason "no archive to move"
  matoolkit batch skip-step 42 --step move-archive --reason "there are no archives"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return c.repairFailed(cmd, args[0], &f, api.Repair{Action: api.RepairSkip})
			}
			if err := f.refuse(cmd); err != nil {
				return err
			}
			s, id, step, err := c.onStep(cmd.Context(), args, &f)
			if err != nil {
				return err
			}
			if f.dryRun {
				return c.dryRun(cmd, s.Client, id, api.ProposedAction{Name: api.RepairSkip, Step: step})
			}
			view, err := s.Client.SkipStep(cmd.Context(), id, step, f.why)
			if err != nil {
				return err
			}
			return c.Done(view, c.StepTable(view), fmt.Sprintf("matoolkit batch watch %d", id), "Skipped step %d (%s) of %s.", step, view.Name, stepOwner(view))
		},
	}
	f.add(skip, "skip the step of")
	skip.Flags().StringVar(&f.why, "reason", "", "the reason, for the audit record (required)")
	return skip
}

func markDoneCommand(c *runner) *cobra.Command {
	var f repairFlags
	var result string
	done := &cobra.Command{
		Use: "mark-done <id> [<step-id>]", Short: "Mark a step, or the failed steps of many, as done by hand", Args: oneOrMany,
		Long: `Marks a step of one member as succeeded because you did its work by hand. The member
continues with the next step. The step is one that has not ended or the step at which the
member failed. The result of a job that a worker has is recorded and changes nothing.

With --result you give the result that the function would have returned, as JSON or as
@file (@- is standard input). Its output_params are read from there. Without --result the
step has no result; a step with output_params needs one.

Without a step-id, the command marks the step at which each selected member failed, all with
the same result. The options that select members are those of matoolkit batch retry.

The command asks for confirmation. Without a terminal, give --yes. It does not ask for one
step.`,
		Example: `  matoolkit batch mark-done 42 20000007001 --reason "moved by hand, ticket 4711"
  matoolkit batch mark-done 42 20000007001 --result '{"guid": "0f1e"}' --reason "created by hand"
  matoolkit batch mark-done 42 20000007001 --result @result.json --reason "created by hand"
  matoolkit batch mark-done 42 --step assign-licence --reason "assigned by a script"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := c.result(result, cmd.Flags().Changed("result"))
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return c.repairFailed(cmd, args[0], &f, api.Repair{Action: api.RepairDone, Result: given})
			}
			if err := f.refuse(cmd); err != nil {
				return err
			}
			s, id, step, err := c.onStep(cmd.Context(), args, &f)
			if err != nil {
				return err
			}
			if f.dryRun {
				return c.dryRun(cmd, s.Client, id, api.ProposedAction{Name: api.RepairDone, Step: step, Result: given})
			}
			view, err := s.Client.MarkStepDone(cmd.Context(), id, step, given, f.why)
			if err != nil {
				return err
			}
			return c.Done(view, c.StepTable(view), fmt.Sprintf("matoolkit batch watch %d", id), "Marked step %d (%s) of %s as done.", step, view.Name, stepOwner(view))
		},
	}
	f.add(done, "mark the step of")
	done.Flags().StringVar(&result, "result", "", "the result of the function: JSON, or @file")
	done.Flags().StringVar(&f.why, "reason", "", "the reason, for the audit record (required)")
	return done
}

// result reads the JSON of --result, or of its @file.
func (c *runner) result(given string, changed bool) (json.RawMessage, error) {
	if !changed {
		return nil, nil
	}
	text, where := []byte(given), "--result"
	if path, ok := strings.CutPrefix(given, "@"); ok {
		var err error
		if text, err = c.ReadFile(path, api.MaxResult); err != nil {
			return nil, err
		}
		where = render.FileName(path)
	}
	if !json.Valid(text) {
		return nil, exit.Usagef("%s is not JSON; put a text in double quotes", where)
	}
	return text, nil
}

// stepOwner names the member or the batch that a step belongs to.
func stepOwner(v api.Step) string {
	if v.MemberKey != "" {
		return render.Person(v.MemberKey, v.MemberDisplay)
	}
	if v.MemberID > 0 {
		return fmt.Sprintf("member %d", v.MemberID)
	}
	return "the batch"
}
