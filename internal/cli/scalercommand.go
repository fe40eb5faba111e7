package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func scalerCommand(c *console) *cobra.Command {
	g := command.Group("scaler", "Show the container scaler, and plan its next tick", scalerStatusCommand(c), scalerPlanCommand(c))
	g.Long = `The container scaler creates a container group of Azure Container Instances for each message that
waits in the subscriptions of a topic, sized by the file that the message names. It ticks each minute.`
	g.Example = `  matoolkit scaler status
  matoolkit scaler plan`
	return g
}

func scalerStatusCommand(c *console) *cobra.Command {
	return command.Lists(&cobra.Command{
		Use: "status", Short: "Show the latest tick of the container scaler and its containers", Args: command.Needs(),
		Long: `Shows the limits of the container scaler and the result of its latest tick: the container groups,
the messages that get no container until someone does something, failures, and messages whose
containers ended before they received them.

The numbers add up: the container groups that were active when the tick began and those that it
created are the active ones, which ACI_MAX_INSTANCES limits. Every message that it read has one
verdict, and as many have the verdict create as it created container groups:

` + render.VerdictHelp(api.ScalerVerdicts...) + `

The list has the container groups that existed when the tick began.`,
		Example: `  matoolkit scaler status
  matoolkit scaler status --output json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			view, err := s.Client.Scaler(cmd.Context())
			if err != nil {
				return err
			}
			if c.Human() {
				for _, line := range render.DescribeScaler(view) {
					c.Notice("%s", render.Printable(line))
				}
			}
			return c.Print(view, c.ContainerTable(view.LastTick))
		},
	})
}

// planned are the verdicts of a plan.
var planned = slices.DeleteFunc(slices.Clone(api.ScalerVerdicts), func(v api.ScalerVerdict) bool { return v == api.ScalerCreateFailed })

func scalerPlanCommand(c *console) *cobra.Command {
	return command.Lists(&cobra.Command{
		Use: "plan", Short: "Show what the next tick of the container scaler would do", Args: command.Needs(),
		Long: `Reads the container groups and the waiting messages now, and shows what a tick would do. Changes
nothing. Every message has one verdict:

` + render.VerdictHelp(planned...),
		Example: `  matoolkit scaler plan
  matoolkit scaler plan --output json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			view, err := s.Client.PlanScaling(cmd.Context())
			if err != nil {
				return err
			}
			if c.Human() {
				for _, line := range render.DescribeScalerPlan(view) {
					c.Notice("%s", render.Printable(line))
				}
			}
			return c.Print(view, c.ScalerPlanTable(view))
		},
	})
}
