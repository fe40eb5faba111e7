package entra

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// Ways in which a client proves who it is: the azpacr or appidacr claim.
const (
	provedByNothing     = "0" // a public client
	provedBySecret      = "1"
	provedByCertificate = "2"
)

// authenticate finds the client of a request and checks its credential.
func (s *Server) authenticate(t Tenant, form url.Values) (client Application, proof string, _ *refusal) {
	id := form.Get("client_id")
	if id == "" {
		return Application{}, "", missingParameter("client_id")
	}
	client, ok := t.application(id)
	if !ok {
		return Application{}, "", badRequest("unauthorized_client", 700016,
			"Application with identifier '%s' was not found in the directory '%s'.", id, t.ID)
	}
	client = s.credentials.current(t, client)
	secret, assertion := form.Get("client_secret"), form.Get("client_assertion")
	switch {
	case client.Public && (secret != "" || assertion != ""):
		return client, "", badClient(700025,
			"Client is public so neither 'client_assertion' nor 'client_secret' should be presented.")
	case client.Public:
		return client, provedByNothing, nil
	case assertion != "":
		return client, provedByCertificate, s.checkAssertion(t, client, form)
	case secret != "":
		if !client.hasSecret(secret) {
			return client, "", badClient(7000215,
				"Invalid client secret provided for app '%s'. The secret's value is expected, not its ID.", client.ClientID)
		}
		return client, provedBySecret, nil
	case form.Get("grant_type") == "client_credentials":
		return client, "", badClient(7000216,
			"'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' grant type.")
	default:
		return client, "", badClient(7000218,
			"The request body must contain the following parameter: 'client_assertion' or 'client_secret'.")
	}
}

func (a Application) hasSecret(secret string) bool {
	presented := sha256.Sum256([]byte(secret))
	found := 0
	for _, known := range a.Secrets {
		sum := sha256.Sum256([]byte(known))
		found |= subtle.ConstantTimeCompare(presented[:], sum[:])
	}
	return found == 1
}

// checkAssertion verifies the JWT that a client signs with its certificate's
// key, as described in
// https://learn.microsoft.com/entra/identity-platform/certificate-credentials.
// Stricter than the real service, it takes a jti only once.
func (s *Server) checkAssertion(t Tenant, client Application, form url.Values) *refusal {
	if form.Get("client_assertion_type") != assertionType {
		return badRequest("invalid_request", 900144,
			"The request body must contain the following parameter: 'client_assertion_type' with the value %s.", assertionType)
	}
	var claims jwt.RegisteredClaims
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{"PS256", "RS256"}),
		jwt.WithTimeFunc(s.config.Now),
		jwt.WithLeeway(5*time.Minute),
		jwt.WithExpirationRequired(),
	)
	_, err := parser.ParseWithClaims(form.Get("client_assertion"), &claims, func(token *jwt.Token) (any, error) {
		certificate, ok := client.certificate(token.Header)
		if !ok {
			return nil, errors.New("the certificate's thumbprint is not registered")
		}
		if now := s.config.Now(); now.After(certificate.NotAfter) || now.Before(certificate.NotBefore) {
			return nil, errors.New("the certificate is not within its validity period")
		}
		return certificate.PublicKey, nil
	})
	switch {
	case errors.Is(err, jwt.ErrTokenExpired), errors.Is(err, jwt.ErrTokenNotValidYet):
		return badClient(700024, "Client assertion is not within its valid time range.")
	case errors.Is(err, jwt.ErrTokenInvalidClaims):
		return badClient(50027, "JWT token is invalid or malformed: %v.", err)
	case errors.Is(err, jwt.ErrTokenMalformed):
		return badClient(50027, "JWT token is invalid or malformed.")
	case err != nil:
		return badClient(700027, "The certificate with which the client assertion was signed is not accepted for app '%s': %v.", client.ClientID, err)
	case !strings.EqualFold(claims.Issuer, client.ClientID) || !strings.EqualFold(claims.Subject, client.ClientID):
		return badClient(700021, "Client assertion application identifier doesn't match 'client_id' parameter.")
	case len(claims.Audience) != 1 || claims.Audience[0] != s.tokenEndpoint(t) && claims.Audience[0] != s.issuer(t, 2):
		return badClient(700023, "Client assertion audience claim does not match Realm issuer.")
	case claims.ID == "":
		return badClient(50027, "JWT token is invalid or malformed: it has no jti.")
	case !s.assertions.first(client.ClientID+" "+claims.ID, claims.ExpiresAt.Time):
		return badClient(50027, "JWT token is invalid or malformed: its jti was used before.")
	}
	return nil
}

// certificate finds the registered certificate that a header's thumbprint names.
func (a Application) certificate(header map[string]any) (*x509.Certificate, bool) {
	sha256Print, _ := header["x5t#S256"].(string)
	sha1Print, _ := header["x5t"].(string)
	for _, certificate := range a.Certificates {
		if sha256Print != "" {
			if sum := sha256.Sum256(certificate.Raw); string(decodeThumbprint(sha256Print)) == string(sum[:]) {
				return certificate, true
			}
			continue
		}
		if sum := sha1.Sum(certificate.Raw); sha1Print != "" && string(decodeThumbprint(sha1Print)) == string(sum[:]) {
			return certificate, true
		}
	}
	return nil, false
}

// decodeThumbprint takes both base64 alphabets, padded or not: the standard
// says base64url, MSAL for Go sends padded standard base64.
func decodeThumbprint(text string) []byte {
	text = strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(text)
	sum, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return sum
}

// usedAssertions remembers assertions until they expire.
type usedAssertions struct {
	now func() time.Time

	mu      sync.Mutex
	expires map[string]time.Time
}

func newUsedAssertions(now func() time.Time) *usedAssertions {
	return &usedAssertions{now: now, expires: map[string]time.Time{}}
}

// first reports whether id is new. Entries outlive exp by the leeway that the
// assertion itself is given.
func (u *usedAssertions) first(id string, exp time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for known, expires := range u.expires {
		if expires.Before(u.now()) {
			delete(u.expires, known)
		}
	}
	if _, used := u.expires[id]; used {
		return false
	}
	u.expires[id] = exp.Add(5 * time.Minute)
	return true
}
