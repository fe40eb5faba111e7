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

// TestRedactionKeepsTheStructure exports a tenant redacted: no name, address or id is left, and equal values are equal.
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
		for _, secret := range []string{"contoso", "fabrikam", "ada", "lindqvist", "ben", "carl", "inner", "outer", "away", "blue", "00000000-0000-4000-8000-0000000000", "7cfb3034", "aaaa3034", tenant.DefaultTenantID} {
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
	ada, ben, guest := seed.Users[0], seed.Users[1], seed.Users[2]
	mailbox := seed.Recipients[0]
	equal := map[string][2]string{
		"the manager is Ben":                     {ada.Text("managerId"), ben.ID()},
		"mailbox and user":                       {mailbox.ExternalDirectoryObjectID, ada.ID()},
		"sign-in name and address":               {strings.TrimPrefix(mailbox.EmailAddresses[0], "SMTP:"), ada.UPN()},
		"forwarding to the guest":                {mailbox.ForwardingSMTP, guest.Text("mail")},
		"names that are equal":                   {ada.Text("displayName"), guest.Text("displayName")},
		"nickname and local part":                {ada.Text("mailNickname") + "@" + seed.VerifiedDomains[0], ada.UPN()},
		"local parts in two domains":             {local(mailbox.EmailAddresses[0]), local(mailbox.EmailAddresses[1])},
		"full access of Ben":                     {mailbox.FullAccess[0], ben.ID()},
		"member of the list":                     {seed.Groups[1].Members[0], ada.ID()},
		"list in the group":                      {seed.Groups[0].Members[0], seed.Groups[1].Properties["id"].(string)},
		"group of the policy":                    {seed.Policies[0]["conditions"].(map[string]any)["users"].(map[string]any)["excludeGroups"].([]any)[0].(string), seed.Groups[0].Properties["id"].(string)},
		"guest's sign-in name and address":       {strings.ReplaceAll(strings.Split(guest.UPN(), "#EXT#")[0], "_", "@"), guest.Text("mail")},
		"the last part of an X500 address":       {mailbox.EmailAddresses[2][strings.LastIndex(mailbox.EmailAddresses[2], "=")+1:], local(ada.UPN())},
		"contact's primary and external address": {strings.TrimPrefix(seed.Recipients[3].EmailAddresses[0], "SMTP:"), seed.Recipients[3].ExternalEmailAddress},
		"domain of the guest and of the contact": {domain(guest.Text("mail")), domain(seed.Recipients[3].ExternalEmailAddress)},
		"suffix of the initial domain":           {seed.VerifiedDomains[1][strings.Index(seed.VerifiedDomains[1], "."):], ".onmicrosoft.com"},
		"action of the retention policy":         {mailbox.Holds.InPlace[0][len(mailbox.Holds.InPlace[0])-2:], ":1"},
		"prefix of the organization's hold":      {seed.OrganizationHolds[0][:3], "mbx"},
		"sign-in is blocked":                     {string(testenv.Must(json.Marshal(ben["accountEnabled"]))(t)), "false"},
		"where the user is":                      {ada.Text("usageLocation"), "SE"},
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
	if other := load(t, again.Dir, ""); other.Users[0].UPN() != ada.UPN() {
		t.Errorf("the same key: %s and %s", other.Users[0].UPN(), ada.UPN())
	}
	fresh := config(t, s)
	fresh.Redact = true
	run(t, fresh)
	if other := load(t, fresh.Dir, ""); other.Users[0].UPN() == ada.UPN() {
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

// TestReadsAgainAfterAnExpiredLink has the link to the second page of users expire once.
func TestReadsAgainAfterAnExpiredLink(t *testing.T) {
	t.Parallel()
	s := start(t, tenant.Config{Seed: many(1200)})
	c := config(t, s)
	c.Details = nil
	var struck atomic.Bool
	c.HTTP = &http.Client{Transport: transport(func(r *http.Request) {
		if r.URL.Path == "/v1.0/users" && strings.Contains(r.URL.RawQuery, "skiptoken") && struck.CompareAndSwap(false, true) {
			q := r.URL.Query()
			q.Set("$skiptoken", "old")
			r.URL.RawQuery = q.Encode()
		}
	})}
	if m := run(t, c); !struck.Load() || m.Objects(snapshot.Users) != 1200 {
		t.Errorf("%d users", m.Objects(snapshot.Users))
	}
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
