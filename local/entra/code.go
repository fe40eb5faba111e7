package entra

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"slices"
	"sync"
	"time"
)

// codeLifetime is how long a code can be redeemed.
const codeLifetime = 10 * time.Minute

// authorizationCode is a sign-in in a browser that waits for its client.
type authorizationCode struct {
	code        string
	tenantID    string
	clientID    string
	redirectURI string
	challenge   string // S256 of the verifier
	scope       string
	nonce       string
	upn         string
	expires     time.Time
	redeemed    bool
}

// authorizationCodes are the codes that were issued. Safe for concurrent use.
type authorizationCodes struct {
	now   func() time.Time
	mu    sync.Mutex
	codes []*authorizationCode
}

func newAuthorizationCodes(now func() time.Time) *authorizationCodes {
	return &authorizationCodes{now: now}
}

// issue keeps a sign-in and returns its code.
func (a *authorizationCodes) issue(c authorizationCode) string {
	c.code = rand.Text() + rand.Text()
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	c.expires = now.Add(codeLifetime)
	// An expired code is kept for as long again, to say that it expired.
	a.codes = slices.DeleteFunc(a.codes, func(known *authorizationCode) bool { return !now.Before(known.expires.Add(codeLifetime)) })
	a.codes = append(a.codes, &c)
	return c.code
}

// redeem checks what the client sends with a code. A code is good for one answer, and a wrong request
// does not use it up.
func (a *authorizationCodes) redeem(tenantID, clientID string, form url.Values) (authorizationCode, *refusal) {
	for _, name := range []string{"code", "redirect_uri", "code_verifier"} {
		if form.Get(name) == "" {
			return authorizationCode{}, missingParameter(name)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.codes, func(known *authorizationCode) bool {
		return subtle.ConstantTimeCompare([]byte(known.code), []byte(form.Get("code"))) == 1
	})
	if i < 0 {
		return authorizationCode{}, badRequest("invalid_grant", 9002313, "Invalid request. The code is malformed or was not issued here.")
	}
	switch c := a.codes[i]; {
	case c.tenantID != tenantID || c.clientID != clientID:
		return *c, badRequest("invalid_grant", 70000, "Provided grant is invalid: the code was issued to another client or tenant.")
	case !a.now().Before(c.expires):
		return *c, badRequest("invalid_grant", 70008, "The provided authorization code has expired. Send a new interactive authorization request.")
	case c.redeemed:
		return *c, badRequest("invalid_grant", 54005, "OAuth2 Authorization code was already redeemed, please retry with a new valid code.")
	case form.Get("redirect_uri") != c.redirectURI:
		return *c, badRequest("invalid_client", 500112, "The reply address '%s' does not match the reply address '%s' provided when requesting Authorization code.", form.Get("redirect_uri"), c.redirectURI)
	case subtle.ConstantTimeCompare([]byte(challengeOf(form.Get("code_verifier"))), []byte(c.challenge)) != 1:
		return *c, badRequest("invalid_grant", 501481, "The Code_Verifier does not match the code_challenge supplied in the authorization request.")
	default:
		c.redeemed = true
		return *c, nil
	}
}

// challengeOf returns the S256 challenge of a verifier.
func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// grantByCode completes a sign-in in a browser. Only pages have redirect URIs here.
func (s *Server) grantByCode(g grant, origin string, form url.Values) (grant, *refusal) {
	if refusal := checkOrigin(g.client, origin, true); refusal != nil {
		return g, refusal
	}
	c, refusal := s.codes.redeem(g.tenant.ID, g.client.ClientID, form)
	if refusal != nil {
		return g, refusal
	}
	g.spa, g.nonce = true, c.nonce
	return s.grantToUser(g, c.upn, c.scope)
}
