package batches

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func retryCommand(c *runner) *cobra.Command {
	var which api.RetrySelection
	var why string
	retry := &cobra.Command{
		Use: "retry <id>", Short: "Retry failed members", Args: command.Needs("the id"),
		Long: `Retries members that failed. Each member starts at the failed step, or at the first step of
the phase if a rollback has undone the phase. Skipped steps stay skipped. The retries that
the runbook allows count from zero again. The phases that the member missed follow in
order, and a batch that had ended continues.

Without options the command retries all failed members, and failed init and on_complete
steps. With several options a member must match all of them.

The command returns at once; members restart one after another.`,
		Example: `  matoolkit batch retry 42
  matoolkit batch retry 42 --step move-mailbox --error "timed out" --reason "the endpoint is back"
  matoolkit batch retry 42 --member 7`,
		RunE: func(cmd *cobra.Command, args []string) error {
			// An empty variable in a script must not select all members.
			for _, name := range []string{"phase", "step", "error"} {
				if f := cmd.Flags().Lookup(name); f.Changed && strings.TrimSpace(f.Value.String()) == "" {
					return exit.Usagef("--%s is empty; omit it to select all failed members", name)
				}
			}
			if cmd.Flags().Changed("member") && which.Member < 1 {
				return exit.Usagef("--member is %d; member numbers start at 1", which.Member)
			}
			s, id, err := c.OnBatch(args[0])
			if err != nil {
				return err
			}
			view, err := s.Client.RetryFailed(cmd.Context(), id, which, why)
			if err != nil {
				return err
			}
			t := c.Table("batch", "member", "phase", "step", "error", "task")
			member := "all failed"
			if n := view.Selection.Member; n > 0 {
				member = strconv.Itoa(n)
			}
			t.Row(view.BatchID, member, view.Selection.Phase, view.Selection.Step, view.Selection.Error, view.Task)
			return c.Done(view, t, fmt.Sprintf("matoolkit batch watch %d", id), "Started the retry of failed members of batch %d.", id)
		},
	}
	retry.Flags().IntVar(&which.Member, "member", 0, "only the member with this number")
	retry.Flags().StringVar(&which.Phase, "phase", "", "only members that failed in this phase")
	retry.Flags().StringVar(&which.Step, "step", "", "only members that failed at this step")
	retry.Flags().StringVar(&which.Error, "error", "", "only members whose error contains this text, case-insensitive")
	command.ReasonFlag(retry, &why)
	return retry
}

// onStep opens a session for a command with a batch, a step and a reason.
func (c *runner) onStep(args []string, why string) (s *command.Session, id int, step int64, err error) {
	if step, err = stepNumber(args[1]); err != nil {
		return nil, 0, 0, err
	}
	if strings.TrimSpace(why) == "" {
		return nil, 0, 0, exit.Usagef("--reason is missing; the audit record needs it")
	}
	s, id, err = c.OnBatch(args[0])
	return s, id, step, err
}

func skipStepCommand(c *runner) *cobra.Command {
	var why string
	skip := &cobra.Command{
		Use: "skip-step <id> <step-id>", Short: "Skip a step of one member", Args: command.Needs("the id", "the step-id"),
		Long: `Skips a step that has not ended, or the step at which the member failed. The member
continues with the next step. A step that lies ahead is skipped when the member reaches it.

The result of a job that a worker has is recorded and changes nothing. The values that the
step would have given to later steps (output_params) are missing; if later steps need them,
use matoolkit batch mark-done with --result instead. matoolkit step list shows the numbers
of steps.`,
		Example: `  matoolkit step list 42 --member 7
  matoolkit batch skip-step 42 20000007001 --reason "no archive to move"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, step, err := c.onStep(args, why)
			if err != nil {
				return err
			}
			view, err := s.Client.SkipStep(cmd.Context(), id, step, why)
			if err != nil {
				return err
			}
			return c.Done(view, c.StepTable(view), fmt.Sprintf("matoolkit batch watch %d", id), "Skipped step %d (%s) of %s.", step, view.Name, stepOwner(view))
		},
	}
	skip.Flags().StringVar(&why, "reason", "", "the reason, for the audit record (required)")
	return skip
}

func markDoneCommand(c *runner) *cobra.Command {
	var why, result string
	done := &cobra.Command{
		Use: "mark-done <id> <step-id>", Short: "Mark a step as done by hand", Args: command.Needs("the id", "the step-id"),
		Long: `Marks a step of one member as succeeded because you did its work by hand. The member
continues with the next step. The step is one that has not ended or the step at which the
member failed. The result of a job that a worker has is recorded and changes nothing.

With --result you give the result that the function would have returned, as JSON or as
@file (@- is standard input). Its output_params are read from there. Without --result the
step has no result; a step with output_params needs one.`,
		Example: `  matoolkit batch mark-done 42 20000007001 --reason "moved by hand, ticket 4711"
  matoolkit batch mark-done 42 20000007001 --result '{"guid": "0f1e"}' --reason "created by hand"
  matoolkit batch mark-done 42 20000007001 --result @result.json --reason "created by hand"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := c.result(result, cmd.Flags().Changed("result"))
			if err != nil {
				return err
			}
			s, id, step, err := c.onStep(args, why)
			if err != nil {
				return err
			}
			view, err := s.Client.MarkStepDone(cmd.Context(), id, step, given, why)
			if err != nil {
				return err
			}
			return c.Done(view, c.StepTable(view), fmt.Sprintf("matoolkit batch watch %d", id), "Marked step %d (%s) of %s as done.", step, view.Name, stepOwner(view))
		},
	}
	done.Flags().StringVar(&result, "result", "", "the result of the function: JSON, or @file")
	done.Flags().StringVar(&why, "reason", "", "the reason, for the audit record (required)")
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
		return v.MemberKey
	}
	if v.MemberID > 0 {
		return fmt.Sprintf("member %d", v.MemberID)
	}
	return "the batch"
}
