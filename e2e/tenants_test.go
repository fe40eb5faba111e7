package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// betweenTenants blocks an account in one tenant and creates one in the other.
const betweenTenants = `
name: between-tenants
vars:
  SourceWorker: worker-source
  TargetWorker: worker-target
data_source: {type: csv, primary_key: Alias}
phases:
  - name: cut-over
    offset: T-0
    steps:
      - name: create-user
        worker_id: "{{TargetWorker}}"
        function: New-EntraUser
        params: {DisplayName: "{{Alias}}", UserPrincipalName: "{{Alias}}@target.onmicrosoft.com"}
      - name: block-user
        worker_id: "{{SourceWorker}}"
        function: Set-EntraUserEnabled
        params: {UserId: "{{SourceId}}", Enabled: false}
      - name: forward
        worker_id: "{{SourceWorker}}"
        function: Set-ExchangeForwarding
        params: {Identity: "{{Alias}}@source.onmicrosoft.com", ForwardTo: "{{Alias}}@target.onmicrosoft.com"}
`

// TestEachWorkerChangesItsOwnTenant runs a runbook with steps in two tenants, whose Graph and
// Exchange have one address, as in the cloud.
func TestEachWorkerChangesItsOwnTenant(t *testing.T) {
	t.Parallel()
	m := newMachineWith(t, nil, environment{tenants: []string{"source", "target"}}, everything)
	seed, err := json.Marshal(tenant.Seed{
		Users:      []tenant.User{{"id": "11111111-0000-4000-8000-000000000001", "userPrincipalName": "ada@source.onmicrosoft.com"}},
		Recipients: []tenant.Recipient{{Kind: tenant.UserMailbox, UserPrincipalName: "ada@source.onmicrosoft.com", EmailAddresses: []string{"SMTP:ada@source.onmicrosoft.com"}}},
	})
	if err == nil {
		err = demo.Seed(t.Context(), m.endpoints.TenantURLs["source"], seed)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.write("runbook.yaml", []byte(betweenTenants))
	m.write("members.csv", []byte("Alias,SourceId\nada,11111111-0000-4000-8000-000000000001\n"))
	a := newAdminOf(m, "between-tenants", m.path("runbook.yaml"), m.path("members.csv"))
	if err := a.advance(); err != nil {
		t.Fatal(err)
	}
	if err := a.await("cut-over", ended); err != nil {
		t.Fatal(err)
	}
	var steps api.Page[api.Step]
	a.ask(&steps, "batch", "steps", a.batch, "--phase", "cut-over")
	for _, s := range steps.Items {
		if s.Status != "succeeded" {
			t.Fatalf("%s is %s: %s", s.Name, s.Status, s.Error)
		}
	}

	states := map[string]tenant.State{}
	for name, address := range m.endpoints.TenantURLs {
		if states[name], err = demo.State(t.Context(), address); err != nil {
			t.Fatal(err)
		}
	}
	if states["source"].TenantID == states["target"].TenantID {
		t.Errorf("both tenants have the id %s", states["source"].TenantID)
	}
	names := func(s tenant.State) (names []string) {
		for _, u := range s.Users {
			names = append(names, u.UPN())
		}
		slices.Sort(names)
		return names
	}
	for name, s := range states {
		if want := []string{"ada@" + name + ".onmicrosoft.com", "admin@" + name + ".onmicrosoft.com"}; !slices.Equal(names(s), want) {
			t.Errorf("%s has the users %v, want %v", name, names(s), want)
		}
		for _, u := range s.Users {
			if blocked := u["accountEnabled"] == false; blocked != (u.UPN() == "ada@source.onmicrosoft.com") {
				t.Errorf("%s: accountEnabled is %v", u.UPN(), u["accountEnabled"])
			}
		}
	}
	if r := states["source"].Recipients; !slices.ContainsFunc(r, func(r tenant.Recipient) bool { return r.ForwardingSMTP == "ada@target.onmicrosoft.com" }) {
		t.Errorf("nobody's mail is forwarded: %+v", r)
	}
}

// TestATenantRefusesTheTokenOfAnother signs in as the worker of one tenant, with the secret of another, and
// sends a token of one tenant to the Exchange of the other.
func TestATenantRefusesTheTokenOfAnother(t *testing.T) {
	t.Parallel()
	m := newMachineWith(t, nil, environment{tenants: []string{"source", "target"}}, everything)
	source, target := m.endpoints.Workers["source"], m.endpoints.Workers["target"]
	client := testenv.Must(tlsroots.HTTPClient(source["EXTRA_CA_FILE"]))(t)
	token := func(tenantID, id, secret string) (string, int) {
		response, err := client.PostForm(source["AZURE_AUTHORITY_HOST"]+tenantID+"/oauth2/v2.0/token", url.Values{
			"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}, "scope": {"https://outlook.office365.com/.default"},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var answer struct {
			Token string `json:"access_token"`
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return answer.Token, response.StatusCode
	}
	if _, status := token(target["TARGET_TENANT_ID"], source["APP_ID"], source["APP_SECRET"]); status/100 != 4 {
		t.Errorf("the worker of the source signs in to the target: status %d", status)
	}
	if _, status := token(target["TARGET_TENANT_ID"], target["APP_ID"], source["APP_SECRET"]); status/100 != 4 {
		t.Errorf("the target takes the secret of the source: status %d", status)
	}
	own, _ := token(source["TARGET_TENANT_ID"], source["APP_ID"], source["APP_SECRET"])
	run := func(tenantID string) int {
		body := strings.NewReader(`{"CmdletInput":{"CmdletName":"Get-Mailbox","Parameters":{}}}`)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, source["EXCHANGE_URL"]+"/adminapi/beta/"+tenantID+"/InvokeCommand", body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+own)
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	if status := run(source["TARGET_TENANT_ID"]); status != http.StatusOK {
		t.Errorf("the source answers its own token with %d", status)
	}
	if status := run(target["TARGET_TENANT_ID"]); status != http.StatusForbidden {
		t.Errorf("the target answers a token of the source with %d", status)
	}
}
