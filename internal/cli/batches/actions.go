package batches

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// actionOn is an action with what it is on.
type actionOn struct {
	On string `json:"on"`
	api.Action
}

func actionsCommand(c *runner) *cobra.Command {
	var member, step string
	actions := command.Lists(&cobra.Command{
		Use: "actions <id>", Short: "List what you can do now, and why not the rest", Args: command.Needs("the id"),
		Long: `Lists the actions on a batch and its phases, on one of its members, or on one step. For an
action that is not allowed now, the reason is what its command would answer: the state, or the
app role that it requires.`,
		Example: `  matoolkit batch actions 42
  matoolkit batch actions 42 --member ada@contoso.com
  matoolkit batch actions 42 --step 20000007001`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if member != "" && step != "" {
				return exit.Usagef("--member and --step exclude each other")
			}
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var all []actionOn
			add := func(on string, actions []api.Action) {
				for _, one := range actions {
					all = append(all, actionOn{on, one})
				}
			}
			switch {
			case member != "":
				v, err := s.Client.Member(cmd.Context(), id, member)
				if err != nil {
					return err
				}
				add("member "+v.Key, v.Actions)
			case step != "":
				number, err := stepNumber(step)
				if err != nil {
					return err
				}
				v, err := s.Client.Step(cmd.Context(), id, number)
				if err != nil {
					return err
				}
				add("step "+v.Name, v.Actions)
			default:
				v, err := s.Client.Batch(cmd.Context(), id)
				if err != nil {
					return err
				}
				phases, err := s.Client.Phases(cmd.Context(), id)
				if err != nil {
					return err
				}
				add(fmt.Sprintf("batch %d", id), v.Actions)
				for _, p := range phases.Items {
					add("phase "+p.Name, p.Actions)
				}
			}
			t := c.Table("action", "on", "allowed", "reason")
			for _, one := range all {
				allowed, reason := "yes", one.Reason
				if !one.Allowed {
					allowed = "no"
				} else if one.Unchanged {
					reason = "changes nothing"
				}
				t.Row(one.Name, one.On, allowed, reason)
			}
			return c.Print(all, t)
		},
	})
	actions.Flags().StringVar(&member, "member", "", "the actions on this member, by key or number")
	actions.Flags().StringVar(&step, "step", "", "the actions on the step with this id")
	return actions
}
