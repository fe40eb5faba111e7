package login

import (
	"context"
	"net/http"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
)

// HTTPClient is the client for the admin API and Entra ID.
func HTTPClient(all settings.Settings) (*http.Client, error) {
	web, err := tlsroots.HTTPClient(all.Get("ca-file"))
	if err != nil {
		return nil, exit.Usage(err)
	}
	return web, nil
}

// Tokens gives tokens in the way that the settings name.
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

// savedToken gives tokens from what the last sign-in left. The account is looked up
// once, on the first request.
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

// SignInHint says how to sign in.
const SignInHint = "Sign in with: matoolkit auth login"
