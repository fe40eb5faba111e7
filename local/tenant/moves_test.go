package tenant_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

const (
	mailboxGUID = "cccccccc-0000-0000-0000-00000000000"
	archiveGUID = "dddddddd-0000-0000-0000-000000000001"
)

// twoTenants are a source with mailboxes and a target whose mail users wait for them. Each takes a minute for a copy.
func twoTenants(t *testing.T, now func() time.Time) *tenant.Tenants {
	t.Helper()
	config := func(name string, seed tenant.Seed) tenant.Named {
		return tenant.Named{Name: name, Config: tenant.Config{TenantID: "id-of-" + name, DataDir: t.TempDir(), Seed: &seed, MoveDelay: time.Minute, Now: now}}
	}
	source, target := tenant.Seed{VerifiedDomains: []string{"source.example"}}, tenant.Seed{VerifiedDomains: []string{"target.example"}}
	for i, name := range []string{"ada", "ben", "chen", "dana"} {
		guid := fmt.Sprint(mailboxGUID, i)
		source.Users = append(source.Users, tenant.User{"userPrincipalName": name + "@source.example"})
		mailbox := tenant.Recipient{
			Kind: tenant.UserMailbox, UserPrincipalName: name + "@source.example", EmailAddresses: []string{"SMTP:" + name + "@source.example"},
			ExchangeGUID: guid, ForwardingSMTP: "old@other.example",
		}
		switch name {
		case "ben":
			mailbox.ArchiveGUID, mailbox.AutoExpanding = archiveGUID, true
		case "chen":
			mailbox.ArchiveGUID = archiveGUID
		case "dana":
			mailbox.ExchangeGUID = ""
		}
		source.Recipients = append(source.Recipients, mailbox)
		target.Users = append(target.Users, tenant.User{"userPrincipalName": name + "@target.example"})
		target.Recipients = append(target.Recipients, tenant.Recipient{
			Kind: tenant.MailUser, UserPrincipalName: name + "@target.example", EmailAddresses: []string{"SMTP:" + name + "@target.example"},
			ExternalEmailAddress: name + "@source.example", ExchangeGUID: guid,
		})
	}
	return testenv.Started(tenant.StartTenants(t.Context(), tenant.TenantsConfig{
		Tenants: []tenant.Named{config("source", source), config("target", target)}, TenantOf: func(token string) string { return token },
	}))(t)
}

// A mailbox leaves its tenant when it arrives in the other one. Each person who cannot be moved fails, and stays where they are.
func TestAMailboxMovesFromTenantToTenant(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	g := twoTenants(t, func() time.Time {
		return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(passed.Load()))
	})
	run := func(name, cmdlet string, parameters map[string]any) []map[string]any {
		t.Helper()
		body := string(testenv.Must(json.Marshal(map[string]any{"CmdletInput": map[string]any{"CmdletName": cmdlet, "Parameters": parameters}}))(t))
		status, text := fetch(t, "POST", g.URL()+"/adminapi/beta/id-of-"+name+"/InvokeCommand", "id-of-"+name, body)
		var answer struct {
			Value []map[string]any `json:"value"`
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s", cmdlet, status, text)
		}
		return answer.Value
	}
	statuses := func() string {
		t.Helper()
		var all []string
		for _, u := range run("target", "Get-MigrationUser", map[string]any{"BatchId": "one", "ResultSize": "Unlimited"}) {
			all = append(all, fmt.Sprint(u["Status"]))
		}
		return strings.Join(all, " ")
	}
	kinds := func(name string) string {
		t.Helper()
		var all []string
		for _, person := range []string{"ada", "ben", "chen", "dana"} {
			r := run(name, "Get-Recipient", map[string]any{"Identity": person + "@" + name + ".example"})[0]
			all = append(all, fmt.Sprint(r["RecipientTypeDetails"]))
		}
		return strings.Join(all, " ")
	}

	batch := batchOf("one", "EmailAddress\nada@target.example\nben@target.example\nchen@target.example\ndana@target.example\n")
	maps.Copy(batch, map[string]any{"SourceEndpoint": "Source", "TargetDeliveryDomain": "target.example"})
	run("target", "New-MigrationBatch", batch)
	if got := statuses(); got != "Syncing Syncing Syncing Syncing" {
		t.Errorf("at the start: %s", got)
	}
	passed.Store(int64(time.Minute))
	if got := statuses(); got != "Synced Failed Failed Failed" {
		t.Errorf("after a minute: %s", got)
	}
	users := run("target", "Get-MigrationUser", map[string]any{"BatchId": "one", "ResultSize": "Unlimited"})
	for i, reason := range []string{"", "auto-expanding", "You must specify the PrimaryOnly parameter", "Cannot find a recipient that has mailbox GUID"} {
		if text, _ := users[i]["ErrorSummary"].(string); !strings.Contains(text, reason) || (text == "") != (reason == "") {
			t.Errorf("person %d: %q, want %q", i, text, reason)
		}
	}
	if got := kinds("source"); got != "UserMailbox UserMailbox UserMailbox UserMailbox" {
		t.Errorf("copied mailboxes are %s", got)
	}

	run("target", "Complete-MigrationBatch", map[string]any{"Identity": "one"})
	if got := statuses(); got != "Completing Failed Failed Failed" {
		t.Errorf("at the completion: %s", got)
	}
	passed.Store(int64(2 * time.Minute))
	if status, body := fetch(t, "GET", g.URL()+"/v1.0/users/ada@source.example", "id-of-source", ""); status != http.StatusOK {
		t.Errorf("%d %s", status, body) // any request of any tenant sees the move
	}
	if got := statuses(); got != "Completed Failed Failed Failed" {
		t.Errorf("at the end: %s", got)
	}
	if got := kinds("source"); got != "MailUser UserMailbox UserMailbox UserMailbox" {
		t.Errorf("in the source are %s", got)
	}
	if got := kinds("target"); got != "UserMailbox MailUser MailUser MailUser" {
		t.Errorf("in the target are %s", got)
	}
	ada := run("source", "Get-MailUser", map[string]any{"Identity": "ada@source.example"})[0]
	if ada["ExternalEmailAddress"] != "SMTP:ada@target.example" || ada["PrimarySmtpAddress"] != "ada@source.example" {
		t.Errorf("the mail user of the source: %v", ada)
	}
	for _, r := range g.Tenant("source").State().Recipients {
		if r.Kind == tenant.MailUser && r.ForwardingSMTP != "" {
			t.Errorf("a mail user forwards: %+v", r)
		}
	}
}

// Each mailbox has an address for mails within Exchange, which the mail user in the other tenant gets.
func TestALegacyExchangeDN(t *testing.T) {
	t.Parallel()
	seed := exchangeSeed()
	seed.Recipients[2].LegacyDN = "/o=ExchangeLabs/cn=cid"
	r := start(t, tenant.Config{Seed: seed})
	for identity, want := range map[string]string{
		"cid": "/o=ExchangeLabs/cn=cid",
		"ann": "/o=ExchangeLabs/ou=Exchange Administrative Group (FYDIBOHF23SPDLT)/cn=Recipients/cn=bbbbbbbb000000000000000000000001-ann",
	} {
		if got := r.mustCmdlet("Get-Recipient", map[string]any{"Identity": identity}).values()[0]["LegacyExchangeDN"]; got != want {
			t.Errorf("%s: %v, want %s", identity, got, want)
		}
	}
}
