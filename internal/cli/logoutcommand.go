package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
)

func logoutCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "Forget the sign-in that is kept on this machine", Args: needs(),
		Long: `Forget the sign-in that is kept on this machine, with its tokens. The next command that
needs one asks for matoolkit auth login.

It reaches no further than this machine: a token that was given out before stays good
for up to about an hour. To end a sign-in everywhere, as when a machine was stolen, an
administrator revokes the sessions of the account in Entra ID.`,
		Example: `  matoolkit auth logout`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := c.home()
			if err != nil {
				return err
			}
			t := target{home: home}
			who, err := t.kept()
			if errors.Is(err, fs.ErrNotExist) {
				c.notice("Nobody was signed in.")
				return removeFile(t.tokenFile())
			}
			if err != nil {
				return fmt.Errorf("the sign-in cannot be read: %w", err)
			}
			if who.Store != storeFile { // also where it cannot be read
				if err := c.emptyKeyStore(cmd.Context()); err != nil {
					return fmt.Errorf("the tokens in the system's key store: %w", err)
				}
			}
			// Who was signed in is forgotten last: what ends half-way is begun again.
			for _, path := range []string{t.tokenFile(), t.accountFile()} {
				if err := removeFile(path); err != nil {
					return fmt.Errorf("the sign-in is still kept: %w", err)
				}
			}
			if who.Username == "" {
				c.notice("The sign-in is forgotten.")
			} else {
				c.notice("The sign-in of %s is forgotten.", printable(who.Username))
			}
			return nil
		},
	}
}

// kept is the sign-in that was left. Errors: fs.ErrNotExist where there is none; an
// account without anything in it where it cannot be read.
func (t target) kept() (account, error) {
	data, err := os.ReadFile(t.accountFile())
	if err != nil {
		return account{}, err
	}
	var a account
	if json.Unmarshal(data, &a) != nil {
		return account{}, nil
	}
	return a, nil
}

// removeFile removes a file that may not be there.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
