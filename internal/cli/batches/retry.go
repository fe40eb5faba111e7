package batches

import (
	"encoding/json"
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
		Use: "retry <id>", Short: "Let members who failed try again", Args: command.Needs("the id"),
		Long: `Let members who failed try again. Each begins at the step that failed or, where a
rollback has undone what came before, at the first step of that phase; steps that
were skipped stay so. The retries that the runbook allows count anew. The phases
that a member has missed since follow in order, and a batch that had ended goes on.

Without an option all members who failed are taken, and init and on_complete steps
that failed too. With several options a member has to match all of them.

The command returns at once, and the members are taken up one after another: see
matoolkit batch members for who has failed still, or again.`,
		Example: `  matoolkit batch retry 42
  matoolkit batch retry 42 --step move-mailbox --error "timed out" --reason "the endpoint is back"
  matoolkit batch retry 42 --member 7`,
		RunE: func(cmd *cobra.Command, args []string) error {
			// A variable that is empty in somebody's script must not stand for everyone.
			for _, name := range []string{"phase", "step", "error"} {
				if f := cmd.Flags().Lookup(name); f.Changed && strings.TrimSpace(f.Value.String()) == "" {
					return exit.Usagef("--%s is empty; leave it out to take all who failed", name)
				}
			}
			if cmd.Flags().Changed("member") && which.Member < 1 {
				return exit.Usagef("--member is %d; members are numbered from 1", which.Member)
			}
			s, id, err := c.OnBatch(args[0])
			if err != nil {
				return err
			}
			view, err := s.Client.RetryFailed(cmd.Context(), id, which, why)
			if err != nil {
				return err
			}
			c.Notice("It is set going. See how they stand with: matoolkit batch phases %d", id)
			c.Notice("and who has failed still, or again, with: matoolkit batch members %d --status failed", id)
			t := c.Table("batch", "member", "phase", "step", "error", "task")
			member := "all who failed"
			if n := view.Selection.Member; n > 0 {
				member = strconv.Itoa(n)
			}
			t.Row(view.BatchID, member, view.Selection.Phase, view.Selection.Step, view.Selection.Error, view.Task)
			return c.Print(view, t)
		},
	}
	retry.Flags().IntVar(&which.Member, "member", 0, "only the member with this number")
	retry.Flags().StringVar(&which.Phase, "phase", "", "only members who failed in this phase")
	retry.Flags().StringVar(&which.Step, "step", "", "only members who failed at this step")
	retry.Flags().StringVar(&which.Error, "error", "", "only members whose error has this text in it, in any case")
	command.ReasonFlag(retry, &why)
	return retry
}

// onStep opens a session for a command that takes a batch, a step and a reason.
func (c *runner) onStep(args []string, why string) (s *command.Session, id int, step int64, err error) {
	if step, err = strconv.ParseInt(args[1], 10, 64); err != nil || step < 1 {
		return nil, 0, 0, exit.Usagef("%q is not the number of a step; matoolkit batch steps shows them", args[1])
	}
	if strings.TrimSpace(why) == "" {
		return nil, 0, 0, exit.Usagef("--reason is missing; say why, for those who read the audit trail")
	}
	s, id, err = c.OnBatch(args[0])
	return s, id, step, err
}

func skipStepCommand(c *runner) *cobra.Command {
	var why string
	skip := &cobra.Command{
		Use: "skip-step <id> <step-id>", Short: "Let a member pass by a step", Args: command.Needs("the id", "the step-id"),
		Long: `Let one member pass by a step: one that has not ended, or the one that the member
failed at. The member goes on with the next step. A step that lies ahead is passed
by when the member comes to it.

A job of the step that a worker has is no longer waited for: its result is kept when
it comes and changes nothing. What the step would have given to later steps
(output_params) is missing there; where they need it, give matoolkit batch mark-done
with the result instead. The numbers of steps are those of matoolkit batch steps.`,
		Example: `  matoolkit batch steps 42 --member 7
  matoolkit batch skip-step 42 20000007001 --reason "there is no archive to move"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, step, err := c.onStep(args, why)
			if err != nil {
				return err
			}
			view, err := s.Client.SkipStep(cmd.Context(), id, step, why)
			if err != nil {
				return err
			}
			return c.Print(view, c.StepTable(view))
		},
	}
	skip.Flags().StringVar(&why, "reason", "", "why, for those who read the audit trail (required)")
	return skip
}

func markDoneCommand(c *runner) *cobra.Command {
	var why, result string
	done := &cobra.Command{
		Use: "mark-done <id> <step-id>", Short: "Mark a step as done by hand", Args: command.Needs("the id", "the step-id"),
		Long: `Tell that what a step does was done by hand, for one member. The step succeeds, and
the member goes on with the next. It can be a step that has not ended, or the one
that the member failed at. A job of it that a worker has is no longer waited for.

With --result you give what the step's function would have answered, as JSON or as
@file (@- is standard input); its output_params are taken from there. Without it
the step has no result, which is refused where it has output_params.`,
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
			return c.Print(view, c.StepTable(view))
		},
	}
	done.Flags().StringVar(&result, "result", "", "what the function would have answered: JSON, or @file")
	done.Flags().StringVar(&why, "reason", "", "why, for those who read the audit trail (required)")
	return done
}

// result reads JSON from an option, or from the file that it names.
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
		return nil, exit.Usagef("%s is not JSON; a text has to be in quotes", where)
	}
	return text, nil
}
