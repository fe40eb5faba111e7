package tenant_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/matoolkit/matoolkit/local/tenant"
)

// TestListsOfATenant reads what only an export lists.
func TestListsOfATenant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seed := &tenant.Seed{
		VerifiedDomains: []string{"contoso.com", "contoso.onmicrosoft.com"}, MigrationEndpoints: []string{"Fabrikam"},
		Users: []tenant.User{
			{"id": "00000000-0000-0000-0000-00000000000a", "userPrincipalName": "ada@contoso.com", "managerId": "00000000-0000-0000-0000-00000000000b"},
			{"id": "00000000-0000-0000-0000-00000000000b", "userPrincipalName": "ben@contoso.com"},
		},
		DeletedUsers: []tenant.User{{"id": "00000000-0000-0000-0000-0000000000DD", "userPrincipalName": "ddada@contoso.com", "deletedDateTime": "2026-03-01T00:00:00Z"}},
		Groups: []tenant.SeedGroup{
			{Properties: map[string]any{"id": "00000000-0000-0000-0000-0000000000f1", "mailNickname": "outer"}, Members: []string{"00000000-0000-0000-0000-0000000000f2"}, Owners: []string{"ben@contoso.com"}},
			{
				Properties: map[string]any{"id": "00000000-0000-0000-0000-0000000000f2", "mailNickname": "inner", "mailEnabled": true, "mail": "inner@contoso.com"},
				SendAs:     []string{"00000000-0000-0000-0000-00000000000a"},
				Recipient:  &tenant.Recipient{GUID: "00000000-0000-0000-0000-0000000000e1", Name: "Inner list", Hidden: true, ManagedBy: []string{"00000000-0000-0000-0000-00000000000b"}},
			},
		},
		Recipients: []tenant.Recipient{{Kind: tenant.UserMailbox, UserPrincipalName: "ada@contoso.com", EmailAddresses: []string{"SMTP:ada@contoso.com"}}},
	}
	r := start(t, tenant.Config{Seed: seed, DataDir: dir})
	check := func(r rig) {
		t.Helper()
		if got := r.must(200, "GET", "/v1.0/domains?$select=id,isVerified", nil).values(); len(got) != 2 || got[0]["id"] != "contoso.com" || got[0]["isVerified"] != true {
			t.Errorf("domains %v", got)
		}
		deleted := r.must(200, "GET", "/v1.0/directory/deletedItems/microsoft.graph.user?$select=id,userPrincipalName,deletedDateTime&$top=999", nil).values()
		if len(deleted) != 1 || deleted[0]["id"] != "00000000-0000-0000-0000-0000000000dd" || deleted[0]["deletedDateTime"] == nil {
			t.Errorf("deleted users %v", deleted)
		}
		users := r.must(200, "GET", "/v1.0/users?$select=id&$expand=manager($select=id)", nil).values()
		if manager, _ := users[0]["manager"].(map[string]any); len(users) != 2 || manager["id"] != "00000000-0000-0000-0000-00000000000b" || users[1]["manager"] != nil {
			t.Errorf("users %v", users)
		}
		groups := r.mustCmdlet("Get-DistributionGroup", map[string]any{}).values()
		if len(groups) != 1 || groups[0]["Name"] != "Inner list" || groups[0]["HiddenFromAddressListsEnabled"] != true || fmt.Sprint(groups[0]["ManagedBy"]) == "[]" {
			t.Errorf("groups %v", groups)
		}
		if got := r.mustCmdlet("Get-RecipientPermission", map[string]any{"ResultSize": "Unlimited"}).values(); len(got) != 3 || got[1]["Trustee"] != "ada@contoso.com" {
			t.Errorf("permissions %v", got)
		}
		if got := r.mustCmdlet("Get-MigrationEndpoint", map[string]any{}).values(); len(got) != 1 || got[0]["Identity"] != "Fabrikam" {
			t.Errorf("endpoints %v", got)
		}
	}
	check(r)
	r.must(http.StatusBadRequest, "GET", "/v1.0/users?$expand=memberOf", nil)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, tenant.Config{DataDir: dir})
	check(again)
	again.must(204, "DELETE", "/v1.0/users/ben@contoso.com", nil)
	if got := again.must(200, "GET", "/v1.0/directory/deletedItems/microsoft.graph.user", nil).values(); len(got) != 2 || got[1]["userPrincipalName"] != "0000000000000000000000000000000bben@contoso.com" {
		t.Errorf("deleted users %v", got)
	}
}
