package entra_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

func start(t *testing.T, config entra.Config) *entra.Server {
	t.Helper()
	config.Addr = "127.0.0.1:0"
	server := testenv.Must(entra.Start(t.Context(), config))(t)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// answer is the union of a token answer, a device code answer and an error.
type answer struct {
	status       int
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	IDToken      string `json:"id_token"`
	Scope        string `json:"scope"`
	ExpiresIn    int    `json:"expires_in"`

	RefreshExpiresIn int `json:"refresh_token_expires_in"`

	UserCode        string `json:"user_code"`
	DeviceCode      string `json:"device_code"`
	VerificationURI string `json:"verification_uri"`
	Interval        int    `json:"interval"`

	Error         string `json:"error"`
	Description   string `json:"error_description"`
	Codes         []int  `json:"error_codes"`
	CorrelationID string `json:"correlation_id"`
	TraceID       string `json:"trace_id"`
	Timestamp     string `json:"timestamp"`
}

// post sends a form given as name, value, name, value.
func post(t *testing.T, server *entra.Server, path string, pairs ...string) answer {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	response, err := server.HTTPClient().PostForm(server.URL()+path, form)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode}
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
		t.Fatalf("%s: %s: %v", path, response.Status, err)
	}
	return a
}

func getJSON(t *testing.T, server *entra.Server, path string) (int, map[string]any) {
	t.Helper()
	response, err := server.HTTPClient().Get(server.URL() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var document map[string]any
	if err := json.NewDecoder(response.Body).Decode(&document); err != nil {
		t.Fatalf("%s: %s: %v", path, response.Status, err)
	}
	return response.StatusCode, document
}

const (
	tokenPath  = "/" + entra.DefaultTenantID + "/oauth2/v2.0/token"
	devicePath = "/" + entra.DefaultTenantID + "/oauth2/v2.0/devicecode"
	graphScope = "https://graph.microsoft.com/.default"
)

func TestRefusedTokenRequests(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	worker := []string{"client_id", entra.DefaultWorkerClientID, "client_secret", entra.DefaultWorkerSecret}
	cli := []string{"client_id", entra.DefaultCLIClientID}
	credentials := []string{"grant_type", "client_credentials"}
	for name, c := range map[string]struct {
		path   string
		form   []string
		status int
		oauth  string
		code   int
	}{
		"unknown tenant": {
			"/11111111-1111-1111-1111-111111111111/oauth2/v2.0/token",
			slices.Concat(credentials, worker, []string{"scope", graphScope}), 400, "invalid_request", 90002,
		},
		"no grant type":      {tokenPath, worker, 400, "invalid_request", 900144},
		"unknown grant type": {tokenPath, append([]string{"grant_type", "password"}, worker...), 400, "unsupported_grant_type", 70003},
		"no client":          {tokenPath, credentials, 400, "invalid_request", 900144},
		"unknown client": {
			tokenPath, append([]string{"client_id", "11111111-1111-1111-1111-111111111111", "client_secret", "x"}, credentials...),
			400, "unauthorized_client", 700016,
		},
		"wrong secret": {
			tokenPath, append([]string{"client_id", entra.DefaultWorkerClientID, "client_secret", "guess", "scope", graphScope}, credentials...),
			401, "invalid_client", 7000215,
		},
		"no credential": {
			tokenPath, append([]string{"client_id", entra.DefaultWorkerClientID, "scope", graphScope}, credentials...),
			401, "invalid_client", 7000216,
		},
		"public client with a secret": {
			tokenPath, slices.Concat(credentials, cli, []string{"client_secret", "x", "scope", graphScope}),
			401, "invalid_client", 700025,
		},
		"public client on its own behalf": {
			tokenPath, slices.Concat(credentials, cli, []string{"scope", graphScope}),
			401, "invalid_client", 7000216,
		},
		"no scope": {tokenPath, slices.Concat(credentials, worker), 400, "invalid_scope", 70011},
		"a single permission for an application": {
			tokenPath, slices.Concat(credentials, worker, []string{"scope", "https://graph.microsoft.com/User.Read"}),
			400, "invalid_scope", 1002012,
		},
		"two resources": {
			tokenPath, slices.Concat(credentials, worker, []string{"scope", graphScope + " https://servicebus.azure.net/.default"}),
			400, "invalid_request", 28000,
		},
		"unknown resource": {
			tokenPath, slices.Concat(credentials, worker, []string{"scope", "https://search.azure.com/.default"}),
			400, "invalid_resource", 500011,
		},
		"a resource that only looks like Cosmos DB": {
			tokenPath, slices.Concat(credentials, worker, []string{"scope", "https://a.evil.com/documents.azure.com/.default"}),
			400, "invalid_resource", 500011,
		},
		"a path below a Cosmos DB host": {
			tokenPath, slices.Concat(credentials, worker, []string{"scope", "https://a.documents.azure.com/x/.default"}),
			400, "invalid_resource", 500011,
		},
		"a client that is no resource": {
			tokenPath, slices.Concat(credentials, worker, []string{"scope", entra.DefaultCLIClientID + "/.default"}),
			400, "invalid_resource", 500011,
		},
		"a parameter twice": {
			tokenPath, slices.Concat(credentials, worker, []string{"scope", graphScope, "scope", graphScope}),
			400, "invalid_request", 9002313,
		},
		"refresh token of someone else's making": {
			tokenPath, append([]string{"grant_type", "refresh_token", "refresh_token", "made.up.token"}, cli...),
			400, "invalid_grant", 9002313,
		},
		"no refresh token":    {tokenPath, append([]string{"grant_type", "refresh_token"}, cli...), 400, "invalid_request", 900144},
		"no device code":      {tokenPath, append([]string{"grant_type", "device_code"}, cli...), 400, "invalid_request", 900144},
		"unknown device code": {tokenPath, append([]string{"grant_type", "device_code", "device_code", "x"}, cli...), 400, "bad_verification_code", 70018},
		"confidential client without credential": {
			tokenPath,
			[]string{"grant_type", "device_code", "device_code", "x", "client_id", entra.DefaultWorkerClientID},
			401, "invalid_client", 7000218,
		},
		"device code for an unknown client": {
			devicePath,
			[]string{"client_id", "11111111-1111-1111-1111-111111111111", "scope", graphScope},
			400, "unauthorized_client", 700016,
		},
		"device code for an unknown permission": {
			devicePath, append([]string{"scope", entra.DefaultAdminAPIAudience + "/everything"}, cli...),
			400, "invalid_client", 650053,
		},
		"device code for a resource without delegated permissions": {
			devicePath, append([]string{"scope", "https://outlook.office365.com/.default"}, cli...),
			400, "invalid_grant", 65001,
		},
		"default and a permission": {
			devicePath, append([]string{"scope", graphScope + " https://graph.microsoft.com/User.Read"}, cli...),
			400, "invalid_scope", 70011,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := post(t, server, c.path, c.form...)
			if a.status != c.status || a.Error != c.oauth || len(a.Codes) != 1 || a.Codes[0] != c.code {
				t.Errorf("got %d %s %v (%s), want %d %s %d", a.status, a.Error, a.Codes, a.Description, c.status, c.oauth, c.code)
			}
			if !strings.HasPrefix(a.Description, "AADSTS") || a.TraceID == "" || a.CorrelationID == "" || a.Timestamp == "" {
				t.Errorf("not the documented shape: %+v", a)
			}
			if strings.Contains(a.Description, entra.DefaultWorkerSecret) || strings.Contains(a.Description, "guess") {
				t.Errorf("the description repeats a secret: %s", a.Description)
			}
		})
	}
}

func TestOnlyFormsAreRead(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	response, err := server.HTTPClient().Post(server.URL()+tokenPath, "application/json", strings.NewReader(`{"grant_type":"client_credentials"}`))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Error(response.Status)
	}
}

func TestTheCallersRequestIDComesBack(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	const id = "0f9c0c1e-7e4d-4e0e-8a55-5b1f6d2a9c11"
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL()+tokenPath, strings.NewReader(""))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("client-request-id", id)
	response, err := server.HTTPClient().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var a answer
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil || a.CorrelationID != id {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	base := server.URL() + "/" + entra.DefaultTenantID

	for _, tenant := range []string{entra.DefaultTenantID, strings.ToUpper(entra.DefaultTenantID), entra.DefaultTenantDomain} {
		_, v2 := getJSON(t, server, "/"+tenant+"/v2.0/.well-known/openid-configuration")
		if v2["issuer"] != base+"/v2.0" || v2["token_endpoint"] != base+"/oauth2/v2.0/token" || v2["jwks_uri"] != base+"/discovery/v2.0/keys" {
			t.Errorf("%s: version 2: %v", tenant, v2)
		}
	}
	_, v1 := getJSON(t, server, "/"+entra.DefaultTenantID+"/.well-known/openid-configuration")
	if v1["issuer"] != base+"/" || v1["jwks_uri"] != server.URL()+"/common/discovery/keys" {
		t.Errorf("version 1: %v", v1)
	}
	for path, issuer := range map[string]any{"/" + entra.DefaultTenantID + "/discovery/v2.0/keys": base + "/v2.0", "/common/discovery/keys": nil} {
		_, set := getJSON(t, server, path)
		keys := set["keys"].([]any)
		key := keys[0].(map[string]any)
		if len(keys) != 1 || key["kty"] != "RSA" || key["use"] != "sig" || key["issuer"] != issuer || key["d"] != nil {
			t.Errorf("%s: %v", path, set)
		}
	}
	discovery := "/common/discovery/instance?api-version=1.1&authorization_endpoint="
	if _, instance := getJSON(t, server, discovery+url.QueryEscape(base+"/oauth2/v2.0/authorize")); instance["tenant_discovery_endpoint"] != base+"/v2.0/.well-known/openid-configuration" {
		t.Errorf("instance discovery: %v", instance)
	}
	if status, _ := getJSON(t, server, discovery+url.QueryEscape("https://elsewhere.example/x/oauth2/v2.0/authorize")); status != http.StatusBadRequest {
		t.Errorf("an unknown instance: %d", status)
	}
	if status, refusal := getJSON(t, server, "/nowhere.example/v2.0/.well-known/openid-configuration"); status != http.StatusBadRequest || refusal["error"] != "invalid_request" {
		t.Errorf("unknown tenant: %d %v", status, refusal)
	}
}

func TestConfigThatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*entra.Config){
		"an address others can reach": func(c *entra.Config) { c.Addr = "0.0.0.0:0" },
		"an address without a port":   func(c *entra.Config) { c.Addr = "127.0.0.1" },
		"no tenant":                   func(c *entra.Config) { c.Tenants = nil },
		"a tenant twice":              func(c *entra.Config) { c.Tenants = append(c.Tenants, c.Tenants[0]) },
		"a tenant ID that is no GUID": func(c *entra.Config) { c.Tenants[0].ID = "contoso" },
		"a client twice": func(c *entra.Config) {
			c.Tenants[0].Applications = append(c.Tenants[0].Applications, c.Tenants[0].Applications[0])
		},
		"a user twice": func(c *entra.Config) { c.Tenants[0].Users = append(c.Tenants[0].Users, c.Tenants[0].Users[0]) },
		"a role that the resource does not have": func(c *entra.Config) {
			c.Tenants[0].Users[0].Roles[entra.DefaultAdminAPIClientID] = []string{"Owner"}
		},
		"roles on an unknown resource": func(c *entra.Config) {
			c.Tenants[0].Users[0].Roles = map[string][]string{"11111111-1111-1111-1111-111111111111": {"Admin"}}
		},
		"a public client with a secret": func(c *entra.Config) {
			for i := range c.Tenants[0].Applications {
				if c.Tenants[0].Applications[i].Public {
					c.Tenants[0].Applications[i].Secrets = []string{"x"}
				}
			}
		},
		"approval by an unknown user": func(c *entra.Config) { c.AutoApprove = "nobody@contoso.onmicrosoft.com" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := entra.DefaultConfig()
			config.Addr = "127.0.0.1:0"
			spoil(&config)
			if server, err := entra.Start(t.Context(), config); err == nil {
				server.Close()
				t.Error("it started")
			}
		})
	}
}

func TestCloseTwice(t *testing.T) {
	t.Parallel()
	config := entra.DefaultConfig()
	config.Addr = "127.0.0.1:0"
	server := testenv.Must(entra.Start(t.Context(), config))(t)
	for range 2 {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}
