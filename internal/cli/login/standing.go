package login

import (
	"cmp"
	"context"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

// Standing is the result of auth status. Username, TenantID, ApplicationID and Roles are the
// claims of the token that the API reads.
type Standing struct {
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

// standingOf reads the claims of a token. It does not verify the token: the API does.
func standingOf(method, store, token string, until time.Time) Standing {
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
	_, _, _ = jwt.NewParser().ParseUnverified(token, &claims) // a token of another form has no claims
	return Standing{
		SignedIn: true, Method: method, Store: store, ExpiresOn: &until,
		Username: cmp.Or(claims.PreferredUsername, claims.Name, claims.ObjectID),
		TenantID: claims.TenantID, ApplicationID: cmp.Or(claims.Azp, claims.AppID), Roles: claims.Roles,
	}
}

// Standing requests a token with the method of the settings and returns its claims.
func (c *Opener) Standing(ctx context.Context, all settings.Settings) (Standing, error) {
	web, err := HTTPClient(all)
	if err != nil {
		return Standing{}, err
	}
	method := all.Get("auth")
	if method != settings.DeviceCode {
		u, err := c.OpenUnattended(all, web)
		if err != nil {
			return Standing{Method: method}, err
		}
		token, until, err := u.token(ctx)
		if err != nil {
			return Standing{Method: method}, err
		}
		return standingOf(method, "", token, until), nil
	}
	s, err := c.openSignIn(all, web)
	if err != nil {
		return Standing{Method: method}, err
	}
	return s.Standing(ctx)
}

// Standing requests a token and returns its claims.
func (s *SignIn) Standing(ctx context.Context) (Standing, error) {
	token, until, err := s.token(ctx)
	if err != nil {
		return Standing{Method: settings.DeviceCode}, err
	}
	return standingOf(settings.DeviceCode, s.Store, token, until).of(s.account), nil
}

// of adds the account of the sign-in.
func (s Standing) of(a account) Standing {
	s.Username, s.TenantID = a.Username, a.TenantID
	return s
}
