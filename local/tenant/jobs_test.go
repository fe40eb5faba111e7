package tenant_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

// A migration job moves mailboxes out of the tenant that it names, after its time. Each person who cannot be moved fails,
// and stays where they are; a restart leaves those alone who have moved.
func TestAMigrationJobMovesMailboxesFromTenantToTenant(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	g := twoTenants(t, func() time.Time {
		return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(passed.Load()))
	})
	const jobs = "/v1.0/solutions/migrations/crossTenantMigrationJobs"
	call := func(method, path, body string, want int) map[string]any {
		t.Helper()
		status, text := fetch(t, method, g.URL()+jobs+path, "id-of-target", body)
		if status != want {
			t.Fatalf("%s %s: %d %s", method, path, status, text)
		}
		var answer map[string]any
		if text != "" {
			if err := json.Unmarshal([]byte(text), &answer); err != nil {
				t.Fatal(err)
			}
		}
		return answer
	}
	people := g.Tenant("target").State().Users
	var ids []string
	for _, u := range people {
		ids = append(ids, u.ID())
	}
	create := func(name string, users ...string) {
		t.Helper()
		call("POST", "", string(testenv.Must(json.Marshal(map[string]any{
			"displayName": name, "sourceTenantId": "id-of-source", "resourceType": "Users", "resources": users, "completeAfterDateTime": "2026-03-01T10:00:00Z",
			"workloads": []string{"Exchange", "ODSP"}, "exchangeSettings": map[string]any{"sourceEndpoint": "old", "targetDeliveryDomain": "target.example"},
		}))(t)), http.StatusCreated)
		call("POST", "/"+name+"/validate", "", http.StatusOK)
	}
	create("one", ids[0], ids[1], ids[2], ids[3])
	passed.Store(int64(time.Minute))
	call("POST", "/one/migrate", "", http.StatusOK)
	statuses := func() string {
		t.Helper()
		var all []string
		for _, id := range ids {
			var services []string
			for _, s := range call("GET", "/one/users/"+id, "", http.StatusOK)["currentStatus"].([]any) {
				services = append(services, fmt.Sprint(s.(map[string]any)["status"]))
			}
			all = append(all, strings.Join(services, "+"))
		}
		return fmt.Sprint(call("GET", "/one", "", http.StatusOK)["status"], ": ", strings.Join(all, " "))
	}
	kinds := func() string {
		var all []string
		for _, name := range []string{"source", "target"} {
			for _, r := range g.Tenant(name).State().Recipients {
				all = append(all, r.Kind)
			}
		}
		return strings.Join(all, " ")
	}
	const before = "UserMailbox UserMailbox UserMailbox UserMailbox MailUser MailUser MailUser MailUser"
	const after = "MailUser UserMailbox UserMailbox UserMailbox UserMailbox MailUser MailUser MailUser"
	for _, at := range []struct {
		after           time.Duration
		statuses, kinds string
	}{
		{time.Minute, "inProgress: syncing+valid syncing+valid syncing+valid syncing+valid", before},
		{2 * time.Minute, "inProgress: synced+valid failed+failed failed+failed failed+failed", before},
		{time.Hour, "cuttingOver: finalizing+inProgress failed+failed failed+failed failed+failed", before},
		{time.Hour + time.Minute, "completedWithErrors: completed+completed failed+failed failed+failed failed+failed", after},
	} {
		passed.Store(int64(at.after))
		if got := statuses(); got != at.statuses {
			t.Errorf("after %s: %s, want %s", at.after, got, at.statuses)
		}
		if got := kinds(); got != at.kinds {
			t.Errorf("after %s: %s, want %s", at.after, got, at.kinds)
		}
	}
	call("POST", "/one/migrate", "", http.StatusOK)
	if got, want := statuses(), "inProgress: completed+completed syncing+valid syncing+valid syncing+valid"; got != want {
		t.Errorf("started again: %s, want %s", got, want)
	}
	passed.Store(int64(2 * time.Hour))
	if got, want := statuses()+" "+kinds(), "completedWithErrors: completed+completed failed+failed failed+failed failed+failed "+after; got != want {
		t.Errorf("at the end: %s, want %s", got, want)
	}
}
