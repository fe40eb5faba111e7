package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
)

func meCommand(c *console) *cobra.Command {
	return command.Shows(&cobra.Command{
		Use: "me", Short: "Show what you may do in the admin API", Args: command.Needs(),
		Long: `Asks the API who you are, with your app roles and what they permit:

  read             see batches, members, runbooks and workers
  request          start batches of pipelines with your name as the owner, and read these
  request_for_all  the same for every owner
  operate          drive batches: advance, pause, resume, retry, skip, mark as done, correct members
  approve          approve phases, and decide on held removals, moves and additions
  administer       all other changes; rows of a data source, messages and all audit records

Reader permits to read, Requester to request, RequesterForAll to request for all, Operator to read, request
for all and operate, Approver to read and approve, Admin all of it. matoolkit auth status shows the token without asking the API.`,
		Example: `  matoolkit me
  matoolkit me --output json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			me, err := s.Client.Me(cmd.Context())
			if err != nil {
				return err
			}
			t := c.Table("name", "kind", "roles", "may", "tenant", "object id")
			t.Row(me.Name, me.Kind, strings.Join(me.Roles, ", "), strings.Join(me.Permissions, ", "), me.TenantID, me.ObjectID)
			return c.Print(me, t)
		},
	})
}
