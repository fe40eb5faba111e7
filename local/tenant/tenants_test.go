package tenant_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// tenants are two tenants whose tokens are their ids.
func tenants(t *testing.T) *tenant.Tenants {
	t.Helper()
	named := func(name string) tenant.Named {
		return tenant.Named{Name: name, Config: tenant.Config{
			TenantID: "id-of-" + name, DataDir: t.TempDir(),
			VerifyToken: func(token, _ string) error {
				if !strings.HasPrefix(token, "id-of-") {
					return tenant.ErrMissingPermission
				}
				return nil
			},
			Seed: &tenant.Seed{Users: []tenant.User{{"userPrincipalName": "ada@" + name + ".example"}}},
		}}
	}
	return testenv.Started(tenant.StartTenants(t.Context(), tenant.TenantsConfig{
		Tenants:  []tenant.Named{named("source"), named("target")},
		TenantOf: func(token string) string { return token },
	}))(t)
}

func fetch(t *testing.T, method, address, token, body string) (int, string) {
	t.Helper()
	request := testenv.Must(http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body)))(t)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response := testenv.Must(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	return response.StatusCode, string(testenv.Must(io.ReadAll(response.Body))(t))
}

func TestTheTokenOfARequestSaysItsTenant(t *testing.T) {
	t.Parallel()
	g := tenants(t)
	for name, other := range map[string]string{"source": "target", "target": "source"} {
		if status, body := fetch(t, "GET", g.URL()+"/v1.0/users", "id-of-"+name, ""); status != http.StatusOK || !strings.Contains(body, "ada@"+name) || strings.Contains(body, "ada@"+other) {
			t.Errorf("users of %s: %d %s", name, status, body)
		}
		command := `{"CmdletInput":{"CmdletName":"Get-AcceptedDomain"}}`
		if status, body := fetch(t, "POST", g.URL()+"/adminapi/beta/id-of-"+name+"/InvokeCommand", "id-of-"+name, command); status != http.StatusOK || !strings.Contains(body, name+".example") {
			t.Errorf("domains of %s: %d %s", name, status, body)
		}
		if status, _ := fetch(t, "POST", g.URL()+"/adminapi/beta/id-of-"+other+"/InvokeCommand", "id-of-"+name, command); status != http.StatusForbidden {
			t.Errorf("%s takes a token of %s: %d", other, name, status)
		}
	}
	for method, path := range map[string]string{"GET": "/v1.0/users", "POST": "/adminapi/beta/id-of-source/InvokeCommand"} {
		if status, body := fetch(t, method, g.URL()+path, "id-of-another", `{"CmdletInput":{"CmdletName":"Get-AcceptedDomain"}}`); status != http.StatusUnauthorized {
			t.Errorf("%s with another tenant's token: %d %s", path, status, body)
		}
	}
	if status, body := fetch(t, "PATCH", g.URL()+"/v1.0/users/ada@source.example", "id-of-source", `{"jobTitle":"Countess"}`); status != http.StatusNoContent {
		t.Errorf("%d %s", status, body)
	}
	if u := g.Tenant("source").State().Users[0]; u.Text("jobTitle") != "Countess" {
		t.Errorf("the source has %v", u)
	}
	if u := g.Tenant("target").State().Users[0]; u.Text("jobTitle") != "" {
		t.Errorf("the target has %v", u)
	}
}

func TestLocalEndpointsAreOfOneTenant(t *testing.T) {
	t.Parallel()
	g := tenants(t)
	if status, body := fetch(t, "GET", g.URL()+"/tenants/target/_local/state", "", ""); status != http.StatusOK || !strings.Contains(body, "id-of-target") {
		t.Errorf("%d %s", status, body)
	}
	for path, says := range map[string]string{
		"/_local/state": "use /tenants/NAME/_local/state with one of source, target", "/tenants/other/_local/state": "the tenants are source, target",
		"/tenants/source/v1.0/users": "the tenants are source, target",
	} {
		if status, body := fetch(t, "GET", g.URL()+path, "id-of-source", ""); status != http.StatusNotFound || !strings.Contains(body, says) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if g.Tenant("other") != nil {
		t.Error("there is another tenant")
	}
}
