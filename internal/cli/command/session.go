package command

import (
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/login"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

func (c *Console) home() (string, error) { return settings.Home(c.Env.Getenv) }

// ConfigFile returns the path of the configuration file.
func (c *Console) ConfigFile() (string, error) { return settings.File(c.Env.Getenv) }

// Settings reads the settings.
func (c *Console) Settings() (settings.Settings, error) {
	return settings.Load(c.Options, c.Env.Getenv)
}

// Opener returns an opener of sign-ins.
func (c *Console) Opener() *login.Opener {
	return &login.Opener{Getenv: c.Env.Getenv, Now: c.Env.Now, Home: c.home, Stderr: c.Env.Stderr, Notice: c.Notice}
}

// Session is a connection to the API.
type Session struct {
	Settings settings.Settings
	Client   *apiclient.Client
}

// Session connects to the API of the settings with the authentication method of the settings.
func (c *Console) Session() (*Session, error) {
	all, err := c.Settings()
	if err != nil {
		return nil, err
	}
	if all.Get("api-url") == "" {
		return nil, &exit.Error{Status: exit.WrongUsage, Text: "the address of the admin API is not set", Hint: "Set it: matoolkit config set api-url <address>\n" + settings.LocalHint}
	}
	web, err := login.HTTPClient(all)
	if err != nil {
		return nil, err
	}
	token := c.Env.Token
	if token == nil {
		if token, err = c.Opener().Tokens(all, web); err != nil {
			return nil, err
		}
	}
	client, err := apiclient.New(apiclient.Config{BaseURL: all.Get("api-url"), Token: token, HTTP: render.Watched(web), Wait: c.Env.Wait})
	if err != nil {
		return nil, exit.Usage(err)
	}
	return &Session{Settings: all, Client: client}, nil
}
