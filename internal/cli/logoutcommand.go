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
		Use: "logout", Short: "Delete the sign-in kept on this machine", Args: command.Needs(),
		Long: `Deletes the sign-in kept on this machine, with its tokens. The next command that needs a
sign-in asks for matoolkit auth login.

A token that was issued before stays valid for up to about an hour. To end a sign-in
everywhere, for example when a machine was stolen, an administrator revokes the sessions of
the account in Entra ID.`,
		Example: `  matoolkit auth logout`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			who, err := c.Opener().Forget(cmd.Context())
			switch {
			case errors.Is(err, fs.ErrNotExist):
				c.Notice("You were not signed in.")
			case err != nil:
				return err
			case who == "":
				c.Notice("Signed out.")
			default:
				c.Notice("Signed out %s.", render.Printable(who))
			}
			return nil
		},
	}
}
