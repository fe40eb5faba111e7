package cli

import (
	"context"
	"net/http"
	"time"

	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/trust"
)

// Session is the API that a command talks to.
type Session struct {
	Settings Settings
	Client   *apiclient.Client
}

// localHint is for whoever opened another terminal and forgot the environment.
const localHint = `For the system on this machine: eval "$(matoolkit local env)"`

// session opens the API that the settings name, as the person who signed in or as what
// the setting auth names.
func (c *console) session() (*Session, error) {
	all, err := c.settings()
	if err != nil {
		return nil, err
	}
	if all.Get("api-url") == "" {
		return nil, &exit{status: ExitUsage, text: "the address of the admin API is not set", hint: "Set it with: matoolkit config set api-url <address>\n" + localHint}
	}
	web, err := c.web(all)
	if err != nil {
		return nil, err
	}
	token := c.env.Token
	if token == nil {
		if token, err = c.tokens(all, web); err != nil {
			return nil, err
		}
	}
	client, err := apiclient.New(apiclient.Config{BaseURL: all.Get("api-url"), Token: token, HTTP: watched(web), Wait: c.env.Wait})
	if err != nil {
		return nil, usage(err)
	}
	return &Session{Settings: all, Client: client}, nil
}

func (c *console) web(all Settings) (*http.Client, error) {
	web, err := trust.HTTPClient(all.Get("ca-file"))
	if err != nil {
		return nil, usage(err)
	}
	return web, nil
}

// tokens gives tokens in the way that the settings name.
func (c *console) tokens(all Settings, web *http.Client) (func(context.Context) (string, error), error) {
	if all.Get("auth") == authDeviceCode {
		return c.savedToken(all, web), nil
	}
	u, err := c.openUnattended(all, web)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		token, _, err := u.token(ctx)
		return token, err
	}, nil
}

// savedToken gives tokens from what the last sign-in left. The account is looked up
// once, on the first request.
func (c *console) savedToken(all Settings, web *http.Client) func(context.Context) (string, error) {
	var saved *signIn
	return func(ctx context.Context) (string, error) {
		if saved == nil {
			s, err := c.openSignIn(all, web)
			if err != nil {
				return "", err
			}
			saved = s
		}
		token, _, err := saved.token(ctx)
		return token, err
	}
}

// shown is how long a token is still good, for people.
func shown(until, now time.Time) string {
	if !until.After(now) {
		return "expired"
	}
	return until.Sub(now).Round(time.Minute).String()
}
