package tenant_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
)

const annID = "aaaaaaaa-0000-0000-0000-000000000001"

// exchangeSeed has two mail users, a mailbox, a user without a recipient, and
// a distribution list.
func exchangeSeed() *tenant.Seed {
	user := func(id, name string) tenant.User {
		return tenant.User{"id": id, "userPrincipalName": name + "@contoso.com", "mail": name + "@contoso.com", "displayName": "The " + name}
	}
	return &tenant.Seed{
		Users: []tenant.User{
			user(annID, "ann"), user("aaaaaaaa-0000-0000-0000-000000000002", "bob"), user("aaaaaaaa-0000-0000-0000-000000000003", "cid"),
			{"id": "aaaaaaaa-0000-0000-0000-000000000004", "userPrincipalName": "dan@contoso.com"},
		},
		Recipients: []tenant.Recipient{
			{
				Kind: tenant.MailUser, UserPrincipalName: "ann@contoso.com", ExternalEmailAddress: "ann@fabrikam.com", GUID: "bbbbbbbb-0000-0000-0000-000000000001",
				EmailAddresses: []string{"SMTP:ann@contoso.com", "smtp:ann@old.com", "X500:/o=old/cn=ann"},
			},
			{Kind: tenant.MailUser, UserPrincipalName: "bob@contoso.com", ExternalEmailAddress: "bob@fabrikam.com", ExchangeGUID: "cccccccc-0000-0000-0000-000000000001"},
			{Kind: tenant.UserMailbox, UserPrincipalName: "cid@contoso.com"},
		},
		Groups: []tenant.SeedGroup{{
			Properties: map[string]any{"mailNickname": "all", "displayName": "Everyone", "mail": "all@contoso.com", "mailEnabled": true, "securityEnabled": false},
			Members:    []string{"bob@contoso.com", "dan@contoso.com"},
		}},
	}
}

func TestARecipientIsFoundByEveryIdentity(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{Seed: exchangeSeed()})
	for _, identity := range []string{
		annID, strings.ToUpper(annID), "ann@contoso.com", "ANN@contoso.com", "ann", "ann@old.com", "smtp:ann@old.com", "bbbbbbbb-0000-0000-0000-000000000001",
	} {
		for _, cmdlet := range []string{"Get-Recipient", "Get-MailUser", "get-mailuser"} {
			got := r.mustCmdlet(cmdlet, map[string]any{"Identity": identity}).values()
			if len(got) != 1 || got[0]["ExternalDirectoryObjectId"] != annID {
				t.Errorf("%s %s = %v", cmdlet, identity, got)
			}
		}
	}
	got := r.mustCmdlet("Get-MailUser", map[string]any{"identity": annID}).values()[0]
	for name, want := range map[string]any{
		"RecipientTypeDetails": "MailUser", "PrimarySmtpAddress": "ann@contoso.com", "WindowsEmailAddress": "ann@contoso.com",
		"ExternalEmailAddress": "SMTP:ann@fabrikam.com", "ExchangeGuid": "00000000-0000-0000-0000-000000000000",
		"ArchiveGuid": "00000000-0000-0000-0000-000000000000", "Alias": "ann", "UserPrincipalName": "ann@contoso.com",
	} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
}

func TestExchangeRefusesAsReported(t *testing.T) {
	t.Parallel()
	table := func(key string, values ...string) map[string]any {
		return map[string]any{"@odata.type": "#Exchange.GenericHashTable", key: values}
	}
	const notFound = "|Microsoft.Exchange.Configuration.Tasks.ManagementObjectNotFoundException|The operation couldn't be performed because object '%s' couldn't be found on '"
	tests := []struct {
		name, cmdlet string
		parameters   map[string]any
		status       int
		detail       string
	}{
		{"no such recipient", "Get-Recipient", map[string]any{"Identity": "nobody"}, 404, fmt.Sprintf(notFound, "nobody")},
		{"a user who is no recipient", "Get-Recipient", map[string]any{"Identity": "dan@contoso.com"}, 404, fmt.Sprintf(notFound, "dan@contoso.com")},
		{"a mailbox is no mail user", "Get-MailUser", map[string]any{"Identity": "cid"}, 404, fmt.Sprintf(notFound, "cid")},
		{"a mail user is no mailbox", "Set-Mailbox", map[string]any{"Identity": "ann", "DisplayName": "x"}, 404, fmt.Sprintf(notFound, "ann")},
		{"null", "Set-MailUser", map[string]any{"Identity": "ann", "ArchiveGuid": nil}, 400, "Cannot bind argument to parameter 'ArchiveGuid' because it is null."},
		{
			"primary address of a mail user", "Set-MailUser",
			map[string]any{"Identity": "ann", "PrimarySmtpAddress": "x@contoso.com"},
			400,
			"A parameter cannot be found that matches parameter name 'PrimarySmtpAddress'.",
		},
		{"external address of a mailbox", "Set-Mailbox", map[string]any{"Identity": "cid", "ExternalEmailAddress": "x@contoso.com"}, 400, "'ExternalEmailAddress'"},
		{"no identity", "Set-MailUser", map[string]any{"DisplayName": "x"}, 400, "missing mandatory parameters: Identity"},
		{
			"address of another recipient", "Set-MailUser",
			map[string]any{"Identity": "ann", "EmailAddresses": table("Add", "smtp:BOB@contoso.com")},
			400,
			`The proxy address "smtp:BOB@contoso.com" is already being used by the proxy addresses or LegacyExchangeDN of "aaaaaaaa-0000-0000-0000-000000000002". Please choose another proxy address.`,
		},
		{"address of a group", "Set-MailUser", map[string]any{"Identity": "ann", "WindowsEmailAddress": "all@contoso.com"}, 400, "is already being used"},
		{"two primary addresses", "Set-MailUser", map[string]any{"Identity": "ann", "EmailAddresses": []string{"SMTP:a@x.com", "SMTP:b@x.com"}}, 400, "multiple primary addresses"},
		{"no primary address left", "Set-MailUser", map[string]any{"Identity": "ann", "EmailAddresses": table("Remove", "ann@contoso.com")}, 400, "can't be removed"},
		{"no address", "Set-MailUser", map[string]any{"Identity": "ann", "ExternalEmailAddress": "ann"}, 400, "isn't a valid SMTP address"},
		{"unknown key", "Set-MailUser", map[string]any{"Identity": "ann", "EmailAddresses": table("Append", "a@x.com")}, 400, `"Append" isn't a valid key`},
		{"hashtable without its type", "Set-MailUser", map[string]any{"Identity": "ann", "EmailAddresses": map[string]any{"Add": "a@x.com"}}, 400, "Cannot process argument transformation"},
		{"no GUID", "Set-MailUser", map[string]any{"Identity": "ann", "ExchangeGuid": "7"}, 400, `Cannot convert value "7" to type "System.Guid"`},
		{"GUID of another", "Set-MailUser", map[string]any{"Identity": "ann", "ExchangeGuid": "CCCCCCCC-0000-0000-0000-000000000001"}, 400, `property "ExchangeGuid" is used`},
		{"alias of another", "Set-MailUser", map[string]any{"Identity": "ann", "Alias": "bob"}, 400, `property "Alias" is used`},
		{"member twice", "Add-DistributionGroupMember", map[string]any{"Identity": "all", "Member": "bob"}, 400, "is already a member of the group"},
		{"not a member", "Remove-DistributionGroupMember", map[string]any{"Identity": "all", "Member": "ann"}, 400, "isn't a member of the group"},
		{"member who is no recipient", "Add-DistributionGroupMember", map[string]any{"Identity": "all", "Member": "dan@contoso.com"}, 404, "Couldn't find object"},
		{"new with a taken address", "New-MailUser", map[string]any{"Name": "x", "MicrosoftOnlineServicesID": "x@contoso.com", "Password": "Correct-Horse-7", "ExternalEmailAddress": "ann@old.com"}, 400, "is already being used"},
		{"result size", "Get-Recipient", map[string]any{"ResultSize": "many"}, 400, "'ResultSize'"},
	}
	r := start(t, tenant.Config{Seed: exchangeSeed()})
	before := fmt.Sprint(r.State())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := rig{t, r.Server}.cmdlet(tt.cmdlet, tt.parameters)
			detail := a.detail()
			if _, outer := a.error(); outer != "Error executing cmdlet" {
				t.Errorf("outer message %q", outer)
			}
			if a.status != tt.status || !strings.Contains(detail, tt.detail) || !strings.HasPrefix(detail, "Ex") || strings.Count(detail, "|") != 2 {
				t.Errorf("got %d %q\nwant %d %q", a.status, detail, tt.status, tt.detail)
			}
		})
	}
	if after := fmt.Sprint(r.State()); after != before {
		t.Errorf("a refused command changed the state:\n%s\n%s", before, after)
	}
}

func TestAddressesAreChanged(t *testing.T) {
	t.Parallel()
	edit := func(pairs map[string]any) map[string]any {
		return with(pairs, map[string]any{"@odata.type": "#Exchange.GenericHashTable"})
	}
	tests := []struct {
		name       string
		parameters map[string]any
		want       string // EmailAddresses
		unchanged  bool
	}{
		{
			"add a secondary",
			map[string]any{"EmailAddresses": edit(map[string]any{"Add": []string{"smtp:new@x.com"}})},
			"[SMTP:ann@contoso.com smtp:ann@old.com X500:/o=old/cn=ann smtp:new@x.com]", false,
		},
		{
			"add one without a prefix",
			map[string]any{"EmailAddresses": edit(map[string]any{"add": "new@x.com"})},
			"[SMTP:ann@contoso.com smtp:ann@old.com X500:/o=old/cn=ann smtp:new@x.com]", false,
		},
		{
			"add one that is there in other letters",
			map[string]any{"EmailAddresses": edit(map[string]any{"Add": []string{"smtp:ANN@OLD.com"}})},
			"[SMTP:ann@contoso.com smtp:ann@old.com X500:/o=old/cn=ann]", true,
		},
		{
			"add a primary",
			map[string]any{"EmailAddresses": edit(map[string]any{"Add": []string{"SMTP:new@x.com"}})},
			"[SMTP:new@x.com smtp:ann@contoso.com smtp:ann@old.com X500:/o=old/cn=ann]", false,
		},
		{
			"remove and add",
			map[string]any{"EmailAddresses": edit(map[string]any{"Remove": []string{"ANN@old.com"}, "Add": []string{"smtp:b@x.com"}})},
			"[SMTP:ann@contoso.com X500:/o=old/cn=ann smtp:b@x.com]", false,
		},
		{"replace all", map[string]any{"EmailAddresses": []string{"smtp:a@x.com", "SMTP:b@x.com"}}, "[smtp:a@x.com SMTP:b@x.com]", false},
		{"replace all, the first becomes primary", map[string]any{"EmailAddresses": []string{"a@x.com", "smtp:b@x.com"}}, "[SMTP:a@x.com smtp:b@x.com]", false},
		{
			"a secondary becomes primary",
			map[string]any{"WindowsEmailAddress": "ann@old.com"},
			"[SMTP:ann@old.com smtp:ann@contoso.com X500:/o=old/cn=ann]", false,
		},
		{
			"external address",
			map[string]any{"ExternalEmailAddress": "SMTP:ann@else.com"},
			"[SMTP:ann@contoso.com smtp:ann@old.com X500:/o=old/cn=ann]", false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, tenant.Config{Seed: exchangeSeed()})
			a := r.mustCmdlet("Set-MailUser", with(tt.parameters, map[string]any{"Identity": annID}))
			warnings, _ := a.body["@adminapi.warnings"].([]any)
			if (len(warnings) == 1) != tt.unchanged {
				t.Errorf("warnings = %v", warnings)
			}
			got := r.mustCmdlet("Get-Recipient", map[string]any{"Identity": annID}).values()[0]
			if fmt.Sprint(got["EmailAddresses"]) != tt.want {
				t.Errorf("got  %v\nwant %v", got["EmailAddresses"], tt.want)
			}
			user := r.must(200, "GET", "/v1.0/users/"+annID+"?$select=mail,proxyAddresses", nil).body
			if user["mail"] != got["PrimarySmtpAddress"] || fmt.Sprint(user["proxyAddresses"]) != tt.want {
				t.Errorf("Graph shows %v", user)
			}
		})
	}
}

func TestTheExternalAddressCanTakeThePrimaryAlong(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	r.mustCmdlet("New-MailUser", map[string]any{"Name": "eva", "MicrosoftOnlineServicesID": "eva@contoso.com", "Password": "Correct-Horse-7", "ExternalEmailAddress": "eva@a.com"})
	primary := func() any {
		return r.mustCmdlet("Get-MailUser", map[string]any{"Identity": "eva"}).values()[0]["PrimarySmtpAddress"]
	}
	if primary() != "eva@a.com" {
		t.Fatalf("a new mail user has the primary address %v", primary())
	}
	r.mustCmdlet("Set-MailUser", map[string]any{"Identity": "eva", "ExternalEmailAddress": "eva@c.com"})
	if primary() != "eva@a.com" {
		t.Errorf("without the switch the primary address becomes %v", primary())
	}
	r.mustCmdlet("Set-MailUser", map[string]any{"Identity": "eva", "ExternalEmailAddress": "eva@a.com"})
	if err := r.SetFaults(tenant.Faults{ExternalMovesPrimary: true}); err != nil {
		t.Fatal(err)
	}
	r.mustCmdlet("Set-MailUser", map[string]any{"Identity": "eva", "ExternalEmailAddress": "eva@b.com"})
	if primary() != "eva@b.com" {
		t.Errorf("primary address %v", primary())
	}
}

func TestANewMailUserIsAUserToo(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	made := r.mustCmdlet("New-MailUser", map[string]any{
		"Name": "Eva E", "MicrosoftOnlineServicesID": "eva@contoso.com", "Alias": "eve",
		"ExternalEmailAddress": "SMTP:eva@a.com", "PrimarySmtpAddress": "eva@contoso.com", "FirstName": "Eva", "Password": "Correct-Horse-7",
	}).values()[0]
	user := r.must(200, "GET", "/v1.0/users/eva@contoso.com?$select=id,mail,givenName,mailNickname", nil).body
	if user["id"] != made["ExternalDirectoryObjectId"] || user["mail"] != "eva@contoso.com" || user["givenName"] != "Eva" || user["mailNickname"] != "eve" {
		t.Errorf("user = %v", user)
	}
	for _, missing := range []string{"Name", "MicrosoftOnlineServicesID", "Password"} {
		given := with(mailUser("x"), map[string]any{missing: ""})
		if a := r.cmdlet("New-MailUser", given); a.status != 400 || !strings.Contains(a.detail(), missing) {
			t.Errorf("without %s: %d %q", missing, a.status, a.detail())
		}
	}
}

// A user with addresses and no licence is no recipient, and its addresses are taken all the same.
func TestAUserWithAddressesIsNoRecipient(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	id := r.must(201, "POST", "/v1.0/users", with(person("ann"), map[string]any{"otherMails": []string{"ann@else.com"}})).id()
	if a := r.cmdlet("Get-Recipient", map[string]any{"Identity": id}); a.status != 404 {
		t.Errorf("the user is a recipient: %s", a.raw)
	}
	a := r.cmdlet("New-MailUser", with(mailUser("bob"), map[string]any{"PrimarySmtpAddress": "ann@fabrikam.com"}))
	if a.status != 400 || !strings.Contains(a.detail(), "Another object with the same value for property proxyAddresses already exists.") {
		t.Errorf("an address of the user: %d %q", a.status, a.detail())
	}
	a = r.cmdlet("New-MailUser", with(mailUser("bob"), map[string]any{"MicrosoftOnlineServicesID": "ann@contoso.com", "Alias": "bob"}))
	if a.status != 400 || !strings.Contains(a.detail(), "user principal name") {
		t.Errorf("the name of the user: %d %q", a.status, a.detail())
	}
}

func TestAcceptedDomains(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{Seed: &tenant.Seed{VerifiedDomains: []string{"contoso.com", "contoso.onmicrosoft.com"}}})
	const refused = "You can't use the domain because it's not an accepted domain for your organization."
	r.newMailUser("ann")
	for note, call := range map[string]struct {
		cmdlet     string
		parameters map[string]any
	}{
		"a sign-in name":    {"New-MailUser", with(mailUser("bob"), map[string]any{"MicrosoftOnlineServicesID": "bob@other.com"})},
		"a primary address": {"New-MailUser", with(mailUser("bob"), map[string]any{"PrimarySmtpAddress": "bob@other.com"})},
		"a secondary address": {"Set-MailUser", map[string]any{"Identity": "ann", "EmailAddresses": map[string]any{
			"@odata.type": "#Exchange.GenericHashTable", "Add": []string{"smtp:ann@other.com"},
		}}},
	} {
		if a := r.cmdlet(call.cmdlet, call.parameters); a.status != 400 || !strings.HasSuffix(a.detail(), "NotAcceptedDomainException|"+refused) {
			t.Errorf("%s: %d %q", note, a.status, a.detail())
		}
	}
	r.mustCmdlet("Set-MailUser", map[string]any{"Identity": "ann", "ExternalEmailAddress": "ann@other.com"})
	// Addresses from before another domain was verified stay.
	if err := r.Seed(tenant.Seed{
		Users:      []tenant.User{{"userPrincipalName": "old@contoso.com", "mailNickname": "old"}},
		Recipients: []tenant.Recipient{{Kind: tenant.UserMailbox, UserPrincipalName: "old@contoso.com", EmailAddresses: []string{"SMTP:old@gone.com"}}},
	}); err != nil {
		t.Fatal(err)
	}
	r.mustCmdlet("Set-Mailbox", map[string]any{"Identity": "old", "ForwardingSmtpAddress": "old@other.com"})
	r.mustCmdlet("Set-MailUser", map[string]any{"Identity": "ann", "EmailAddresses": map[string]any{
		"@odata.type": "#Exchange.GenericHashTable", "Add": []string{"X500:/o=other/cn=ann"},
	}})
	var names []any
	for _, domain := range r.mustCmdlet("Get-AcceptedDomain", nil).values() {
		names = append(names, domain["DomainName"])
	}
	if fmt.Sprint(names) != "[contoso.com contoso.onmicrosoft.com]" {
		t.Errorf("accepted domains %v", names)
	}
}

func TestOtherPropertiesOfARecipient(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{Seed: exchangeSeed()})
	r.mustCmdlet("Set-Mailbox", map[string]any{
		"Identity": "cid", "DisplayName": "Sidney", "Alias": "sid", "CustomAttribute15": "wave 1",
		"HiddenFromAddressListsEnabled": true, "MicrosoftOnlineServicesID": "sid@contoso.com", "Confirm": false,
	})
	got := r.mustCmdlet("Get-Mailbox", map[string]any{"Identity": "sid"}).values()[0]
	for name, want := range map[string]any{
		"DisplayName": "Sidney", "Alias": "sid", "CustomAttribute15": "wave 1", "CustomAttribute1": "",
		"HiddenFromAddressListsEnabled": true, "UserPrincipalName": "sid@contoso.com", "RecipientType": "UserMailbox",
	} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
	r.must(200, "GET", "/v1.0/users/sid@contoso.com", nil)
	for parameter, value := range map[string]any{
		"DisplayName": "", "CustomAttribute1": 7, "HiddenFromAddressListsEnabled": "yes",
		"MicrosoftOnlineServicesID": "sid", "Alias": "dan", "EmailAddresses": 7,
	} {
		if a := r.cmdlet("Set-Mailbox", map[string]any{"Identity": "sid", parameter: value}); a.status != 400 {
			t.Errorf("%s = %v: %d", parameter, value, a.status)
		}
	}
}

func TestResultsComeInPages(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{Seed: exchangeSeed()})
	body := map[string]any{"CmdletInput": map[string]any{"CmdletName": "Get-Recipient", "Parameters": map[string]any{"ResultSize": "Unlimited"}}}
	path := "/adminapi/beta/" + tenant.DefaultTenantID + "/InvokeCommand"
	var sizes []int
	for path != "" {
		req := r.request("POST", path, body)
		req.Header.Set("Prefer", "odata.maxpagesize=3")
		page, err := r.send(req)
		if err != nil || page.status != 200 {
			t.Fatal(err, page.status)
		}
		sizes = append(sizes, len(page.values()))
		next, _ := page.body["@odata.nextLink"].(string)
		path = strings.TrimPrefix(next, r.URL())
	}
	if fmt.Sprint(sizes) != "[3 1]" {
		t.Errorf("pages of %v", sizes)
	}
	short := r.mustCmdlet("Get-Recipient", map[string]any{"ResultSize": 2})
	if warnings, _ := short.body["@adminapi.warnings"].([]any); len(short.values()) != 2 || len(warnings) != 1 {
		t.Errorf("ResultSize 2: %s", short.raw)
	}
}

func TestDistributionGroupMembers(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{Seed: exchangeSeed()})
	members := func() string {
		var ids []string
		for _, m := range r.mustCmdlet("Get-DistributionGroupMember", map[string]any{"Identity": "all@contoso.com", "ResultSize": "Unlimited"}).values() {
			ids = append(ids, m["Alias"].(string))
		}
		return strings.Join(ids, " ")
	}
	if members() != "bob" { // dan is a member but no recipient
		t.Errorf("members at first: %s", members())
	}
	r.mustCmdlet("Add-DistributionGroupMember", map[string]any{"Identity": "Everyone", "Member": annID, "BypassSecurityGroupManagerCheck": true})
	r.mustCmdlet("Remove-DistributionGroupMember", map[string]any{"Identity": "all", "Member": "bob@contoso.com", "Confirm": false})
	if members() != "ann" {
		t.Errorf("members at last: %s", members())
	}
	if got := r.mustCmdlet("Get-DistributionGroup", nil).values(); len(got) != 1 || got[0]["PrimarySmtpAddress"] != "all@contoso.com" {
		t.Errorf("groups: %v", got)
	}
}

func TestAnUnknownCmdletIs403WithNULBytesCalledGzip(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	for encoding, want := range map[string]string{"gzip": "gzip", "identity": ""} {
		req := r.request("POST", "/adminapi/beta/"+tenant.DefaultTenantID+"/InvokeCommand", map[string]any{"CmdletInput": map[string]any{"CmdletName": "Get-Weather"}})
		req.Header.Set("Accept-Encoding", encoding)
		a, err := r.send(req)
		if err != nil || a.status != 403 || a.header.Get("Content-Encoding") != want || strings.Trim(string(a.raw), "\x00") != "" {
			t.Errorf("%s: %v %d %q %q", encoding, err, a.status, a.header.Get("Content-Encoding"), a.raw)
		}
	}
	for path, status := range map[string]int{
		"/adminapi/beta/" + tenant.DefaultTenantID + "/Elsewhere": 404, "/adminapi/v1.0/" + tenant.DefaultTenantID + "/InvokeCommand": 405, "/adminapi/beta/other-tenant/InvokeCommand": 403,
	} {
		if a := r.do("POST", path, map[string]any{"CmdletInput": map[string]any{"CmdletName": "Get-Recipient"}}); a.status != status {
			t.Errorf("%s: %d, want %d", path, a.status, status)
		}
	}
}

func TestAFourthCommandAtTheSameTimeIsThrottled(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	entered := make(chan struct{}, 3)
	blocked := true
	var mu sync.Mutex
	r := start(t, tenant.Config{Now: func() time.Time {
		mu.Lock()
		wait := blocked
		mu.Unlock()
		if wait {
			entered <- struct{}{}
			<-hold
		}
		return time.Now()
	}})
	// The first command holds the directory inside the clock, two more wait
	// behind it, each in a slot of its own.
	var group sync.WaitGroup
	statuses := make(chan int, 3)
	for range 3 {
		group.Go(func() { statuses <- r.cmdlet("Get-Recipient", nil).status })
	}
	<-entered
	for deadline := time.Now().Add(10 * time.Second); r.Commands() < 3; {
		if time.Now().After(deadline) {
			t.Fatalf("only %d commands run", r.Commands())
		}
		time.Sleep(time.Millisecond)
	}
	mu.Lock()
	blocked = false
	mu.Unlock()
	a := r.cmdlet("Get-Recipient", nil)
	if a.status != 429 || !strings.Contains(a.detail(), "maximum number of concurrent requests per tenant") {
		t.Errorf("fourth: %d %q", a.status, a.detail())
	}
	close(hold)
	group.Wait()
	for range 3 {
		if status := <-statuses; status != 200 {
			t.Errorf("one of the three: %d", status)
		}
	}
}
