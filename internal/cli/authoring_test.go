package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/local/databricks"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/tds"
)

// anyToken is the handler's identity, which both data sources of these tests accept.
type anyToken struct{}

func (anyToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// dataverse starts a TDS endpoint that answers a query, and returns its connection string.
func dataverse(t *testing.T, query string, columns []string, rows ...[]any) string {
	t.Helper()
	s, err := tds.Start(tds.Config{CheckToken: func(string) error { return nil }})
	check(t, err)
	t.Cleanup(func() { _ = s.Close() })
	var r tds.Result
	for _, name := range columns {
		r.Columns = append(r.Columns, tds.Column{Name: name, Type: tds.NVarChar(200)})
	}
	r.Rows = rows
	check(t, s.Answer(query, r))
	ca := filepath.Join(t.TempDir(), "ca.pem")
	check(t, os.WriteFile(ca, s.CAPEM(), 0o600))
	return "Server=" + strings.Replace(s.Addr(), ":", ",", 1) + ";Certificate=" + ca
}

// workspace starts Databricks with a warehouse "w1" that answers all statements.
func workspace(t *testing.T, columns []string, rows ...[]any) string {
	t.Helper()
	r := databricks.Result{Rows: rows}
	for _, name := range columns {
		r.Columns = append(r.Columns, databricks.Column{Name: name, Type: "STRING"})
	}
	s, err := databricks.Start(t.Context(), databricks.Config{
		Warehouses: []string{"w1"}, VerifyToken: func(string) error { return nil }, Run: func(databricks.Query) databricks.Result { return r },
	})
	check(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s.URL()
}

// offers has a worker announce functions: name, then the required parameters.
func (s *system) offers(worker string, functions ...[]string) {
	s.t.Helper()
	c := message.Catalog{WorkerID: worker, Version: "1.2", Timestamp: time.Now().UTC()}
	for _, f := range functions {
		described := message.CatalogFunction{Name: f[0], Result: []message.CatalogField{{Name: "guid"}}}
		if strings.HasPrefix(f[0], "Start-") {
			described.Result = []message.CatalogField{{Name: "complete"}, {Name: "data"}}
		}
		for _, p := range f[1:] {
			described.Parameters = append(described.Parameters, message.CatalogParameter{Name: p, Required: true})
		}
		c.Functions = append(c.Functions, described)
	}
	body := must(json.Marshal(c))
	check(s.t, s.app.HandleResult(s.ctx, message.Delivery{ID: message.CatalogID(worker, body), Type: message.TypeWorkerCatalog, Body: body, DeliveryCount: 1}))
}

// printedCommand finds the next command in what a command prints.
var printedCommand = regexp.MustCompile(`(?m)(?:^Next|To enable it.*): matoolkit (.+)$`)

// An author brings runbooks in the style of the reference to run by what the program prints:
// findings, why nothing was published, and the next command.
func TestRunbooksRunByWhatTheProgramPrints(t *testing.T) {
	t.Parallel()
	soon := time.Now().UTC().Add(12 * time.Hour).Format("2006-01-02T15:04:05Z")
	for _, tt := range []struct {
		name     string
		settings map[string]string
		workers  map[string][][]string
		members  int
		phase    string // the one that runs first
	}{
		{
			"user-migration",
			map[string]string{"DATAVERSE": dataverse(t, "SELECT UserPrincipalName, FirstName, LastName, ProxyAddresses, MigrationDate FROM contact",
				[]string{"UserPrincipalName", "FirstName", "LastName", "ProxyAddresses", "MigrationDate"},
				[]any{"ada@contoso.com", "Ada", "Lind", "a@x.org; b@x.org", soon}, []any{"kim@contoso.com", "Kim", "Berg", "k@x.org", soon})},
			map[string][][]string{"worker-01": {
				{"New-MigrationBatchGroup", "BatchId", "StartTime"},
				{"Start-MailboxMove", "UserPrincipalName", "Name", "Addresses"},
				{"Complete-MailboxMove", "MoveId"},
				{"Remove-MailForwarding", "UserPrincipalName"},
				{"Undo-MailboxMove", "UserPrincipalName"},
			}},
			2, "pre-stage",
		},
		{
			"group-cleanup",
			map[string]string{"WAREHOUSE": "w1", "WORKSPACE": workspace(t, []string{"MembershipId", "GroupId", "UserId", "ObjectType"},
				[]any{"1", "g1", "u1", "GroupMember"}, []any{"2", "g1", "u2", "GroupMember"}, []any{"3", "g2", "u1", "GroupOwner"})},
			map[string][][]string{"worker-01": {{"Remove-GroupMember", "GroupId", "UserId"}, {"Remove-GroupOwner", "GroupId", "UserId"}, {"Write-CleanupLog", "Id"}}},
			3, "remove",
		},
		{
			"provisioning",
			map[string]string{"DATAVERSE": dataverse(t, "SELECT EmployeeId, Name, FirstDay FROM hire", []string{"EmployeeId", "Name", "FirstDay"}, []any{"e1", "Ada", soon}, []any{"e2", "Kim", soon})},
			map[string][][]string{
				"worker-01": {{"New-Account", "EmployeeId", "Name"}, {"Remove-Account", "Id"}},
				"worker-02": {{"New-Account", "EmployeeId", "Name"}, {"Connect-Account", "Id", "Other"}},
			},
			2, "create",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			system := newSystem(t, entra.DefaultAdminUPN)
			p := system.signedIn()
			do := func(want int, args ...string) string {
				t.Helper()
				out, notices, status := p.run(args...)
				if status != want {
					t.Fatalf("%q ended with %d, want %d:\n%s%s", args, status, want, out, notices)
				}
				return out + notices
			}
			text, err := os.ReadFile(filepath.Join("testdata", "authoring", tt.name+".yaml"))
			check(t, err)
			file := p.file(tt.name+".yaml", string(text))

			// Nothing can run yet, and publish names the missing workers and settings.
			printed := do(5, "runbook", "publish", file)
			for _, part := range []string{"[unknown-worker]", "[missing-setting]", "start the workers"} {
				if !strings.Contains(printed, part) {
					t.Errorf("publish does not print %s:\n%s", part, printed)
				}
			}
			for worker := range tt.workers {
				if start := "local up --worker-id " + worker + ", then WORKER_ID=" + worker + " bin/worker"; !strings.Contains(printed, start) {
					t.Errorf("publish does not say how to start %s:\n%s", worker, printed)
				}
			}
			for name, value := range tt.settings {
				system.settings.Store(name, value)
			}
			for worker, functions := range tt.workers {
				system.offers(worker, functions...)
				if len(tt.workers) == 1 {
					do(0, "runbook", "lint", "--strict", file, "--functions", p.file("functions.json", do(0, "worker", "get", worker, "--output", "json")))
				}
			}

			// From here on each command is the one that the command before prints.
			printed = do(0, "runbook", "publish", file, "--strict")
			given := []string{"runbook publish"}
			for !strings.HasPrefix(given[len(given)-1], "automation enable") {
				next := printedCommand.FindStringSubmatch(printed)
				if next == nil || len(given) > 5 {
					t.Fatalf("after %q no next command is printed:\n%s", given, printed)
				}
				given = append(given, next[1])
				printed = do(0, strings.Fields(next[1])...)
			}
			var batches api.Page[api.Batch]
			var phases api.Page[api.Phase]
			for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				system.tick()
				check(t, json.Unmarshal([]byte(do(0, "batch", "list", "--runbook", tt.name, "--output", "json")), &batches))
				if len(batches.Items) > 0 {
					system.ahead.Store(int64(10 * time.Minute)) // a batch of batch_time: immediate begins within five
					system.queue.Tick()
					check(t, json.Unmarshal([]byte(do(0, "batch", "phases", "1", "--output", "json")), &phases))
					for _, phase := range phases.Items {
						if phase.Name == tt.phase && phase.Status == api.PhaseCompleted && phase.Succeeded == tt.members && phase.Failed == 0 {
							return
						}
					}
				}
				if time.Now().After(end) {
					t.Fatalf("after %q the phase %s has not completed: %+v %+v", given, tt.phase, batches.Items, phases.Items)
				}
			}
		})
	}
}
