package cli

import (
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

func queryCommand(c *console) *cobra.Command {
	return command.Group("query", "See what a runbook's query finds", previewCommand(c))
}

func previewCommand(c *console) *cobra.Command {
	var rows int
	preview := &cobra.Command{
		Use: "preview <runbook>", Short: "Run a runbook's query and tell what would be made of it", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Run a runbook's query, once and now, and tell what the next tick of the scheduler would
make of it with automation on, whether it is or not. Nothing is changed.

First come the batches: which would be made, and who would be added to, renewed in,
removed from or held in those that there are. Then what is wrong with rows that cannot
be used, and then the first rows as the data source gives them. On a terminal they are
cut to its width; --output json has everything, --output csv the batches.

The exit status is 5 when the query fails or its data source does not answer, with the
reason. It takes the app role Admin, for the rows can hold anything.`,
		Example: `  matoolkit query preview moves
  matoolkit query preview moves --rows 3
  matoolkit query preview moves --output json > preview.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if rows < 1 || rows > 1000 {
				return exit.Usagef("--rows is %d; it can be 1 to 1000", rows)
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
	preview.Flags().IntVar(&rows, "rows", 10, "how many rows to show, 1 to 1000; all of them are looked at")
	return command.Lists(preview)
}
