package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// The bounds of what is collected from everywhere.
const (
	usualRecords = 10_000
	mostRecords  = 1_000_000
)

func auditCommand(c *console) *cobra.Command {
	var f command.AuditFlags
	var most int
	list := command.Lists(&cobra.Command{
		Use: "list", Short: "List who did what, everywhere", Args: command.Needs(),
		Long: `List who did what to all batches, runbooks and messages, when and why, and who read
what is of members, the newest first. It takes the app role Admin.

The records are kept with what they are about and come in no order, so all that fit are
collected before any is printed. Where there are more than --most none is printed:
narrow them with --from, --to, --by and --action, or raise it.

With --output csv it is a file to hand to an auditor: a line for each record, with what
was there before and after it.`,
		Example: `  matoolkit audit list --from 2026-01-02 --to 2026-01-03
  matoolkit audit list --by ada@contoso.com --action read-members
  matoolkit audit list --from 2026-01-01 --output csv --most 1000000 > audit.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most < 1 || most > mostRecords {
				return exit.Usagef("--most is %d; it can be 1 to %d", most, mostRecords)
			}
			filter, err := f.Filter()
			if err != nil {
				return err
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			all, err := everywhere(cmd.Context(), most, func(ctx context.Context, o api.ListOptions) (api.Page[api.AuditRecord], error) {
				return s.Client.Audit(ctx, filter, o)
			})
			if err != nil {
				return err
			}
			return c.PrintPage(api.Page[api.AuditRecord]{Items: all}, len(all), "", c.AuditTable(true, all...))
		},
	})
	f.Flags(list)
	list.Flags().IntVar(&most, "most", usualRecords, "how many to collect at most, 1 to 1000000")
	return command.Group("audit", "Show who did what", list)
}

// everywhere collects all records there are and puts them in order, the newest first.
func everywhere(ctx context.Context, most int, list func(context.Context, api.ListOptions) (api.Page[api.AuditRecord], error)) ([]api.AuditRecord, error) {
	all := []api.AuditRecord{}
	o := api.ListOptions{Limit: 1000}
	for {
		page, err := list(ctx, o)
		if err != nil {
			return nil, err
		}
		if all = append(all, page.Items...); len(all) > most {
			return nil, &exit.Error{
				Status: exit.Failed, Text: render.Count(most, "record") + " are not all that there are, and they come in no order: none is printed",
				Hint: "Narrow them with --from, --to, --by and --action, or collect more with --most.",
			}
		}
		if o.Continuation = page.Continuation; o.Continuation == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b api.AuditRecord) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
	return all, nil
}
