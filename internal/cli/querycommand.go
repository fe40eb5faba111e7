package cli

import (
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

func queryCommand(c *console) *cobra.Command {
	return command.WithExample(command.Group("query", "Preview the query of a runbook", previewCommand(c)), "  matoolkit query preview moves")
}

func previewCommand(c *console) *cobra.Command {
	var rows int
	preview := &cobra.Command{
		Use: "preview <runbook>", Short: "Run the query of a runbook and show its effect", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Runs the query once and shows what the next tick of the scheduler would do with automation
on. Nothing is changed.

The command shows the batches that would be created, and the members that would be added,
refreshed, removed or held; then the rows that cannot be used, with the reason; then the
first rows. On a terminal rows are cut to its width; --output json has everything, --output
csv the batches.

The exit status is 5 when the query fails or its data source does not answer. The command
requires the app role Admin, because rows can contain any data.`,
		Example: `  matoolkit query preview moves
  matoolkit query preview moves --rows 3
  matoolkit query preview moves --output json > preview.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if rows < 1 || rows > 1000 {
				return exit.Usagef("--rows is %d; use 1 to 1000", rows)
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			view, err := s.Client.PreviewQuery(cmd.Context(), args[0], rows)
			if err != nil {
				return err
			}
			return c.PrintPreview(view)
		},
	}
	preview.Flags().IntVar(&rows, "rows", 10, "number of rows to show, 1 to 1000")
	return command.Lists(preview)
}
