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
		Long: `Signs you in with a code that you enter in a browser, on this machine or another. A pipeline
needs no sign-in; see matoolkit auth --help.

The sign-in lasts until you have not used it for a while: 90 days, unless your tenant sets
another time. It is kept in the key store of the system. On a machine without a key store
it is kept in tokens.json beside the configuration file, which only you can read.
--token-store system refuses the file, --token-store file requires it.`,
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
				c.Notice("Authentication method %s needs no sign-in. %s.", method, u.Instead())
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
	status := command.Shows(&cobra.Command{
		Use: "status", Short: "Show who is signed in", Args: command.Needs(),
		Long: `Shows the account, the authentication method, the roles of the admin API, and how long the
token is valid. The exit status is 3 when nobody is signed in or no token is available.`,
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
	})
	auth := command.Group("auth", "Sign in and out, and show who is signed in", login, status, logoutCommand(c))
	auth.Example = `  matoolkit auth login
  matoolkit auth status`
	auth.Long = `The setting auth (--auth, MATOOLKIT_AUTH) selects the authentication method:
  device-code         a person signs in once with matoolkit auth login (default)
  azure-cli           the account that signed in with az login
  managed-identity    the identity of the machine in Azure; managed-identity-id selects one of
                      several
  client-certificate  the app registration client-id of the tenant tenant-id, with the
                      certificate in the file client-certificate, PEM or PFX; the password of
                      a PFX file is read from MATOOLKIT_CLIENT_CERTIFICATE_PASSWORD

The last three are for pipelines: they ask no questions and keep nothing. An application
needs an app role of the admin API: Reader, Requester, RequesterForAll, Operator, Approver or Admin. If
client-id is not the app registration of the admin API, set api-scope to api://<client ID of the admin API>/.default.`
	return auth
}

// printStanding prints the account and its token. After a login, which has a notice of its
// own, it prints structured output only.
func (c *console) printStanding(s login.Standing, login bool) error {
	if login && !c.Structured() {
		return nil
	}
	t := c.Table("account", "tenant", "method", "roles", "store", "token valid for")
	if s.SignedIn {
		t.Row(s.Username, s.TenantID, s.Method, strings.Join(s.Roles, ", "), s.Store, shown(*s.ExpiresOn, c.Env.Now()))
	} else if !c.Structured() {
		c.Notice("Not signed in: %s.", s.Reason)
		return nil
	}
	return c.Print(s, t)
}
