package exchange_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

func command(t *testing.T, c *catalog.Catalog, again bool, params map[string]any) (any, *catalog.Failure) {
	t.Helper()
	ctx := catalog.WithJob(t.Context(), catalog.Job{ID: "job-1", Redelivered: again})
	answer, err := c.Call(ctx, "Invoke-ExchangeCommand", testenv.Must(json.Marshal(params))(t))
	var f *catalog.Failure
	if err != nil && !errors.As(err, &f) {
		t.Fatalf("failed with %T: %v, not with a *catalog.Failure", err, err)
	}
	return answer, f
}

func newMailUser(check bool) map[string]any {
	params := map[string]any{"Cmdlet": "New-MailUser", "Parameters": map[string]any{
		"Name": "grace", "MicrosoftOnlineServicesID": "grace@contoso.example", "Password": "Pa55word-Of-Grace", "ExternalEmailAddress": "grace@old.example",
	}}
	if check {
		params["CheckCmdlet"], params["CheckParameters"] = "Get-MailUser", map[string]any{"Identity": "grace@contoso.example"}
		params["CheckExpected"] = map[string]any{"Name": "grace"}
	}
	return params
}

func TestACmdletWithoutCheckRunsOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		note         string
		fault        tenant.Fault
		again, check bool
		runs         int
		says         string // of the failure; empty for none
	}{
		{"answered", tenant.Fault{Op: "nothing", Status: 500}, false, false, 1, ""},
		{"throttled", tenant.Fault{Op: "New-MailUser", Status: 429, Count: 2}, false, false, 3, ""},
		{"no answer in time", tenant.Fault{Op: "New-MailUser", Status: 504}, false, false, 1, "may have run"},
		{"cut off after the write", tenant.Fault{Op: "New-MailUser", Drop: true, AfterWrite: true}, false, false, 1, "may have run"},
		{"redelivered", tenant.Fault{Op: "nothing", Status: 500}, true, false, 0, "repeats only with CheckCmdlet"},
		{"cut off after the write, with a check", tenant.Fault{Op: "New-MailUser", Drop: true, AfterWrite: true, Count: 1}, false, true, 1, ""},
		{"cut off before the write, with a check", tenant.Fault{Op: "New-MailUser", Drop: true, Count: 1}, false, true, 2, ""},
		{"redelivered, with a check", tenant.Fault{Op: "nothing", Status: 500}, true, true, 1, ""},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			w := start(t, tenant.MailUser, tc.fault)
			answer, failure := command(t, w.Catalog, tc.again, newMailUser(tc.check))
			if tc.says == "" && (failure != nil || answer.(map[string]any)["Name"] != "grace") {
				t.Errorf("got %v, %v", answer, failure)
			}
			if tc.says != "" && (failure == nil || !strings.Contains(failure.Message, tc.says)) {
				t.Errorf("got %v, %v, want a failure with %q", answer, failure, tc.says)
			}
			runs := 0
			for _, n := range w.Requests()["exchange New-MailUser"] {
				runs += n
			}
			if runs != tc.runs {
				t.Errorf("it ran %d times, want %d", runs, tc.runs)
			}
		})
	}
}

func TestWorkersAllowMoreCmdletsOrNone(t *testing.T) {
	t.Parallel()
	w := start(t, tenant.UserMailbox)
	for _, tc := range []struct {
		cmdlets exchange.Cmdlets
		says    string
	}{
		{exchange.Cmdlets{Setting: "EXCHANGE_CMDLETS"}, "to allow the cmdlet, add it to the worker's setting EXCHANGE_CMDLETS"},
		{exchange.Cmdlets{Setting: "EXCHANGE_CMDLETS", None: true}, "by its setting EXCHANGE_CMDLETS"},
		{exchange.Cmdlets{Setting: "EXCHANGE_CMDLETS", Allowed: []string{"Set-Mailbox"}}, ""},
	} {
		client := testenv.Must(exchange.New(session.Config{
			URL: w.URL(), Scope: "https://outlook.office365.com/.default", TenantID: tenant.DefaultTenantID, Credential: credential{}, Policy: pace(),
			HTTP: &http.Client{},
		}, tc.cmdlets))(t)
		answer, failure := command(t, testenv.Must(catalog.New(client.Functions()...))(t), false, map[string]any{
			"Cmdlet": "Set-Mailbox", "Parameters": map[string]any{"Identity": adaID, "DisplayName": "moved"},
		})
		switch {
		case tc.says == "" && (failure != nil || answer != true || w.recipient().DisplayName != "moved"):
			t.Errorf("got %v, %v", answer, failure)
		case tc.says != "" && (failure == nil || failure.Type != catalog.FailureNotConfigured || !strings.Contains(failure.Message, tc.says)):
			t.Errorf("got %v, %v, want %q", answer, failure, tc.says)
		}
	}
}

// Exchange Online leaves value out of the answer then.
func TestACmdletThatPrintsNothingSucceeds(t *testing.T) {
	t.Parallel()
	w := start(t, tenant.UserMailbox)
	for range 2 { // the second changes nothing
		answer, failure := command(t, w.Catalog, false, map[string]any{
			"Cmdlet": "Set-Mailbox", "Parameters": map[string]any{"Identity": adaID, "HiddenFromAddressListsEnabled": true},
		})
		if failure != nil || answer != true {
			t.Errorf("got %v, %v", answer, failure)
		}
	}
}

func TestABlankAnswerHasNoObjects(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", " \r\n", "{}", `{"value":null}`, `{"value":[]}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		t.Cleanup(server.Close)
		answer, failure := command(t, functions(t, server.URL, tenant.DefaultTenantID, pace()), false, map[string]any{
			"Cmdlet": "Set-Mailbox", "Parameters": map[string]any{"Identity": adaID, "HiddenFromAddressListsEnabled": true},
		})
		if failure != nil || answer != true {
			t.Errorf("%q: got %v, %v", body, answer, failure)
		}
	}
}

// A replica that lags does not show the mail user that was just made: then the removal has not run before.
func TestACheckForAbsenceDoesNotTrustTheFirstRead(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock()
	server := testenv.Started(tenant.Start(t.Context(), tenant.Config{Lag: 5 * time.Second, Now: clock.Now, Seed: &tenant.Seed{}}))(t)
	policy := throttle.Default()
	policy.Now, policy.Sleep = clock.Now, func(_ context.Context, d time.Duration) error {
		clock.Advance(d)
		return nil
	}
	client := testenv.Must(exchange.New(session.Config{
		URL: server.URL(), Scope: "https://outlook.office365.com/.default", TenantID: tenant.DefaultTenantID, Credential: credential{}, Policy: policy,
		HTTP: &http.Client{},
	}, exchange.Cmdlets{Allowed: []string{"New-MailUser", "Remove-MailUser"}}))(t)
	c := testenv.Must(catalog.New(client.Functions()...))(t)
	if answer, failure := command(t, c, false, map[string]any{"Cmdlet": "New-MailUser", "Parameters": map[string]any{
		"Name": "wave", "MicrosoftOnlineServicesID": "wave@contoso.example", "Password": "Pa55word-Of-Wave", "ExternalEmailAddress": "wave@old.example",
	}}); failure != nil {
		t.Fatal(answer, failure)
	}
	for range 2 { // the second finds no mail user
		answer, failure := command(t, c, false, map[string]any{
			"Cmdlet": "Remove-MailUser", "Parameters": map[string]any{"Identity": "wave@contoso.example", "Confirm": false},
			"CheckCmdlet": "Get-MailUser", "CheckParameters": map[string]any{"Identity": "wave@contoso.example"},
		})
		if failure != nil || answer != true {
			t.Errorf("got %v, %v", answer, failure)
		}
		runs := 0
		for _, n := range server.Requests()["exchange Remove-MailUser"] {
			runs += n
		}
		if runs != 1 {
			t.Errorf("it ran %d times", runs)
		}
	}
}
