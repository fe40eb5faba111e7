package tenant_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
)

// batchOf are the parameters of a batch of these people.
func batchOf(name, csv string) map[string]any {
	return map[string]any{
		"Name": name, "SourceEndpoint": "source", "TargetDeliveryDomain": "contoso.com", "AutoStart": true,
		"CSVData": base64.StdEncoding.EncodeToString([]byte(csv)),
	}
}

func TestMigrationBatchesRefuse(t *testing.T) {
	t.Parallel()
	seed := exchangeSeed()
	seed.VerifiedDomains, seed.MigrationEndpoints = []string{"contoso.com"}, []string{"source"}
	r := start(t, tenant.Config{Seed: seed})
	r.mustCmdlet("New-MigrationBatch", batchOf("one", "EmailAddress\nbob@contoso.com\n"))
	before := fmt.Sprint(r.State())
	good := "EmailAddress\nann@contoso.com\n"
	for _, tt := range []struct {
		name       string
		parameters map[string]any
		status     int
		detail     string
	}{
		{"a name that is taken", batchOf("ONE", good), 400, "already exists"},
		{"an unknown endpoint", with(batchOf("two", good), map[string]any{"SourceEndpoint": "other"}), 404, "couldn't be found"},
		{"a domain that is not accepted", with(batchOf("two", good), map[string]any{"TargetDeliveryDomain": "other.com"}), 400, "accepted domain"},
		{"another column", batchOf("two", "EmailAddress,Name\nann@contoso.com,Ann\n"), 400, "column EmailAddress"},
		{"no column name", batchOf("two", "ann@contoso.com\n"), 400, "column EmailAddress"},
		{"no address", batchOf("two", "EmailAddress\nann\n"), 400, `"ann" isn't an address`},
		{"an address twice", batchOf("two", good+"Ann@contoso.com\n"), 400, "listed twice"},
		{"bytes that are none", with(batchOf("two", good), map[string]any{"CSVData": []int{69, 256}}), 400, "System.Byte[]"},
		{"text that is no base64", with(batchOf("two", good), map[string]any{"CSVData": "Email Address"}), 400, "System.Byte[]"},
		{"a number", with(batchOf("two", good), map[string]any{"CSVData": 7}), 400, "System.Byte[]"},
		{"a batch that waits", with(batchOf("two", good), map[string]any{"AutoStart": false}), 400, "specify AutoStart"},
		{"a time that is none", with(batchOf("two", good), map[string]any{"CompleteAfter": "noon"}), 400, "System.DateTime"},
	} {
		a := r.cmdlet("New-MigrationBatch", tt.parameters)
		if detail := a.detail(); a.status != tt.status || !strings.Contains(detail, tt.detail) {
			t.Errorf("%s: got %d %q, want %d %q", tt.name, a.status, detail, tt.status, tt.detail)
		}
	}
	for cmdlet, parameters := range map[string]map[string]any{
		"Complete-MigrationBatch": {"Identity": "two"}, "Remove-MigrationBatch": {"Identity": "two"}, "Get-MigrationBatch": {"Identity": "two"},
		"Get-MigrationUser": {"Identity": "zoe@contoso.com"},
	} {
		if a := r.cmdlet(cmdlet, parameters); a.status != 404 || !strings.Contains(a.detail(), "couldn't be found") {
			t.Errorf("%s: got %d %q", cmdlet, a.status, a.detail())
		}
	}
	if a := r.cmdlet("Get-MigrationUser", map[string]any{"Identity": "bob@contoso.com", "BatchId": "one"}); a.status != 400 {
		t.Errorf("two sets of parameters: %d", a.status)
	}
	if after := fmt.Sprint(r.State()); after != before {
		t.Errorf("a refused command changed the state:\n%s\n%s", before, after)
	}
}

// A batch goes on with the clock, and completes by itself at its time, also after a restart.
func TestAMigrationBatchGoesOn(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	now := func() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(passed.Load())) }
	config := tenant.Config{DataDir: t.TempDir(), Seed: exchangeSeed(), MoveDelay: time.Minute, Now: now}
	r := start(t, config)
	r.mustCmdlet("New-MigrationBatch", with(batchOf("one", "EmailAddress\nbob@contoso.com\nann@contoso.com\n"), map[string]any{"CompleteAfter": "2026-03-01T10:00:00Z"}))
	for _, tt := range []struct {
		after      time.Duration
		batch, bob string
	}{
		{0, "Syncing", "Syncing"}, {time.Minute, "SyncedWithErrors", "Synced"}, {time.Hour, "Completing", "Completing"}, {61 * time.Minute, "CompletedWithErrors", "Completed"},
	} {
		passed.Store(int64(tt.after))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = start(t, config)
		batch := r.mustCmdlet("Get-MigrationBatch", nil).values()[0]
		bob := r.mustCmdlet("Get-MigrationUser", map[string]any{"Identity": "bob@contoso.com"}).values()[0]
		if batch["Status"] != tt.batch || bob["Status"] != tt.bob || batch["TotalCount"] != 2.0 || batch["FailedCount"] != 1.0 {
			t.Errorf("at %s: got %v and %v, want %s and %s", now(), batch, bob, tt.batch, tt.bob)
		}
	}
	if got := r.mustCmdlet("Get-Mailbox", map[string]any{"Identity": "bob"}).values(); len(got) != 1 || got[0]["ExternalEmailAddress"] != nil {
		t.Errorf("the mailbox: %v", got)
	}
	ann := r.mustCmdlet("Get-MigrationUser", map[string]any{"BatchId": "one", "ResultSize": "Unlimited"}).values()[1]
	if ann["Status"] != "Failed" || !strings.Contains(fmt.Sprint(ann["ErrorSummary"]), "Cannot find a recipient that has mailbox GUID") {
		t.Errorf("ann: %v", ann)
	}
}

// A batch is removed once it does not run, and a completion that has begun cannot be stopped.
func TestAMigrationBatchStopsBeforeItIsRemoved(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	now := func() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(passed.Load())) }
	r := start(t, tenant.Config{Seed: exchangeSeed(), MoveDelay: time.Minute, Now: now})
	one, bob := map[string]any{"Identity": "one"}, map[string]any{"Identity": "bob@contoso.com"}
	status := func(batch, person string) {
		t.Helper()
		b, u := r.mustCmdlet("Get-MigrationBatch", one).values()[0], r.mustCmdlet("Get-MigrationUser", bob).values()[0]
		if b["Status"] != batch || u["Status"] != person {
			t.Errorf("at %s: got %v and %v, want %s and %s", now(), b["Status"], u["Status"], batch, person)
		}
	}
	refuse := func(says string, cmdlets ...string) {
		t.Helper()
		for _, cmdlet := range cmdlets {
			identity := one
			if strings.HasSuffix(cmdlet, "User") {
				identity = bob
			}
			if a := r.cmdlet(cmdlet, identity); a.status != 400 || !strings.Contains(a.detail(), says) {
				t.Errorf("%s: got %d %q, want %q", cmdlet, a.status, a.detail(), says)
			}
		}
	}
	r.mustCmdlet("New-MigrationBatch", with(batchOf("one", "EmailAddress\nbob@contoso.com\n"), map[string]any{"StartAfter": "2026-03-01T10:00:00Z"}))
	status("Waiting", "Queued")
	refuse("its status is Waiting", "Remove-MigrationBatch")
	passed.Store(int64(time.Hour))
	status("Syncing", "Syncing")
	refuse("its status is Syncing", "Remove-MigrationBatch")
	r.mustCmdlet("Stop-MigrationBatch", one)
	passed.Store(int64(2 * time.Hour))
	status("Stopped", "Stopped")
	refuse("its status is Stopped", "Stop-MigrationBatch", "Complete-MigrationBatch")
	r.mustCmdlet("Start-MigrationBatch", one)
	status("Syncing", "Syncing")
	passed.Add(int64(time.Minute))
	status("Synced", "Synced")
	refuse("its status is Synced", "Remove-MigrationBatch")
	r.mustCmdlet("Complete-MigrationBatch", one)
	passed.Add(int64(time.Second))
	r.mustCmdlet("Stop-MigrationBatch", one)
	status("Completing", "Completing")
	refuse("its status is Completing", "Remove-MigrationBatch", "Remove-MigrationUser")
	passed.Add(int64(time.Minute))
	status("Completed", "Completed")
	refuse("its status is Completed", "Stop-MigrationBatch")
	r.mustCmdlet("Remove-MigrationUser", bob)
	r.mustCmdlet("Remove-MigrationBatch", one)
	if a := r.cmdlet("Remove-MailUser", map[string]any{"Identity": "bob"}); a.status != 404 {
		t.Errorf("a mailbox was removed as a mail user: %d", a.status)
	}
}
