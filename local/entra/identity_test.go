package entra_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// The tests of the commands that sign in use the real SDK.
func TestManagedIdentity(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	const header = "h"
	handler := server.ManagedIdentity(header, "", entra.DefaultWorkerClientID)
	good := "/?api-version=2019-08-01&resource=" + entra.GraphAudience + "&client_id=" + entra.DefaultWorkerClientID
	for name, c := range map[string]struct {
		path, header string
		status       int
	}{
		"granted":             {good, header, http.StatusOK},
		"another header":      {good, "x", http.StatusUnauthorized},
		"no header":           {good, "", http.StatusUnauthorized},
		"another version":     {"/?api-version=2017-09-01&resource=" + entra.GraphAudience + "&client_id=" + entra.DefaultWorkerClientID, header, http.StatusBadRequest},
		"no system identity":  {"/?api-version=2019-08-01&resource=" + entra.GraphAudience, header, http.StatusBadRequest},
		"an unknown identity": {"/?api-version=2019-08-01&resource=" + entra.GraphAudience + "&client_id=" + entra.DefaultCLIClientID, header, http.StatusBadRequest},
		"an object ID":        {good + "&principal_id=x", header, http.StatusBadRequest},
		"an unknown resource": {"/?api-version=2019-08-01&resource=api://x&client_id=" + entra.DefaultWorkerClientID, header, http.StatusBadRequest},
	} {
		request := httptest.NewRequest(http.MethodGet, c.path, nil)
		request.Header.Set("X-IDENTITY-HEADER", c.header)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request)
		if w.Code != c.status {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if w.Code != http.StatusOK {
			continue
		}
		var answer map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		claims, err := server.VerifyClaims(answer["access_token"], entra.GraphAudience)
		if err != nil || claims.ClientID != entra.DefaultWorkerClientID || answer["expires_on"] == "" || answer["token_type"] != "Bearer" {
			t.Errorf("%v, %+v, %v", answer, claims, err)
		}
	}
}

func TestKeysOfATenantsOwn(t *testing.T) {
	t.Parallel()
	config := entra.DefaultConfig()
	config.DataDir = t.TempDir()
	other := entra.DefaultConfig().Tenants[0]
	other.ID, other.Domain, other.OwnKeys = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b0f", "fabrikam.example", true
	config.Tenants = append(config.Tenants, other)
	server := start(t, config)
	claims := map[string]any{
		"tid": other.ID, "iss": server.URL() + "/" + other.ID + "/v2.0", "aud": entra.DefaultAdminAPIClientID, "oid": "o", "exp": 4102444800,
	}
	for tenant, good := range map[string]bool{other.ID: true, entra.DefaultTenantID: false} {
		token := testenv.Must(server.IssueTokenOf(tenant, claims))(t)
		if err := server.VerifyToken(token, entra.DefaultAdminAPIAudience); (err == nil) != good {
			t.Errorf("signed with the key of %s: %v", tenant, err)
		}
	}
	shared, own := keyIDs(t, server, "/common/discovery/keys"), keyIDs(t, server, "/"+other.ID+"/discovery/v2.0/keys")
	if shared == own || own != keyIDs(t, server, "/"+other.ID+"/discovery/keys") || shared != keyIDs(t, server, "/"+entra.DefaultTenantID+"/discovery/v2.0/keys") {
		t.Errorf("shared keys %s, own keys %s", shared, own)
	}
	if _, v1 := getJSON(t, server, "/"+other.ID+"/.well-known/openid-configuration"); v1["jwks_uri"] != server.URL()+"/"+other.ID+"/discovery/keys" {
		t.Errorf("version 1 says %v", v1)
	}
	if err := server.RotateKeys(); err != nil {
		t.Fatal(err)
	}
	if keyIDs(t, server, "/"+other.ID+"/discovery/keys") == own || keyIDs(t, server, "/common/discovery/keys") == shared {
		t.Error("a rotation left keys as they were")
	}
}

func keyIDs(t *testing.T, server *entra.Server, path string) string {
	t.Helper()
	_, set := getJSON(t, server, path)
	ids := ""
	for _, key := range set["keys"].([]any) {
		ids += key.(map[string]any)["kid"].(string) + " "
	}
	return ids
}
