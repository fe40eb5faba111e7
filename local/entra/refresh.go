package entra

import (
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// The lifetimes of refresh tokens in the real service: after the last use, and for a single-page
// application after the sign-in, which no use extends.
const (
	refreshLifetime    = 90 * 24 * time.Hour
	spaRefreshLifetime = 24 * time.Hour
)

// refreshClaims are the content of a refresh token. The token carries its own
// state, sealed with a key that DataDir keeps, so sign-ins outlive a restart
// without a table of them. To clients it is opaque.
type refreshClaims struct {
	jwt.RegisteredClaims
	Tenant string `json:"tid"`
	Client string `json:"client"`
	User   string `json:"upn"`
	Scope  string `json:"scope"`
	SPA    bool   `json:"spa,omitempty"`
}

// refreshToken returns a refresh token and how long it is good.
func (s *Server) refreshToken(g grant) (string, time.Duration, error) {
	now := s.config.Now()
	until := now.Add(refreshLifetime)
	if g.spa {
		until = g.until
		if until.IsZero() {
			until = now.Add(spaRefreshLifetime)
		}
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, refreshClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			ID:        uuid.NewString(),
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(until),
		},
		Tenant: g.tenant.ID,
		Client: g.client.ClientID,
		User:   g.user.UPN,
		Scope:  g.scope.text,
		SPA:    g.spa,
	}).SignedString(s.refreshKey)
	return token, until.Sub(now), err
}

// grantByRefreshToken accepts a token again and again, as the real service
// does; each use answers with a fresh one. Another resource than the first may
// be asked for.
func (s *Server) grantByRefreshToken(g grant, origin, token, scope string) (grant, *refusal) {
	if token == "" {
		return g, missingParameter("refresh_token")
	}
	var claims refreshClaims
	_, err := jwt.ParseWithClaims(token, &claims,
		func(*jwt.Token) (any, error) { return s.refreshKey, nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithTimeFunc(s.config.Now), jwt.WithExpirationRequired())
	switch {
	case errors.Is(err, jwt.ErrTokenExpired) && claims.SPA:
		return g, badRequest("invalid_grant", 700084, "The refresh token was issued to a single page app (SPA), and therefore has a fixed, limited lifetime of 1.00:00:00, which can't be extended.")
	case errors.Is(err, jwt.ErrTokenExpired):
		return g, badRequest("invalid_grant", 700082, "The refresh token has expired due to inactivity.")
	case err != nil:
		return g, badRequest("invalid_grant", 9002313, "Invalid request. The refresh token is malformed or was not issued here.")
	case claims.Tenant != g.tenant.ID || claims.Client != g.client.ClientID:
		return g, badRequest("invalid_grant", 70000, "Provided grant is invalid: the refresh token was issued to another client or tenant.")
	}
	if refusal := checkOrigin(g.client, origin, claims.SPA); refusal != nil {
		return g, refusal
	}
	if g.spa = claims.SPA; g.spa {
		g.until = claims.ExpiresAt.Time
	}
	if scope == "" {
		scope = claims.Scope
	}
	return s.grantToUser(g, claims.User, scope)
}
