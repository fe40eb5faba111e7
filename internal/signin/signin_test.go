package signin_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/matoolkit/matoolkit/internal/signin"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

func start(t *testing.T, config entra.Config) *entra.Server {
	t.Helper()
	config.Addr = "127.0.0.1:0"
	return testenv.Started(entra.Start(t.Context(), config))(t)
}

// directory is the default one in which the admin API takes tokens of this
// version and the worker is an administrator.
func directory(version int) entra.Config {
	config := entra.DefaultConfig()
	for i := range config.Tenants[0].Applications {
		application := &config.Tenants[0].Applications[i]
		switch application.ClientID {
		case entra.DefaultAdminAPIClientID:
			application.TokenVersion = version
		case entra.DefaultWorkerClientID:
			application.Roles[entra.DefaultAdminAPIClientID] = []string{entra.RoleAdmin}
		}
	}
	return config
}

func verifierConfig(server *entra.Server) signin.Config {
	return signin.Config{
		Instance:   server.URL() + "/",
		TenantIDs:  []string{entra.DefaultTenantID},
		ClientID:   entra.DefaultAdminAPIClientID,
		Audience:   entra.DefaultAdminAPIAudience,
		HTTPClient: server.HTTPClient(),
	}
}

func newVerifier(t *testing.T, config signin.Config) *signin.Verifier {
	t.Helper()
	return testenv.Must(signin.New(t.Context(), config))(t)
}

func userToken(t *testing.T, server *entra.Server, upn string) string {
	t.Helper()
	return testenv.Must(server.IssueUserToken(upn, entra.DefaultAdminAPIScope))(t)
}

func appToken(t *testing.T, server *entra.Server) string {
	t.Helper()
	return testenv.Must(server.IssueAppToken(entra.DefaultWorkerClientID, entra.DefaultAdminAPIScope))(t)
}

// part decodes the header (0) or the claims (1) of a token.
func part(t *testing.T, token string, index int) map[string]any {
	t.Helper()
	data := testenv.Must(base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[index]))(t)
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// sign makes a token out of another one's claims.
func sign(t *testing.T, claims map[string]any, method jwt.SigningMethod, key any, header map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	maps.Copy(token.Header, header)
	return testenv.Must(token.SignedString(key))(t)
}

func TestIdentities(t *testing.T) {
	t.Parallel()
	v1, v2 := start(t, directory(1)), start(t, directory(2))
	without := func(server *entra.Server, claims ...string) string {
		fields := part(t, userToken(t, server, entra.DefaultAdminUPN), 1)
		for _, claim := range claims {
			delete(fields, claim)
		}
		return testenv.Must(server.IssueToken(fields))(t)
	}
	noIdentityType := part(t, appToken(t, v2), 1)
	delete(noIdentityType, "idtyp")
	plainApp := testenv.Must(v2.IssueToken(noIdentityType))(t)
	for name, c := range map[string]struct {
		server *entra.Server
		token  string
		name   string
		admin  bool
		isApp  bool
	}{
		"administrator, version 2":             {v2, userToken(t, v2, entra.DefaultAdminUPN), entra.DefaultAdminUPN, true, false},
		"administrator, version 1":             {v1, userToken(t, v1, entra.DefaultAdminUPN), entra.DefaultAdminUPN, true, false},
		"reader":                               {v2, userToken(t, v2, entra.DefaultReaderUPN), entra.DefaultReaderUPN, false, false},
		"application, version 2":               {v2, appToken(t, v2), entra.DefaultWorkerClientID, true, true},
		"application, version 1":               {v1, appToken(t, v1), entra.DefaultWorkerClientID, true, true},
		"application without identity type":    {v2, plainApp, entra.DefaultWorkerClientID, true, true},
		"user without roles":                   {v2, without(v2, "roles"), entra.DefaultAdminUPN, false, false},
		"user without a user name":             {v2, without(v2, "preferred_username"), "Avery Admin", true, false},
		"user without any name":                {v2, without(v2, "preferred_username", "name"), entra.DefaultAdminObjectID, true, false},
		"user without anything":                {v2, without(v2, "preferred_username", "name", "oid"), "system", true, false},
		"lower-case scheme, spaces, version 2": {v2, "  " + userToken(t, v2, entra.DefaultAdminUPN) + " ", entra.DefaultAdminUPN, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			identity, err := newVerifier(t, verifierConfig(c.server)).Verify(t.Context(), "bearer "+c.token)
			if err != nil {
				t.Fatal(err)
			}
			owner := c.name
			if strings.HasPrefix(name, "user without a") {
				owner = "" // neither a display name nor an id is a sign-in name
			}
			if identity.Owner != owner || identity.Name != c.name || identity.May(signin.Administer) != c.admin || identity.IsApp != c.isApp || identity.TenantID != entra.DefaultTenantID {
				t.Errorf("%+v", identity)
			}
		})
	}
}

func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	config := directory(2)
	config.DataDir = t.TempDir()
	server := start(t, config)
	serverKey := signingKey(t, config.DataDir)
	good := userToken(t, server, entra.DefaultAdminUPN)
	verifier := newVerifier(t, verifierConfig(server))
	if _, err := verifier.Verify(t.Context(), "Bearer "+good); err != nil {
		t.Fatalf("the token that the others are made of: %v", err)
	}
	kid := map[string]any{"kid": part(t, good, 0)["kid"]}
	strangeKey := testenv.Must(rsa.GenerateKey(rand.Reader, 2048))(t)
	spoiled := func(claim string, value any) string {
		claims := part(t, good, 1)
		claims[claim] = value
		if value == nil {
			delete(claims, claim)
		}
		token := testenv.Must(server.IssueToken(claims))(t)
		return "Bearer " + token
	}
	user := part(t, good, 1)
	delete(user, "scp")
	user["sub"], user["idtyp"] = user["oid"], "user"
	aboutThemselves := testenv.Must(server.IssueToken(user))(t)
	signed := func(method jwt.SigningMethod, key any, header map[string]any) string {
		return "Bearer " + sign(t, part(t, good, 1), method, key, header)
	}
	otherAPI := testenv.Must(server.IssueUserToken(entra.DefaultAdminUPN, "https://graph.microsoft.com/.default"))(t)
	noRole := part(t, appToken(t, server), 1)
	delete(noRole, "roles")
	noRoleToken := testenv.Must(server.IssueToken(noRole))(t)
	noRole["roles"] = []string{"Task.Write"}
	otherRoleToken := testenv.Must(server.IssueToken(noRole))(t)
	now := time.Now()
	const elsewhere = "11111111-1111-1111-1111-111111111111"

	for name, c := range map[string]struct {
		header string
		kind   error
		reason string
	}{
		"no header":               {"", signin.ErrMissing, "required"},
		"another scheme":          {"Basic dXNlcjpwYXNz", signin.ErrMissing, "required"},
		"a scheme and no token":   {"Bearer ", signin.ErrMissing, "required"},
		"a token and no scheme":   {good, signin.ErrMissing, "required"},
		"not a token":             {"Bearer x", signin.ErrInvalid, "malformed"},
		"a token too long":        {"Bearer " + strings.Repeat("a", 33<<10), signin.ErrInvalid, "the token has 33792 bytes; at most 32768 are allowed"},
		"claims that are no JSON": {"Bearer " + strings.Split(good, ".")[0] + ".eA.eA", signin.ErrInvalid, "malformed"},
		"roles of another shape":  {spoiled("roles", "Admin"), signin.ErrInvalid, "malformed"},

		"claims changed under the signature": {
			"Bearer " + strings.Split(good, ".")[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"roles":["Admin"],"tid":"`+entra.DefaultTenantID+`"}`)) + "." + strings.Split(good, ".")[2],
			signin.ErrInvalid, "signature",
		},
		"signed with another key":           {signed(jwt.SigningMethodRS256, strangeKey, kid), signin.ErrInvalid, "signature"},
		"a key that nobody published":       {signed(jwt.SigningMethodRS256, strangeKey, map[string]any{"kid": "unknown"}), signin.ErrInvalid, "signature"},
		"no key named":                      {signed(jwt.SigningMethodRS256, serverKey, nil), signin.ErrInvalid, "signature"},
		"not signed":                        {signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, kid), signin.ErrInvalid, "signature"},
		"the public key as a shared secret": {signed(jwt.SigningMethodHS256, publicKeyPEM(t, serverKey), kid), signin.ErrInvalid, "signature"},
		"another RSA algorithm":             {signed(jwt.SigningMethodPS256, serverKey, kid), signin.ErrInvalid, "signature"},

		"expired":                        {spoiled("exp", now.Add(-2*time.Minute).Unix()), signin.ErrInvalid, "expired"},
		"no expiry":                      {spoiled("exp", nil), signin.ErrInvalid, "claims"},
		"not valid yet":                  {spoiled("nbf", now.Add(2*time.Minute).Unix()), signin.ErrInvalid, "not valid yet"},
		"no start":                       {spoiled("nbf", nil), signin.ErrInvalid, "claims"},
		"for another API":                {"Bearer " + otherAPI, signin.ErrInvalid, "another application"},
		"for the CLI (an ID token)":      {spoiled("aud", entra.DefaultCLIClientID), signin.ErrInvalid, "another application"},
		"for nobody":                     {spoiled("aud", nil), signin.ErrInvalid, "another application"},
		"for two":                        {spoiled("aud", []string{entra.DefaultAdminAPIClientID, elsewhere}), signin.ErrInvalid, "another application"},
		"another tenant":                 {spoiled("tid", elsewhere), signin.ErrInvalid, "another tenant"},
		"no tenant":                      {spoiled("tid", nil), signin.ErrInvalid, "another tenant"},
		"another tenant's issuer":        {spoiled("iss", server.URL()+"/"+elsewhere+"/v2.0"), signin.ErrInvalid, "another tenant"},
		"a made-up issuer":               {spoiled("iss", "https://evil.example/"+entra.DefaultTenantID+"/v2.0"), signin.ErrInvalid, "another tenant"},
		"no issuer":                      {spoiled("iss", nil), signin.ErrInvalid, "another tenant"},
		"an application without role":    {"Bearer " + noRoleToken, signin.ErrForbidden, "needs one of the app roles Reader, Requester, RequesterForAll, Operator, Approver, Admin"},
		"an application of another role": {"Bearer " + otherRoleToken, signin.ErrForbidden, "needs one of the app roles Reader, Requester, RequesterForAll, Operator, Approver, Admin"},
		"who signed in to the application (an ID token)": {spoiled("scp", nil), signin.ErrForbidden, "carries no scope"},
		"a user about themselves, without scope":         {"Bearer " + aboutThemselves, signin.ErrForbidden, "carries no scope"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			identity, err := verifier.Verify(t.Context(), c.header)
			if !errors.Is(err, c.kind) || identity.Name != "" {
				t.Fatalf("%v, %+v", err, identity)
			}
			var refusal *signin.Error
			if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, c.reason) {
				t.Errorf("reason %q, want %q (%v)", refusal.Reason, c.reason, err)
			}
			if strings.Contains(err.Error(), strings.Split(good, ".")[2]) {
				t.Error("the error repeats the token's signature")
			}
		})
	}
}

func TestTheClocksMayDifferByTheSkew(t *testing.T) {
	t.Parallel()
	server := start(t, directory(2))
	token := userToken(t, server, entra.DefaultAdminUPN)
	expires := time.Unix(int64(part(t, token, 1)["exp"].(float64)), 0)
	for age, good := range map[time.Duration]bool{0: true, 29 * time.Second: true, 31 * time.Second: false} {
		config := verifierConfig(server)
		config.Skew = 30 * time.Second
		config.Now = func() time.Time { return expires.Add(age) }
		if _, err := newVerifier(t, config).Verify(t.Context(), "Bearer "+token); (err == nil) != good {
			t.Errorf("%v after it expired: %v", age, err)
		}
	}
}

func TestChallenges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  signin.Error
		want string
	}{
		{signin.Error{Kind: signin.ErrMissing, Reason: "a"}, "Bearer"},
		{signin.Error{Kind: signin.ErrInvalid, Reason: `it "expired"`}, `Bearer error="invalid_token", error_description="it 'expired'"`},
		{signin.Error{Kind: signin.ErrForbidden, Reason: "no role"}, `Bearer error="insufficient_scope", error_description="no role"`},
		{signin.Error{Kind: signin.ErrUnavailable, Reason: "later"}, ""},
	} {
		if got := c.err.Challenge(); got != c.want {
			t.Errorf("%v: %s", c.err.Kind, got)
		}
	}
}

func TestConfigsThatCannotWork(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*signin.Config){
		"plain http":                 func(c *signin.Config) { c.Instance = "http://login.example/" },
		"no instance":                func(c *signin.Config) { c.Instance = "" },
		"no tenant":                  func(c *signin.Config) { c.TenantIDs = nil },
		"a domain in place of an ID": func(c *signin.Config) { c.TenantIDs = []string{"contoso.onmicrosoft.com"} },
		"any tenant":                 func(c *signin.Config) { c.TenantIDs = []string{"common"} },
		"a GUID in braces":           func(c *signin.Config) { c.TenantIDs = []string{"{" + entra.DefaultTenantID + "}"} },
		"one tenant twice": func(c *signin.Config) {
			c.TenantIDs = []string{entra.DefaultTenantID, strings.ToUpper(entra.DefaultTenantID)}
		},
		"no client ID":             func(c *signin.Config) { c.ClientID = "" },
		"an audience as client ID": func(c *signin.Config) { c.ClientID = entra.DefaultAdminAPIAudience },
	} {
		config := signin.Config{Instance: "https://login.example/", TenantIDs: []string{entra.DefaultTenantID}, ClientID: entra.DefaultAdminAPIClientID}
		spoil(&config)
		if _, err := signin.New(t.Context(), config); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// signingKey is the key that the server with this DataDir signs with.
func signingKey(t *testing.T, dir string) *rsa.PrivateKey {
	t.Helper()
	data := testenv.Must(os.ReadFile(filepath.Join(dir, "signing-keys.pem")))(t)
	block, _ := pem.Decode(data)
	return testenv.Must(x509.ParsePKCS1PrivateKey(block.Bytes))(t)
}

// publicKeyPEM is the published key in the form in which a careless verifier
// would take it for a shared secret.
func publicKeyPEM(t *testing.T, key *rsa.PrivateKey) []byte {
	t.Helper()
	der := testenv.Must(x509.MarshalPKIXPublicKey(&key.PublicKey))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}
