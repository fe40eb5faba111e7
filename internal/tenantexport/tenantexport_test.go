package tenantexport_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/internal/tenantexport"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// token is a JSON Web Token with roles, which is not signed.
func token(n int, roles ...string) string {
	claims, _ := json.Marshal(map[string]any{"roles": roles, "n": n})
	return "e30." + base64.RawURLEncoding.EncodeToString(claims) + ".x"
}

var allRoles = []string{"User.Read.All", "GroupMember.Read.All", "Domain.Read.All", "LicenseAssignment.Read.All", "Policy.Read.All", "Exchange.ManageAsApp"}

func rolesOf(token string) []string {
	var claims struct{ Roles []string }
	text, _ := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	_ = json.Unmarshal(text, &claims)
	return claims.Roles
}

func start(t *testing.T, cfg tenant.Config) *tenant.Server {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.Roles = rolesOf
	return testenv.Started(tenant.Start(t.Context(), cfg))(t)
}

// config exports a tenant to a new folder.
func config(t *testing.T, s *tenant.Server) tenantexport.Config {
	t.Helper()
	return tenantexport.Config{
		Dir: filepath.Join(t.TempDir(), "snapshot"), TenantID: tenant.DefaultTenantID, Tool: "matoolkit test",
		GraphURL: s.URL(), ExchangeURL: s.URL(), GraphScope: "graph", ExchangeScope: "exchange", Backoff: time.Millisecond, Units: 1e6,
		Token:   func(context.Context, string, bool) (string, error) { return token(0, allRoles...), nil },
		Details: tenantexport.Details(),
	}
}

func run(t *testing.T, c tenantexport.Config) snapshot.Manifest {
	t.Helper()
	m, err := tenantexport.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func seedFile(t *testing.T, path string) *tenant.Seed {
	t.Helper()
	var seed tenant.Seed
	if err := json.Unmarshal(testenv.Must(os.ReadFile(path))(t), &seed); err != nil {
		t.Fatal(err)
	}
	return &seed
}

// load makes a seed of a snapshot. Every line has to be an element of it.
func load(t *testing.T, dir, identity string) *tenant.Seed {
	t.Helper()
	r := testenv.Must(snapshot.Open(dir, identity))(t)
	seed := &tenant.Seed{}
	for kind, into := range map[snapshot.Kind]func(json.RawMessage) error{
		snapshot.Domains: element(&seed.VerifiedDomains), snapshot.OrganizationHolds: element(&seed.OrganizationHolds),
		snapshot.MigrationEndpoints: element(&seed.MigrationEndpoints), snapshot.Licenses: element(&seed.Licenses), snapshot.Users: element(&seed.Users),
		snapshot.DeletedUsers: element(&seed.DeletedUsers), snapshot.Groups: element(&seed.Groups), snapshot.Recipients: element(&seed.Recipients),
		snapshot.Policies: element(&seed.Policies),
	} {
		if err := r.Each(kind, func(_ int, raw json.RawMessage) error { return into(raw) }); err != nil {
			t.Fatal(err)
		}
	}
	return seed
}

func element[T any](list *[]T) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		var v T
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&v); err != nil {
			return err
		}
		*list = append(*list, v)
		return nil
	}
}

// stateOf is the state of a tenant without absent values, which have several forms.
func stateOf(t *testing.T, s *tenant.Server) map[string]any {
	t.Helper()
	state := s.State()
	for i, r := range state.Recipients {
		state.Recipients[i].LegacyDN = r.LegacyExchangeDN()
	}
	var out map[string]any
	if err := json.Unmarshal(testenv.Must(json.Marshal(state))(t), &out); err != nil {
		t.Fatal(err)
	}
	return clean(out).(map[string]any)
}

func clean(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for name, member := range x {
			list, isList := member.([]any)
			if member == nil || member == "" || isList && len(list) == 0 {
				delete(x, name)
				continue
			}
			x[name] = clean(member)
		}
	case []any:
		for i := range x {
			x[i] = clean(x[i])
		}
		if len(x) > 0 {
			if object, isObject := x[0].(map[string]any); isObject && object["id"] != nil {
				slices.SortFunc(x, func(a, b any) int {
					return strings.Compare(fmt.Sprint(a.(map[string]any)["id"]), fmt.Sprint(b.(map[string]any)["id"]))
				})
			}
			if object, isObject := x[0].(map[string]any); isObject && object["ExternalDirectoryObjectId"] != nil {
				slices.SortFunc(x, func(a, b any) int {
					return strings.Compare(fmt.Sprint(a.(map[string]any)["ExternalDirectoryObjectId"]), fmt.Sprint(b.(map[string]any)["ExternalDirectoryObjectId"]))
				})
			}
		}
	}
	return v
}

// everything is a tenant with each kind of object.
func everything() *tenant.Seed {
	id := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
	return &tenant.Seed{
		VerifiedDomains: []string{"contoso.com", "contoso.onmicrosoft.com"}, OrganizationHolds: []string{"mbx7cfb30345d454ac0a989ab3041051209:2"},
		MigrationEndpoints: []string{"Fabrikam"},
		Licenses:           []tenant.License{{SkuPartNumber: "SPE_E3", SkuID: id(900), Enabled: 10, Consumed: 4, Plans: []tenant.ServicePlan{{ID: id(901), Name: "EXCHANGE_S_ENTERPRISE", Service: "exchange"}}}},
		Users: []tenant.User{
			{
				"id": id(1), "userPrincipalName": "astrid@contoso.com", "displayName": "Astrid Lindqvist", "managerId": id(2), "usageLocation": "SE", "mail": "Astrid@contoso.com", "state": "Värmland",
				"assignedLicenses":        []any{map[string]any{"skuId": id(900), "disabledPlans": []any{}}},
				"licenseAssignmentStates": []any{map[string]any{"skuId": id(900), "disabledPlans": []any{}, "assignedByGroup": nil, "state": "Active", "error": "None"}},
			},
			{"id": id(2), "userPrincipalName": "ben@contoso.com", "displayName": "Ben Carter", "accountEnabled": false, "onPremisesSyncEnabled": true},
			{"id": id(3), "userPrincipalName": "astrid_fabrikam.com#EXT#@contoso.onmicrosoft.com", "displayName": "Astrid Lindqvist", "userType": "Guest", "mail": "astrid@fabrikam.com", "mailNickname": "astrid_fabrikam.com#EXT#"},
		},
		DeletedUsers: []tenant.User{tenant.User{"id": id(4), "userPrincipalName": "carl@contoso.com"}.Deleted(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))},
		Groups: []tenant.SeedGroup{
			{Properties: map[string]any{"id": id(11), "mailNickname": "outer", "securityEnabled": true}, Members: []string{id(12), id(1)}, Owners: []string{id(2)}},
			{
				Properties: map[string]any{"id": id(12), "mailNickname": "inner", "mailEnabled": true, "mail": "inner@contoso.com"}, Members: []string{id(1)}, SendAs: []string{id(1)},
				Recipient: &tenant.Recipient{GUID: id(13), Name: "Inner list", Hidden: true, ManagedBy: []string{id(1)}},
			},
			{
				Properties: map[string]any{"id": id(14), "mailNickname": "team", "mailEnabled": true, "groupTypes": []any{"Unified"}, "resourceProvisioningOptions": []any{"Team"}},
				Members:    []string{id(1), id(2)}, Owners: []string{id(1)},
			},
		},
		Recipients: []tenant.Recipient{
			{
				Kind: tenant.UserMailbox, ExternalDirectoryObjectID: id(1), GUID: id(21), EmailAddresses: []string{"SMTP:Astrid@contoso.com", "smtp:astrid@contoso.onmicrosoft.com", "x500:/o=Contoso/ou=First Administrative Group/cn=Recipients/cn=astrid", "x500:/o=ExchangeLabs/cn=Recipients/cn=astrid/lindqvist/grace=hopper"},
				ExchangeGUID: id(31), ArchiveGUID: id(32), ForwardingSMTP: "astrid@fabrikam.com", KeepsForwarded: true, Custom: map[string]string{"CustomAttribute3": "blue"},
				Holds: &tenant.Holds{Litigation: true, InPlace: []string{"mbxaaaa30345d454ac0a989ab3041051209:1"}}, FullAccess: []string{id(2)}, SendAs: []string{id(2)}, SendOnBehalf: []string{id(2)},
				CalendarFolder: "Kalender", Calendar: []tenant.FolderPermission{{User: "Default", AccessRights: []string{"Reviewer"}}, {User: id(2), AccessRights: []string{"Editor"}}},
				AutoReply: &tenant.AutoReply{State: "Enabled", InternalMessage: "away", ExternalMessage: "away", ExternalAudience: "All"},
			},
			{Kind: tenant.UserMailbox, ExternalDirectoryObjectID: id(2), GUID: id(22), EmailAddresses: []string{"SMTP:ben@contoso.com"}, ExchangeGUID: id(33), MailboxType: "Shared"},
			{Kind: tenant.MailUser, ExternalDirectoryObjectID: id(3), GUID: id(23), EmailAddresses: []string{"SMTP:astrid@fabrikam.com"}, ExternalEmailAddress: "astrid@fabrikam.com"},
			{Kind: tenant.MailContact, ExternalDirectoryObjectID: id(5), GUID: id(24), Name: "Carl", DisplayName: "Carl", Alias: "carl", EmailAddresses: []string{"SMTP:carl@fabrikam.com"}, ExternalEmailAddress: "carl@fabrikam.com"},
		},
		Policies: []tenant.Policy{{"id": id(41), "displayName": "Require MFA", "state": "enabled", "conditions": map[string]any{
			"users":        map[string]any{"includeUsers": []any{"All"}, "excludeGroups": []any{id(11)}, "excludeRoles": []any{id(42)}},
			"applications": map[string]any{"includeApplications": []any{"Office365", id(43)}, "excludeApplications": []any{id(43)}},
		}}},
	}
}

// TestSnapshotReproducesTheTenant exports tenants, and seeds others with the snapshots.
func TestSnapshotReproducesTheTenant(t *testing.T) {
	t.Parallel()
	for name, seed := range map[string]*tenant.Seed{
		"source":     seedFile(t, "../../examples/tenant-to-tenant/source.json"),
		"target":     seedFile(t, "../../examples/tenant-to-tenant/target.json"),
		"everything": everything(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tenant.Config{Seed: seed})
			c := config(t, s)
			m := run(t, c)
			if m.Objects(snapshot.Users) != len(seed.Users) || m.Objects(snapshot.Recipients) != len(seed.Recipients) {
				t.Errorf("manifest %+v", m)
			}
			exported := load(t, c.Dir, "")
			again := start(t, tenant.Config{Seed: exported})
			got, want := stateOf(t, again), stateOf(t, s)
			for _, kind := range []string{"users", "groups", "recipients"} {
				if a, b := testenv.Must(json.MarshalIndent(got[kind], "", " "))(t), testenv.Must(json.MarshalIndent(want[kind], "", " "))(t); string(a) != string(b) {
					t.Errorf("%s differ:\n%s\nwant:\n%s", kind, a, b)
				}
			}
			onlyNames := func(s *tenant.Seed) any {
				return []any{s.VerifiedDomains, s.OrganizationHolds, s.MigrationEndpoints, s.Licenses, clean(testenv.Must(roundTrip(s.Policies))(t)), s.DeletedUsers}
			}
			if a, b := testenv.Must(json.Marshal(onlyNames(exported)))(t), testenv.Must(json.Marshal(onlyNames(seed)))(t); name == "everything" && string(a) != string(b) {
				t.Errorf("the rest differs:\n%s\nwant:\n%s", a, b)
			}
		})
	}
}

func roundTrip(v any) (out any, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// many is a tenant with several pages of everything.
func many(users int) *tenant.Seed {
	seed := &tenant.Seed{VerifiedDomains: []string{"contoso.com"}}
	for n := range users {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
		upn := fmt.Sprintf("u%d@contoso.com", n)
		seed.Users = append(seed.Users, tenant.User{"id": id, "userPrincipalName": upn})
		seed.Recipients = append(seed.Recipients, tenant.Recipient{Kind: tenant.UserMailbox, ExternalDirectoryObjectID: id, EmailAddresses: []string{"SMTP:" + upn}})
	}
	for n := range 130 {
		g := tenant.SeedGroup{Properties: map[string]any{"mailNickname": fmt.Sprintf("g%d", n), "securityEnabled": true}}
		for m := range 3 {
			g.Members = append(g.Members, fmt.Sprintf("00000000-0000-4000-8000-%012d", (3*n+m)%users))
		}
		if n == 7 { // more than one page of members
			g.Members = nil
			for m := range users {
				g.Members = append(g.Members, fmt.Sprintf("00000000-0000-4000-8000-%012d", m))
			}
		}
		seed.Groups = append(seed.Groups, g)
	}
	return seed
}

func members(seed *tenant.Seed) int {
	n := 0
	for _, g := range seed.Groups {
		n += len(g.Members)
	}
	return n
}

// TestReadsAllPagesThroughFaults reads pages while the tenant throttles, fails, drops connections and no longer takes the token.
func TestReadsAllPagesThroughFaults(t *testing.T) {
	t.Parallel()
	const users = 1200
	seed := many(users)
	var valid atomic.Int64 // number of the token that the tenant takes
	verify := func(got, _ string) error {
		if got != token(int(valid.Load()), allRoles...) {
			return errors.New("the token has expired")
		}
		return nil
	}
	for name, tc := range map[string]struct {
		faults tenant.Faults
		verify func(string, string) error
	}{
		"healthy":       {},
		"throttled":     {faults: tenant.Faults{Rules: []tenant.Fault{{Every: 3, Status: 429, RetryAfter: "0.002"}}}},
		"unavailable":   {faults: tenant.Faults{Rules: []tenant.Fault{{Every: 4, Status: 503}}}},
		"dropped":       {faults: tenant.Faults{Rules: []tenant.Fault{{Every: 37, Drop: true}}}},
		"expired token": {verify: verify},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tenant.Config{Seed: seed, VerifyToken: tc.verify})
			if err := s.SetFaults(tc.faults); err != nil {
				t.Fatal(err)
			}
			c := config(t, s)
			c.Details = nil
			if tc.verify != nil {
				held := 0
				var mu sync.Mutex
				c.Token = func(_ context.Context, _ string, fresh bool) (string, error) {
					mu.Lock()
					defer mu.Unlock()
					if fresh {
						held = int(valid.Load())
					}
					return token(held, allRoles...), nil
				}
				c.Progress = func(p tenantexport.Progress) {
					if p.Objects > 0 {
						valid.Add(1)
					}
				}
			}
			m := run(t, c)
			if m.Objects(snapshot.Users) != users || m.Objects(snapshot.Recipients) != users || m.Objects(snapshot.Groups) != 130 {
				t.Errorf("manifest %+v", m)
			}
			if got := members(load(t, c.Dir, "")); got != members(seed) {
				t.Errorf("%d members, want %d", got, members(seed))
			}
		})
	}
}

// TestContinuesAfterABreak breaks the export off again and again; the snapshot has each object once.
func TestContinuesAfterABreak(t *testing.T) {
	t.Parallel()
	const users = 1200
	s := start(t, tenant.Config{Seed: many(users)})
	key := testenv.Must(age.GenerateX25519Identity())(t)
	identity := filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(identity, []byte(key.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config(t, s)
	c.Details, c.EncryptTo = nil, []string{key.Recipient().String()}
	breaks := 0
	for pages := 1; ; pages++ {
		ctx, cancel := context.WithCancel(t.Context())
		left := 2
		c.Progress = func(tenantexport.Progress) {
			if left--; left == 0 {
				cancel()
			}
		}
		_, err := tenantexport.Run(ctx, c)
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if breaks++; breaks > 40 {
			t.Fatal("it does not get on")
		}
	}
	seed := load(t, c.Dir, identity)
	if len(seed.Users) != users || len(seed.Recipients) != users || len(seed.Groups) != 130 || breaks < 4 {
		t.Errorf("%d users, %d recipients, %d groups after %d breaks", len(seed.Users), len(seed.Recipients), len(seed.Groups), breaks)
	}
	seen := map[string]bool{}
	for _, u := range seed.Users {
		if seen[u.ID()] {
			t.Errorf("user %s twice", u.ID())
		}
		seen[u.ID()] = true
	}
	c.Details = []string{tenantexport.FullAccess}
	if _, err := tenantexport.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "finished snapshot") {
		t.Errorf("exporting to a finished snapshot: %v", err)
	}
}

// TestContinuesAfterAKill continues what is on disk after each page, as if the process had been killed there. Each object is
// counted once, whichever page was the last, and also among the licences.
func TestContinuesAfterAKill(t *testing.T) {
	t.Parallel()
	seed := many(1200)
	of := everything()
	seed.Licenses, seed.Policies, seed.OrganizationHolds, seed.DeletedUsers = of.Licenses, of.Policies, of.OrganizationHolds, of.DeletedUsers
	seed.MigrationEndpoints = of.MigrationEndpoints
	for i := range 3 {
		seed.Users[i]["licenseAssignmentStates"] = of.Users[0]["licenseAssignmentStates"]
		seed.Users[i]["assignedLicenses"] = of.Users[0]["assignedLicenses"]
	}
	s := start(t, tenant.Config{Seed: seed})
	c := config(t, s)
	c.Details = nil
	now := time.Now()
	c.Now = func() time.Time { now = now.Add(time.Minute); return now } // each page has a checkpoint
	killed := map[string]string{}
	c.Progress = func(p tenantexport.Progress) {
		dir := filepath.Join(t.TempDir(), "snapshot")
		if err := os.CopyFS(dir, os.DirFS(c.Dir)); err != nil {
			t.Error(err)
		}
		killed[fmt.Sprintf("%s after %d", p.Kind, p.Objects)] = dir
	}
	want := run(t, c)
	if len(killed) < 12 {
		t.Fatalf("only %d pages", len(killed))
	}
	for at, dir := range killed {
		again := config(t, s)
		again.Dir, again.Details = dir, nil
		got := run(t, again)
		for _, kind := range snapshot.Kinds() {
			if got.Objects(kind) != want.Objects(kind) {
				t.Errorf("%s: %d %s, want %d", at, got.Objects(kind), kind, want.Objects(kind))
			}
		}
		if licenses := load(t, dir, "").Licenses; licenses[0].Consumed != of.Licenses[0].Consumed {
			t.Errorf("%s: %d licences are consumed by others, want %d", at, licenses[0].Consumed, of.Licenses[0].Consumed)
		}
	}
}

// TestSaysWhatTheSnapshotLacks continues an export with another permission: the manifest says that the policies are left out
// only where the snapshot does not have them.
func TestSaysWhatTheSnapshotLacks(t *testing.T) {
	t.Parallel()
	less := token(0, slices.DeleteFunc(slices.Clone(allRoles), func(r string) bool { return r == "Policy.Read.All" })...)
	all := token(0, allRoles...)
	for name, tc := range map[string]struct {
		tokens   [2]string     // of the run that breaks off, and of the one that continues it
		after    snapshot.Kind // a page of which is the last one of the first run
		policies int
	}{
		"granted before the policies":   {[2]string{less, all}, snapshot.Users, 1},
		"granted after the policies":    {[2]string{less, all}, snapshot.MigrationEndpoints, 1},
		"withdrawn before the policies": {[2]string{all, less}, snapshot.Users, 0},
		"withdrawn after the policies":  {[2]string{all, less}, snapshot.MigrationEndpoints, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tenant.Config{Seed: everything()})
			c := config(t, s)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			c.Progress = func(p tenantexport.Progress) {
				if p.Kind == tc.after {
					stop()
				}
			}
			c.Token = func(context.Context, string, bool) (string, error) { return tc.tokens[0], nil }
			if _, err := tenantexport.Run(ctx, c); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			c.Token = func(context.Context, string, bool) (string, error) { return tc.tokens[1], nil }
			m := run(t, c)
			said := slices.ContainsFunc(m.LeftOut, func(l snapshot.LeftOut) bool { return strings.HasPrefix(l.What, "policies") })
			if got := m.Objects(snapshot.Policies); got != tc.policies || said == (got > 0) {
				t.Errorf("%d policies; left out: %+v", got, m.LeftOut)
			}
		})
	}
}

// TestOnlyReads watches the requests of an export.
func TestOnlyReads(t *testing.T) {
	t.Parallel()
	s := start(t, tenant.Config{Seed: everything()})
	before := stateOf(t, s)
	target := testenv.Must(url.Parse(s.URL()))(t)
	var mu sync.Mutex
	var wrong []string
	seen := 0
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		body, err := io.ReadAll(r.In.Body)
		if err != nil {
			t.Error(err)
		}
		r.Out.Body, r.Out.Host = io.NopCloser(strings.NewReader(string(body))), r.In.Host
		r.SetURL(target)
		r.Out.Host = r.In.Host
		mu.Lock()
		defer mu.Unlock()
		seen++
		var sent struct {
			CmdletInput struct{ CmdletName string }
			Requests    []struct{ Method string }
		}
		_ = json.Unmarshal(body, &sent)
		switch path := r.In.URL.Path; {
		case r.In.Method == http.MethodGet && strings.HasPrefix(path, "/v1.0/"):
		case r.In.Method == http.MethodPost && path == "/v1.0/$batch" && len(sent.Requests) > 0:
			for _, step := range sent.Requests {
				if step.Method != http.MethodGet {
					wrong = append(wrong, "batch "+step.Method)
				}
			}
		case r.In.Method == http.MethodPost && strings.HasSuffix(path, "/InvokeCommand") && strings.HasPrefix(sent.CmdletInput.CmdletName, "Get-"):
		default:
			wrong = append(wrong, r.In.Method+" "+path+" "+sent.CmdletInput.CmdletName)
		}
	}})
	defer proxy.Close()
	c := config(t, s)
	c.GraphURL, c.ExchangeURL = proxy.URL, proxy.URL
	run(t, c)
	if len(wrong) > 0 || seen < 10 {
		t.Errorf("%d requests, of which are no reads: %v", seen, wrong)
	}
	if a, b := fmt.Sprint(stateOf(t, s)), fmt.Sprint(before); a != b {
		t.Errorf("the tenant has changed:\n%s\n%s", a, b)
	}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	without := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(allRoles), func(r string) bool { return slices.Contains(names, r) })
	}
	for name, tc := range map[string]struct {
		token   string
		want    string // of the error
		leftOut string
	}{
		"all":           {token: token(0, allRoles...)},
		"no policies":   {token: token(0, without("Policy.Read.All")...), leftOut: "policies of Conditional Access"},
		"no users":      {token: token(0, without("User.Read.All", "Domain.Read.All")...), want: "User.Read.All of Microsoft Graph and Domain.Read.All of Microsoft Graph"},
		"no Exchange":   {token: token(0, without("Exchange.ManageAsApp")...), want: "Exchange.ManageAsApp of Office 365 Exchange Online"},
		"a broader one": {token: token(0, append(without("User.Read.All"), "User.ReadWrite.All")...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tenant.Config{Seed: everything()})
			c := config(t, s)
			c.Token = func(context.Context, string, bool) (string, error) { return tc.token, nil }
			var notices []string
			c.Notice = func(format string, args ...any) { notices = append(notices, fmt.Sprintf(format, args...)) }
			m, err := tenantexport.Run(t.Context(), c)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			if len(notices) < len(tenantexport.Permissions()) {
				t.Errorf("notices %q", notices)
			}
			if err != nil {
				if n := len(s.Requests()); n != 0 {
					t.Errorf("%d operations were asked for", n)
				}
				return
			}
			out := slices.ContainsFunc(m.LeftOut, func(l snapshot.LeftOut) bool { return l.What == tc.leftOut })
			if out != (tc.leftOut != "") {
				t.Errorf("left out %+v", m.LeftOut)
			}
		})
	}
	t.Run("no role in Exchange", func(t *testing.T) {
		t.Parallel()
		s := start(t, tenant.Config{Seed: everything(), VerifyToken: func(_, audience string) error {
			if audience == tenant.ExchangeAudience {
				return tenant.ErrMissingRole
			}
			return nil
		}})
		if _, err := tenantexport.Run(t.Context(), config(t, s)); err == nil || !strings.Contains(err.Error(), "Global Reader") {
			t.Errorf("got %v", err)
		}
	})
}
