package system_test

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/system"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/local/tenant/population"
)

// startCopy starts a source, which has the snapshot if there is one, and a target without.
func startCopy(t *testing.T, dataDir string, r *snapshot.Reader) *system.System {
	t.Helper()
	tenants := testenv.Must(entra.NamedTenants("source", "target"))(t)
	c := system.Config{Parts: []system.Part{system.Identity}, Addresses: system.FreeAddresses(), DataDir: dataDir, Tenants: tenants}
	if r != nil {
		c.Snapshots = map[string]*snapshot.Reader{"source": r}
		c.Tenants[0].TenantID = r.Manifest().TenantID
	}
	s := testenv.Must(system.Start(t.Context(), c))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// do sends a request and returns the status and the body of the answer.
func do(t *testing.T, s *system.System, r *http.Request) (int, string) {
	t.Helper()
	response := testenv.Must(s.Entra.HTTPClient().Do(r))(t)
	defer response.Body.Close()
	return response.StatusCode, string(testenv.Must(io.ReadAll(response.Body))(t))
}

// signIn is the status of the answer of Entra ID to the secret of an application.
func signIn(t *testing.T, s *system.System, tenantID, clientID, secret string) int {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {clientID}, "client_secret": {secret}, "scope": {entra.GraphAudience + "/.default"}}
	r := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, s.Entra.URL()+"/"+tenantID+"/oauth2/v2.0/token", strings.NewReader(form.Encode())))(t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, _ := do(t, s, r)
	return status
}

// Other accounts of the machine can reach the copy of a real tenant, and do not read it: its local endpoint is off, and its
// applications have secrets of their own. So it stays when the system starts again without the snapshot.
func TestOtherAccountsDoNotReadTheCopies(t *testing.T) {
	t.Parallel()
	const id = "7e4a1c52-0000-4000-8000-00000000000a"
	folder, dir := t.TempDir(), t.TempDir()
	if err := population.Write(folder, id, tenant.Seed{}, 1); err != nil {
		t.Fatal(err)
	}
	known := testenv.Must(entra.NamedTenants("source", "target"))(t)
	secret := ""
	for name, start := range map[string]func() *system.System{
		"without a folder": func() *system.System {
			return startCopy(t, "", testenv.Must(snapshot.Open(folder, ""))(t))
		},
		"again": func() *system.System {
			first := startCopy(t, dir, testenv.Must(snapshot.Open(folder, ""))(t))
			secret = first.WorkerEnvs()["source"]["APP_SECRET"]
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			return startCopy(t, dir, nil)
		},
	} {
		s := start()
		for tenant, want := range map[string]int{"source": http.StatusNotFound, "target": http.StatusNotFound} {
			r := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.TenantURLOf(tenant)+"/_local/state", nil))(t)
			if status, body := do(t, s, r); status != want {
				t.Errorf("%s: the local endpoint of %s answers %d %.200s", name, tenant, status, body)
			}
		}
		worker := s.WorkerEnvs()["source"]
		people := s.HandlerEnv()["SOURCE_GRAPH"]
		_, peopleSecret, _ := strings.Cut(people, "ClientSecret=")
		peopleSecret, _, _ = strings.Cut(peopleSecret, ";")
		if worker["TARGET_TENANT_ID"] != id || !strings.Contains(people, "TenantId="+id) {
			t.Errorf("%s: the worker is of %s, the data source %s", name, worker["TARGET_TENANT_ID"], people)
		}
		for _, tc := range []struct {
			client, secret string
			want           int
		}{
			{known[0].WorkerClientID, known[0].WorkerSecret, http.StatusUnauthorized},
			{known[0].PeopleClientID, known[0].PeopleSecret, http.StatusUnauthorized},
			{known[0].WorkerClientID, worker["APP_SECRET"], http.StatusOK},
			{known[0].PeopleClientID, peopleSecret, http.StatusOK},
		} {
			if got := signIn(t, s, id, tc.client, tc.secret); got != tc.want {
				t.Errorf("%s: %s with the secret %q: %d, want %d", name, tc.client, tc.secret, got, tc.want)
			}
		}
		if name == "again" && worker["APP_SECRET"] != secret {
			t.Error("the secret of the worker changed")
		}
	}
	// The state has the secrets where only its owner reads them, and where the worker finds them.
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(secret)) {
			found = append(found, path)
			if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has the mode %v, error %v", path, info.Mode(), err)
			}
		}
		return err
	})
	if err != nil || len(found) != 1 {
		t.Errorf("files with the secret: %v, error %v", found, err)
	}
	tenants := testenv.Must(system.TenantsIn(dir))(t)
	if tenants[0].WorkerSecret != secret || tenants[0].TenantID != id || tenants[1].WorkerSecret == secret || tenants[1].WorkerSecret == known[1].WorkerSecret {
		t.Error("the folder has other tenants")
	}
}
