package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/receiver"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// otherNames are names of topics and subscriptions that are not the default; one of them is
// the default of another.
var otherNames = map[string]string{
	"ORCHESTRATOR_EVENTS_TOPIC": "worker-results", "WORKER_RESULTS_TOPIC": "results", "WORKER_JOBS_TOPIC": "jobs", "WORKER_CONTROL_TOPIC": "revocations",
	"ORCHESTRATOR_SUBSCRIPTION": "engine", "WORKER_SUBSCRIPTION_PREFIX": "m-",
}

// TestEveryFunction has every function of the worker do something in the system that
// "local up" starts, by what that grants and sets and nothing else: the tenant asks for
// the application permissions that Graph asks for, and has a mailbox for alerts. Topics and
// subscriptions have other names.
func TestEveryFunction(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "every.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range catalog.Standard() {
		if !strings.Contains(string(text), "function: "+f.Name+"\n") {
			t.Errorf("the runbook has no step of %s", f.Name)
		}
	}

	seed, err := json.Marshal(tenant.Seed{
		VerifiedDomains: []string{"fabrikam.com", "fabrikam.onmicrosoft.com", "mail.fabrikam.com"},
		Licenses: []tenant.License{{SkuPartNumber: "SPE_E3", Enabled: 25, Consumed: 23, Plans: []tenant.ServicePlan{
			{ID: "efb87545-963c-4e0d-99df-69c6916d9eb0", Name: "EXCHANGE_S_ENTERPRISE", Service: "exchange"},
		}}},
		Groups: []tenant.SeedGroup{
			{Properties: map[string]any{
				"id": migrationGroup, "displayName": "Every", "mailNickname": "every", "mailEnabled": false, "securityEnabled": true,
			}},
			{Properties: map[string]any{
				"id": "5b2f9a4e-3c1d-4e8a-9f60-0a1b2c3d4e60", "displayName": "Every team", "mailNickname": "everyteam", "mailEnabled": true, "securityEnabled": false,
				"groupTypes": []any{"Unified"}, "resourceProvisioningOptions": []any{"Team"},
			}},
			{Properties: map[string]any{
				"displayName": "Everybody", "mailNickname": "everybody", "mail": "everybody@fabrikam.com", "mailEnabled": true, "securityEnabled": false,
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	channel := testenv.Must(receiver.Start(t.Context(), nil))(t)
	t.Cleanup(func() { _ = channel.Close() })
	m := newMachineWith(t, seed, environment{
		handler: otherNames, worker: map[string]string{"MAIL_DOMAINS": "fabrikam.com", "WEBHOOK_SETTINGS": "CHANNEL_URL", "CHANNEL_URL": channel.URL()},
	}, everything)
	m.write("members.csv", []byte("UserPrincipalName,Name,Alias\nada@fabrikam.com,Ada Lindqvist,ada\n"))
	a := newAdminOf(m, "every", file, m.path("members.csv"))
	state := func() tenant.State {
		state, err := demo.State(t.Context(), m.endpoints.TenantURL)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	done := func(phase string) {
		t.Helper()
		err := a.advance()
		if err == nil {
			err = a.await(phase, ended)
		}
		if err != nil {
			t.Fatal(err)
		}
		var steps api.Page[api.Step]
		a.ask(&steps, "batch", "steps", a.batch, "--phase", phase)
		for _, s := range steps.Items {
			if s.Status != "succeeded" {
				t.Fatalf("%s is %s: %s", s.Function, s.Status, s.Error)
			}
		}
	}

	done("arrive")
	at := slices.IndexFunc(state().Recipients, func(r tenant.Recipient) bool { return r.UserPrincipalName == "ada@fabrikam.com" })
	if at < 0 {
		t.Fatal("she is no recipient")
	}
	var addresses []string
	for _, address := range state().Recipients[at].EmailAddresses {
		if strings.HasPrefix(strings.ToLower(address), "smtp:") {
			addresses = append(addresses, address)
		}
	}
	slices.Sort(addresses)
	if want := []string{"SMTP:ada@fabrikam.com", "smtp:ada@fabrikam.onmicrosoft.com"}; !slices.Equal(addresses, want) {
		t.Errorf("her addresses are %v, want %v", addresses, want)
	}

	done("visit")
	at = slices.IndexFunc(state().Users, func(u tenant.User) bool { return u.UPN() == "back.ada@fabrikam.com" })
	if at < 0 {
		t.Fatalf("she is not back: %v", state().Users)
	}
	if state().Users[at]["accountEnabled"] != false {
		t.Error("she is not barred")
	}

	done("leave")
	for _, u := range state().Users {
		if u.UPN() != "admin.ada@fabrikam.com" && strings.HasSuffix(u.UPN(), "ada@fabrikam.com") {
			t.Errorf("%s is still there", u.UPN())
		}
	}
	mails, handedOver := state().Mails, 0
	mails = slices.DeleteFunc(mails, func(m tenant.Mail) bool {
		secret := strings.HasSuffix(m.Subject, "to hand over") && fmt.Sprint(m.To) == "[helpdesk@fabrikam.com]"
		if secret {
			handedOver++
		}
		return secret
	})
	if handedOver != 2 {
		t.Errorf("%d secrets were handed over, want a pass and a password", handedOver)
	}
	if len(mails) != 2 || mails[0].Body != "Dear Ada Lindqvist" || fmt.Sprint(mails[0].To) != "[ada@fabrikam.com]" ||
		mails[1].Subject != "Ada Lindqvist leaves" || fmt.Sprint(mails[1].To) != "["+entra.DefaultAdminUPN+"]" {
		t.Errorf("the mails are %+v", mails)
	}
	if posts := channel.Posts(); len(posts) != 1 || !strings.Contains(string(posts[0].Body), "Ada Lindqvist leaves") {
		t.Errorf("the channel got %+v", posts)
	}
}
