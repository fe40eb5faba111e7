package tenant_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
)

// sales is a Microsoft 365 group that Ann owns, in a tenant with an initial domain.
func sales(t *testing.T, r rig) string {
	t.Helper()
	return r.must(201, "POST", "/v1.0/groups", map[string]any{
		"displayName": "Sales", "mailNickname": "sales", "mailEnabled": true, "securityEnabled": false, "groupTypes": []string{"Unified"},
		"owners@odata.bind": []string{r.URL() + "/v1.0/users/" + annID},
	}).id()
}

func withInitialDomain() *tenant.Seed {
	seed := exchangeSeed()
	seed.VerifiedDomains = []string{"contoso.com", "contoso.onmicrosoft.com", "old.com"}
	return seed
}

func TestAMicrosoft365GroupBecomesARecipient(t *testing.T) {
	t.Parallel()
	c := newClock()
	r := start(t, tenant.Config{Lag: time.Minute, Now: c.Now, Seed: withInitialDomain()})
	id := sales(t, r)
	if a := r.cmdlet("Get-UnifiedGroup", map[string]any{"Identity": id}); a.status != 404 {
		t.Errorf("before the lag: %s", a.raw)
	}
	c.Advance(time.Minute)
	for _, identity := range []string{id, "sales", "sales@contoso.onmicrosoft.com"} {
		for _, cmdlet := range []string{"Get-Recipient", "Get-UnifiedGroup"} {
			got := r.mustCmdlet(cmdlet, map[string]any{"Identity": identity}).values()[0]
			for name, want := range map[string]any{
				"RecipientType": "MailUniversalDistributionGroup", "RecipientTypeDetails": "GroupMailbox", "ExternalDirectoryObjectId": id,
				"PrimarySmtpAddress": "sales@contoso.onmicrosoft.com", "ManagedBy": "[" + annID + "]",
			} {
				if fmt.Sprint(got[name]) != want {
					t.Errorf("%s %s: %s is %v, want %v", cmdlet, identity, name, got[name], want)
				}
			}
		}
	}
	r.mustCmdlet("Set-UnifiedGroup", map[string]any{"Identity": id, "PrimarySmtpAddress": "sales@contoso.com"})
	r.mustCmdlet("Set-UnifiedGroup", map[string]any{"Identity": id, "EmailAddresses": map[string]any{
		"@odata.type": "#Exchange.GenericHashTable", "Add": []string{"smtp:sell@contoso.com", "x500:/o=old/cn=sales"},
	}, "HiddenFromAddressListsEnabled": true, "GrantSendOnBehalfTo": map[string]any{"@odata.type": "#Exchange.GenericHashTable", "Add": []string{"cid"}}})
	r.mustCmdlet("Add-RecipientPermission", map[string]any{"Identity": id, "Trustee": "cid", "AccessRights": []string{"SendAs"}})
	c.Advance(time.Minute)
	got := r.mustCmdlet("Get-UnifiedGroup", map[string]any{"Identity": id}).values()[0]
	if got["HiddenFromAddressListsEnabled"] != true || len(got["GrantSendOnBehalfTo"].([]any)) != 1 {
		t.Errorf("got %v", got)
	}
	if grants := r.mustCmdlet("Get-RecipientPermission", map[string]any{"Identity": id}).values(); len(grants) != 2 || grants[1]["Trustee"] != "cid@contoso.com" {
		t.Errorf("permissions: %v", grants)
	}
	g := r.must(200, "GET", "/v1.0/groups/"+id+"?$select=mail,proxyAddresses", nil).body
	if g["mail"] != "sales@contoso.com" || fmt.Sprint(g["proxyAddresses"]) != "[SMTP:sales@contoso.com smtp:sales@contoso.onmicrosoft.com smtp:sell@contoso.com x500:/o=old/cn=sales]" {
		t.Errorf("Graph shows %v", g)
	}
	if owners := r.must(200, "GET", "/v1.0/groups/"+id+"/owners", nil).values(); len(owners) != 1 {
		t.Errorf("owners: %v", owners)
	}
	r.must(204, "DELETE", "/v1.0/groups/"+id, nil)
	c.Advance(time.Minute)
	if a := r.cmdlet("Get-Recipient", map[string]any{"Identity": "sales"}); a.status != 404 {
		t.Errorf("after the deletion: %s", a.raw)
	}
}

func TestExchangeRefusesForAMicrosoft365Group(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{Seed: withInitialDomain()})
	id := sales(t, r)
	table := func(key string, values ...string) map[string]any {
		return map[string]any{"@odata.type": "#Exchange.GenericHashTable", key: values}
	}
	set := func(name string, value any) map[string]any { return map[string]any{"Identity": id, name: value} }
	before := fmt.Sprint(r.State())
	for _, tt := range []struct {
		name, cmdlet string
		parameters   map[string]any
		status       int
		says         string
	}{
		{"a list", "Get-UnifiedGroup", map[string]any{"Identity": "all"}, 404, "couldn't be found"},
		{"as a list", "Get-DistributionGroup", map[string]any{"Identity": id}, 404, "couldn't be found"},
		{"as a list to change", "Set-DistributionGroup", set("HiddenFromAddressListsEnabled", true), 404, "couldn't be found"},
		{"as a mailbox", "Get-Mailbox", map[string]any{"Identity": id}, 404, "couldn't be found"},
		{"full access", "Add-MailboxPermission", map[string]any{"Identity": id, "User": "cid", "AccessRights": []string{"FullAccess"}}, 404, "couldn't be found"},
		{"a parameter of lists", "Set-UnifiedGroup", set("BypassSecurityGroupManagerCheck", true), 400, "matches parameter name"},
		{"a parameter of mailboxes", "Set-UnifiedGroup", set("WindowsEmailAddress", "x@contoso.com"), 400, "matches parameter name"},
		{"the primary address", "Set-UnifiedGroup", set("EmailAddresses", table("Remove", "sales@contoso.onmicrosoft.com")), 400, "can't be removed"},
		{"the initial address", "Set-UnifiedGroup", set("EmailAddresses", []string{"SMTP:sales@contoso.com"}), 400, "MOERA"},
		{"an address of another", "Set-UnifiedGroup", set("EmailAddresses", table("Add", "all@contoso.com")), 400, "already being used"},
		{"a foreign domain", "Set-UnifiedGroup", set("PrimarySmtpAddress", "sales@other.example"), 400, "accepted domain"},
		{"both", "Set-UnifiedGroup", map[string]any{"Identity": id, "PrimarySmtpAddress": "x@contoso.com", "EmailAddresses": table("Add", "y@contoso.com")}, 400, "same time"},
	} {
		if a := r.cmdlet(tt.cmdlet, tt.parameters); a.status != tt.status || !strings.Contains(a.detail(), tt.says) {
			t.Errorf("%s: got %d %q, want %d %q", tt.name, a.status, a.detail(), tt.status, tt.says)
		}
	}
	taken := r.must(400, "POST", "/v1.0/groups", map[string]any{
		"displayName": "All", "mailNickname": "bob", "mailEnabled": true, "securityEnabled": false, "groupTypes": []string{"Unified"},
	})
	if _, message := taken.error(); message != "Another object with the same value for property mailNickname already exists." {
		t.Errorf("a nickname that a user has: %q", message)
	}
	if after := fmt.Sprint(r.State()); after != before {
		t.Error("a refused command changed the state")
	}
}
