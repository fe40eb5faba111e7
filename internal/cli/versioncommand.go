package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func versionsCommand(c *console) *cobra.Command {
	var p command.Paging
	var o api.ListOptions
	versions := &cobra.Command{
		Use: "versions <name>", Short: "List the versions of a runbook, the newest first", Args: command.OfRunbook(command.Needs("the name")),
		Long: `Lists who published each version and when, whether it is active, and how it applies to
batches that had not ended (--overdue and --rerun-init). A version is superseded by a newer
one, or deactivated by matoolkit runbook delete.`,
		Example: `  matoolkit runbook versions moves
  matoolkit runbook get moves --version 2 > moves-2.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			page, err := command.Collect(cmd.Context(), p, o, func(ctx context.Context, o api.ListOptions) (api.Page[api.RunbookVersion], error) {
				return s.Client.Versions(ctx, args[0], o)
			})
			if err != nil {
				return err
			}
			return c.PrintPage(page, len(page.Items), page.Continuation, c.VersionTable(page.Items...))
		},
	}
	command.Sorted(versions, &o, api.VersionSorts)
	p.Flags(versions)
	return versions
}

// versionNumber parses a version.
func versionNumber(arg string) (int, error) {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 {
		return 0, exit.Usagef("invalid version %q: give a number that matoolkit runbook versions shows", arg)
	}
	return n, nil
}

func deleteCommand(c *console) *cobra.Command {
	var yes bool
	var why string
	remove := &cobra.Command{
		Use: "delete <name> <version>", Short: "Deactivate a runbook", Args: command.OfRunbook(command.Needs("the name", "the version")),
		Long: `Deactivates the active version of a runbook. No more batches are created from it, by hand or
by automation, and matoolkit runbook list no longer shows it. Nothing is deleted:
matoolkit runbook versions still lists all versions, and who deactivated which one and why.

Batches that have not ended continue under their versions. Batches of automation no longer
follow the data source. To stop a batch, use matoolkit batch pause or matoolkit batch cancel.

You can deactivate only the active version. To go back to an earlier version, publish it
again. Publishing also reactivates a runbook.

The command asks for confirmation. Without a terminal, give --yes.`,
		Example: `  matoolkit runbook delete moves 3 --reason "the merger is off"
  matoolkit runbook get moves --version 2 | matoolkit runbook publish -    back to 2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := versionNumber(args[1])
			if err != nil {
				return err
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			tag := ""
			if !yes {
				if tag, err = c.confirmDeactivate(cmd.Context(), s, args[0], version); err != nil {
					return err
				}
			}
			view, err := s.Client.Deactivate(cmd.Context(), args[0], version, why, tag)
			if err != nil {
				return err
			}
			return c.Done(view, c.VersionTable(view), fmt.Sprintf("matoolkit runbook get %s --version %d", render.ShellWord(view.Name), view.Version),
				"Deactivated version %d of runbook %s.", view.Version, view.Name)
		},
	}
	remove.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	remove.Flags().StringVar(&why, "reason", "", "the reason, for the list of versions")
	return remove
}

// confirmDeactivate asks for confirmation and returns the ETag of the version. It does not ask
// about a version that is not active: the API refuses that.
func (c *console) confirmDeactivate(ctx context.Context, s *command.Session, name string, version int) (tag string, err error) {
	if !c.Env.Terminal { // nothing can be confirmed
		return "", c.Confirm(ctx, "")
	}
	v, err := s.Client.Version(ctx, name, version)
	if err != nil || !v.Active {
		return v.ETag, err
	}
	return v.ETag, c.Confirm(ctx, "Deactivate runbook %s (version %d, published by %s on %s)?", render.Printable(v.Name), v.Version, render.Printable(v.PublishedBy), render.Stamp(v.CreatedAt))
}
