package tenant_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/local/tenant/population"
)

// written is a snapshot with the objects of a seed.
func written(t testing.TB, seed tenant.Seed) *snapshot.Reader {
	t.Helper()
	dir := t.TempDir()
	if err := population.Write(dir, tenant.DefaultTenantID, seed, 0); err != nil {
		t.Fatal(err)
	}
	return testenv.Must(snapshot.Open(dir, ""))(t)
}

func TestASnapshotIsLoadedAsASeedIs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"source", "target"} {
		var seed tenant.Seed
		if err := json.Unmarshal(testenv.Must(os.ReadFile("../../examples/tenant-to-tenant/"+name+".json"))(t), &seed); err != nil {
			t.Fatal(err)
		}
		identify(&seed)
		disk := t.TempDir()
		want := testenv.Started(tenant.Start(t.Context(), tenant.Config{Seed: &seed}))(t).State()
		first := testenv.Must(tenant.Start(t.Context(), tenant.Config{Snapshot: written(t, seed), DataDir: disk}))(t)
		if got := first.State(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, want)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		kept := testenv.Started(tenant.Start(t.Context(), tenant.Config{DataDir: disk}))(t).State()
		if len(kept.Users) != len(want.Users) || len(kept.Recipients) != len(want.Recipients) {
			t.Errorf("%s: %d users and %d recipients are on disk", name, len(kept.Users), len(kept.Recipients))
		}
	}
}

// identify gives all objects ids, which a tenant would make up.
func identify(seed *tenant.Seed) {
	id := func(i int, of string) string {
		return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s %d", of, i)).String()
	}
	for i, u := range seed.Users {
		if u.ID() == "" {
			u["id"] = id(i, "user")
		}
	}
	for i := range seed.Recipients {
		seed.Recipients[i].GUID = id(i, "recipient")
	}
}

// A tenant that has an administrator of its own beside the snapshot verifies the domain of its name: an export of it
// can be loaded again.
func TestNamesAreOfVerifiedDomains(t *testing.T) {
	t.Parallel()
	s := testenv.Started(tenant.Start(t.Context(), tenant.Config{
		Seed:     &tenant.Seed{Users: []tenant.User{{"userPrincipalName": "admin@source.onmicrosoft.com"}}},
		Snapshot: written(t, tenant.Seed{VerifiedDomains: []string{"contoso.com"}, Users: []tenant.User{{"userPrincipalName": "ada@contoso.com"}}}),
	}))(t)
	if got := s.Domains(); !slices.Equal(got, []string{"contoso.com", "source.onmicrosoft.com"}) {
		t.Errorf("the tenant has the domains %q", got)
	}
}

func TestASnapshotWithABadObjectNamesItsLine(t *testing.T) {
	t.Parallel()
	seed := tenant.Seed{Users: []tenant.User{{"userPrincipalName": "ada@contoso.com"}, {"userPrincipalName": "ben@contoso.com", "shoeSize": 38}}}
	_, err := tenant.Start(t.Context(), tenant.Config{Snapshot: written(t, seed)})
	if err == nil || !strings.Contains(err.Error(), "users-0001.jsonl") || !strings.Contains(err.Error(), "2") || !strings.Contains(err.Error(), "shoeSize") {
		t.Errorf("got %v", err)
	}
}

// A tenant changes while it is read, in minutes and hours: a snapshot can have members, recipients and managers without
// the users that they are, and a sign-in name twice.
func TestASnapshotIsNotOfOneMoment(t *testing.T) {
	t.Parallel()
	ada, ben, hired := uuid.NewString(), uuid.NewString(), uuid.NewString()
	seed := tenant.Seed{
		Users: []tenant.User{
			{"id": ada, "userPrincipalName": "ada@contoso.com", "managerId": hired},
			{"id": ben, "userPrincipalName": "ben@contoso.com"},
			{"id": uuid.NewString(), "userPrincipalName": "ADA@contoso.com"},
		},
		Groups: []tenant.SeedGroup{
			{Properties: map[string]any{"id": uuid.NewString(), "displayName": "Sales", "mailNickname": "sales", "securityEnabled": true}, Members: []string{ada, hired}, Owners: []string{hired, ben}},
			{Properties: map[string]any{"id": uuid.NewString(), "displayName": "Synchronized", "securityEnabled": true}},
			{
				Properties: map[string]any{"id": uuid.NewString(), "displayName": "Team", "mailNickname": "team", "mailEnabled": true, "groupTypes": []any{"Unified"}, "resourceProvisioningOptions": []any{"Team"}},
				Members:    []string{ada}, Owners: []string{ben},
			},
		},
		Recipients: []tenant.Recipient{{Kind: tenant.UserMailbox, GUID: uuid.NewString(), ExternalDirectoryObjectID: hired, Name: "hired"}},
	}
	s := testenv.Started(tenant.Start(t.Context(), tenant.Config{Snapshot: written(t, seed), Logger: slog.New(slog.DiscardHandler)}))(t)
	state := s.State()
	if len(state.Users) != 2 || len(state.Groups) != 3 || len(state.Recipients) != 1 {
		t.Fatalf("%d users, %d groups and %d recipients, want 2, 3 and that of the team", len(state.Users), len(state.Groups), len(state.Recipients))
	}
	for _, g := range state.Groups {
		if name := g.Properties["displayName"]; name == "Sales" && (!slices.Equal(g.Members, []string{ada}) || !slices.Equal(g.Owners, []string{ben})) || name == "Team" && !slices.Equal(g.Owners, []string{ben}) {
			t.Errorf("%s has the members %q and the owners %q", name, g.Members, g.Owners)
		}
	}
	found := strings.Join(s.Findings(), "\n")
	for _, want := range []string{"the group Sales", "member " + strconv.Quote(hired), "owner " + strconv.Quote(hired), "the recipient hired", "the user ADA@contoso.com"} {
		if !strings.Contains(found, want) {
			t.Errorf("the findings do not name %s: %s", want, found)
		}
	}
	if len(s.Findings()) != 4 {
		t.Errorf("findings %q", s.Findings())
	}
}

// An object of a snapshot is never left out without a word.
func TestASnapshotIsLoadedWhole(t *testing.T) {
	t.Parallel()
	group := func(id string) tenant.SeedGroup {
		return tenant.SeedGroup{Properties: map[string]any{"id": id, "displayName": "Sales", "mailNickname": "sales", "securityEnabled": true, "mailEnabled": false}}
	}
	s := testenv.Started(tenant.Start(t.Context(), tenant.Config{Snapshot: written(t, tenant.Seed{Groups: []tenant.SeedGroup{group(uuid.NewString()), group(uuid.NewString())}})}))(t)
	if n := len(s.State().Groups); n != 2 {
		t.Errorf("%d of two security groups with one nickname", n)
	}
	mailed := tenant.Seed{Groups: []tenant.SeedGroup{group(uuid.NewString()), group(uuid.NewString())}}
	mailed.Groups[1].Properties["mailEnabled"], mailed.Groups[1].Properties["mail"] = true, "sales@contoso.com"
	again := tenant.User{"id": uuid.NewString(), "userPrincipalName": "ada@fabrikam.com", "mailNickname": "ada"}
	mailed.Users = []tenant.User{{"id": uuid.NewString(), "userPrincipalName": "ada@contoso.com", "mailNickname": "ada"}, again}
	for i := range 2 { // recipients with one alias, and one address
		mailed.Recipients = append(mailed.Recipients, tenant.Recipient{
			Kind: tenant.MailContact, GUID: uuid.NewString(), ExternalDirectoryObjectID: uuid.NewString(), Name: fmt.Sprint("Partner ", i), Alias: "partner", ExternalEmailAddress: "partner@other.example",
		})
	}
	s = testenv.Started(tenant.Start(t.Context(), tenant.Config{Snapshot: written(t, mailed), Logger: slog.New(slog.DiscardHandler)}))(t)
	state := s.State()
	if len(state.Groups) != 2 || len(state.Users) != 2 || len(state.Recipients) != 3 {
		t.Errorf("%d groups, %d users and %d recipients, want 2, 2 and 3", len(state.Groups), len(state.Users), len(state.Recipients))
	}
	found := strings.Join(s.Findings(), "\n")
	for _, want := range []string{"nickname sales", "ada@fabrikam.com", "partner@other.example"} {
		if !strings.Contains(found, want) {
			t.Errorf("the findings do not name %s: %s", want, found)
		}
	}
}

// Users of a snapshot are read whatever form their JSON has.
func TestAUserOfASnapshotIsReadAsJSON(t *testing.T) {
	t.Parallel()
	raw := `{ "id" : "00000000-0000-0000-0000-00000000000A","userPrincipalName":"ada@contoso.com" , "displayNam\u0065":"A \"quoted\" } name\\", "accountEnabled" :false,
		"proxyAddresses":[ "SMTP:ada@contoso.com","smtp:a@contoso.com"], "onPremisesExtensionAttributes":{"extensionAttribute1":"[}"},"businessPhones":[],"ageGroup":null}`
	dir := t.TempDir()
	w := testenv.Must(snapshot.Create(dir, snapshot.Options{TenantID: tenant.DefaultTenantID, Tool: "test"}))(t)
	if err := w.Append(snapshot.Users, "", json.RawMessage(raw)); err != nil {
		t.Fatal(err)
	}
	testenv.Must(w.Finish())(t)
	s := testenv.Started(tenant.Start(t.Context(), tenant.Config{Snapshot: testenv.Must(snapshot.Open(dir, ""))(t)}))(t)
	got := testenv.Must(json.Marshal(s.State().Users))(t)
	want := `[{"accountEnabled":false,"ageGroup":null,"businessPhones":[],"displayName":"A \"quoted\" } name\\","id":"00000000-0000-0000-0000-00000000000a","mailNickname":"ada",` +
		`"onPremisesExtensionAttributes":{"extensionAttribute1":"[}"},"proxyAddresses":["SMTP:ada@contoso.com","smtp:a@contoso.com"],"userPrincipalName":"ada@contoso.com","userType":"Member"}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
