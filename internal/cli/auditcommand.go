package cli

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// auditFlags are what narrows an audit trail, as it is typed.
type auditFlags struct{ action, by, from, to string }

func (f *auditFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.action, "action", "", "only this action; the Tab key shows which there are")
	cmd.Flags().StringVar(&f.by, "by", "", "only what this caller did: the name exactly as the trail has it")
	cmd.Flags().StringVar(&f.from, "from", "", "only what was done then or later: 2026-01-02, or 2026-01-02T15:04:05Z")
	cmd.Flags().StringVar(&f.to, "to", "", "only what was done before: as --from")
}

func (f *auditFlags) filter() (api.AuditFilter, error) {
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
func (c *console) trailCommand(cmd *cobra.Command, of func(string) (trail, error)) *cobra.Command {
	var p paging
	var f auditFlags
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var name string
		if len(args) > 0 {
			name = args[0]
		}
		list, err := of(name)
		if err != nil {
			return err
		}
		filter, err := f.filter()
		if err != nil {
			return err
		}
		s, err := c.session()
		if err != nil {
			return err
		}
		page, err := collect(cmd.Context(), p, api.ListOptions{}, func(ctx context.Context, o api.ListOptions) (api.Page[api.AuditRecord], error) {
			return list(ctx, s.Client, filter, o)
		})
		if err != nil {
			return err
		}
		return c.PrintPage(page, len(page.Items), page.Continuation, c.AuditTable(false, page.Items...))
	}
	f.flags(cmd)
	p.flags(cmd)
	return cmd
}

func batchAuditCommand(c *console) *cobra.Command {
	return c.trailCommand(&cobra.Command{
		Use: "audit <id>", Short: "List who did what to a batch, and who read its members", Args: needs("the id"),
		Long: `List who did what to a batch, when and why, and who read its members, the newest first.
With --output csv, json or yaml each line also has what was there before and after it.

Reading is told of by the actions that begin with read-: one line for all that somebody
reads of one kind within 15 minutes.`,
		Example: `  matoolkit batch audit 42
  matoolkit batch audit 42 --action advance --output json
  matoolkit batch audit 42 --action read-members --from 2026-01-02`,
	}, func(of string) (trail, error) {
		id, err := batchID(of)
		return func(ctx context.Context, api *apiclient.Client, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
			return api.BatchAudit(ctx, id, f, o)
		}, err
	})
}

func runbookAuditCommand(c *console) *cobra.Command {
	return c.trailCommand(&cobra.Command{
		Use: "audit <name>", Short: "List who published a runbook, and who set its automation", Args: ofRunbook(needs("the name")),
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

func messagesAuditCommand(c *console) *cobra.Command {
	return c.trailCommand(&cobra.Command{
		Use: "audit", Short: "List who read, replayed or discarded messages", Args: needs(),
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

// The bounds of what is collected from everywhere.
const (
	usualRecords = 10_000
	mostRecords  = 1_000_000
)

func auditCommand(c *console) *cobra.Command {
	var f auditFlags
	var most int
	list := lists(&cobra.Command{
		Use: "list", Short: "List who did what, everywhere", Args: needs(),
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
			filter, err := f.filter()
			if err != nil {
				return err
			}
			s, err := c.session()
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
	f.flags(list)
	list.Flags().IntVar(&most, "most", usualRecords, "how many to collect at most, 1 to 1000000")
	return group("audit", "Show who did what", list)
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
