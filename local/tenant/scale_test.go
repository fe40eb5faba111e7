package tenant_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/local/tenant/population"
)

// people is a snapshot with many people, who have the licences and service plans of Microsoft 365 E3.
func people(t testing.TB, n int) *snapshot.Reader {
	t.Helper()
	dir := t.TempDir()
	seed := tenant.Seed{VerifiedDomains: []string{"contoso.com", "contoso.onmicrosoft.com", "fabrikam.onmicrosoft.com"}, Licenses: []tenant.License{population.License(n)}}
	if err := population.Write(dir, tenant.DefaultTenantID, seed, n); err != nil {
		t.Fatal(err)
	}
	return testenv.Must(snapshot.Open(dir, ""))(t)
}

// live is the memory in use.
func live() int {
	var m runtime.MemStats
	for range 2 { // finalizers run after the first
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A person of a snapshot, with an account, a mailbox and a licence of sixty plans, takes few kilobytes of memory: a tenant with
// 100,000 people fits into a gigabyte, also when it starts again with its stored state.
func TestMemoryOfAPerson(t *testing.T) { //nolint:paralleltest // other tests would allocate memory meanwhile
	const n, most = 3000, 8 << 10
	r, dir := people(t, n), t.TempDir()
	first := testenv.Must(tenant.Start(t.Context(), tenant.Config{Snapshot: r, DataDir: dir}))(t)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]tenant.Config{"snapshot": {Snapshot: r}, "stored": {DataDir: dir}} {
		before := live()
		s := testenv.Must(tenant.Start(t.Context(), c))(t)
		took := (live() - before) / n
		if took > most {
			t.Errorf("%s: %d bytes for each person, want at most %d", name, took, most)
		}
		t.Log(name, took, "bytes for each person", s.URL())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkLoadSnapshot loads 100,000 people with their mailboxes, in memory and on disk.
func BenchmarkLoadSnapshot(b *testing.B) {
	const n = 100_000
	r := people(b, n)
	for _, place := range []struct{ name, dir string }{{"memory", ""}, {"disk", b.TempDir()}} {
		b.Run(place.name, func(b *testing.B) {
			for range b.N {
				before, began := live(), time.Now()
				s := testenv.Must(tenant.Start(b.Context(), tenant.Config{Snapshot: r, DataDir: place.dir}))(b)
				b.ReportMetric(time.Since(began).Seconds(), "s/load")
				b.ReportMetric(float64(live()-before)/n, "B/person")
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A call of a function does not take more memory, and so does not go through all objects, where the tenant is large.
func TestACallCostsTheSameInALargeTenant(t *testing.T) { //nolint:paralleltest // other tests would allocate memory meanwhile
	cmdlet := func(name string, parameters map[string]any) (string, string, any) {
		return "POST", "/adminapi/beta/" + tenant.DefaultTenantID + "/InvokeCommand", map[string]any{"CmdletInput": map[string]any{"CmdletName": name, "Parameters": parameters}}
	}
	u, _ := population.Person(7, true)
	sku := population.License(1).SkuID
	taken := map[string][2]uint64{} // bytes in the small and the large tenant
	for i, n := range []int{100, 4000} {
		s := testenv.Started(tenant.Start(t.Context(), tenant.Config{Snapshot: people(t, n)}))(t)
		call := func(name string, method, path string, body any) {
			t.Helper()
			encoded := testenv.Must(json.Marshal(body))(t)
			var before, after runtime.MemStats
			const calls = 20
			for range 2 { // the first one fills what is kept
				runtime.ReadMemStats(&before)
				for range calls {
					r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(encoded))
					r.Header.Set("Authorization", "Bearer test")
					r.Header.Set("Content-Type", "application/json")
					w := httptest.NewRecorder()
					if s.ServeHTTP(w, r); w.Code >= 500 || w.Code == 400 {
						t.Fatalf("%s: %d %s", name, w.Code, w.Body)
					}
				}
				runtime.ReadMemStats(&after)
			}
			both := taken[name]
			both[i] = (after.TotalAlloc - before.TotalAlloc) / calls
			taken[name] = both
		}
		filter := func(path, expression string) (string, string, any) {
			return "GET", "/v1.0/" + path + "?$select=id&$filter=" + url.QueryEscape(expression), nil
		}
		steps := map[string]func() (string, string, any){
			"licences": func() (string, string, any) { return "GET", "/v1.0/subscribedSkus", nil },
			"user":     func() (string, string, any) { return "GET", "/v1.0/users/" + u.UPN(), nil },
			"address of user": func() (string, string, any) {
				return filter("users", "userPrincipalName eq 'x@contoso.com' or proxyAddresses/any(a:a eq 'smtp:"+u.UPN()+"')")
			},
			"nickname":        func() (string, string, any) { return filter("users", "mailNickname eq 'person000007'") },
			"address of list": func() (string, string, any) { return filter("groups", "proxyAddresses/any(a:a eq 'smtp:"+u.UPN()+"')") },
			"groups of user": func() (string, string, any) {
				return "POST", "/v1.0/users/" + u.UPN() + "/checkMemberGroups", map[string]any{"groupIds": []string{u.ID()}}
			},
			"licence": func() (string, string, any) {
				return "POST", "/v1.0/users/" + u.UPN() + "/assignLicense", map[string]any{"addLicenses": []any{map[string]any{"skuId": sku, "disabledPlans": []any{}}}, "removeLicenses": []any{}}
			},
			"recipient":         func() (string, string, any) { return cmdlet("Get-Recipient", map[string]any{"Identity": u.UPN()}) },
			"unknown recipient": func() (string, string, any) { return cmdlet("Get-Recipient", map[string]any{"Identity": "Nobody"}) },
			"hide": func() (string, string, any) {
				return cmdlet("Set-Mailbox", map[string]any{"Identity": u.UPN(), "CustomAttribute1": "x"})
			},
			"move": func() (string, string, any) { return cmdlet("Get-MigrationUser", map[string]any{"Identity": u.UPN()}) },
		}
		for _, name := range slices.Sorted(maps.Keys(steps)) {
			method, path, body := steps[name]()
			call(name, method, path, body)
		}
	}
	for name, bytes := range taken {
		if bytes[1] > bytes[0]*3/2+2048 {
			t.Errorf("%s: %d bytes with 100 people, %d with 4,000", name, bytes[0], bytes[1])
		}
	}
}
