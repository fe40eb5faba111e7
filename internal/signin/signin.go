// Package signin tells who calls the admin API: it verifies the access token
// of Entra ID in the Authorization header and reads the caller's identity from
// it. It knows nothing of routes, of HTTP answers or of what a role may do
// beyond its name.
package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// RoleAdmin is the app role that may change things.
const RoleAdmin = "Admin"

// maxTokenBytes bounds what is parsed at all. Entra ID stays below 16 KB.
const maxTokenBytes = 32 << 10

// Config names the application that tokens must be for.
type Config struct {
	// Instance is the authority, e.g. https://login.microsoftonline.com/.
	Instance string
	// TenantID is the GUID of the tenant; tokens of any other are refused.
	TenantID string
	// ClientID is the GUID of the admin API's app registration.
	ClientID string
	// Audience is its Application ID URI; default api://{ClientID}. Tokens of
	// version 1 carry it, those of version 2 the bare client ID: both are taken.
	Audience string
	// HTTPClient fetches keys; default http.DefaultClient.
	HTTPClient *http.Client
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Skew is how far clocks may differ; default one minute.
	Skew time.Duration
}

// Identity is a caller whose token was verified.
type Identity struct {
	// Name is what records of the caller's deeds show: preferred_username,
	// else name, else the object ID, else "system".
	Name     string
	ObjectID string
	TenantID string
	// Roles are the app roles that the caller was assigned.
	Roles []string
	// IsApp is set for an application that called on its own behalf.
	IsApp bool
}

// Admin reports whether the caller may change things.
func (i Identity) Admin() bool { return slices.Contains(i.Roles, RoleAdmin) }

// Verifier verifies access tokens. It is safe for concurrent use.
type Verifier struct {
	config Config
	keys   *keyStore
	keyFor keyfunc.Keyfunc
	parser *jwt.Parser
}

// New checks the configuration and returns at once: the keys are fetched when
// the first token arrives, so an identity provider that is down does not keep
// the process from starting. No fetch outlives ctx.
func New(ctx context.Context, config Config) (*Verifier, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("sign-in: %w", err)
	}
	store := newKeyStore(ctx, config)
	keyFor, err := keyfunc.New(keyfunc.Options{Ctx: ctx, Storage: store})
	if err != nil {
		return nil, fmt.Errorf("sign-in: %w", err)
	}
	return &Verifier{
		config: config,
		keys:   store,
		keyFor: keyFor,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}),
			jwt.WithTimeFunc(config.Now),
			jwt.WithLeeway(config.Skew),
			jwt.WithExpirationRequired(),
			jwt.WithNotBeforeRequired(),
		),
	}, nil
}

func (c Config) complete() (Config, error) {
	u, err := url.Parse(c.Instance)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return Config{}, fmt.Errorf("instance %q is not an https URL", c.Instance)
	}
	c.Instance = strings.TrimSuffix(c.Instance, "/")
	if uuid.Validate(c.TenantID) != nil {
		return Config{}, fmt.Errorf("tenant ID %q is not a GUID", c.TenantID)
	}
	c.TenantID = strings.ToLower(c.TenantID)
	if uuid.Validate(c.ClientID) != nil {
		return Config{}, fmt.Errorf("client ID %q is not a GUID", c.ClientID)
	}
	if c.Audience == "" {
		c.Audience = "api://" + c.ClientID
	}
	if c.HTTPClient == nil {
		c.HTTPClient = http.DefaultClient
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Skew == 0 {
		c.Skew = time.Minute
	}
	return c, nil
}

// claims are those that Entra ID puts into access tokens, see
// https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference.
type claims struct {
	jwt.RegisteredClaims
	TenantID          string   `json:"tid"`
	ObjectID          string   `json:"oid"`
	PreferredUsername string   `json:"preferred_username"`
	Name              string   `json:"name"`
	Roles             []string `json:"roles"`
	Scope             string   `json:"scp"`
	IdentityType      string   `json:"idtyp"`
}

// Verify returns the caller's identity, given the value of the Authorization
// header. Its error is an *Error.
func (v *Verifier) Verify(ctx context.Context, authorizationHeader string) (Identity, error) {
	token, err := bearer(authorizationHeader)
	if err != nil {
		return Identity{}, err
	}
	var c claims
	if _, err := v.parser.ParseWithClaims(token, &c, v.key(ctx)); err != nil {
		return Identity{}, refusal(err)
	}
	if err := v.check(c); err != nil {
		return Identity{}, err
	}
	return c.identity(), nil
}

// bearer takes the token out of the header. The scheme is compared without
// regard to case (RFC 9110, section 11.1).
func bearer(header string) (string, error) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(header), " ")
	token = strings.TrimSpace(token)
	switch {
	case header == "", !strings.EqualFold(scheme, "Bearer"), token == "":
		return "", &Error{Kind: ErrMissing, Reason: "a bearer token is required"}
	case len(token) > maxTokenBytes:
		return "", invalid("the token is too long", nil)
	}
	return token, nil
}

// key finds the key that a token says it was signed with. A token that names
// none is refused, rather than tried against every key.
func (v *Verifier) key(ctx context.Context) jwt.Keyfunc {
	return func(token *jwt.Token) (any, error) {
		if id, _ := token.Header["kid"].(string); id == "" {
			return nil, errors.New("the header names no key")
		}
		return v.keyFor.KeyfuncCtx(ctx)(token)
	}
}

// check holds a token whose signature is good to our tenant and application.
func (v *Verifier) check(c claims) error {
	switch {
	case !slices.Contains(v.keys.issuers(), c.Issuer):
		return invalid("the token was issued by another tenant", fmt.Errorf("issuer %q", c.Issuer))
	case !strings.EqualFold(c.TenantID, v.config.TenantID):
		return invalid("the token was issued by another tenant", fmt.Errorf("tid %q", c.TenantID))
	case len(c.Audience) != 1 || !v.isAudience(c.Audience[0]):
		return invalid("the token is for another application", fmt.Errorf("aud %q", c.Audience))
	case c.Scope == "" && len(c.Roles) == 0:
		// Any application of the tenant can get a token for any API. Only an
		// assigned role, or a user's consent, makes it a token for this one.
		return &Error{Kind: ErrForbidden, Reason: "the token carries neither a scope nor a role of this application"}
	}
	return nil
}

func (v *Verifier) isAudience(audience string) bool {
	return strings.EqualFold(audience, v.config.ClientID) ||
		strings.EqualFold(audience, "api://"+v.config.ClientID) ||
		strings.EqualFold(strings.TrimSuffix(audience, "/"), strings.TrimSuffix(v.config.Audience, "/"))
}

func (c claims) identity() Identity {
	name := "system"
	for _, candidate := range []string{c.PreferredUsername, c.Name, c.ObjectID} {
		if candidate != "" {
			name = candidate
			break
		}
	}
	return Identity{
		Name:     name,
		ObjectID: c.ObjectID,
		TenantID: c.TenantID,
		Roles:    c.Roles,
		// idtyp is an optional claim of version 2; without it, a token that is
		// about its own service principal and has no scope is an application's.
		IsApp: c.IdentityType == "app" ||
			c.IdentityType == "" && c.Scope == "" && c.ObjectID != "" && c.Subject == c.ObjectID,
	}
}

// refusal turns the parser's error into ours. Only a reason of our own words
// goes to the caller.
func refusal(err error) *Error {
	var unavailable *Error
	switch {
	case errors.As(err, &unavailable):
		return unavailable
	case errors.Is(err, jwt.ErrTokenExpired):
		return invalid("the token has expired", err)
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return invalid("the token is not valid yet", err)
	case errors.Is(err, jwt.ErrTokenMalformed):
		return invalid("the token is malformed", err)
	case errors.Is(err, jwt.ErrTokenInvalidClaims):
		return invalid("the token's claims are not acceptable", err)
	default:
		return invalid("the token's signature cannot be verified", err)
	}
}
