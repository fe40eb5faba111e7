package entra

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Claims are the claims of an access token that a resource reads.
type Claims struct {
	TenantID string
	// ClientID is the application that asked for the token.
	ClientID string
	// ObjectID is the user, or the service principal of an application.
	ObjectID string
	// UPN is empty for an application.
	UPN string
	// Roles are the app roles on the resource, Scopes the delegated permissions.
	Roles  []string
	Scopes []string
}

type accessClaims struct {
	jwt.RegisteredClaims
	TenantID          string   `json:"tid"`
	AppID             string   `json:"appid"`
	Azp               string   `json:"azp"`
	ObjectID          string   `json:"oid"`
	UPN               string   `json:"upn"`
	PreferredUsername string   `json:"preferred_username"`
	Roles             []string `json:"roles"`
	Scope             string   `json:"scp"`
}

// VerifyToken is the check that a resource makes of an access token: signed
// here, for a tenant of ours, within its time, and for the resource that
// audience identifies. The local services take it as their verifier.
func (s *Server) VerifyToken(token, audience string) error {
	_, err := s.VerifyClaims(token, audience)
	return err
}

// VerifyClaims is VerifyToken that also says who the caller is.
func (s *Server) VerifyClaims(token, audience string) (Claims, error) {
	var claims accessClaims
	_, err := jwt.ParseWithClaims(token, &claims, func(token *jwt.Token) (any, error) {
		id, _ := token.Header["kid"].(string)
		key, ok := s.keysOf(claims.TenantID).public(id)
		if !ok {
			return nil, fmt.Errorf("no published key has the ID %q", id)
		}
		return key, nil
	}, jwt.WithValidMethods([]string{"RS256"}), jwt.WithTimeFunc(s.config.Now),
		jwt.WithLeeway(time.Minute), jwt.WithExpirationRequired())
	if err != nil {
		return Claims{}, err
	}
	tenant, ok := s.config.tenant(claims.TenantID)
	if !ok || claims.Issuer != s.issuer(tenant, 1) && claims.Issuer != s.issuer(tenant, 2) {
		return Claims{}, fmt.Errorf("the token's issuer %q is not one of tenant %q", claims.Issuer, claims.TenantID)
	}
	resource, ok := tenant.resource(audience)
	if !ok {
		return Claims{}, fmt.Errorf("tenant %s has no resource %q", tenant.ID, audience)
	}
	if len(claims.Audience) != 1 || !resource.answersTo(claims.Audience[0]) {
		return Claims{}, fmt.Errorf("the token is for %q, not for %q", strings.Join(claims.Audience, " "), audience)
	}
	if claims.ObjectID == "" {
		return Claims{}, errors.New("the token has no subject")
	}
	return Claims{
		TenantID: claims.TenantID,
		ClientID: claims.AppID + claims.Azp, // version 1 has the one, version 2 the other
		ObjectID: claims.ObjectID,
		UPN:      claims.UPN + claims.PreferredUsername,
		Roles:    claims.Roles,
		Scopes:   strings.Fields(claims.Scope),
	}, nil
}
