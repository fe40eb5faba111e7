package cli

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func logoutCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "Forget the sign-in that is kept on this machine", Args: command.Needs(),
		Long: `Forget the sign-in that is kept on this machine, with its tokens. The next command that
needs one asks for matoolkit auth login.

It reaches no further than this machine: a token that was given out before stays good
for up to about an hour. To end a sign-in everywhere, as when a machine was stolen, an
administrator revokes the sessions of the account in Entra ID.`,
		Example: `  matoolkit auth logout`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			who, err := c.Opener().Forget(cmd.Context())
			switch {
			case errors.Is(err, fs.ErrNotExist):
				c.Notice("Nobody was signed in.")
			case err != nil:
				return err
			case who == "":
				c.Notice("The sign-in is forgotten.")
			default:
				c.Notice("The sign-in of %s is forgotten.", render.Printable(who))
			}
			return nil
		},
	}
}
