package tenantexport_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/internal/tenantexport"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// TestRedactionKeepsTheStructure exports a tenant redacted: no name, address or id is left, and equal values are equal. No name that is looked for is
// of hexadecimal digits only: digests and ids have any of those.
func TestRedactionKeepsTheStructure(t *testing.T) {
	t.Parallel()
	s := start(t, tenant.Config{Seed: everything()})
	c := config(t, s)
	c.Redact, c.RedactionKey = true, []byte("one key for both tenants")
	m := run(t, c)
	if !m.Redacted || m.TenantID != "redacted" {
		t.Errorf("manifest %+v", m)
	}
	for _, entry := range testenv.Must(os.ReadDir(c.Dir))(t) {
		content := testenv.Must(os.ReadFile(filepath.Join(c.Dir, entry.Name())))(t)
		for _, secret := range []string{"contoso", "fabrikam", "astrid", "lindqvist", "ben", "carl", "inner", "outer", "away", "blue", "värmland", "grace", "hopper", "00000000-0000-4000-8000-0000000000", "00000000000040008000", "7cfb3034", "aaaa3034", tenant.DefaultTenantID} {
			if entry.Name() == "licenses-0001.jsonl" { // of products
				continue
			}
			if at := bytes.Index(bytes.ToLower(content), []byte(secret)); at >= 0 {
				t.Errorf("%s has %q: %.120s", entry.Name(), secret, content[max(0, at-60):])
			}
		}
	}
	seed := load(t, c.Dir, "")
	start(t, tenant.Config{Seed: seed}) // a local tenant takes it
	astrid, ben, guest := seed.Users[0], seed.Users[1], seed.Users[2]
	mailbox, deleted := seed.Recipients[0], seed.DeletedUsers[0]
	conditions := seed.Policies[0]["conditions"].(map[string]any)
	applications := conditions["applications"].(map[string]any)
	equal := map[string][2]string{
		"the manager is Ben":                     {astrid.Text("managerId"), ben.ID()},
		"mailbox and user":                       {mailbox.ExternalDirectoryObjectID, astrid.ID()},
		"sign-in name and address":               {strings.TrimPrefix(mailbox.EmailAddresses[0], "SMTP:"), astrid.UPN()},
		"forwarding to the guest":                {mailbox.ForwardingSMTP, guest.Text("mail")},
		"names that are equal":                   {astrid.Text("displayName"), guest.Text("displayName")},
		"nickname and local part":                {astrid.Text("mailNickname") + "@" + seed.VerifiedDomains[0], astrid.UPN()},
		"local parts in two domains":             {local(mailbox.EmailAddresses[0]), local(mailbox.EmailAddresses[1])},
		"full access of Ben":                     {mailbox.FullAccess[0], ben.ID()},
		"member of the list":                     {seed.Groups[1].Members[0], astrid.ID()},
		"list in the group":                      {seed.Groups[0].Members[0], seed.Groups[1].Properties["id"].(string)},
		"group of the policy":                    {conditions["users"].(map[string]any)["excludeGroups"].([]any)[0].(string), seed.Groups[0].Properties["id"].(string)},
		"applications by their keyword":          {applications["includeApplications"].([]any)[0].(string), "Office365"},
		"application of two lists":               {applications["includeApplications"].([]any)[1].(string), applications["excludeApplications"].([]any)[0].(string)},
		"state of the policy":                    {seed.Policies[0]["state"].(string), "enabled"},
		"state of a licence":                     {astrid["licenseAssignmentStates"].([]any)[0].(map[string]any)["state"].(string), "Active"},
		"guest's sign-in name and address":       {strings.ReplaceAll(strings.Split(guest.UPN(), "#EXT#")[0], "_", "@"), guest.Text("mail")},
		"the last part of an X500 address":       {mailbox.EmailAddresses[2][strings.LastIndex(mailbox.EmailAddresses[2], "=")+1:], local(astrid.UPN())},
		"contact's primary and external address": {strings.TrimPrefix(seed.Recipients[3].EmailAddresses[0], "SMTP:"), seed.Recipients[3].ExternalEmailAddress},
		"domain of the guest and of the contact": {domain(guest.Text("mail")), domain(seed.Recipients[3].ExternalEmailAddress)},
		"deleted user and contact":               {local(deleted.SignInName()), local(seed.Recipients[3].EmailAddresses[0])},
		"domain of the deleted user":             {domain(deleted.UPN()), domain(astrid.UPN())},
		"id in the name of the deleted user":     {strings.TrimSuffix(deleted.UPN(), deleted.SignInName()), strings.ReplaceAll(deleted.ID(), "-", "")},
		"suffix of the initial domain":           {strings.TrimLeft(seed.VerifiedDomains[1], "abcdefghijklmnopqrstuvwxyz0123456789-"), ".onmicrosoft.com"},
		"action of the retention policy":         {mailbox.Holds.InPlace[0][len(mailbox.Holds.InPlace[0])-2:], ":1"},
		"prefix of the organization's hold":      {seed.OrganizationHolds[0][:3], "mbx"},
		"sign-in is blocked":                     {string(testenv.Must(json.Marshal(ben["accountEnabled"]))(t)), "false"},
		"where the user is":                      {astrid.Text("usageLocation"), "SE"},
	}
	for what, pair := range equal {
		if pair[0] == "" || !strings.EqualFold(pair[0], pair[1]) {
			t.Errorf("%s: %q and %q", what, pair[0], pair[1])
		}
	}
	// The same key gives the same values for another export, another key others.
	again := config(t, s)
	again.Redact, again.RedactionKey = true, c.RedactionKey
	run(t, again)
	if other := load(t, again.Dir, ""); other.Users[0].UPN() != astrid.UPN() {
		t.Errorf("the same key: %s and %s", other.Users[0].UPN(), astrid.UPN())
	}
	fresh := config(t, s)
	fresh.Redact = true
	run(t, fresh)
	if other := load(t, fresh.Dir, ""); other.Users[0].UPN() == astrid.UPN() {
		t.Error("another key: the same sign-in name")
	}
}

func local(address string) string {
	name, _, _ := strings.Cut(address[strings.Index(address, ":")+1:], "@")
	return name
}

func domain(address string) string { return address[strings.LastIndex(address, "@")+1:] }

// transport changes requests.
type transport func(*http.Request)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	f(r)
	return http.DefaultTransport.RoundTrip(r)
}

// TestReadsAgainAfterAnExpiredLink has the link to the second page of a kind refused, once or each time.
func TestReadsAgainAfterAnExpiredLink(t *testing.T) {
	t.Parallel()
	s := start(t, tenant.Config{Seed: many(1200)})
	for kind, path := range map[snapshot.Kind]string{snapshot.Users: "/users", snapshot.Groups: "/groups", snapshot.Recipients: "/InvokeCommand"} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := config(t, s)
			c.Details = nil
			var left, refused atomic.Int64 // refusals to come, and those that came
			c.HTTP = &http.Client{Transport: transport(func(r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, path) || !strings.Contains(r.URL.RawQuery, "skiptoken") || left.Load() == refused.Load() {
					return
				}
				if kind == snapshot.Recipients {
					if r.Header.Get("X-CmdletName") != "Get-Mailbox" { // the index has pages, too
						return
					}
					r.URL.Path += "/gone" // a local tenant takes any token
				}
				refused.Add(1)
				q := r.URL.Query()
				q.Set("$skiptoken", "old")
				r.URL.RawQuery = q.Encode()
			})}
			left.Store(1)
			if m := run(t, c); refused.Load() != 1 || m.Objects(kind) != manyObjects(kind) {
				t.Errorf("%d %s after %d refusals", m.Objects(kind), kind, refused.Load())
			}
			// A service that never takes the link ends the run, which keeps what was read.
			c.Dir = t.TempDir()
			left.Store(20)
			refused.Store(0)
			_, err := tenantexport.Run(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), "link to the next "+string(kind)) || !strings.Contains(err.Error(), "same command") || refused.Load() != 4 {
				t.Errorf("after %d refusals: %v", refused.Load(), err)
			}
			left.Store(refused.Load())
			var again []int
			c.Progress = func(p tenantexport.Progress) {
				if p.Kind == kind {
					again = append(again, p.Objects)
				}
			}
			if m := run(t, c); m.Objects(kind) != manyObjects(kind) || again[0] != manyObjects(kind) {
				t.Errorf("%d %s, in steps of %v", m.Objects(kind), kind, again)
			}
		})
	}
}

// manyObjects is how many objects of a kind the tenant of many(1200) has.
func manyObjects(kind snapshot.Kind) int {
	if kind == snapshot.Groups {
		return 130
	}
	return 1200
}

// TestRefusesLinksThatLeadElsewhere keeps the token from other hosts.
func TestRefusesLinksThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	s := start(t, tenant.Config{Seed: many(1200)})
	c := config(t, s)
	c.HTTP = &http.Client{Transport: transport(func(r *http.Request) { r.Host = "evil.example" })}
	if _, err := tenantexport.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "leads to evil.example") {
		t.Errorf("got %v", err)
	}
}
