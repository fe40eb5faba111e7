package entra

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

const (
	tokenLifetime = time.Hour
	// backdated is how far before its issue a token starts to be valid, as in
	// the real service: clocks differ.
	backdated = 5 * time.Minute
)

// grant holds the subject, application and permissions of a token. user is nil for an application's own token.
type grant struct {
	tenant      Tenant
	client      Application
	proof       string
	user        *User
	scope       scopeRequest
	permissions []string // delegated
	clientInfo  bool
	nonce       string    // of the request that the ID token answers
	spa         bool      // the client is a single-page application
	until       time.Time // when the refresh tokens of a single-page application end; zero: not yet known
}

func (g grant) userName() string {
	if g.user == nil {
		return ""
	}
	return g.user.UPN
}

// tokenAnswer is the body of a successful token request.
func (s *Server) tokenAnswer(g grant) (map[string]any, error) {
	access, err := s.accessToken(g)
	if err != nil {
		return nil, err
	}
	seconds := int(tokenLifetime.Seconds()) - 1
	answer := map[string]any{
		"token_type":     "Bearer",
		"expires_in":     seconds,
		"ext_expires_in": seconds,
		"access_token":   access,
	}
	if g.user == nil {
		return answer, nil
	}
	answer["scope"] = g.scope.granted(g.permissions)
	if g.scope.openID {
		if answer["id_token"], err = s.IssueToken(s.idClaims(g)); err != nil {
			return nil, err
		}
	}
	if g.scope.offline {
		var lifetime time.Duration
		if answer["refresh_token"], lifetime, err = s.refreshToken(g); err != nil {
			return nil, err
		}
		if g.spa {
			answer["refresh_token_expires_in"] = int(lifetime.Seconds())
		}
	}
	if g.clientInfo {
		answer["client_info"] = clientInfo(g.tenant, *g.user)
	}
	return answer, nil
}

func (s *Server) accessToken(g grant) (string, error) {
	resource := g.scope.resource
	claims := s.commonClaims(g, resource.TokenVersion)
	if resource.TokenVersion == 1 {
		claims["aud"] = g.scope.audience
		claims["appid"] = g.client.ClientID
		claims["appidacr"] = g.proof
	} else {
		claims["aud"] = resource.ClientID
		claims["azp"] = g.client.ClientID
		claims["azpacr"] = g.proof
	}
	if g.user == nil {
		claims["oid"] = g.client.ObjectID
		claims["sub"] = g.client.ObjectID
		claims["idtyp"] = "app"
		setRoles(claims, g.client.Roles[resource.ClientID])
		return s.IssueToken(claims)
	}
	s.setUser(claims, *g.user, resource.ClientID, resource.TokenVersion)
	claims["scp"] = strings.Join(g.permissions, " ")
	setRoles(claims, g.user.Roles[resource.ClientID])
	return s.IssueToken(claims)
}

func (s *Server) idClaims(g grant) map[string]any {
	claims := s.commonClaims(g, 2)
	claims["aud"] = g.client.ClientID
	s.setUser(claims, *g.user, g.client.ClientID, 2)
	if g.nonce != "" {
		claims["nonce"] = g.nonce
	}
	return claims
}

func (s *Server) commonClaims(g grant, version int) map[string]any {
	now := s.config.Now()
	return map[string]any{
		"iss": s.issuer(g.tenant, version),
		"tid": g.tenant.ID,
		"ver": fmt.Sprintf("%d.0", version),
		"iat": now.Add(-backdated).Unix(),
		"nbf": now.Add(-backdated).Unix(),
		"exp": now.Add(tokenLifetime).Unix(),
		"uti": uuid.NewString(),
	}
}

// setUser adds who the user is. sub differs from resource to resource, so that
// no two of them can compare notes.
func (s *Server) setUser(claims map[string]any, user User, resource string, version int) {
	pair := sha256.Sum256([]byte(user.ObjectID + " " + resource))
	claims["sub"] = base64.RawURLEncoding.EncodeToString(pair[:])
	claims["oid"] = user.ObjectID
	claims["name"] = user.Name
	if version == 1 {
		claims["upn"] = user.UPN
		claims["unique_name"] = user.UPN
		return
	}
	claims["preferred_username"] = user.UPN
}

func setRoles(claims map[string]any, roles []string) {
	if len(roles) > 0 {
		claims["roles"] = roles
	}
}

// IssueToken signs exactly these claims with the current key of the tenant that tid
// names. It checks nothing: tests make tokens with it that the endpoints would never
// issue.
func (s *Server) IssueToken(claims map[string]any) (string, error) {
	tenant, _ := claims["tid"].(string)
	return s.IssueTokenOf(tenant, claims)
}

// IssueTokenOf is IssueToken with the key of this tenant, even when the claims name another.
func (s *Server) IssueTokenOf(tenantID string, claims map[string]any) (string, error) {
	key := s.keysOf(tenantID).current()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims(claims))
	token.Header["kid"] = key.id
	signed, err := token.SignedString(key.private)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return signed, nil
}

// IssueUserToken returns the access token that the user with this user
// principal name gets for scope through the first public client of their
// tenant, without the device code flow.
func (s *Server) IssueUserToken(upn, scope string) (string, error) {
	tenant, _, ok := s.config.userByUPN(upn)
	if !ok {
		return "", fmt.Errorf("no tenant has a user %q", upn)
	}
	for _, client := range tenant.Applications {
		if client.Public {
			g, refusal := s.grantToUser(grant{tenant: tenant, client: client, proof: provedByNothing}, upn, scope)
			if refusal != nil {
				return "", refusal
			}
			return s.accessToken(g)
		}
	}
	return "", errors.New("the user's tenant has no public client")
}

// IssueAppToken returns the access token that the client gets for scope by
// client credentials, without asking for its credential.
func (s *Server) IssueAppToken(clientID, scope string) (string, error) {
	for _, tenant := range s.config.Tenants {
		if client, ok := tenant.application(clientID); ok {
			g, refusal := s.grantToApplication(grant{tenant: tenant, client: client, proof: provedBySecret}, scope)
			if refusal != nil {
				return "", refusal
			}
			return s.accessToken(g)
		}
	}
	return "", fmt.Errorf("no tenant has an application %q", clientID)
}
