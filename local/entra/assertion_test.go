package entra_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// assertionRequest is a token request with an assertion that can be spoiled.
type assertionRequest struct {
	method jwt.SigningMethod
	header map[string]any
	claims jwt.MapClaims
	key    any
	kind   string
}

func newAssertion(server *entra.Server, clock *testenv.Clock, certificate *x509.Certificate, key any) *assertionRequest {
	sum := sha256.Sum256(certificate.Raw)
	return &assertionRequest{
		method: jwt.SigningMethodPS256,
		header: map[string]any{"x5t#S256": base64.RawURLEncoding.EncodeToString(sum[:])},
		claims: jwt.MapClaims{
			"aud": server.URL() + tokenPath,
			"iss": entra.DefaultWorkerClientID,
			"sub": entra.DefaultWorkerClientID,
			"jti": "first",
			"nbf": clock.Now().Unix(),
			"exp": clock.Now().Add(10 * time.Minute).Unix(),
		},
		key:  key,
		kind: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
	}
}

func (a *assertionRequest) send(t *testing.T, server *entra.Server) answer {
	t.Helper()
	token := jwt.NewWithClaims(a.method, a.claims)
	for name, value := range a.header {
		token.Header[name] = value
	}
	signed := testenv.Must(token.SignedString(a.key))(t)
	return post(t, server, tokenPath, "grant_type", "client_credentials", "client_id", entra.DefaultWorkerClientID,
		"client_assertion_type", a.kind, "client_assertion", signed, "scope", graphScope)
}

func TestClientAssertions(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock()
	key, certificate := newCertificate(t, clock.Now().Add(-time.Hour), clock.Now().Add(time.Hour))
	strangeKey, strange := newCertificate(t, clock.Now().Add(-time.Hour), clock.Now().Add(time.Hour))
	_, outdated := newCertificate(t, clock.Now().Add(-2*time.Hour), clock.Now().Add(-time.Hour))

	for name, c := range map[string]struct {
		spoil func(*assertionRequest)
		code  int // 0: accepted
	}{
		"as MSAL sends it":         {func(*assertionRequest) {}, 0},
		"for the issuer":           {func(a *assertionRequest) { a.claims["aud"] = issuerOf(a.claims["aud"].(string)) }, 0},
		"SHA-1 thumbprint, RS256":  {func(a *assertionRequest) { a.method, a.header = jwt.SigningMethodRS256, sha1Header(certificate) }, 0},
		"padded standard base64":   {func(a *assertionRequest) { a.header = paddedHeader(certificate) }, 0},
		"another assertion type":   {func(a *assertionRequest) { a.kind = "saml" }, 900144},
		"unknown thumbprint":       {func(a *assertionRequest) { a.header = paddedHeader(strange) }, 700027},
		"no thumbprint":            {func(a *assertionRequest) { a.header = nil }, 700027},
		"signed with another key":  {func(a *assertionRequest) { a.key = strangeKey }, 700027},
		"an outdated certificate":  {func(a *assertionRequest) { a.header = paddedHeader(outdated) }, 700027},
		"signed with a secret":     {func(a *assertionRequest) { a.method, a.key = jwt.SigningMethodHS256, certificate.Raw }, 700027},
		"not signed":               {func(a *assertionRequest) { a.method, a.key = jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType }, 700027},
		"expired":                  {func(a *assertionRequest) { a.claims["exp"] = clock.Now().Add(-10 * time.Minute).Unix() }, 700024},
		"not valid yet":            {func(a *assertionRequest) { a.claims["nbf"] = clock.Now().Add(10 * time.Minute).Unix() }, 700024},
		"no expiry":                {func(a *assertionRequest) { delete(a.claims, "exp") }, 50027},
		"no ID":                    {func(a *assertionRequest) { delete(a.claims, "jti") }, 50027},
		"for another service":      {func(a *assertionRequest) { a.claims["aud"] = "https://login.microsoftonline.com/common" }, 700023},
		"by another client":        {func(a *assertionRequest) { a.claims["iss"] = entra.DefaultCLIClientID }, 700021},
		"on behalf of another one": {func(a *assertionRequest) { a.claims["sub"] = entra.DefaultCLIClientID }, 700021},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := withCertificate(certificate, outdated)
			config.Now = clock.Now
			server := start(t, config)
			request := newAssertion(server, clock, certificate, key)
			c.spoil(request)
			a := request.send(t, server)
			if c.code == 0 {
				if a.status != 200 || a.AccessToken == "" {
					t.Errorf("refused: %+v", a)
				}
				return
			}
			if len(a.Codes) != 1 || a.Codes[0] != c.code {
				t.Errorf("got %+v, want AADSTS%d", a, c.code)
			}
		})
	}
}

func TestAnAssertionIsGoodOnce(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock()
	key, certificate := newCertificate(t, clock.Now().Add(-time.Hour), clock.Now().Add(time.Hour))
	config := withCertificate(certificate)
	config.Now = clock.Now
	server := start(t, config)
	request := newAssertion(server, clock, certificate, key)
	if a := request.send(t, server); a.status != 200 {
		t.Fatalf("%+v", a)
	}
	if a := request.send(t, server); a.status != 401 || a.Codes[0] != 50027 {
		t.Errorf("replayed: %+v", a)
	}
	clock.Advance(14 * time.Minute) // past exp, within the leeway
	if a := request.send(t, server); a.status != 401 {
		t.Errorf("replayed late: %+v", a)
	}
	request.claims["jti"] = "second"
	if a := request.send(t, server); a.status != 200 {
		t.Errorf("the next one: %+v", a)
	}
}

func issuerOf(tokenEndpoint string) string {
	return tokenEndpoint[:len(tokenEndpoint)-len("/oauth2/v2.0/token")] + "/v2.0"
}

func sha1Header(certificate *x509.Certificate) map[string]any {
	sum := sha1.Sum(certificate.Raw)
	return map[string]any{"x5t": base64.RawURLEncoding.EncodeToString(sum[:])}
}

func paddedHeader(certificate *x509.Certificate) map[string]any {
	sum := sha256.Sum256(certificate.Raw)
	return map[string]any{"x5t#S256": base64.StdEncoding.EncodeToString(sum[:])}
}
