package exchange_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/calls"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

const (
	adaID        = "11111111-0000-4000-8000-000000000001"
	exchangeGUID = "33333333-0000-4000-8000-000000000001"
	archiveGUID  = "33333333-0000-4000-8000-000000000002"
)

type credential struct{}

func (credential) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if !slices.Equal(o.Scopes, []string{"https://outlook.office365.com/.default"}) {
		return azcore.AccessToken{}, fmt.Errorf("asked for a token for %v", o.Scopes)
	}
	return azcore.AccessToken{Token: "token", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// pace waits without waiting.
func pace() throttle.Policy {
	p := throttle.Default()
	p.Sleep = func(context.Context, time.Duration) error { return nil }
	return p
}

func functions(t *testing.T, url, tenantID string, policy throttle.Policy) *catalog.Catalog {
	t.Helper()
	client := testenv.Must(exchange.New(session.Config{
		URL: url, Scope: "https://outlook.office365.com/.default", TenantID: tenantID, Credential: credential{}, Policy: policy,
		HTTP: &http.Client{Transport: &calls.Transport{Report: func(err error) { t.Error(err) }}},
	}, exchange.Cmdlets{}))(t)
	return testenv.Must(catalog.New(client.Functions()...))(t)
}

// world is a tenant with one recipient.
type world struct {
	*tenant.Server
	*catalog.Catalog
}

func start(t *testing.T, kind string, faults ...tenant.Fault) world {
	t.Helper()
	server := testenv.Started(tenant.Start(t.Context(), tenant.Config{Seed: &tenant.Seed{
		Users: []tenant.User{{
			"id": adaID, "userPrincipalName": "ada@contoso.example", "displayName": "Ada", "mailNickname": "ada", "accountEnabled": true,
		}},
		Recipients: []tenant.Recipient{{
			Kind: kind, ExternalDirectoryObjectID: adaID, Name: "Ada", DisplayName: "Ada", Alias: "ada",
			EmailAddresses:       []string{"SMTP:ada@contoso.example", "smtp:a.l@contoso.example", "X500:/o=old/cn=ada"},
			ExternalEmailAddress: map[string]string{tenant.MailUser: "ada@old.example"}[kind],
		}},
	}}))(t)
	if err := server.SetFaults(tenant.Faults{Rules: faults}); err != nil {
		t.Fatal(err)
	}
	return world{server, functions(t, server.URL(), tenant.DefaultTenantID, pace())}
}

func (w world) recipient() tenant.Recipient { return w.State().Recipients[0] }

// twice runs a function as for two deliveries of one job.
func (w world) twice(t *testing.T, name string, params map[string]any) {
	t.Helper()
	for _, delivery := range []string{"first", "second"} {
		if answer, err := call(t, w.Catalog, name, params); err != nil || answer != true {
			t.Fatalf("%s delivery: got %v, %v", delivery, answer, err)
		}
	}
}

func call(t *testing.T, c *catalog.Catalog, name string, params map[string]any) (any, error) {
	t.Helper()
	raw := testenv.Must(json.Marshal(params))(t)
	return c.Call(t.Context(), name, raw)
}

func TestPrimaryEmail(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{tenant.MailUser, tenant.UserMailbox} {
		for note, primary := range map[string]string{
			"a new address":          "ada.lovelace@contoso.example",
			"a former secondary one": "a.l@contoso.example",
		} {
			t.Run(kind+" "+note, func(t *testing.T) {
				t.Parallel()
				w := start(t, kind)
				w.twice(t, "Set-ExchangePrimaryEmail", map[string]any{"Identity": adaID, "PrimaryEmail": primary})
				got := slices.Clone(w.recipient().EmailAddresses)
				want := []string{"SMTP:" + primary, "smtp:ada@contoso.example", "X500:/o=old/cn=ada"}
				if primary != "a.l@contoso.example" {
					want = append(want, "smtp:a.l@contoso.example")
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Fatalf("got %v, want %v", got, want)
				}
			})
		}
	}
}

func TestSecondaryEmail(t *testing.T) {
	t.Parallel()
	w := start(t, tenant.MailUser)
	w.twice(t, "Add-ExchangeSecondaryEmail", map[string]any{"Identity": adaID, "SecondaryEmail": "countess@contoso.example"})
	got := w.recipient()
	if got.Primary() != "ada@contoso.example" || !slices.Contains(got.EmailAddresses, "smtp:countess@contoso.example") {
		t.Fatalf("got %v", got.EmailAddresses)
	}
	// An address that is there in other letters is there.
	w.twice(t, "Add-ExchangeSecondaryEmail", map[string]any{"Identity": adaID, "SecondaryEmail": "ADA@contoso.example"})
	if len(w.recipient().EmailAddresses) != len(got.EmailAddresses) {
		t.Fatalf("got %v", w.recipient().EmailAddresses)
	}
}

func TestExternalAddress(t *testing.T) {
	t.Parallel()
	w := start(t, tenant.MailUser)
	w.twice(t, "Set-ExchangeExternalAddress", map[string]any{"Identity": adaID, "ExternalEmail": "ada@new.example"})
	if got := w.recipient(); got.ExternalEmailAddress != "ada@new.example" || got.Primary() != "ada@contoso.example" {
		t.Fatalf("got %s and %s", got.ExternalEmailAddress, got.Primary())
	}
}

func TestMailUserGuids(t *testing.T) {
	t.Parallel()
	w := start(t, tenant.MailUser)
	w.twice(t, "Set-ExchangeMailUserGuids", map[string]any{"Identity": adaID, "ExchangeGuid": exchangeGUID})
	w.twice(t, "Set-ExchangeMailUserGuids", map[string]any{"Identity": adaID, "ExchangeGuid": exchangeGUID, "ArchiveGuid": archiveGUID})
	if got := w.recipient(); got.ExchangeGUID != exchangeGUID || got.ArchiveGUID != archiveGUID {
		t.Fatalf("got %s and %s", got.ExchangeGUID, got.ArchiveGUID)
	}
}

func TestTroubleIsWaitedOut(t *testing.T) {
	t.Parallel()
	for note, fault := range map[string]tenant.Fault{
		"429":                       {Service: "exchange", Count: 3, Status: 429, RetryAfter: "1"},
		"503":                       {Service: "exchange", Count: 3, Status: 503},
		"500":                       {Service: "exchange", Count: 2, Status: 500},
		"cut after the write":       {Service: "exchange", Op: "Set-", Count: 1, Drop: true, AfterWrite: true},
		"throttled after the write": {Service: "exchange", Op: "Set-", Count: 1, Status: 429, AfterWrite: true},
	} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			w := start(t, tenant.MailUser, fault)
			w.twice(t, "Set-ExchangePrimaryEmail", map[string]any{"Identity": adaID, "PrimaryEmail": "x@contoso.example"})
			if got := w.recipient().Primary(); got != "x@contoso.example" {
				t.Fatalf("got %s", got)
			}
		})
	}
}

func TestFailuresSayWhatExchangeSaid(t *testing.T) {
	t.Parallel()
	nobody := map[string]any{"Identity": "nobody@contoso.example", "PrimaryEmail": "x@contoso.example"}
	for _, tc := range []struct {
		note      string
		fault     tenant.Fault
		says      string
		attempts  int
		throttled bool
		after     time.Duration
	}{
		{"a recipient who is nowhere, after a while", tenant.Fault{Service: "exchange", Op: "none", Status: 500}, "nobody@contoso.example", 5, false, 0},
		{"throttling without end", tenant.Fault{Service: "exchange", Status: 429}, "Get-Recipient", 6, true, 0},
		{
			"throttling without end that says for how long",
			tenant.Fault{Service: "exchange", Status: 429, RetryAfter: "2.5"},
			"Get-Recipient", 6, true, 2500 * time.Millisecond,
		},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			w := start(t, tenant.MailUser, tc.fault)
			_, err := call(t, w.Catalog, "Set-ExchangePrimaryEmail", nobody)
			var f *catalog.Failure
			if !errors.As(err, &f) || f.Attempts != tc.attempts || f.Throttled != tc.throttled || f.RetryAfter != tc.after || !strings.Contains(f.Message, tc.says) {
				t.Fatalf("got %+v", err)
			}
		})
	}
}

// answers is a server that says what the local tenant cannot be made to say.
func answers(t *testing.T, handle http.HandlerFunc) *catalog.Catalog {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return functions(t, server.URL, "tenant-1", pace())
}

func TestRequest(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body map[string]any
	c := answers(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		_ = json.NewDecoder(r.Body).Decode(&body)
		fmt.Fprint(w, `{"value":[{"ExchangeGuid":"`+exchangeGUID+`"}]}`)
	})
	if _, err := call(t, c, "Set-ExchangeMailUserGuids", map[string]any{"Identity": "ada", "ExchangeGuid": exchangeGUID}); err != nil {
		t.Fatal(err)
	}
	if got.Method != http.MethodPost || got.URL.Path != "/adminapi/beta/tenant-1/InvokeCommand" {
		t.Errorf("got %s %s", got.Method, got.URL)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer token", "X-CmdletName": "Get-MailUser", "X-ResponseFormat": "json", "Accept-Encoding": "identity",
		"X-AnchorMailbox": "APP:SystemMailbox{bb558c35-97f1-4cb9-8ff7-d53741dc928c}@tenant-1",
	} {
		if got.Header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Header.Get(name), want)
		}
	}
	want := map[string]any{"CmdletInput": map[string]any{"CmdletName": "Get-MailUser", "Parameters": map[string]any{"Identity": "ada"}}}
	if fmt.Sprint(body) != fmt.Sprint(want) {
		t.Errorf("body is %v, want %v", body, want)
	}
}

func TestRefusalsAreReadFromTheInside(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ note, body, kind, says string }{
		{
			"details", `{"error":{"code":"BadRequest","message":"general","details":[{"message":"Ex6F9304|Microsoft.Exchange.X|no such domain"}]}}`,
			"Microsoft.Exchange.X", "Set-MailUser: no such domain",
		},
		{
			"details of another form", `{"error":{"code":"BadRequest","message":"general","details":[{"message":"particular"}]}}`,
			"BadRequest", "Set-MailUser: particular",
		},
		{
			"innermost", `{"error":{"code":"BadRequest","message":"general","innererror":{"internalexception":{"message":"particular"}}}}`,
			"BadRequest", "Set-MailUser: particular",
		},
		{"only the general", `{"error":{"code":"BadRequest","message":"general"}}`, "BadRequest", "Set-MailUser: general"},
		{"nothing to read", "\x00\x00\x00", "HTTP 403", "Set-MailUser: 403 Forbidden"},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			c := answers(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, tc.body)
			})
			_, err := call(t, c, "Set-ExchangeMailUserGuids", map[string]any{"Identity": "ada", "ExchangeGuid": exchangeGUID})
			var f *catalog.Failure
			if !errors.As(err, &f) || f.Type != tc.kind || f.Message != tc.says || f.Attempts != 1 || f.Throttled {
				t.Fatalf("got %+v", f)
			}
		})
	}
}

func TestAnswersThatAreNotUnderstoodAreRefused(t *testing.T) {
	t.Parallel()
	for note, body := range map[string]string{
		"further pages":       `{"value":[{}],"@odata.nextLink":"https://x"}`,
		"no recipient":        `{"value":[]}`,
		"several recipients":  `{"value":[{},{}]}`,
		"no value":            `{}`,
		"not JSON":            `<html>`,
		"value of other kind": `{"value":{"ExchangeGuid":1}}`,
	} {
		c := answers(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
		if _, err := call(t, c, "Set-ExchangeMailUserGuids", map[string]any{"Identity": "ada", "ExchangeGuid": exchangeGUID}); err == nil {
			t.Errorf("%s: no error", note)
		}
	}
}

func TestChangeThatNeverShowsIsAFailure(t *testing.T) {
	t.Parallel()
	c := answers(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"value":[{"RecipientType":"MailUser","PrimarySmtpAddress":"old@contoso.example","EmailAddresses":["SMTP:old@contoso.example"]}]}`)
	})
	for function, params := range map[string]map[string]any{
		"Set-ExchangePrimaryEmail":    {"PrimaryEmail": "new@contoso.example"},
		"Add-ExchangeSecondaryEmail":  {"SecondaryEmail": "new@contoso.example"},
		"Set-ExchangeExternalAddress": {"ExternalEmail": "new@old.example"},
		"Set-ExchangeMailUserGuids":   {"ExchangeGuid": exchangeGUID},
	} {
		params["Identity"] = "ada"
		_, err := call(t, c, function, params)
		var f *catalog.Failure
		if !errors.As(err, &f) || f.Type != catalog.FailureConflict || f.Attempts != 5 || !strings.Contains(f.Message, "not visible yet") {
			t.Errorf("%s: got %+v", function, err)
		}
	}
}

// Nothing published says that the former primary address stays when another one takes
// its place.
func TestTheFormerPrimaryAddressIsRestoredWhereItIsLost(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	addresses := []string{"SMTP:old@contoso.example", "X500:/o=old/cn=ada"}
	c := answers(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var body struct {
			CmdletInput struct {
				Parameters struct {
					WindowsEmailAddress string
					EmailAddresses      struct{ Add []string }
				}
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		if primary := body.CmdletInput.Parameters.WindowsEmailAddress; primary != "" {
			addresses[0] = "SMTP:" + primary
		}
		addresses = append(addresses, body.CmdletInput.Parameters.EmailAddresses.Add...)
		_ = json.NewEncoder(w).Encode(map[string]any{"value": []any{map[string]any{
			"RecipientType": "MailUser", "PrimarySmtpAddress": strings.TrimPrefix(addresses[0], "SMTP:"), "EmailAddresses": addresses,
		}}})
	})
	if _, err := call(t, c, "Set-ExchangePrimaryEmail", map[string]any{"Identity": "ada", "PrimaryEmail": "new@contoso.example"}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"SMTP:new@contoso.example", "X500:/o=old/cn=ada", "smtp:old@contoso.example"}; !slices.Equal(addresses, want) {
		t.Errorf("got %v, want %v", addresses, want)
	}
}

func TestThreeCommandsAtOnce(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 10), make(chan struct{})
	c := answers(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		fmt.Fprint(w, `{"value":[{"ExchangeGuid":"`+exchangeGUID+`"}]}`)
	})
	const jobs = session.Concurrency * 2
	var group sync.WaitGroup
	for range jobs {
		group.Go(func() {
			if _, err := call(t, c, "Set-ExchangeMailUserGuids", map[string]any{"Identity": "ada", "ExchangeGuid": exchangeGUID}); err != nil {
				t.Error(err)
			}
		})
	}
	for range session.Concurrency {
		<-arrived
	}
	select {
	case <-arrived:
		t.Error("one command too many came while none had ended")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	group.Wait()
	if got := session.Concurrency + len(arrived); got < jobs {
		t.Errorf("%d commands for %d jobs", got, jobs)
	}
}
