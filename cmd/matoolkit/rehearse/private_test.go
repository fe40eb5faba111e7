package rehearse

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// Other accounts of the machine can reach the copies. They read neither.
func TestOtherAccountsDoNotReadTheCopies(t *testing.T) {
	t.Parallel()
	copyOf := func(name, id string) Tenant {
		return Tenant{Name: name, ID: id, Seed: tenant.Seed{Users: []tenant.User{{"userPrincipalName": "ada@" + name + ".example"}}}}
	}
	const id = "7e4a1c52-0000-4000-8000-00000000000a"
	ends := testenv.Must(open(t.Context(), []Tenant{copyOf("source", id), copyOf("target", "7e4a1c52-0000-4000-8000-00000000000b")}, DefaultAssumptions(), nil))(t)
	for _, tc := range []struct {
		method, path, token, body string
	}{
		{"GET", "/tenants/source/_local/state", "", ""},
		{"GET", "/tenants/target/_local/requests", "", ""},
		{"POST", "/tenants/target/_local/seed", "", "{}"},
		{"GET", "/_local/state", "", ""},
		{"GET", "/v1.0/users", "", ""},
		{"GET", "/v1.0/users", "x", ""},
		{"GET", "/v1.0/users", id, ""}, // which everyone can find out
		{"POST", "/adminapi/beta/" + id + "/InvokeCommand", id, `{"CmdletInput":{"CmdletName":"Get-Recipient"}}`},
	} {
		request := testenv.Must(http.NewRequestWithContext(t.Context(), tc.method, ends["source"].url+tc.path, strings.NewReader(tc.body)))(t)
		request.Header.Set("Content-Type", "application/json")
		if tc.token != "" {
			request.Header.Set("Authorization", "Bearer "+tc.token)
		}
		response := testenv.Must(http.DefaultClient.Do(request))(t)
		body := testenv.Must(io.ReadAll(response.Body))(t)
		response.Body.Close()
		if response.StatusCode != http.StatusNotFound && response.StatusCode != http.StatusUnauthorized || strings.Contains(string(body), "ada@") {
			t.Errorf("%s %s with the token %q: %d %s", tc.method, tc.path, tc.token, response.StatusCode, body)
		}
	}
}
