package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
)

// standing is what auth status tells.
type standing struct {
	SignedIn  bool       `json:"signedIn"`
	Username  string     `json:"username,omitempty"`
	TenantID  string     `json:"tenantId,omitempty"`
	Store     string     `json:"store,omitempty"`
	ExpiresOn *time.Time `json:"tokenExpiresOn,omitempty"`
	Reason    string     `json:"reason,omitempty"`
}

func authCommand(c *console) *cobra.Command {
	login := &cobra.Command{
		Use: "login", Short: "Sign in with a code that you enter in a browser", Args: needs(),
		Long: `Sign in with a code that you enter in a browser, on this machine or another.

The sign-in lasts until it has not been used for a while (90 days, unless your
tenant has it otherwise). It is kept in the system's key store. On a machine
without one it is kept in a file that only you can read, tokens.json beside the
configuration file; --token-store system refuses that, --token-store file asks for
it.`,
		Example: `  matoolkit auth login
  matoolkit auth login --tenant-id 00000000-0000-0000-0000-000000000000`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := c.settings()
			if err != nil {
				return err
			}
			s, err := c.signInAnew(cmd.Context(), all)
			if err != nil {
				return err
			}
			_, until, err := s.token(cmd.Context())
			if err != nil {
				return err
			}
			c.notice("Signed in as %s.", s.Username)
			return c.printStanding(standing{SignedIn: true, Username: s.Username, TenantID: s.TenantID, Store: s.Store, ExpiresOn: &until}, true)
		},
	}
	status := &cobra.Command{
		Use: "status", Short: "Show who is signed in", Args: needs(),
		Long: "Show who is signed in. The exit status is 3 when nobody is.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := c.settings()
			if err != nil {
				return err
			}
			web, err := c.web(all)
			if err != nil {
				return err
			}
			s, err := c.openSignIn(all, web)
			var until time.Time
			if err == nil {
				_, until, err = s.token(cmd.Context())
			}
			var e *exit
			if errors.As(err, &e) && e.status == ExitNotSignedIn {
				if err := c.printStanding(standing{Reason: e.text}, false); err != nil {
					return err
				}
				return &exit{status: ExitNotSignedIn, hint: e.hint}
			}
			if err != nil {
				return err
			}
			return c.printStanding(standing{SignedIn: true, Username: s.Username, TenantID: s.TenantID, Store: s.Store, ExpiresOn: &until}, false)
		},
	}
	return group("auth", "Sign in and out, and show who is signed in", login, status, logoutCommand(c))
}

// printStanding prints the standing; after a login, which has a notice of its own,
// only as JSON.
func (c *console) printStanding(s standing, login bool) error {
	if login && !c.structured() {
		return nil
	}
	t := c.table("account", "tenant", "store", "token good for")
	if s.SignedIn {
		t.row(s.Username, s.TenantID, s.Store, shown(*s.ExpiresOn, c.env.Now()))
	} else if !c.structured() {
		c.notice("No sign-in: %s.", s.Reason)
		return nil
	}
	return c.print(s, t)
}
