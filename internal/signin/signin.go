// Package signin tells who calls the admin API: it verifies the access token
// of Entra ID in the Authorization header and reads the caller's identity from
// it. It knows nothing of routes, of HTTP answers or of what a role may do
// beyond its name.
package signin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

// guid is the one form that Entra ID writes them in: IDs are compared as text.
var guid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// maxTokenBytes limits the tokens to parse. Those of Entra ID stay below 16 KB.
const maxTokenBytes = 32 << 10

// Config names the application that tokens must be for.
type Config struct {
	// Instance is the authority, e.g. https://login.microsoftonline.com/.
	Instance string
	// TenantIDs are the GUIDs of the tenants, one at least; tokens of any other are
	// refused, and nothing is fetched for them.
	TenantIDs []string
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
	// Name is the caller's name in audit records: preferred_username (of tokens of
	// version 2), else upn or unique_name (of version 1), else name, else the object ID,
	// else "system". Where tokens of several
	// tenants are taken, the tenant's ID follows in brackets: people of two
	// tenants can have the same name.
	Name string
	// Owner is the owner of the batches that the caller requests for themselves: the sign-in name, of an
	// application the object ID, with the tenant as Name has it. It is empty where the token has none: a
	// display name is not unique.
	Owner    string
	ObjectID string
	TenantID string
	// Roles are the app roles that the caller was assigned.
	Roles []string
	// IsApp is set for an application that called on its own behalf.
	IsApp bool
}

// Verifier verifies access tokens. It is safe for concurrent use.
type Verifier struct {
	config  Config
	tenants map[string]tenant // by ID, in lower case
	parser  *jwt.Parser
}

// tenant holds the issuer and keys of one tenant. Tenants share none of it: a
// key of one tenant does not sign tokens of another, and unavailable keys affect
// one tenant only.
type tenant struct {
	keys   *keyStore
	keyFor keyfunc.Keyfunc
}

// New checks the configuration and returns at once: the keys are fetched when
// the first token arrives, so an identity provider that is down does not keep
// the process from starting. No fetch outlives ctx.
func New(ctx context.Context, config Config) (*Verifier, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("sign-in: %w", err)
	}
	tenants := map[string]tenant{}
	for _, id := range config.TenantIDs {
		store := newKeyStore(ctx, config, id)
		keyFor, err := keyfunc.New(keyfunc.Options{Ctx: ctx, Storage: store})
		if err != nil {
			return nil, fmt.Errorf("sign-in: %w", err)
		}
		tenants[id] = tenant{store, keyFor}
	}
	return &Verifier{
		config:  config,
		tenants: tenants,
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
	if len(c.TenantIDs) == 0 {
		return Config{}, errors.New("the tenant ID is missing")
	}
	var tenants []string
	for _, id := range c.TenantIDs {
		lower := strings.ToLower(id)
		if !guid.MatchString(id) {
			return Config{}, fmt.Errorf("tenant ID %q is not a GUID", id)
		}
		if slices.Contains(tenants, lower) {
			return Config{}, fmt.Errorf("duplicate tenant ID %q", id)
		}
		tenants = append(tenants, lower)
	}
	c.TenantIDs = tenants
	if !guid.MatchString(c.ClientID) {
		return Config{}, fmt.Errorf("client ID %q is not a GUID", c.ClientID)
	}
	if c.Audience == "" {
		c.Audience = "api://" + c.ClientID
	}
	if c.HTTPClient == nil {
		c.HTTPClient = http.DefaultClient
	}
	// Keys come from where they were asked for, and from nowhere else.
	client := *c.HTTPClient
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.HTTPClient = &client
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
	UPN               string   `json:"upn"`
	UniqueName        string   `json:"unique_name"` // of guests, who have no upn
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
	if _, err := v.parser.ParseWithClaims(token, &c, v.key(ctx, &c)); err != nil {
		return Identity{}, refusal(err)
	}
	if err := v.check(c); err != nil {
		return Identity{}, err
	}
	identity := c.identity()
	if len(v.tenants) > 1 {
		in := " (" + identity.TenantID + ")"
		identity.Name += in
		if identity.Owner != "" {
			identity.Owner += in
		}
	}
	return identity, nil
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
		return "", invalid(fmt.Sprintf("the token has %d bytes; at most %d are allowed", len(token), maxTokenBytes), nil)
	}
	return token, nil
}

// key finds the key that a token says it was signed with, among those of the tenant
// that it says it is of: what it says otherwise is believed only if such a key
// verifies it. A token that names no key is refused, rather than tried against every
// key, and one of a tenant that is none of ours before anything is fetched.
func (v *Verifier) key(ctx context.Context, c *claims) jwt.Keyfunc {
	return func(token *jwt.Token) (any, error) {
		if id, _ := token.Header["kid"].(string); id == "" {
			return nil, errors.New("the header has no key ID")
		}
		t, ok := v.tenants[strings.ToLower(c.TenantID)]
		if !ok {
			return nil, otherTenant(fmt.Errorf("tid %q", c.TenantID))
		}
		return t.keyFor.KeyfuncCtx(ctx)(token)
	}
}

func otherTenant(cause error) *Error {
	return invalid("the token was issued by another tenant", cause)
}

// check holds a token whose signature is good to our application and to the tenant
// whose key signed it.
func (v *Verifier) check(c claims) error {
	issuers := v.tenants[strings.ToLower(c.TenantID)].keys.issuers()
	switch {
	case !slices.Contains(issuers, c.Issuer):
		return otherTenant(fmt.Errorf("issuer %q", c.Issuer))
	case len(c.Audience) != 1 || !v.isAudience(c.Audience[0]):
		return invalid("the token is for another application", fmt.Errorf("aud %q", c.Audience))
	case c.Scope == "" && !c.isApp():
		// Without a scope it is not an access token: an ID token, which tells an
		// application who signed in, can be for the same one and have roles too.
		return forbidden("the token carries no scope of this application")
	case c.isApp() && !slices.ContainsFunc(c.Roles, func(role string) bool { return slices.Contains(Roles, role) }):
		// Any application of the tenant can get a token for any API. Only an
		// assigned role makes it a token for this one.
		return forbidden("an application needs one of the app roles " + strings.Join(Roles, ", "))
	}
	return nil
}

func forbidden(reason string) *Error { return &Error{Kind: ErrForbidden, Reason: reason} }

// isApp reports whether an application called on its own behalf. idtyp is an
// optional claim of version 2; without it, a token that is about its own service
// principal and has no scope is an application's.
func (c claims) isApp() bool {
	return c.Scope == "" && (c.IdentityType == "app" ||
		c.IdentityType == "" && c.ObjectID != "" && c.Subject == c.ObjectID)
}

func (v *Verifier) isAudience(audience string) bool {
	return strings.EqualFold(audience, v.config.ClientID) ||
		strings.EqualFold(audience, "api://"+v.config.ClientID) ||
		strings.EqualFold(strings.TrimSuffix(audience, "/"), strings.TrimSuffix(v.config.Audience, "/"))
}

func (c claims) identity() Identity {
	owner := cmp.Or(c.PreferredUsername, c.UPN, c.UniqueName)
	if owner == "" && c.isApp() {
		owner = c.ObjectID
	}
	name := "system"
	for _, candidate := range []string{c.PreferredUsername, c.UPN, c.UniqueName, c.Name, c.ObjectID} {
		if candidate != "" {
			name = candidate
			break
		}
	}
	return Identity{
		Name:     name,
		Owner:    owner,
		ObjectID: c.ObjectID,
		TenantID: strings.ToLower(c.TenantID),
		Roles:    c.Roles,
		IsApp:    c.isApp(),
	}
}

// refusal turns the parser's error into ours. Only a reason of our own words
// goes to the caller.
func refusal(err error) *Error {
	var ours *Error
	switch {
	case errors.As(err, &ours):
		return ours
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
