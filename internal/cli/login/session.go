package login

import (
	"context"
	"net/http"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
)

// HTTPClient returns the client for the admin API and Entra ID.
func HTTPClient(all settings.Settings) (*http.Client, error) {
	web, err := tlsroots.HTTPClient(all.Get("ca-file"))
	if err != nil {
		return nil, exit.Usage(err)
	}
	return web, nil
}

// Tokens returns a source of tokens with the authentication method of the settings.
func (c *Opener) Tokens(all settings.Settings, web *http.Client) (func(context.Context) (string, error), error) {
	if all.Get("auth") == settings.DeviceCode {
		return c.savedToken(all, web), nil
	}
	u, err := c.OpenUnattended(all, web)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		token, _, err := u.token(ctx)
		return token, err
	}, nil
}

// savedToken returns a source of tokens of the kept sign-in, which it reads on the first request.
func (c *Opener) savedToken(all settings.Settings, web *http.Client) func(context.Context) (string, error) {
	var saved *SignIn
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

// SignInHint is the hint of errors without a sign-in.
const SignInHint = "Sign in: matoolkit auth login"
