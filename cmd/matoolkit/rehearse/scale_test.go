package rehearse_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// crowd adds people to the source of the example, and writes a list of members with those of the first ones who move.
func crowd(t testing.TB, seed *tenant.Seed, people, members int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "members.csv")
	file := testenv.Must(os.Create(path))(t)
	w := csv.NewWriter(file)
	row := func(fields ...string) { _ = w.Write(fields) }
	row("Upn", "Name", "Alias", "SourceId", "NewUpn", "Department", "Country", "License", "Mailbox")
	id := func(i int, of string) string {
		return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s %d", of, i)).String()
	}
	for i := range people {
		alias := fmt.Sprintf("person%06d", i)
		upn := alias + "@contoso.com"
		seed.Users = append(seed.Users, tenant.User{
			"id": id(i, "user"), "userPrincipalName": upn, "displayName": fmt.Sprintf("Person %d", i), "department": "Sales", "usageLocation": "SE",
			"mail": upn, "mailNickname": alias,
		})
		seed.Recipients = append(seed.Recipients, tenant.Recipient{
			Kind: tenant.UserMailbox, ExternalDirectoryObjectID: id(i, "user"), ExchangeGUID: id(i, "mailbox"),
			EmailAddresses: []string{"SMTP:" + upn, "smtp:" + alias + "@contoso.onmicrosoft.com", "smtp:" + alias + "@fabrikam.onmicrosoft.com"},
		})
		if i < members {
			row(upn, fmt.Sprintf("Person %d", i), alias, id(i, "user"), alias+"@fabrikam.com", "Sales", "SE", "SPE_E3", "moves")
		}
	}
	w.Flush()
	if err := file.Close(); err != nil || w.Error() != nil {
		t.Fatal(err, w.Error())
	}
	return path
}

func BenchmarkWave(b *testing.B) {
	for _, size := range []struct{ people, members int }{{1000, 100}, {100_000, 200}, {100_000, 1000}} {
		b.Run(fmt.Sprintf("%d_of_%d", size.members, size.people), func(b *testing.B) {
			for range b.N {
				var members string
				all := tenants(b, func(name string, seed *tenant.Seed) {
					if name == "source" {
						members = crowd(b, seed, size.people, size.members)
					}
					for i := range seed.Licenses {
						seed.Licenses[i].Enabled += size.members
					}
				})
				assumed := rehearse.DefaultAssumptions()
				assumed.Parallelism = 20
				runtime.GC()
				began := time.Now()
				r := testenv.Must(rehearse.Run(b.Context(), rehearse.Config{
					Runbook: testenv.Must(os.ReadFile(filepath.Join(example, "runbook.yaml")))(b), Members: members, Start: start, Tenants: all, Assumed: assumed,
					Progress: func(text string) { b.Log(time.Since(began).Round(time.Millisecond), text) },
				}))(b)
				for _, g := range r.Errors {
					b.Log(len(g.Members), g.Phase, g.Step, g.Error)
				}
				for _, p := range r.Phases {
					b.Log(p.Name, p.Status, p.Seconds, p.Jobs)
				}
				b.ReportMetric(float64(r.Succeeded), "succeeded")
			}
		})
	}
}
