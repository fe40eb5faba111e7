package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/app"
)

func auditCommand(c *console) *cobra.Command {
	var p paging
	var o app.ListOptions
	audit := &cobra.Command{
		Use: "audit <id>", Short: "List what was changed in a batch and by whom", Args: needs("the id"),
		Long: `List what was asked for in a batch, by whom, when and why, the newest first. With
--output json a record also has what was there before and after, where it tells.`,
		Example: `  matoolkit batch audit 42
  matoolkit batch audit 42 --action advance --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := batchID(args[0])
			if err != nil {
				return err
			}
			s, err := c.session()
			if err != nil {
				return err
			}
			page, err := collect(cmd.Context(), p, o, perBatch(id, s.Client.Audit))
			if err != nil {
				return err
			}
			t := c.table("at", "by", "action", "target", "reason")
			for _, v := range page.Items {
				t.row(v.At, v.By, v.Action, v.Target, v.Why)
			}
			return c.printPage(page, len(page.Items), page.Continuation, t)
		},
	}
	audit.Flags().StringVar(&o.Action, "action", "", "only this action: "+strings.Join(app.AuditActions, ", "))
	p.flags(audit)
	return audit
}
