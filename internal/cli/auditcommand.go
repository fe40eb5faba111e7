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

// How many records the command collects: by default and at most.
const (
	usualRecords = 10_000
	mostRecords  = 1_000_000
)

func auditCommand(c *console) *cobra.Command {
	var f command.AuditFlags
	var most int
	list := command.Lists(&cobra.Command{
		Use: "list", Short: "List audit records of all batches, runbooks and messages", Args: command.Needs(),
		Long: `Lists who did what, when and why, and who read data of members, the newest first. It
requires the app role Admin.

The records of different items come in no order, so the command collects all of them before
it prints any. If there are more than --most, it prints none: narrow the list with --from,
--to, --by and --action, or raise --most.

With --output csv each record includes the state before and after the change, for an auditor.`,
		Example: `  matoolkit audit list --from 2026-01-02 --to 2026-01-03
  matoolkit audit list --by ada@contoso.com --action read_members
  matoolkit audit list --from 2026-01-01 --output csv --most 1000000 > audit.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most < 1 || most > mostRecords {
				return exit.Usagef("--most is %d; use 1 to %d", most, mostRecords)
			}
			filter, err := f.Filter()
			if err != nil {
				return err
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			all, err := collectAudit(cmd.Context(), most, func(ctx context.Context, o api.ListOptions) (api.Page[api.AuditRecord], error) {
				return s.Client.Audit(ctx, filter, o)
			})
			if err != nil {
				return err
			}
			return c.PrintPage(api.Page[api.AuditRecord]{Items: all}, len(all), "", c.AuditTable(true, all...))
		},
	})
	f.Flags(list)
	list.Flags().IntVar(&most, "most", usualRecords, "maximum number of records, 1 to 1000000")
	return command.WithExample(command.Group("audit", "List audit records: who did what, when and why", list),
		"  matoolkit audit list --from 2026-01-02")
}

// collectAudit collects all records and sorts them, the newest first.
func collectAudit(ctx context.Context, most int, list func(context.Context, api.ListOptions) (api.Page[api.AuditRecord], error)) ([]api.AuditRecord, error) {
	all := []api.AuditRecord{}
	o := api.ListOptions{Limit: 1000}
	for {
		page, err := list(ctx, o)
		if err != nil {
			return nil, err
		}
		if all = append(all, page.Items...); len(all) > most {
			return nil, &exit.Error{
				Status: exit.Failed, Text: "there are more than " + render.Count(most, "record"),
				Hint: "Narrow the list with --from, --to, --by and --action, or raise --most.",
			}
		}
		if o.Continuation = page.Continuation; o.Continuation == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b api.AuditRecord) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
	return all, nil
}
