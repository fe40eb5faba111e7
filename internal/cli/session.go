package cli

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/login"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

func (c *console) home() (string, error) { return settings.Home(c.env.Getenv) }

func (c *console) configFile() (string, error) { return settings.File(c.env.Getenv) }

func (c *console) settings() (settings.Settings, error) {
	return settings.Load(c.options, c.env.Getenv)
}

func (c *console) opener() *login.Opener {
	return &login.Opener{Getenv: c.env.Getenv, Now: c.env.Now, Home: c.home, Stderr: c.env.Stderr, Notice: c.Notice}
}

// Session is the API that a command talks to.
type Session struct {
	Settings settings.Settings
	Client   *apiclient.Client
}

// session opens the API that the settings name, as the person who signed in or as what
// the setting auth names.
func (c *console) session() (*Session, error) {
	all, err := c.settings()
	if err != nil {
		return nil, err
	}
	if all.Get("api-url") == "" {
		return nil, &exit.Error{Status: exit.WrongUsage, Text: "the address of the admin API is not set", Hint: "Set it with: matoolkit config set api-url <address>\n" + settings.LocalHint}
	}
	web, err := login.HTTPClient(all)
	if err != nil {
		return nil, err
	}
	token := c.env.Token
	if token == nil {
		if token, err = c.opener().Tokens(all, web); err != nil {
			return nil, err
		}
	}
	client, err := apiclient.New(apiclient.Config{BaseURL: all.Get("api-url"), Token: token, HTTP: render.Watched(web), Wait: c.env.Wait})
	if err != nil {
		return nil, exit.Usage(err)
	}
	return &Session{Settings: all, Client: client}, nil
}

// shown is how long a token is still good, for people.
func shown(until, now time.Time) string {
	if !until.After(now) {
		return "expired"
	}
	return until.Sub(now).Round(time.Minute).String()
}
