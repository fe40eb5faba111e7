package exchange_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// inProcess calls a tenant without a network, so that a bubble's clock can run.
type inProcess struct{ *tenant.Server }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result(), nil
}

// Sixteen jobs at once in a tenant that carries out six commands in ten seconds:
// each time that it refuses only the three that are under way hear of it, and
// then one call finds out whether it goes on.
func TestJobsOfATenantThatThrottlesMakeFewCallsInVain(t *testing.T) {
	t.Parallel()
	server := testenv.Started(tenant.Start(t.Context(), tenant.Config{Now: time.Now}))(t)
	synctest.Test(t, func(t *testing.T) {
		if err := server.Seed(tenant.Seed{
			Users: []tenant.User{{
				"id": adaID, "userPrincipalName": "ada@contoso.example", "displayName": "Ada", "mailNickname": "ada", "accountEnabled": true,
			}},
			Recipients: []tenant.Recipient{{
				Kind: tenant.MailUser, ExternalDirectoryObjectID: adaID, Name: "Ada", DisplayName: "Ada", Alias: "ada",
				EmailAddresses: []string{"SMTP:ada@contoso.example"}, ExternalEmailAddress: "ada@old.example",
			}},
		}); err != nil {
			t.Fatal(err)
		}
		if err := server.SetFaults(tenant.Faults{Rules: []tenant.Fault{
			{After: 6, PerMS: 10_000, Status: 429, DelayMS: 200}, {DelayMS: 200},
		}}); err != nil {
			t.Fatal(err)
		}
		client := testenv.Must(exchange.New(session.Config{
			URL: "https://outlook.office365.com", TenantID: tenant.DefaultTenantID, Credential: credential{},
			HTTP: &http.Client{Transport: inProcess{server}}, Policy: throttle.Default(),
		}, exchange.Cmdlets{}))(t)
		functions := testenv.Must(catalog.New(client.Functions()...))(t)
		var jobs sync.WaitGroup
		for range 16 {
			jobs.Go(func() {
				_, err := call(t, functions, "Test-ExchangeAttributeMatch", map[string]any{
					"Identity": adaID, "AttributeName": "PrimarySmtpAddress", "ExpectedValue": "ada@contoso.example",
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		jobs.Wait()
		done, vain := 0, 0
		for _, statuses := range server.Requests() {
			for status, n := range statuses {
				if status == http.StatusTooManyRequests {
					vain += n
				} else {
					done += n
				}
			}
		}
		// Three periods; the last is not used up.
		if done != 16 || vain > 6 {
			t.Errorf("%d commands and %d in vain, want 16 and at most 6", done, vain)
		}
	})
}
