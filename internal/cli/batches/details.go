package batches

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// memberDetails is a member with its steps in structured output.
type memberDetails struct {
	api.Member
	Steps []api.Step `json:"steps"`
}

func getMemberCommand(c *runner) *cobra.Command {
	return command.Shows(&cobra.Command{
		Use: "get <id> <member>", Short: "Show a member with its data, its steps and its error", Args: command.Needs("the id", "the member"),
		Long: `Shows one member of a batch in full: its data, its error and its steps. Name the member by
the key or the number. Where a text is the key of one member and the number of another,
write key:… or id:….`,
		Example: `  matoolkit member get 42 ada@contoso.com
  matoolkit member get 42 7 --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			member, err := s.Client.Member(cmd.Context(), id, args[1])
			if err != nil {
				return err
			}
			if !c.Structured() && (!c.Plain() || len(c.Columns) > 0) {
				return c.Print(member, c.MemberTable(member))
			}
			steps, err := command.Collect(cmd.Context(), command.Paging{Limit: 1, All: true}, api.ListOptions{MemberRef: fmt.Sprintf("id:%d", member.ID)}, command.PerBatch(id, s.Client.Steps))
			if err != nil {
				return err
			}
			if c.Structured() {
				return c.Document(memberDetails{member, steps.Items})
			}
			return c.PrintMember(id, member, steps.Items)
		},
	})
}

func getStepCommand(c *runner) *cobra.Command {
	return command.Shows(&cobra.Command{
		Use: "get <id> <step-id>", Short: "Show a step with its parameters, its result and its error", Args: command.Needs("the id", "the step-id"),
		Example: `  matoolkit step get 42 20000007001
  matoolkit step get 42 20000007001 --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := stepNumber(args[1])
			if err != nil {
				return err
			}
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			step, err := s.Client.Step(cmd.Context(), id, number)
			if err != nil {
				return err
			}
			if !c.Plain() || len(c.Columns) > 0 {
				return c.Print(step, c.StepTable(step))
			}
			return c.PrintStep(id, step)
		},
	})
}

// stepNumber parses the number of a step.
func stepNumber(arg string) (int64, error) {
	n, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || n < 1 {
		return 0, exit.Usagef("invalid step %q: give a number that matoolkit step list shows", arg)
	}
	return n, nil
}
