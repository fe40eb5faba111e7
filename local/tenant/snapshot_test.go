package tenant_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// written is a snapshot with the objects of a seed.
func written(t testing.TB, seed tenant.Seed) *snapshot.Reader {
	t.Helper()
	dir := t.TempDir()
	w := testenv.Must(snapshot.Create(dir, snapshot.Options{TenantID: tenant.DefaultTenantID, Tool: "test"}))(t)
	add := func(kind snapshot.Kind, object any) {
		if err := w.Append(kind, "", object); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range seed.VerifiedDomains {
		add(snapshot.Domains, name)
	}
	for _, name := range seed.MigrationEndpoints {
		add(snapshot.MigrationEndpoints, name)
	}
	for _, l := range seed.Licenses {
		add(snapshot.Licenses, l)
	}
	for _, u := range seed.Users {
		add(snapshot.Users, u)
	}
	for _, g := range seed.Groups {
		add(snapshot.Groups, g)
	}
	for _, r := range seed.Recipients {
		add(snapshot.Recipients, r)
	}
	for _, kind := range snapshot.Kinds() {
		if err := w.Complete(kind); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Must(w.Finish())(t)
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

func TestASnapshotWithABadObjectNamesItsLine(t *testing.T) {
	t.Parallel()
	seed := tenant.Seed{Users: []tenant.User{{"userPrincipalName": "ada@contoso.com"}, {"userPrincipalName": "ben@contoso.com", "shoeSize": 38}}}
	_, err := tenant.Start(t.Context(), tenant.Config{Snapshot: written(t, seed)})
	if err == nil || !strings.Contains(err.Error(), "users-0001.jsonl") || !strings.Contains(err.Error(), "2") || !strings.Contains(err.Error(), "shoeSize") {
		t.Errorf("got %v", err)
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
	twice := tenant.Seed{Users: []tenant.User{{"id": uuid.NewString(), "userPrincipalName": "ada@contoso.com"}, {"id": uuid.NewString(), "userPrincipalName": "ADA@contoso.com"}}}
	if _, err := tenant.Start(t.Context(), tenant.Config{Snapshot: written(t, twice)}); err == nil || !strings.Contains(err.Error(), "users-0001.jsonl") || !strings.Contains(err.Error(), "ADA@contoso.com") {
		t.Errorf("two users with one sign-in name: %v", err)
	}
	mailed := tenant.Seed{Groups: []tenant.SeedGroup{group(uuid.NewString()), group(uuid.NewString())}}
	mailed.Groups[1].Properties["mailEnabled"], mailed.Groups[1].Properties["mail"] = true, "sales@contoso.com"
	if _, err := tenant.Start(t.Context(), tenant.Config{Snapshot: written(t, mailed)}); err == nil || !strings.Contains(err.Error(), "nickname sales") {
		t.Errorf("a mail-enabled group with the nickname of another: %v", err)
	}
}

// BenchmarkLoadSnapshot loads 100,000 people with their mailboxes, in memory and on disk.
func BenchmarkLoadSnapshot(b *testing.B) {
	var seed tenant.Seed
	for i := range 100_000 {
		upn := fmt.Sprintf("person%06d@contoso.com", i)
		seed.Users = append(seed.Users, tenant.User{"userPrincipalName": upn, "displayName": fmt.Sprintf("Person %d", i), "mail": upn, "department": "Sales"})
		seed.Recipients = append(seed.Recipients, tenant.Recipient{
			Kind: tenant.UserMailbox, UserPrincipalName: upn, ExchangeGUID: uuid.NewString(), EmailAddresses: []string{"SMTP:" + upn, "smtp:" + strings.Replace(upn, "@", "@mail.", 1)},
		})
	}
	r := written(b, seed)
	for _, place := range []struct{ name, dir string }{{"memory", ""}, {"disk", b.TempDir()}} {
		b.Run(place.name, func(b *testing.B) {
			for range b.N {
				began := time.Now()
				s := testenv.Must(tenant.Start(b.Context(), tenant.Config{Snapshot: r, DataDir: place.dir}))(b)
				b.ReportMetric(time.Since(began).Seconds(), "s/load")
				if n := len(s.State().Users); n != 100_000 {
					b.Fatalf("%d users", n)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
