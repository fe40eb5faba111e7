package rehearse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// A predicted duration follows from the slots of the worker, the limits of the tenant and the times of its calls.
func TestPredictedDurations(t *testing.T) {
	t.Parallel()
	const people = 60
	members := "Upn,Id\n"
	for i := range people {
		members += fmt.Sprintf("p%d@contoso.com,%s\n", i, idOf(fmt.Sprint(i)))
	}
	path := filepath.Join(t.TempDir(), "members.csv")
	if err := os.WriteFile(path, []byte(members), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, function, params string
		assumed                rehearse.Assumptions
		least, most            float64 // seconds
	}{
		// One read for each person, six at once: ten rounds of two seconds.
		{"slots", "Test-EntraAttributeMatch", `UserId: "{{Upn}}", AttributeName: department, ExpectedValue: Sales`, rehearse.Assumptions{Parallelism: 6, GraphSeconds: 2}, 20, 21},
		// One write at once, then nine in each ten seconds.
		{"writes", "Set-EntraUserAttributes", `UserId: "{{Id}}", Department: Navy`, rehearse.Assumptions{Parallelism: 100, Writes: throttle.Rate{Calls: 10, Per: 10 * time.Second}}, 65, 68},
		// One command for each person, three at once, although there are slots for all.
		{"commands", "Test-ExchangeAttributeMatch", `Identity: "{{Upn}}", RecipientType: Mailbox, AttributeName: Alias, ExpectedValue: x`, rehearse.Assumptions{Parallelism: 100, Commands: 3, ExchangeSeconds: 1}, 20, 21},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var seed tenant.Seed
			for i := range people {
				upn := fmt.Sprintf("p%d@contoso.com", i)
				seed.Users = append(seed.Users, tenant.User{"id": idOf(fmt.Sprint(i)), "userPrincipalName": upn, "department": "Sales"})
				seed.Recipients = append(seed.Recipients, tenant.Recipient{Kind: tenant.UserMailbox, UserPrincipalName: upn, EmailAddresses: []string{"SMTP:" + upn}})
			}
			r := testenv.Must(rehearse.Run(t.Context(), rehearse.Config{
				Runbook: fmt.Appendf(nil, "name: pace\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - name: only\n    offset: T-0\n    steps:\n      - {name: call, worker_id: w, function: %s, params: {%s}}\n", tc.function, tc.params),
				Members: path, Start: start, Tenants: []rehearse.Tenant{{Name: "target", ID: idOf("target"), Seed: seed}}, Assumed: tc.assumed,
			}))(t)
			if got := r.Phases[0].Seconds; len(r.Phases) != 1 || got < tc.least || got > tc.most {
				t.Errorf("%+v, want %v to %v seconds", r.Phases, tc.least, tc.most)
			}
		})
	}
}
