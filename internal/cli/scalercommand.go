package cli

import (
	"github.com/spf13/cobra"

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
containers ended before they received them.`,
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

func scalerPlanCommand(c *console) *cobra.Command {
	return command.Lists(&cobra.Command{
		Use: "plan", Short: "Show what the next tick of the container scaler would do", Args: command.Needs(),
		Long: `Reads the container groups and the waiting messages now, and shows what a tick would do. Changes
nothing. Every message has one verdict:

  create                 a container group is created for it
  waiting_for_capacity   the limit of active container groups is reached
  waiting_for_next_tick  the limit of creations of one tick is reached
  has_container          an active container group has its id
  container_ended        a container group with its id has ended, and is deleted first
  duplicate              another message has its id
  delivery_limit         it was delivered as often as its subscription permits
  message_id_missing     it has no id
  body_not_json          its body is not a JSON object
  size_missing           its body has no file_size_mb, at the top or in data
  size_invalid           its file_size_mb is not a number from 0 to 1073741824`,
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
