package cli

import (
	"context"
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
		Long: `List the versions of a runbook, the newest first: who published each and when, whether
it is active, and what it did to batches under way, as --overdue and --rerun-init said
when it was published. A version is superseded when a newer one is published, and
deactivated by matoolkit runbook delete.`,
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

// versionNumber reads the number of a version.
func versionNumber(arg string) (int, error) {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 {
		return 0, exit.Usagef("%q is not the number of a version; matoolkit runbook versions shows them", arg)
	}
	return n, nil
}

func deleteCommand(c *console) *cobra.Command {
	var yes bool
	var why string
	remove := &cobra.Command{
		Use: "delete <name> <version>", Short: "Take a runbook out of use, by deactivating its active version", Args: command.OfRunbook(command.Needs("the name", "the version")),
		Long: `Take a runbook out of use, by deactivating its active version. No more batches are made
of it, neither by hand nor by automation, and it is no longer among those that
matoolkit runbook list shows. Nothing is erased: matoolkit runbook versions still lists
all versions, with who deactivated which and why.

Batches that are under way go on under their versions. Those that automation made no
longer follow the data source: nobody joins or leaves them. To stop a batch as well
give matoolkit batch pause or matoolkit batch cancel.

Only the active version can be deactivated. To go back to an earlier one, publish it
again, which supersedes this one. Publishing is also how a runbook comes back.

It asks before it does so. Without a terminal it takes --yes.`,
		Example: `  matoolkit runbook delete moves 3 --reason "the merger is off"
  matoolkit runbook get moves --version 2 | matoolkit runbook publish -    go back to 2`,
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
			c.Notice("Version %d of %s is not active. Publish a version to use the runbook again: matoolkit runbook publish <file>", view.Version, render.Printable(view.Name))
			return c.Print(view, c.VersionTable(view))
		},
	}
	remove.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	remove.Flags().StringVar(&why, "reason", "", "why, for those who read the list of versions")
	return remove
}

// confirmDeactivate asks with what there is to lose, and gives the tag of the version
// that was asked about. One that is not active is not asked about: there is nothing to
// lose, and the API tells.
func (c *console) confirmDeactivate(ctx context.Context, s *command.Session, name string, version int) (tag string, err error) {
	if !c.Env.Terminal { // there is nobody to show it to
		return "", c.Confirm(ctx, "")
	}
	v, err := s.Client.Version(ctx, name, version)
	if err != nil || !v.Active {
		return v.ETag, err
	}
	return v.ETag, c.Confirm(ctx, "Take runbook %s out of use, of which version %d is active, published by %s on %s?", render.Printable(v.Name), v.Version, render.Printable(v.PublishedBy), render.Stamp(v.CreatedAt))
}
