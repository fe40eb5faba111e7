package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/spf13/cobra"
)

// standing is what auth status tells. Username, TenantID, ApplicationID and Roles are
// what the token says: whom the API sees.
type standing struct {
	SignedIn      bool       `json:"signedIn"`
	Method        string     `json:"method"`
	Username      string     `json:"username,omitempty"`
	TenantID      string     `json:"tenantId,omitempty"`
	ApplicationID string     `json:"applicationId,omitempty"`
	Roles         []string   `json:"roles,omitempty"`
	Store         string     `json:"store,omitempty"`
	ExpiresOn     *time.Time `json:"tokenExpiresOn,omitempty"`
	Reason        string     `json:"reason,omitempty"`
}

// standingOf reads a token. It is not verified: that is for the API, and the machine's
// owner can print what they like.
func standingOf(method, store, token string, until time.Time) standing {
	var claims struct {
		jwt.RegisteredClaims
		TenantID          string   `json:"tid"`
		PreferredUsername string   `json:"preferred_username"`
		Name              string   `json:"name"`
		ObjectID          string   `json:"oid"`
		AppID             string   `json:"appid"` // version 1
		Azp               string   `json:"azp"`   // version 2
		Roles             []string `json:"roles"`
	}
	_, _, _ = jwt.NewParser().ParseUnverified(token, &claims) // a token of another form tells nothing
	return standing{
		SignedIn: true, Method: method, Store: store, ExpiresOn: &until,
		Username: cmp.Or(claims.PreferredUsername, claims.Name, claims.ObjectID),
		TenantID: claims.TenantID, ApplicationID: cmp.Or(claims.Azp, claims.AppID), Roles: claims.Roles,
	}
}

// standing gets a token in the way that the settings name and tells whose it is.
func (c *console) standing(ctx context.Context, all Settings) (standing, error) {
	web, err := c.web(all)
	if err != nil {
		return standing{}, err
	}
	method := all.Get("auth")
	if method != authDeviceCode {
		u, err := c.openUnattended(all, web)
		if err != nil {
			return standing{Method: method}, err
		}
		token, until, err := u.token(ctx)
		if err != nil {
			return standing{Method: method}, err
		}
		return standingOf(method, "", token, until), nil
	}
	s, err := c.openSignIn(all, web)
	if err != nil {
		return standing{Method: method}, err
	}
	token, until, err := s.token(ctx)
	if err != nil {
		return standing{Method: method}, err
	}
	return standingOf(method, s.Store, token, until).of(s.account), nil
}

// of fills in what is known of a person without their token.
func (s standing) of(a account) standing {
	s.Username, s.TenantID = a.Username, a.TenantID
	return s
}

func authCommand(c *console) *cobra.Command {
	login := &cobra.Command{
		Use: "login", Short: "Sign in with a code that you enter in a browser", Args: needs(),
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
			all, err := c.settings()
			if err != nil {
				return err
			}
			if method := all.Get("auth"); method != authDeviceCode {
				u, err := c.openUnattended(all, nil)
				if err != nil {
					return err
				}
				c.notice("With auth %s there is no sign-in to make. %s.", method, u.instead())
				return nil
			}
			s, err := c.signInAnew(cmd.Context(), all)
			if err != nil {
				return err
			}
			token, until, err := s.token(cmd.Context())
			if err != nil {
				return err
			}
			c.notice("Signed in as %s.", s.Username)
			return c.printStanding(standingOf(authDeviceCode, s.Store, token, until).of(s.account), true)
		},
	}
	status := &cobra.Command{
		Use: "status", Short: "Show who is signed in", Args: needs(),
		Long: `Show who is signed in, in which way, with which roles of the admin API, and how long the
token is good for. The exit status is 3 when nobody is, or when there is no token to be
had.`,
		Example: `  matoolkit auth status
  matoolkit auth status --auth azure-cli`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := c.settings()
			if err != nil {
				return err
			}
			s, err := c.standing(cmd.Context(), all)
			var e *exit
			if errors.As(err, &e) && e.status == ExitNotSignedIn {
				s.Reason = e.text
				if err := c.printStanding(s, false); err != nil {
					return err
				}
				return &exit{status: ExitNotSignedIn, hint: e.hint}
			}
			if err != nil {
				return err
			}
			return c.printStanding(s, false)
		},
	}
	auth := group("auth", "Sign in and out, and show who is signed in", login, status, logoutCommand(c))
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
func (c *console) printStanding(s standing, login bool) error {
	if login && !c.structured() {
		return nil
	}
	t := c.table("account", "tenant", "method", "roles", "store", "token good for")
	if s.SignedIn {
		t.row(s.Username, s.TenantID, s.Method, strings.Join(s.Roles, ", "), s.Store, shown(*s.ExpiresOn, c.env.Now()))
	} else if !c.structured() {
		c.notice("No sign-in: %s.", s.Reason)
		return nil
	}
	return c.print(s, t)
}
