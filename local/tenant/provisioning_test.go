package tenant_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

const enterprise = "05e9a617-0261-4cee-bb44-138d3ef5d965"

// A licence brings the mailbox and the plans later. What changes meanwhile changes at once.
func TestChangesBeforeTheMailboxIsThere(t *testing.T) {
	t.Parallel()
	clock := newClock()
	seed := &tenant.Seed{
		Licenses: []tenant.License{{SkuPartNumber: "SPE_E3", SkuID: enterprise, Enabled: 2, Plans: []tenant.ServicePlan{{ID: uuid.NewString(), Name: "EXCHANGE", Service: "exchange"}}}},
		Users:    []tenant.User{{"userPrincipalName": "ada@contoso.com", "usageLocation": "SE"}},
	}
	disk := t.TempDir()
	r := start(t, tenant.Config{Seed: seed, Now: clock.Now, ProvisionDelay: 5 * time.Minute, DataDir: disk})
	assign := func(add, remove []any) {
		t.Helper()
		r.must(200, "POST", "/v1.0/users/ada@contoso.com/assignLicense", map[string]any{"addLicenses": add, "removeLicenses": remove})
	}
	read := func() map[string]any {
		t.Helper()
		return r.must(200, "GET", "/v1.0/users/ada@contoso.com?$select=displayName,department,provisionedPlans,mail", nil).body
	}
	mailbox := func() int { return r.cmdlet("Get-Mailbox", map[string]any{"Identity": "ada@contoso.com"}).status }
	assign([]any{map[string]any{"skuId": enterprise, "disabledPlans": []any{}}}, []any{})
	clock.Advance(time.Minute)
	r.must(204, "PATCH", "/v1.0/users/ada@contoso.com", map[string]any{"displayName": "Ada L", "department": "Navy"})
	if got := read(); got["department"] != "Navy" || len(got["provisionedPlans"].([]any)) != 0 {
		t.Errorf("before the mailbox is there: %v", got)
	}
	if status := mailbox(); status != 404 {
		t.Errorf("the mailbox is there at once: %d", status)
	}
	if err := r.Close(); err != nil { // what is due outlives the process
		t.Fatal(err)
	}
	r = start(t, tenant.Config{Now: clock.Now, ProvisionDelay: 5 * time.Minute, DataDir: disk})
	if status := mailbox(); status != 404 {
		t.Errorf("the mailbox is there after a restart: %d", status)
	}
	clock.Advance(4 * time.Minute)
	if got := read(); got["department"] != "Navy" || got["mail"] != "ada@contoso.com" || len(got["provisionedPlans"].([]any)) != 1 {
		t.Errorf("with the mailbox: %v", got)
	}
	if boxes := r.mustCmdlet("Get-Mailbox", map[string]any{"Identity": "ada@contoso.com"}).values(); boxes[0]["DisplayName"] != "Ada L" {
		t.Errorf("mailbox %v", boxes)
	}
	assign([]any{}, []any{enterprise})
	r.mustCmdlet("Set-Mailbox", map[string]any{"Identity": "ada@contoso.com", "CustomAttribute1": "x"})
	if got := r.mustCmdlet("Get-Mailbox", map[string]any{"Identity": "ada@contoso.com"}).values(); got[0]["CustomAttribute1"] != "x" {
		t.Errorf("a change of a mailbox that loses its licence: %v", got)
	}
	assign([]any{map[string]any{"skuId": enterprise, "disabledPlans": []any{}}}, []any{}) // before it has lost it
	clock.Advance(time.Hour)
	if status := mailbox(); status != 200 {
		t.Errorf("the licence is back, and the mailbox is not: %d", status)
	}
	assign([]any{}, []any{enterprise})
	clock.Advance(time.Hour)
	if status := mailbox(); status != 404 {
		t.Errorf("the mailbox has no licence: %d", status)
	}
}

// Names and addresses of a user in the deleted items are free: Entra ID puts its id before the sign-in name, and removes
// addresses that others have when it restores the user.
func TestNamesOfDeletedUsersAreFree(t *testing.T) {
	t.Parallel()
	s := testenv.Started(tenant.Start(t.Context(), tenant.Config{Seed: &tenant.Seed{
		Users: []tenant.User{{"userPrincipalName": "ada@contoso.com", "mail": "ada.l@contoso.com"}, {"userPrincipalName": "ben@contoso.com"}},
		Recipients: []tenant.Recipient{
			{Kind: tenant.UserMailbox, UserPrincipalName: "ada@contoso.com", EmailAddresses: []string{"SMTP:ada.l@contoso.com", "smtp:ada@contoso.com"}},
			{Kind: tenant.MailUser, UserPrincipalName: "ben@contoso.com", EmailAddresses: []string{"SMTP:ben@contoso.com"}, ExternalEmailAddress: "ben@other.example"},
		},
	}}))(t)
	r := rig{t, s}
	ids := map[string]string{}
	for _, u := range s.State().Users {
		ids[u.UPN()] = u.ID()
	}
	r.must(204, "DELETE", "/v1.0/users/ada@contoso.com", nil)
	r.mustCmdlet("Remove-MailUser", map[string]any{"Identity": "ben@contoso.com"})
	var names []any
	for _, u := range r.must(200, "GET", "/v1.0/directory/deletedItems/microsoft.graph.user", nil).values() {
		names = append(names, u["userPrincipalName"])
	}
	if len(names) != 2 {
		t.Fatalf("deleted users %v", names)
	}
	for i, upn := range []string{"ada@contoso.com", "ben@contoso.com"} {
		if want := strings.ReplaceAll(ids[upn], "-", "") + upn; names[i] != want {
			t.Errorf("deleted user %v, want %s", names[i], want)
		}
		r.mustCmdlet("New-MailUser", map[string]any{
			"Name": upn, "MicrosoftOnlineServicesID": upn, "Password": "secret-of-a-test", "ExternalEmailAddress": upn[:3] + ".l@contoso.com",
		})
	}
}
