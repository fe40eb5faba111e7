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

// AuditFlags are what narrows an audit trail, as it is typed.
type AuditFlags struct{ action, by, from, to string }

// Flags adds the options to a command.
func (f *AuditFlags) Flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.action, "action", "", "only this action; the Tab key shows which there are")
	cmd.Flags().StringVar(&f.by, "by", "", "only what this caller did: the name exactly as the trail has it")
	cmd.Flags().StringVar(&f.from, "from", "", "only what was done then or later: 2026-01-02, or 2026-01-02T15:04:05Z")
	cmd.Flags().StringVar(&f.to, "to", "", "only what was done before: as --from")
}

// Filter reads the options.
func (f *AuditFlags) Filter() (api.AuditFilter, error) {
	filter := api.AuditFilter{Action: f.action, By: f.by}
	if f.action != "" && !slices.Contains(api.AuditActions, f.action) {
		return filter, exit.Usagef("--action is %q; it can be %s", f.action, render.OneOf(api.AuditActions))
	}
	var err error
	if filter.From, err = moment("--from", f.from); err != nil {
		return filter, err
	}
	if filter.To, err = moment("--to", f.to); err != nil {
		return filter, err
	}
	if !filter.From.IsZero() && !filter.To.IsZero() && !filter.From.Before(filter.To) {
		return filter, exit.Usagef("--from %s is not before --to %s: nothing lies between them", f.from, f.to)
	}
	return filter, nil
}

// moment reads a time as people give it; nothing is the zero time. A day is its
// beginning in UTC, as all times are shown.
func moment(option, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, exit.Usagef("%s is %q; it is a day as 2026-01-02 or a moment as 2026-01-02T15:04:05Z", option, text)
}

// trail gives a page of an audit trail.
type trail func(context.Context, *apiclient.Client, api.AuditFilter, api.ListOptions) (api.Page[api.AuditRecord], error)

// trailCommand makes a command that lists an audit trail page by page: that of what its
// argument names, where it takes one.
func (c *Console) trailCommand(cmd *cobra.Command, of func(string) (trail, error)) *cobra.Command {
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

// BatchAuditCommand shows the audit records of a batch.
func BatchAuditCommand(c *Console) *cobra.Command {
	return c.trailCommand(&cobra.Command{
		Use: "audit <id>", Short: "List who did what to a batch, and who read its members", Args: Needs("the id"),
		Long: `List who did what to a batch, when and why, and who read its members, the newest first.
With --output csv, json or yaml each line also has what was there before and after it.

Reading is told of by the actions that begin with read-: one line for all that somebody
reads of one kind within 15 minutes.`,
		Example: `  matoolkit batch audit 42
  matoolkit batch audit 42 --action advance --output json
  matoolkit batch audit 42 --action read-members --from 2026-01-02`,
	}, func(of string) (trail, error) {
		id, err := BatchID(of)
		return func(ctx context.Context, api *apiclient.Client, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
			return api.BatchAudit(ctx, id, f, o)
		}, err
	})
}

// RunbookAuditCommand shows the audit records of a runbook.
func RunbookAuditCommand(c *Console) *cobra.Command {
	return c.trailCommand(&cobra.Command{
		Use: "audit <name>", Short: "List who published a runbook, and who set its automation", Args: OfRunbook(Needs("the name")),
		Long: `List who published or deactivated versions of a runbook, turned its automation on or off
and previewed its query, when and why, the newest first. With --output csv, json or
yaml each line also has what was there before and after it.

What was done to the batches of a runbook is in their own trails: matoolkit batch audit.`,
		Example: `  matoolkit runbook audit moves
  matoolkit runbook audit moves --action publish --output json`,
	}, func(of string) (trail, error) {
		return func(ctx context.Context, api *apiclient.Client, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
			return api.RunbookAudit(ctx, of, f, o)
		}, nil
	})
}

// MessagesAuditCommand shows the audit records of unprocessable messages.
func MessagesAuditCommand(c *Console) *cobra.Command {
	return c.trailCommand(&cobra.Command{
		Use: "audit", Short: "List who read, replayed or discarded messages", Args: Needs(),
		Long: `List who read, replayed or discarded messages that could not be processed, when and why,
the newest first. With --output csv, json or yaml each line also has what was there
before and after it.`,
		Example: `  matoolkit messages audit
  matoolkit messages audit --action discard --from 2026-01-02`,
	}, func(string) (trail, error) {
		return func(ctx context.Context, api *apiclient.Client, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
			return api.MessageAudit(ctx, f, o)
		}, nil
	})
}
