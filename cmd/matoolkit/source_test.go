package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// queried is a runbook whose members are in a file that a variable names.
const queried = `name: queried
data_source: {type: csv, connection: MATOOLKIT_TEST_PEOPLE, primary_key: Upn, batch_time_column: Start}
phases:
  - name: look
    offset: T-0
    steps: [{name: look, worker_id: worker-target, function: Test-EntraAddressAvailable, params: {Address: "{{Upn}}"}}]
`

// A rehearsal sends no query unless it is allowed.
func TestRehearseFromSource(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("MATOOLKIT_TEST_PEOPLE", file("people.csv", "Upn,Start\nada@contoso.com,2026-12-02 18:00\n"))
	book, target := file("runbook.yaml", queried), file("target.json", `{"verifiedDomains": ["contoso.com"]}`)
	other := file("other.yaml", strings.ReplaceAll(queried, "MATOOLKIT_TEST_PEOPLE", "MATOOLKIT_TEST_NOTHING"))
	upload := "../../examples/tenant-to-tenant/runbook.yaml"
	for name, tc := range map[string]struct {
		args   []string
		want   string
		status int
	}{
		"allowed":         {[]string{book, "--from-source", "--allow-query"}, "1 of 1 members succeed.", exit.OK},
		"not allowed":     {[]string{book, "--from-source"}, "allow it with --allow-query, or give its result with --members", exit.WrongUsage},
		"uploaded":        {[]string{upload, "--from-source"}, "give --members", exit.WrongUsage},
		"both":            {[]string{book, "--from-source", "--members", book}, "cannot be given together", exit.WrongUsage},
		"without source":  {[]string{book, "--members", book, "--allow-query"}, "--allow-query is for --from-source", exit.WrongUsage},
		"not set":         {[]string{other, "--from-source", "--allow-query"}, "MATOOLKIT_TEST_NOTHING of data_source.connection is not set", exit.Refused},
		"with no members": {[]string{book}, "--members is missing", exit.WrongUsage},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := rehearsed(t, append(tc.args, "--start", "2026-12-01 18:00", "--target", target, "--removals", "0")...)
			if status != tc.status || !strings.Contains(out+errs, tc.want) {
				t.Errorf("status %d, want %d and %q: %s%s", status, tc.status, tc.want, out, errs)
			}
		})
	}
}
