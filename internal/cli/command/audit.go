package command

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// AuditFlags are the options that filter audit records.
type AuditFlags struct{ action, by, from, to string }

// Flags adds the options to a command.
func (f *AuditFlags) Flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.action, "action", "", "only this action; the Tab key completes it")
	cmd.Flags().StringVar(&f.by, "by", "", "only records of this caller, exactly as listed")
	cmd.Flags().StringVar(&f.from, "from", "", "only records from this time on: 2026-01-02 or 2026-01-02T15:04:05Z")
	cmd.Flags().StringVar(&f.to, "to", "", "only records before this time")
}

// Filter parses the options.
func (f *AuditFlags) Filter() (api.AuditFilter, error) {
	filter := api.AuditFilter{Action: f.action, By: f.by}
	if f.action != "" && !slices.Contains(api.AuditActions, f.action) {
		return filter, exit.Usagef("--action is %q; use %s", f.action, render.OneOf(api.AuditActions))
	}
	var err error
	if filter.From, err = moment("--from", f.from); err != nil {
		return filter, err
	}
	if filter.To, err = moment("--to", f.to); err != nil {
		return filter, err
	}
	if !filter.From.IsZero() && !filter.To.IsZero() && !filter.From.Before(filter.To) {
		return filter, exit.Usagef("--from %s is not before --to %s", f.from, f.to)
	}
	return filter, nil
}

// moment parses a time. An empty text is the zero time, a day is its start in UTC.
func moment(option, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, exit.Usagef("%s is %q; give a day such as 2026-01-02 or a time such as 2026-01-02T15:04:05Z", option, text)
}

// listAudit reads a page of audit records.
type listAudit func(context.Context, *apiclient.Client, api.AuditFilter, api.ListOptions) (api.Page[api.AuditRecord], error)

// auditCommand makes a command that lists audit records page by page. Its argument, if it has
// one, selects the batch or the runbook.
func (c *Console) auditCommand(cmd *cobra.Command, of func(string) (listAudit, error)) *cobra.Command {
	var p Paging
	var f AuditFlags
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var name string
		if len(args) > 0 {
			name = args[0]
		}
		list, err := of(name)
		if err != nil {
			return err
		}
		filter, err := f.Filter()
		if err != nil {
			return err
		}
		s, err := c.Session()
		if err != nil {
			return err
		}
		page, err := Collect(cmd.Context(), p, api.ListOptions{}, func(ctx context.Context, o api.ListOptions) (api.Page[api.AuditRecord], error) {
			return list(ctx, s.Client, filter, o)
		})
		if err != nil {
			return err
		}
		return c.PrintPage(page, len(page.Items), page.Continuation, c.AuditTable(false, page.Items...))
	}
	f.Flags(cmd)
	p.Flags(cmd)
	return cmd
}

// BatchAuditCommand lists the audit records of a batch.
func BatchAuditCommand(c *Console) *cobra.Command {
	return c.auditCommand(&cobra.Command{
		Use: "audit <id>", Short: "List the audit records of a batch", Args: Needs("the id"),
		Long: `Lists who changed a batch, when and why, and who read its members, the newest first. With
--output csv, json or yaml each record includes the state before and after.

Actions that begin with read- are one record for all that one caller reads of one kind
within 15 minutes.`,
		Example: `  matoolkit batch audit 42
  matoolkit batch audit 42 --action advance --output json
  matoolkit batch audit 42 --action read_members --from 2026-01-02`,
	}, func(of string) (listAudit, error) {
		return func(ctx context.Context, client *apiclient.Client, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
			id, err := findBatch(ctx, client, of)
			if err != nil {
				return api.Page[api.AuditRecord]{}, err
			}
			return client.BatchAudit(ctx, id, f, o)
		}, checkBatch(of)
	})
}

// RunbookAuditCommand lists the audit records of a runbook.
func RunbookAuditCommand(c *Console) *cobra.Command {
	return c.auditCommand(&cobra.Command{
		Use: "audit <name>", Short: "List the audit records of a runbook", Args: OfRunbook(Needs("the name")),
		Long: `Lists who published or deactivated versions, switched automation and previewed the query,
when and why, the newest first. With --output csv, json or yaml each record includes the
state before and after.

For the batches of the runbook see matoolkit batch audit.`,
		Example: `  matoolkit runbook audit moves
  matoolkit runbook audit moves --action publish --output json`,
	}, func(of string) (listAudit, error) {
		return func(ctx context.Context, api *apiclient.Client, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
			return api.RunbookAudit(ctx, of, f, o)
		}, nil
	})
}

// MessagesAuditCommand lists the audit records of unprocessable messages.
func MessagesAuditCommand(c *Console) *cobra.Command {
	return c.auditCommand(&cobra.Command{
		Use: "audit", Short: "List the audit records of unprocessable messages", Args: Needs(),
		Long: `Lists who read, replayed or discarded unprocessable messages, when and why, the newest first.
With --output csv, json or yaml each record includes the state before and after.`,
		Example: `  matoolkit messages audit
  matoolkit messages audit --action discard --from 2026-01-02`,
	}, func(string) (listAudit, error) {
		return func(ctx context.Context, api *apiclient.Client, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
			return api.MessageAudit(ctx, f, o)
		}, nil
	})
}
