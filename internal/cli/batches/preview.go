package batches

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
)

// dryRunFlag adds the option that shows the effect of a command.
func dryRunFlag(cmd *cobra.Command, into *bool) {
	cmd.Flags().BoolVar(into, "dry-run", false, "show the effect, and change nothing")
}

// dryRun prints the effect of an action, which is not taken, and the command that takes it.
func (c *runner) dryRun(cmd *cobra.Command, client *apiclient.Client, batch int, action api.ProposedAction) error {
	view, err := client.Preview(cmd.Context(), batch, action)
	if err != nil {
		return err
	}
	return c.DryRun(cmd, view, action.Name == api.RepairSkip || action.Name == api.RepairDone)
}

// confirmAction shows the effect of an action and asks for confirmation.
func (c *runner) confirmAction(ctx context.Context, client *apiclient.Client, batch int, action api.ProposedAction, question string, args ...any) error {
	view, err := client.Preview(ctx, batch, action)
	if err != nil {
		return err
	}
	c.NoticePreview(view)
	return c.Confirm(ctx, question, args...)
}
