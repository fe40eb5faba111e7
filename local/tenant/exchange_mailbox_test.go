package tenant_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/tenant"
)

func TestMailboxCmdletsRefuse(t *testing.T) {
	t.Parallel()
	table := func(key string, values ...string) map[string]any {
		return map[string]any{"@odata.type": "#Exchange.GenericHashTable", key: values}
	}
	const binding, exists, noEntry = "|System.Management.Automation.ParameterBindingException|", "|Microsoft.Exchange.Management.StoreTasks.UserAlreadyExistsInPermissionEntryException|An existing permission entry was found for user: ",
		"|Microsoft.Exchange.Management.StoreTasks.UserNotFoundInPermissionEntryException|There is no existing permission entry found for user: "
	full := func(user string) map[string]any {
		return map[string]any{"Identity": "cid", "User": user, "AccessRights": []string{"FullAccess"}}
	}
	folder := func(user, right string) map[string]any {
		return map[string]any{"Identity": `cid:\Kalender`, "User": user, "AccessRights": []string{right}}
	}
	tests := []struct {
		name, cmdlet string
		parameters   map[string]any
		status       int
		detail       string
	}{
		{"automatic replies of a mail user", "Set-MailboxAutoReplyConfiguration", map[string]any{"Identity": "ann", "AutoReplyState": "Enabled"}, 404, "couldn't be found"},
		{"a state that is none", "Set-MailboxAutoReplyConfiguration", map[string]any{"Identity": "cid", "AutoReplyState": "On"}, 400, "Enabled, Disabled, Scheduled"},
		{"a time that is none", "Set-MailboxAutoReplyConfiguration", map[string]any{"Identity": "cid", "StartTime": "noon"}, 400, binding},
		{"a period without end", "Set-MailboxAutoReplyConfiguration", map[string]any{"Identity": "cid", "AutoReplyState": "Scheduled", "StartTime": "2026-03-01T18:00:00Z"}, 400, "later than its start time"},
		{"a message that is no text", "Set-MailboxAutoReplyConfiguration", map[string]any{"Identity": "cid", "InternalMessage": 7}, 400, binding},
		{"full access of a list", "Add-MailboxPermission", full("all"), 404, "wasn't found"},
		{"full access twice", "Add-MailboxPermission", full("bob"), 400, exists},
		{"another right", "Add-MailboxPermission", map[string]any{"Identity": "cid", "User": "bob", "AccessRights": []string{"ReadPermission"}}, 400, "specify FullAccess"},
		{"a right that is no list", "Add-RecipientPermission", map[string]any{"Identity": "cid", "Trustee": "bob", "AccessRights": 7}, 400, binding},
		{"on behalf of no user", "Set-Mailbox", map[string]any{"Identity": "cid", "GrantSendOnBehalfTo": table("Add")}, 400, "cannot contain null values"},
		{"on behalf of an unknown user", "Set-Mailbox", map[string]any{"Identity": "cid", "GrantSendOnBehalfTo": table("Add", "zoe")}, 404, "Couldn't find object"},
		{"an unknown key", "Set-Mailbox", map[string]any{"Identity": "cid", "GrantSendOnBehalfTo": table("Put", "bob")}, 400, `"Put" isn't a valid key`},
		{"a table without its type", "Set-Mailbox", map[string]any{"Identity": "cid", "GrantSendOnBehalfTo": map[string]any{"Add": "bob"}}, 400, binding},
		{"a type of mailbox that is none", "Set-Mailbox", map[string]any{"Identity": "cid", "Type": "Team"}, 400, "Regular, Shared, Room, Equipment"},
		{"folders of all kinds", "Get-MailboxFolderStatistics", map[string]any{"Identity": "cid"}, 400, "FolderScope Calendar"},
		{"a folder of another language", "Get-MailboxFolderPermission", map[string]any{"Identity": `cid:\Calendar`}, 404, "couldn't be found"},
		{"no folder", "Get-MailboxFolderPermission", map[string]any{"Identity": "cid"}, 400, "isn't of the form"},
		{"an entry of a user without one", "Get-MailboxFolderPermission", map[string]any{"Identity": `cid:\Kalender`, "User": "bob"}, 400, noEntry},
		{"an entry twice", "Add-MailboxFolderPermission", folder("ann", "Editor"), 400, exists},
		{"an entry of Default", "Add-MailboxFolderPermission", folder("Default", "Editor"), 400, exists},
		{"an entry to change that is none", "Set-MailboxFolderPermission", folder("bob", "Editor"), 400, noEntry},
		{"an entry to remove that is none", "Remove-MailboxFolderPermission", map[string]any{"Identity": `cid:\Kalender`, "User": "bob"}, 400, noEntry},
		{"a role that is none", "Set-MailboxFolderPermission", folder("ann", "Boss"), 400, `Cannot convert value "Boss"`},
		{"an entry of an unknown user", "Add-MailboxFolderPermission", folder("zoe", "Editor"), 400, "no matching information"},
		{"an entry without role", "Add-MailboxFolderPermission", map[string]any{"Identity": `cid:\Kalender`, "User": "bob"}, 400, "missing mandatory parameters: AccessRights"},
		{"a mailbox of a person", "New-Mailbox", map[string]any{"Name": "x", "PrimarySmtpAddress": "x@contoso.com"}, 400, "specify Shared, Room or Equipment"},
		{"a mailbox of two types", "New-Mailbox", map[string]any{"Name": "x", "PrimarySmtpAddress": "x@contoso.com", "Room": true, "Shared": true}, 400, "cannot be resolved"},
		{"a mailbox without an address", "New-Mailbox", map[string]any{"Name": "x", "Room": true}, 400, "PrimarySmtpAddress"},
		{"a mailbox with a taken address", "New-Mailbox", map[string]any{"Name": "x", "PrimarySmtpAddress": "bob@contoso.com", "Room": true}, 400, "already being used"},
		{"a list with a taken name", "New-DistributionGroup", map[string]any{"Name": "Everyone", "PrimarySmtpAddress": "x@contoso.com"}, 400, "already being used"},
		{"a list with a taken address", "New-DistributionGroup", map[string]any{"Name": "x", "PrimarySmtpAddress": "ann@old.com"}, 400, "already being used"},
		{"a list of an unknown type", "New-DistributionGroup", map[string]any{"Name": "x", "PrimarySmtpAddress": "x@contoso.com", "Type": "Unified"}, 400, "Distribution, Security"},
		{"a list owned by a list", "Set-DistributionGroup", map[string]any{"Identity": "all", "ManagedBy": table("Add", "all")}, 404, "Couldn't find object"},
	}
	seed := exchangeSeed()
	cid := &seed.Recipients[2]
	cid.CalendarFolder, cid.FullAccess = "Kalender", []string{"aaaaaaaa-0000-0000-0000-000000000002"}
	cid.Calendar = []tenant.FolderPermission{{User: annID, AccessRights: []string{"Reviewer"}}}
	r := start(t, tenant.Config{Seed: seed})
	before := fmt.Sprint(r.State())
	for _, tt := range tests {
		a := r.cmdlet(tt.cmdlet, tt.parameters)
		if detail := a.detail(); a.status != tt.status || !strings.Contains(detail, tt.detail) {
			t.Errorf("%s: got %d %q, want %d %q", tt.name, a.status, detail, tt.status, tt.detail)
		}
	}
	if after := fmt.Sprint(r.State()); after != before {
		t.Errorf("a refused command changed the state:\n%s\n%s", before, after)
	}
}

// A permission that is taken and not there, or given and there, is a success with a warning.
func TestPermissionsThatChangeNothingWarn(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{Seed: exchangeSeed()})
	for cmdlet, tt := range map[string]struct {
		parameters map[string]any
		warning    string
	}{
		"Remove-MailboxPermission":   {map[string]any{"Identity": "cid", "User": "bob", "AccessRights": []string{"FullAccess"}}, "because the ACE doesn't exist on the object."},
		"Remove-RecipientPermission": {map[string]any{"Identity": "cid", "Trustee": "bob", "AccessRights": []string{"SendAs"}}, "because the ACE isn't present"},
		"Set-Mailbox": {map[string]any{"Identity": "cid", "GrantSendOnBehalfTo": map[string]any{
			"@odata.type": "#Exchange.GenericHashTable", "Remove": []string{"bob"},
		}}, "completed successfully but no settings of"},
	} {
		if a := r.mustCmdlet(cmdlet, tt.parameters); !strings.Contains(fmt.Sprint(a.body["@adminapi.warnings"]), tt.warning) {
			t.Errorf("%s: %s", cmdlet, a.raw)
		}
	}
}

func TestAGroupOfExchangeIsOneOfEntraToo(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{Seed: exchangeSeed()})
	made := r.mustCmdlet("New-DistributionGroup", map[string]any{
		"Name": "sales", "DisplayName": "Sales", "PrimarySmtpAddress": "sales@contoso.com", "Type": "Security", "ManagedBy": []string{"bob"}, "CopyOwnerToMember": true,
	}).values()[0]
	id, _ := made["ExternalDirectoryObjectId"].(string)
	r.mustCmdlet("Set-DistributionGroup", map[string]any{"Identity": "sales", "PrimarySmtpAddress": "team@contoso.com", "BypassSecurityGroupManagerCheck": true})
	g := r.must(200, "GET", "/v1.0/groups/"+id+"?$select=mail,securityEnabled,mailEnabled,proxyAddresses", nil).body
	if g["mail"] != "team@contoso.com" || g["securityEnabled"] != true || g["mailEnabled"] != true || fmt.Sprint(g["proxyAddresses"]) != "[SMTP:team@contoso.com smtp:sales@contoso.com]" {
		t.Errorf("Graph shows %v", g)
	}
	if members := r.mustCmdlet("Get-DistributionGroupMember", map[string]any{"Identity": id}).values(); len(members) != 1 || members[0]["Alias"] != "bob" {
		t.Errorf("members: %v", members)
	}
}

func TestOrganizationHoldsOutliveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const hold = "mbx7cfb30345d454ac0a989ab3041051209:2"
	first := start(t, tenant.Config{DataDir: dir, Seed: &tenant.Seed{OrganizationHolds: []string{hold}}})
	if err := first.Seed(tenant.Seed{OrganizationHolds: []string{hold}}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if got := start(t, tenant.Config{DataDir: dir}).mustCmdlet("Get-OrganizationConfig", nil).values(); len(got) != 1 || fmt.Sprint(got[0]["InPlaceHolds"]) != "["+hold+"]" {
		t.Errorf("got %v", got)
	}
}
