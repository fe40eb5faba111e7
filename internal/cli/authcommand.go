package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/login"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

func authCommand(c *console) *cobra.Command {
	login := &cobra.Command{
		Use: "login", Short: "Sign in with a code that you enter in a browser", Args: command.Needs(),
		Long: `Sign in with a code that you enter in a browser, on this machine or another. A pipeline
needs no sign-in: see matoolkit auth --help.

The sign-in lasts until it has not been used for a while (90 days, unless your
tenant has it otherwise). It is kept in the system's key store. On a machine
without one it is kept in a file that only you can read, tokens.json beside the
configuration file; --token-store system refuses that, --token-store file asks for
it.`,
		Example: `  matoolkit auth login
  matoolkit auth login --tenant-id 00000000-0000-0000-0000-000000000000`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := c.Settings()
			if err != nil {
				return err
			}
			if method := all.Get("auth"); method != settings.DeviceCode {
				u, err := c.Opener().OpenUnattended(all, nil)
				if err != nil {
					return err
				}
				c.Notice("With auth %s there is no sign-in to make. %s.", method, u.Instead())
				return nil
			}
			s, err := c.Opener().SignIn(cmd.Context(), all)
			if err != nil {
				return err
			}
			now, err := s.Standing(cmd.Context())
			if err != nil {
				return err
			}
			c.Notice("Signed in as %s.", s.Username)
			return c.printStanding(now, true)
		},
	}
	status := &cobra.Command{
		Use: "status", Short: "Show who is signed in", Args: command.Needs(),
		Long: `Show who is signed in, in which way, with which roles of the admin API, and how long the
token is good for. The exit status is 3 when nobody is, or when there is no token to be
had.`,
		Example: `  matoolkit auth status
  matoolkit auth status --auth azure-cli`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := c.Settings()
			if err != nil {
				return err
			}
			s, err := c.Opener().Standing(cmd.Context(), all)
			var e *exit.Error
			if errors.As(err, &e) && e.Status == exit.NotSignedIn {
				s.Reason = e.Text
				if err := c.printStanding(s, false); err != nil {
					return err
				}
				return &exit.Error{Status: exit.NotSignedIn, Hint: e.Hint}
			}
			if err != nil {
				return err
			}
			return c.printStanding(s, false)
		},
	}
	auth := command.Group("auth", "Sign in and out, and show who is signed in", login, status, logoutCommand(c))
	auth.Long = `Sign in and out, and show who is signed in.

The setting auth (--auth, MATOOLKIT_AUTH) tells how:
  device-code         a person signs in once with matoolkit auth login; the default
  azure-cli           as whoever has signed in with az login
  managed-identity    as the identity of the machine in Azure; managed-identity-id names one
                      where there are several
  client-certificate  as the app registration client-id of the tenant tenant-id, with the
                      certificate in the file client-certificate, PEM or PFX; the password of
                      a PFX file is taken from MATOOLKIT_CLIENT_CERTIFICATE_PASSWORD

The last three are for pipelines: nobody is asked and nothing is kept. An application needs
an app role of the admin API, Reader or Admin. Where client-id is not the admin API's own app
registration, api-scope has to be set: api://<client ID of the admin API>/.default.`
	return auth
}

// printStanding prints the standing; after a login, which has a notice of its own,
// only as JSON.
func (c *console) printStanding(s login.Standing, login bool) error {
	if login && !c.Structured() {
		return nil
	}
	t := c.Table("account", "tenant", "method", "roles", "store", "token good for")
	if s.SignedIn {
		t.Row(s.Username, s.TenantID, s.Method, strings.Join(s.Roles, ", "), s.Store, shown(*s.ExpiresOn, c.Env.Now()))
	} else if !c.Structured() {
		c.Notice("No sign-in: %s.", s.Reason)
		return nil
	}
	return c.Print(s, t)
}
