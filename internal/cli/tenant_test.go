package cli_test

import (
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/login"
	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// exporter is a person who exports a local tenant, with an app registration of its own.
const (
	exportApp    = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bd1"
	exportSecret = "the-secret-of-the-export"
)

func newExporter(t *testing.T, roles ...string) (p *person, args []string) {
	t.Helper()
	directory := entra.DefaultConfig()
	directory.Addr = "127.0.0.1:0"
	directory.AutoApprove = entra.DefaultAdminUPN
	assigned := map[string][]string{}
	for _, role := range roles {
		if role == "Exchange.ManageAsApp" {
			assigned[entra.ExchangeClientID] = []string{role}
			continue
		}
		assigned[entra.GraphClientID] = append(assigned[entra.GraphClientID], role)
	}
	apps := directory.Tenants[0].Applications
	for i := range apps { // delegated permissions
		switch apps[i].ClientID {
		case entra.GraphClientID:
			apps[i].Scopes = []string{"User.Read.All", "GroupMember.Read.All", "Domain.Read.All", "LicenseAssignment.Read.All"}
		case entra.ExchangeClientID:
			apps[i].Scopes = []string{"Exchange.Manage"}
		}
	}
	directory.Tenants[0].Applications = append(slices.Clip(apps), entra.Application{
		ClientID: exportApp, Name: "export", Secrets: []string{exportSecret}, Certificates: []*x509.Certificate{exportCertificate()}, Roles: assigned,
	})
	server := testenv.Started(entra.Start(t.Context(), directory))(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	check(t, os.WriteFile(ca, server.CAPEM(), 0o600))
	seed := &tenant.Seed{VerifiedDomains: []string{"contoso.com"}}
	for _, name := range []string{"ada", "ben"} {
		seed.Users = append(seed.Users, tenant.User{"userPrincipalName": name + "@contoso.com"})
		seed.Recipients = append(seed.Recipients, tenant.Recipient{Kind: tenant.UserMailbox, UserPrincipalName: name + "@contoso.com", EmailAddresses: []string{"SMTP:" + name + "@contoso.com"}})
	}
	s := testenv.Started(tenant.Start(t.Context(), tenant.Config{TenantID: entra.DefaultTenantID, Seed: seed, Logger: slog.New(slog.DiscardHandler)}))(t)
	p = newPerson(t)
	p.env["MATOOLKIT_AUTHORITY"], p.env["MATOOLKIT_CA_FILE"] = server.URL(), ca
	p.env[login.EnvExportSecret] = exportSecret
	return p, []string{
		"tenant", "export", "--tenant", entra.DefaultTenantID, "--app", exportApp, "--graph-url", s.URL(), "--exchange-url", s.URL(), "--out", filepath.Join(p.dir, "snapshot"),
	}
}

var exportCertificate = sync.OnceValue(func() *x509.Certificate { return selfSigned(pipelineKey(), time.Now().Add(time.Hour)) })

// An application signs in with a certificate, in PEM or PFX, and renews its tokens with it.
func TestExportSignsInWithACertificate(t *testing.T) {
	t.Parallel()
	p, args := newExporter(t, exportRoles...)
	delete(p.env, login.EnvExportSecret)
	p.env["MATOOLKIT_CLIENT_CERTIFICATE_PASSWORD"] = pfxPassword
	file := func(name, content string) string {
		path := filepath.Join(p.dir, name)
		check(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	key := pipelineKey()
	for name, tc := range map[string]struct {
		file, want, hint string
		status           int
	}{
		"PEM":                {file("reader.pem", pemOf(key, exportCertificate())), "The snapshot is in ", "", exit.OK},
		"PFX":                {file("reader.pfx", string(must(pkcs12.Modern.Encode(key, exportCertificate(), nil, pfxPassword)))), "The snapshot is in ", "", exit.OK},
		"unknown to the app": {file("other.pem", pemOf(key, selfSigned(key, time.Now().Add(2*time.Hour)))), "AADSTS700027", "Register the certificate with the app registration of --app", exit.NotSignedIn},
		"expired":            {file("old.pem", pemOf(key, selfSigned(key, time.Now().Add(-time.Hour)))), "--certificate: the certificate in ", "app registration of --app", exit.NotSignedIn},
		"without a key":      {file("key.pem", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), "--certificate: ", "", exit.WrongUsage},
		"missing":            {filepath.Join(p.dir, "none.pem"), "--certificate: open ", "", exit.WrongUsage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := slices.Clone(args)
			own[slices.Index(own, "--out")+1] = filepath.Join(t.TempDir(), "snapshot")
			out, errs, status := p.run(append(own, "--certificate", tc.file)...)
			if status != tc.status || !strings.Contains(errs, tc.want) || !strings.Contains(errs, tc.hint) {
				t.Errorf("status %d, want %d, %q and %q: %s%s", status, tc.status, tc.want, tc.hint, out, errs)
			}
			for _, secret := range []string{"eyJ", "PRIVATE", pfxPassword} {
				if strings.Contains(out+errs, secret) {
					t.Errorf("%q is printed: %s%s", secret, out, errs)
				}
			}
		})
	}
}

var exportRoles = []string{"User.Read.All", "GroupMember.Read.All", "Domain.Read.All", "LicenseAssignment.Read.All", "Policy.Read.All", "Exchange.ManageAsApp"}

func TestExportsATenant(t *testing.T) {
	t.Parallel()
	p, args := newExporter(t, exportRoles...)
	out, errs, status := p.run(args...)
	if status != exit.OK || !strings.Contains(out, "users") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	for _, want := range []string{"GroupMember.Read.All", "granted", "users: 2 of 2", "Left out: calendars of mailboxes", "The snapshot is in "} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in %s", want, errs)
		}
	}
	if strings.Contains(out+errs, exportSecret) || strings.Contains(out+errs, "eyJ") {
		t.Errorf("a secret is printed: %s%s", out, errs)
	}
	r := testenv.Must(snapshot.Open(filepath.Join(p.dir, "snapshot"), ""))(t)
	if r.Manifest().Objects(snapshot.Recipients) != 2 {
		t.Errorf("manifest %+v", r.Manifest())
	}
	if _, errs, status := p.run(args...); status != exit.Failed || !strings.Contains(errs, "finished snapshot") {
		t.Errorf("again: status %d: %s", status, errs)
	}
}

func TestExportsRedactedAndEncrypted(t *testing.T) {
	t.Parallel()
	p, args := newExporter(t, exportRoles...)
	key := testenv.Must(age.GenerateX25519Identity())(t)
	identity, redaction := filepath.Join(p.dir, "key.txt"), filepath.Join(p.dir, "both.key")
	check(t, os.WriteFile(identity, []byte(key.String()), 0o600))
	args = append(args, "--redact", "--redaction-key", redaction, "--encrypt-to", key.Recipient().String(), "--output", "json", "--mailbox-details", "none")
	out, errs, status := p.run(args...)
	var m snapshot.Manifest
	if err := json.Unmarshal([]byte(out), &m); status != exit.OK || err != nil || !m.Redacted || !m.Encrypted {
		t.Fatalf("status %d, %v: %s%s", status, err, out, errs)
	}
	upn := func(dir string) (first string) {
		r := testenv.Must(snapshot.Open(dir, identity))(t)
		check(t, r.Each(snapshot.Users, func(line int, raw json.RawMessage) error {
			var u struct{ UserPrincipalName string }
			if line == 1 {
				check(t, json.Unmarshal(raw, &u))
				first = u.UserPrincipalName
			}
			return nil
		}))
		return first
	}
	first := upn(filepath.Join(p.dir, "snapshot"))
	if first == "" || strings.Contains(first, "contoso") {
		t.Errorf("sign-in name %q", first)
	}
	other := filepath.Join(p.dir, "other")
	args[slices.Index(args, "--out")+1] = other
	if out, errs, status := p.run(args...); status != exit.OK {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	if second := upn(other); second != first {
		t.Errorf("the same key: %s and %s", first, second)
	}
}

func TestExportSignsAPersonIn(t *testing.T) {
	t.Parallel()
	p, args := newExporter(t)
	delete(p.env, login.EnvExportSecret)
	args[slices.Index(args, "--app")+1] = entra.DefaultCLIClientID
	out, errs, status := p.run(append(args, "--device-code")...)
	if status != exit.OK || !strings.Contains(errs, "enter the code") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	if !strings.Contains(errs, "Left out: policies of Conditional Access") {
		t.Errorf("the missing permission is not reported: %s", errs)
	}
}

func TestExportRefuses(t *testing.T) {
	t.Parallel()
	p, args := newExporter(t, "User.Read.All")
	for name, tc := range map[string]struct {
		args   []string
		env    map[string]string
		want   string
		status int
	}{
		"missing permissions":      {want: "GroupMember.Read.All of Microsoft Graph and Domain.Read.All of Microsoft Graph", status: exit.NotSignedIn},
		"a wrong secret":           {env: map[string]string{login.EnvExportSecret: "wrong"}, want: "AADSTS7000215", status: exit.NotSignedIn},
		"a secret and a file":      {args: []string{"--certificate", "x.pem"}, want: "cannot be given together", status: exit.WrongUsage},
		"a secret and a person":    {args: []string{"--device-code"}, want: "cannot be given together", status: exit.WrongUsage},
		"a name of a tenant":       {args: []string{"--tenant", "contoso.com"}, want: "give a GUID", status: exit.WrongUsage},
		"no app":                   {args: []string{"--app", ""}, want: "--app is missing", status: exit.WrongUsage},
		"unknown details":          {args: []string{"--mailbox-details", "contents"}, want: "--mailbox-details has", status: exit.WrongUsage},
		"a key without redaction":  {args: []string{"--redaction-key", "k"}, want: "is for --redact", status: exit.WrongUsage},
		"a recipient that is none": {args: []string{"--encrypt-to", "me"}, want: "not a recipient of age", status: exit.Failed},
		"plain http":               {args: []string{"--graph-url", "http://graph.example"}, want: "is not an https address", status: exit.WrongUsage},
		"a path":                   {args: []string{"--graph-url", "https://graph.microsoft.com/v1.0"}, want: "is not the address of a service", status: exit.WrongUsage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newPerson(t)
			for key, value := range p.env {
				q.env[key] = value
			}
			for key, value := range tc.env {
				q.env[key] = value
			}
			own := slices.Clone(args)
			own[slices.Index(own, "--out")+1] = filepath.Join(q.dir, "snapshot")
			out, errs, status := q.run(append(own, tc.args...)...)
			if status != tc.status || !strings.Contains(errs, tc.want) {
				t.Errorf("status %d, want %d and %q: %s%s", status, tc.status, tc.want, out, errs)
			}
		})
	}
}
