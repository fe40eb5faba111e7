package matrix_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

func aMethod(kind, id string, more map[string]any) map[string]any {
	m := map[string]any{"@odata.type": "#microsoft.graph." + kind + "AuthenticationMethod", "id": id}
	maps.Copy(m, more)
	return m
}

// withMethods gives Ada a method of each kind, the first of which is the default one, and Cara one of an unknown kind.
func withMethods(s *tenant.Seed) {
	s.Users[0]["authenticationMethods"] = []any{
		aMethod("microsoftAuthenticator", "77777777-0000-4000-8000-000000000001", map[string]any{"isDefault": true}),
		aMethod("phone", "3179e48a-750b-4051-897c-87b9720928f7", map[string]any{"phoneType": "mobile"}),
		aMethod("phone", "b6332ec1-7057-4abe-9331-3d72feddfe41", map[string]any{"phoneType": "alternateMobile"}),
		aMethod("email", "3ddfcfc8-9383-446f-83cc-3ab9be4be18f", nil),
		aMethod("fido2", "-2_GRUg2-HYz6_1YG4YRAQ2", map[string]any{"createdDateTime": "2026-02-01T00:00:00Z"}),
		aMethod("platformCredential", "77777777-0000-4000-8000-000000000002", nil),
		aMethod("softwareOath", "77777777-0000-4000-8000-000000000003", nil),
		aMethod("temporaryAccessPass", "77777777-0000-4000-8000-000000000004", nil),
		aMethod("windowsHelloForBusiness", "77777777-0000-4000-8000-000000000005", nil),
	}
	s.Users[2]["authenticationMethods"] = []any{aMethod("phone", "3179e48a-750b-4051-897c-87b9720928f7", nil), aMethod("voiceprint", "1", nil)}
	s.Users[4]["onPremisesSyncEnabled"] = true
}

// signInRows are of passes, passwords and authentication methods.
func signInRows() []row {
	noAddress := refusal{"an address that is none", map[string]any{"To": "helpdesk"}, catalog.FailureParameters, "To must be an address"}
	elsewhere := refusal{"an address elsewhere", map[string]any{"To": "helpdesk@other.example"}, catalog.FailureNotConfigured, "does not mail people in other.example"}
	own := refusal{"the sign-in name of the user", map[string]any{"To": "Ada@contoso.example"}, catalog.FailureParameters, "To is an address of the user"}
	return []row{
		{
			name: "New-EntraUserTemporaryAccessPass", function: "New-EntraUserTemporaryAccessPass", seed: withMethods,
			params: map[string]any{"UserId": adaID, "To": "helpdesk@contoso.example", "LifetimeInMinutes": 60, "StartTime": "2026-03-02T08:00:00+01:00"},
			refusals: []refusal{
				unknownUser, noAddress, elsewhere, own,
				{"a guest", map[string]any{"UserId": eveID}, "badRequest", "external guest user.: convert the user with Convert-EntraB2BToInternal"},
				{"a lifetime that is too long", map[string]any{"LifetimeInMinutes": "50000"}, catalog.FailureParameters, "from 10 to 43200"},
				{"a time that is none", map[string]any{"StartTime": "tomorrow"}, catalog.FailureParameters, "StartTime must be a time"},
			},
		},
		{
			name: "Reset-EntraUserPassword", function: "Reset-EntraUserPassword", seed: withMethods,
			params: map[string]any{"UserId": adaID, "To": "helpdesk@contoso.example"},
			refusals: []refusal{
				unknownUser, noAddress, elsewhere, own,
				{"a user from on-premises", map[string]any{"UserId": syncID}, catalog.FailureConflict, "reset the password there"},
				{"a guest", map[string]any{"UserId": eveID}, catalog.FailureConflict, "convert the user with Convert-EntraB2BToInternal"},
			},
		},
		{
			name: "Remove-EntraUserAuthenticationMethods", function: "Remove-EntraUserAuthenticationMethods", seed: withMethods, params: map[string]any{"UserId": adaID},
			refusals: []refusal{
				unknownUser,
				{"a method of an unknown kind", map[string]any{"UserId": caraID}, catalog.FailureConflict, `"voiceprint", which the function cannot delete`},
			},
		},
		{name: "Remove-EntraUserAuthenticationMethods-of-a-user-without", function: "Remove-EntraUserAuthenticationMethods", params: map[string]any{"UserId": adaID}},
		{
			name: "Test-EntraUserAuthenticationMethods", function: "Test-EntraUserAuthenticationMethods", params: map[string]any{"UserId": adaID},
			refusals: []refusal{unknownUser},
		},
		{
			name: "Test-EntraUserAuthenticationMethods-that-are-left", function: "Test-EntraUserAuthenticationMethods", seed: withMethods, params: map[string]any{"UserId": adaID},
		},
		{
			name: "Test-EntraUserAuthenticationMethods-that-are-not-registered", function: "Test-EntraUserAuthenticationMethods",
			params: map[string]any{"UserId": adaID, "ExpectedMethods": true},
		},
		{
			name: "Test-EntraUserAuthenticationMethods-with-a-pass-only", function: "Test-EntraUserAuthenticationMethods",
			seed: func(s *tenant.Seed) {
				s.Users[0]["authenticationMethods"] = []any{
					aMethod("email", "3ddfcfc8-9383-446f-83cc-3ab9be4be18f", nil), aMethod("temporaryAccessPass", "77777777-0000-4000-8000-000000000004", nil),
				}
			},
			params: map[string]any{"UserId": adaID, "ExpectedMethods": true},
		},
		{
			name: "Test-EntraUserAuthenticationMethods-that-are-registered", function: "Test-EntraUserAuthenticationMethods", seed: withMethods,
			params: map[string]any{"UserId": adaID, "ExpectedMethods": true},
		},
	}
}

// The last pass that was mailed is the one that is valid, also if the worker is killed before or after the mail.
func TestAPassIsHandedOverAgain(t *testing.T) {
	t.Parallel()
	for note, killed := range map[string]string{"before the mail": "/temporaryAccessPassMethods", "after the mail": "/sendMail"} {
		w := start(t, row{}, nil)
		params := map[string]any{"UserId": adaID, "To": "helpdesk@contoso.example"}
		ctx, kill := context.WithCancel(t.Context())
		w.interrupt(func(_ int, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			response, err := send()
			if err == nil && strings.HasSuffix(r.URL.Path, killed) {
				_ = response.Body.Close()
				kill()
				return nil, context.Canceled
			}
			return response, err
		})
		if answer, err := w.call(ctx, "New-EntraUserTemporaryAccessPass", params, false); err == nil {
			t.Errorf("%s: answered %s", note, answer)
		}
		kill()
		w.interrupt(nil)
		_ = w.clock.sleep(t.Context(), time.Minute)
		answer, err := w.call(t.Context(), "New-EntraUserTemporaryAccessPass", params, true)
		if err != nil || answer != "true" {
			t.Fatalf("%s: got %s, %v", note, answer, err)
		}
		state := w.tenant.State()
		last := state.Mails[len(state.Mails)-1]
		methods, _ := state.Users[0]["authenticationMethods"].([]any)
		pass, _ := methods[0].(map[string]any)
		if created, _ := pass["createdDateTime"].(string); len(methods) != 1 || !strings.Contains(last.Body, "Created: "+created) {
			t.Errorf("%s: the last mail is %q; the user has %v", note, last.Body, methods)
		}
		if !secretInMail.MatchString(last.Body) || last.To[0] != "helpdesk@contoso.example" {
			t.Errorf("%s: no pass in %+v", note, last)
		}
	}
}

// The mail is first, and a user's own password stays.
func TestAPasswordIsMailedBeforeItIsSet(t *testing.T) {
	t.Parallel()
	w := start(t, row{}, nil)
	params := map[string]any{"UserId": adaID, "To": "helpdesk@contoso.example"}
	w.interrupt(func(_ int, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if r.Method == http.MethodPatch && len(w.tenant.State().Mails) == 0 {
			t.Error("the password is set before the mail is sent")
		}
		return send()
	})
	_ = w.clock.sleep(t.Context(), time.Second)
	w.does(step{"Reset-EntraUserPassword", params})
	_ = w.clock.sleep(t.Context(), time.Minute)
	if answer, err := w.call(t.Context(), "Reset-EntraUserPassword", params, true); err != nil || answer != "true" {
		t.Errorf("got %s, %v", answer, err)
	}
	if mails := w.tenant.State().Mails; len(mails) != 1 || !secretInMail.MatchString(mails[0].Body) {
		t.Errorf("got mails %+v, want one", mails)
	}
}

// A password that another delivery has set meanwhile stays: the mail with it is out. One that was set in the second of the
// job may be older than the job.
func TestAPasswordThatWasSetMeanwhileStays(t *testing.T) {
	t.Parallel()
	w := start(t, row{}, nil)
	reset := step{"Reset-EntraUserPassword", map[string]any{"UserId": adaID, "To": "helpdesk@contoso.example"}}
	w.does(reset)
	if answer, err := w.call(t.Context(), reset.function, reset.params, true); err != nil || answer != "true" || len(w.tenant.State().Mails) != 2 {
		t.Errorf("got %s, %v, %d mails", answer, err, len(w.tenant.State().Mails))
	}
	w.interrupt(func(n int, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		response, err := send()
		if strings.HasSuffix(r.URL.Path, "/sendMail") {
			w.interrupt(nil)
			_ = w.clock.sleep(t.Context(), time.Minute)
			w.does(reset)
		}
		return response, err
	})
	if answer, err := w.call(t.Context(), reset.function, reset.params, false); err != nil || answer != "true" {
		t.Errorf("got %s, %v", answer, err)
	}
	effects := map[string]bool{}
	for _, m := range w.tenant.State().Mails {
		effects[m.Headers["x-matoolkit-effect"]] = true
	}
	if len(effects) != 4 {
		t.Errorf("four secrets have the effects %v", effects)
	}
}

// With a key, workers that have the job at the same moment hand over and set one password: no mail is void.
func TestDeliveriesAtOnceSetOnePassword(t *testing.T) {
	t.Parallel()
	w := start(t, row{}, nil)
	w.passwordKey = []byte("0123456789abcdef0123456789abcdef")
	params := map[string]any{"UserId": adaID, "To": "helpdesk@contoso.example"}
	w.allow("Reset-EntraUserPassword", nil)
	set := map[string]bool{}
	w.interrupt(func(_ int, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if r.Method == http.MethodPatch {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			var change struct{ PasswordProfile struct{ Password string } }
			if err := json.Unmarshal(body, &change); err != nil {
				t.Error(err)
			}
			w.mu.Lock()
			set[change.PasswordProfile.Password] = true
			w.mu.Unlock()
		}
		return send()
	})
	workers := []*catalog.Catalog{w.worker(), w.worker(), w.worker()}
	var group sync.WaitGroup
	for i, worker := range workers {
		group.Go(func() {
			if answer, err := w.callOn(t.Context(), worker, "Reset-EntraUserPassword", params, i > 0); err != nil || answer != "true" {
				t.Errorf("worker %d: got %s, %v", i, answer, err)
			}
		})
	}
	group.Wait()
	mails := w.tenant.State().Mails
	if len(set) != 1 || len(mails) == 0 {
		t.Fatalf("%d passwords were set, and %d mails sent", len(set), len(mails))
	}
	for _, mail := range mails {
		for secret := range set {
			if !strings.Contains(mail.Body, secret) {
				t.Errorf("a mail has another password than the one that is set: %q", mail.Body)
			}
		}
	}
}

// Secrets are mailed only where the settings allow it, and to nobody whose account they open.
func TestNoHandOverWithoutSettingsOrAPolicy(t *testing.T) {
	t.Parallel()
	params := map[string]any{"UserId": adaID, "To": "helpdesk@contoso.example"}
	w := start(t, row{}, nil)
	w.alert.From = ""
	for _, function := range []string{"New-EntraUserTemporaryAccessPass", "Reset-EntraUserPassword"} {
		if answer, err := w.call(t.Context(), function, params, false); err == nil || !strings.Contains(err.Error(), "set ALERT_FROM") {
			t.Errorf("%s: got %s, %v", function, answer, err)
		}
	}
	w.alert.From, w.domains = bobID, nil
	for _, function := range []string{"New-EntraUserTemporaryAccessPass", "Reset-EntraUserPassword"} {
		if answer, err := w.call(t.Context(), function, params, false); err == nil || !strings.Contains(err.Error(), "MAIL_DOMAINS") {
			t.Errorf("%s: got %s, %v", function, answer, err)
		}
	}
	if n := w.requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
	w = start(t, row{}, func(c *tenant.Config) { c.NoAccessPass = true })
	if answer, err := w.call(t.Context(), "New-EntraUserTemporaryAccessPass", params, false); err == nil || !strings.Contains(err.Error(), "enable Temporary Access Pass") {
		t.Errorf("got %s, %v", answer, err)
	}
}

// A late delivery leaves what the user has registered since.
func TestAMethodThatWasRegisteredSinceStays(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: withMethods}, nil)
	remove := step{"Remove-EntraUserAuthenticationMethods", map[string]any{"UserId": adaID}}
	w.does(remove, step{"New-EntraUserTemporaryAccessPass", map[string]any{"UserId": adaID, "To": "helpdesk@contoso.example"}})
	if answer, err := w.call(t.Context(), remove.function, remove.params, true); err != nil || answer != "true" {
		t.Errorf("got %s, %v", answer, err)
	}
	if methods, _ := w.tenant.State().Users[0]["authenticationMethods"].([]any); len(methods) != 1 {
		t.Errorf("the user has %v, want the pass", methods)
	}
}

// secretInMail is a pass or a password in a mail, also in JSON.
var secretInMail = regexp.MustCompile(`(The (?:Temporary Access Pass|new password) of the user [0-9a-f-]{36}: )(?:\\u[0-9a-f]{4}|[^\\"\n])+`)
