package matrix_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

type step struct {
	function string
	params   map[string]any
}

// lagging is a world whose reads are ten seconds old.
func lagging(t *testing.T) *world {
	t.Helper()
	return start(t, row{}, func(c *tenant.Config) { c.Lag = 10 * time.Second })
}

// does runs steps one right after the other, each of which has to succeed.
func (w *world) does(steps ...step) {
	w.t.Helper()
	for _, s := range steps {
		if answer, err := w.call(w.t.Context(), s.function, s.params, false); err != nil {
			w.t.Fatalf("%s %v: got %s, %v", s.function, s.params, answer, err)
		}
	}
}

// A rollback comes within seconds of what it undoes, when reads still show the state
// before both: it must not take that for its own work done.
func TestChangedForthAndBackWithinTheLag(t *testing.T) {
	t.Parallel()
	for _, steps := range [][]step{
		{
			{"Set-EntraUserUPN", map[string]any{"UserId": adaID, "NewUserPrincipalName": "ada@fabrikam.example"}},
			{"Set-EntraUserUPN", map[string]any{"UserId": adaID, "NewUserPrincipalName": "ada@contoso.example"}},
		},
		{
			{"Set-EntraUserEnabled", map[string]any{"UserId": adaID, "Enabled": false}},
			{"Set-EntraUserEnabled", map[string]any{"UserId": adaID, "Enabled": true}},
		},
		{
			{"Add-EntraGroupMember", map[string]any{"GroupId": groupID, "UserId": adaID}},
			{"Remove-EntraGroupMember", map[string]any{"GroupId": groupID, "UserId": adaID}},
		},
		{
			{"Remove-EntraGroupMember", map[string]any{"GroupId": groupID, "UserId": bobID}},
			{"Add-EntraGroupMember", map[string]any{"GroupId": groupID, "UserId": bobID}},
		},
		{
			{"New-EntraUser", map[string]any{"DisplayName": "Grace", "UserPrincipalName": "grace@contoso.example"}},
			{"Remove-EntraUser", map[string]any{"Upn": "grace@contoso.example"}},
		},
		{
			{"Set-ExchangeForwarding", map[string]any{"Identity": bobID, "ForwardTo": "bob@new.example"}},
			{"Remove-ExchangeForwarding", map[string]any{"Identity": bobID}},
		},
		{
			{"Add-ExchangeGroupMember", map[string]any{"GroupIdentity": listID, "Member": adaID}},
			{"Remove-ExchangeGroupMember", map[string]any{"GroupIdentity": listID, "Member": adaID}},
		},
		{
			{"Add-ExchangeGroupOwner", map[string]any{"GroupIdentity": listID, "Owner": adaID}},
			{"Remove-ExchangeGroupOwner", map[string]any{"GroupIdentity": listID, "Owner": adaID}},
		},
		{
			{"Add-ExchangeMailboxPermissions", map[string]any{"Identity": bobID, "FullAccess": adaID, "SendAs": adaID, "SendOnBehalf": adaID}},
			{"Remove-ExchangeMailboxPermissions", map[string]any{"Identity": bobID, "FullAccess": adaID, "SendAs": adaID, "SendOnBehalf": adaID}},
		},
		{
			{"Set-ExchangeCalendarPermissions", map[string]any{"Identity": bobID, "Permissions": adaID + "=Editor"}},
			{"Remove-ExchangeCalendarPermissions", map[string]any{"Identity": bobID, "Trustees": adaID}},
		},
		{
			{"Set-ExchangeMailboxType", map[string]any{"Identity": bobID, "Type": "Shared"}},
			{"Set-ExchangeMailboxType", map[string]any{"Identity": bobID, "Type": "Regular"}},
		},
		{
			{"Set-ExchangeHidden", map[string]any{"Identity": adaID, "Hidden": true}},
			{"Set-ExchangeHidden", map[string]any{"Identity": adaID, "Hidden": false}},
		},
		{
			{"Add-EntraUserLicense", map[string]any{"UserId": bobID, "SkuPartNumber": "VISIOCLIENT"}},
			{"Remove-EntraUserLicense", map[string]any{"UserId": bobID, "SkuPartNumber": "VISIOCLIENT"}},
		},
		{
			{"Set-ExchangeExternalAddress", map[string]any{"Identity": adaID, "ExternalEmail": "ada@new.example"}},
			{"Set-ExchangeExternalAddress", map[string]any{"Identity": adaID, "ExternalEmail": "ada@old.example"}},
		},
	} {
		t.Run(steps[0].function, func(t *testing.T) {
			t.Parallel()
			w := lagging(t)
			before := w.state()
			w.does(steps...)
			if d := difference(before, w.state()); len(d) > 0 {
				t.Errorf("it is not as before:\n%s", strings.Join(d, "\n"))
			}
		})
	}
}

// killAfter runs a step on a worker that is killed as soon as the cmdlet was carried
// out: no time has passed then.
func (w *world) killAfter(cmdlet string, s step) {
	w.t.Helper()
	ctx, kill := context.WithCancel(w.t.Context())
	defer kill()
	w.interrupt(func(_ int, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		response, err := send()
		if err == nil && r.Header.Get("X-CmdletName") == cmdlet {
			_ = response.Body.Close()
			kill()
			return nil, context.Canceled
		}
		return response, err
	})
	defer w.interrupt(nil)
	if answer, err := w.call(ctx, s.function, s.params, false); err == nil {
		w.t.Fatalf("%s was not killed: %s", s.function, answer)
	}
}

func (w *world) recipient(id string) tenant.Recipient {
	w.t.Helper()
	for _, r := range w.tenant.State().Recipients {
		if r.ExternalDirectoryObjectID == id {
			return r
		}
	}
	w.t.Fatalf("there is no recipient %s", id)
	return tenant.Recipient{}
}

// A change that no read shows yet is undone all the same.
func TestUndoesWhatNoReadShowsYet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ changed, back step }{
		{
			step{"Set-ExchangePrimaryEmail", map[string]any{"Identity": adaID, "PrimaryEmail": "a.l@contoso.example"}},
			step{"Set-ExchangePrimaryEmail", map[string]any{"Identity": adaID, "PrimaryEmail": "ada@contoso.example"}},
		},
		{
			step{"Set-ExchangeExternalAddress", map[string]any{"Identity": adaID, "ExternalEmail": "ada@new.example"}},
			step{"Set-ExchangeExternalAddress", map[string]any{"Identity": adaID, "ExternalEmail": "ada@old.example"}},
		},
		{
			step{"Set-EntraProxyAddresses", map[string]any{"UserId": adaID, "ProxyAddresses": []string{"SMTP:a.l@contoso.example", "ada@contoso.example"}}},
			step{"Set-EntraProxyAddresses", map[string]any{"UserId": adaID, "ProxyAddresses": []string{"SMTP:ada@contoso.example", "a.l@contoso.example"}}},
		},
	} {
		t.Run(tc.changed.function, func(t *testing.T) {
			t.Parallel()
			w := lagging(t)
			w.killAfter("Set-MailUser", tc.changed)
			w.does(tc.back)
			if r := w.recipient(adaID); r.Primary() != "ada@contoso.example" || r.ExternalEmailAddress != "ada@old.example" {
				t.Errorf("got %s and %s", r.Primary(), r.ExternalEmailAddress)
			}
		})
	}
}

// An address that was added a moment ago, which no read shows, outlives what else is
// done to the addresses.
func TestNoAddressIsLostToALaggingRead(t *testing.T) {
	t.Parallel()
	for _, next := range []step{
		{"Set-ExchangePrimaryEmail", map[string]any{"Identity": adaID, "PrimaryEmail": "ada.lovelace@contoso.example"}},
		{"Add-ExchangeSecondaryEmail", map[string]any{"Identity": adaID, "SecondaryEmail": "byron@contoso.example"}},
		{"Set-ExchangeExternalAddress", map[string]any{"Identity": adaID, "ExternalEmail": "ada@new.example"}},
	} {
		t.Run(next.function, func(t *testing.T) {
			t.Parallel()
			w := lagging(t)
			w.killAfter("Set-MailUser", step{"Add-ExchangeSecondaryEmail", map[string]any{"Identity": adaID, "SecondaryEmail": "countess@contoso.example"}})
			w.does(next)
			got := w.recipient(adaID).EmailAddresses
			for _, want := range []string{"smtp:countess@contoso.example", "smtp:a.l@contoso.example", "X500:/o=old/cn=ada"} {
				if !slices.Contains(got, want) {
					t.Errorf("%s is lost: %v", want, got)
				}
			}
		})
	}
}

// Every function works for a user who was just created and whom no read shows yet.
func TestWhoWasJustMadeIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, next := range []step{
		{"Set-EntraUserUPN", map[string]any{"NewUserPrincipalName": "grace@fabrikam.example"}},
		{"Set-EntraUserEnabled", map[string]any{"Enabled": false}},
		{"Set-EntraUserAttributes", map[string]any{"Department": "Navy"}},
		{"Set-EntraUserPassword", map[string]any{"Password": "Pa55word-Of-Grace"}},
		{"Add-EntraUserLicense", map[string]any{"SkuPartNumber": "VISIOCLIENT", "UsageLocation": "US"}},
		{"Remove-EntraUserLicense", map[string]any{"SkuPartNumber": "VISIOCLIENT"}},
		{"Test-EntraUserLicense", map[string]any{"SkuPartNumber": "VISIOCLIENT", "ExpectedAssigned": false}},
		{"Remove-EntraUser", nil},
		{"Add-EntraGroupMember", map[string]any{"GroupId": groupID}},
		{"Remove-EntraGroupMember", map[string]any{"GroupId": groupID}},
		{"Add-EntraGroupOwner", map[string]any{"GroupId": groupID}},
		{"Test-EntraGroupOwner", map[string]any{"GroupId": groupID, "ExpectedOwner": false}},
		{"New-EntraB2BInvitation", map[string]any{"InvitedUserEmail": "grace@old.example"}},
		{"Test-EntraAttributeMatch", map[string]any{"AttributeName": "displayName", "ExpectedValue": "Grace"}},
		{"Test-EntraGroupMembership", map[string]any{"GroupId": groupID, "ExpectedMember": false}},
		{"Set-EntraProxyAddresses", map[string]any{"ProxyAddresses": []string{"SMTP:grace@contoso.example"}}},
		{"Add-ExchangeSecondaryEmail", map[string]any{"SecondaryEmail": "hopper@contoso.example"}},
		{"Set-ExchangePrimaryEmail", map[string]any{"PrimaryEmail": "hopper@contoso.example"}},
		{"Set-ExchangeExternalAddress", map[string]any{"ExternalEmail": "grace@new.example"}},
		{"Set-ExchangeMailUserGuids", map[string]any{"ExchangeGuid": exchangeGUID}},
		{"Test-ExchangeMailUser", map[string]any{"ExternalEmail": "grace@old.example"}},
		{"Test-ExchangeAttributeMatch", map[string]any{"AttributeName": "DisplayName", "ExpectedValue": "Grace"}},
	} {
		t.Run(next.function, func(t *testing.T) {
			t.Parallel()
			w := start(t, row{}, func(c *tenant.Config) {
				c.Lag = 16 * time.Second
			})
			w.killAfter("New-MailUser", step{"New-ExchangeMailUser", map[string]any{
				"DisplayName": "Grace", "UserPrincipalName": "grace@contoso.example", "ExternalEmail": "grace@old.example",
			}})
			users := w.tenant.State().Users
			params := map[string]any{"UserId": users[len(users)-1].ID()}
			if strings.Contains(next.function, "-Exchange") {
				params = map[string]any{"Identity": users[len(users)-1].ID()}
			}
			maps.Copy(params, next.params)
			w.does(step{next.function, params})
		})
	}
}

// A user and the membership are both so young that no server of the reads knows them.
func TestAMembershipThatNoReadShowsIsRemoved(t *testing.T) {
	t.Parallel()
	w := lagging(t)
	w.does(
		step{"New-EntraUser", map[string]any{"DisplayName": "Grace", "UserPrincipalName": "grace@contoso.example"}},
	)
	users := w.tenant.State().Users
	id := users[len(users)-1].ID()
	w.does(
		step{"Add-EntraGroupMember", map[string]any{"GroupId": groupID, "UserId": id}},
		step{"Remove-EntraGroupMember", map[string]any{"GroupId": groupID, "UserId": id}},
	)
	for _, g := range w.tenant.State().Groups {
		if slices.Contains(g.Members, id) {
			t.Errorf("%s has the user still", g.ID())
		}
	}
}

// The job that made a user comes again, to a worker that knows nothing of it, after a
// later step renamed the user.
func TestNoSecondUserAfterARename(t *testing.T) {
	t.Parallel()
	w := start(t, row{}, nil)
	made := step{"New-EntraUser", map[string]any{"DisplayName": "Grace", "UserPrincipalName": "grace@contoso.example", "MailNickname": "gh"}}
	w.does(made)
	users := w.tenant.State().Users
	w.does(step{"Set-EntraUserUPN", map[string]any{"UserId": users[len(users)-1].ID(), "NewUserPrincipalName": "hopper@contoso.example"}})
	before := w.state()
	_, err := w.call(t.Context(), made.function, made.params, true)
	var f *catalog.Failure
	if !errors.As(err, &f) || f.Type != catalog.FailureConflict || !strings.Contains(f.Message, "hopper@contoso.example") {
		t.Errorf("got %v, want a conflict that names hopper@contoso.example", err)
	}
	if d := difference(before, w.state()); len(d) > 0 {
		t.Errorf("the tenant was changed:\n%s", strings.Join(d, "\n"))
	}
}

// A password was set in the second of the job, and before it: the job that comes again after its first delivery has died
// sets its own.
func TestAPasswordOfTheSameSecondIsNotTakenForTheJobs(t *testing.T) {
	t.Parallel()
	w := start(t, row{}, nil)
	w.does(step{"Set-EntraUserPassword", map[string]any{"UserId": adaID, "Password": "Pa55word-Before"}})
	_ = w.clock.sleep(t.Context(), 800*time.Millisecond)
	w.began = w.began.Add(500 * time.Millisecond)
	before := w.requests()
	if answer, err := w.call(t.Context(), "Set-EntraUserPassword", map[string]any{"UserId": adaID, "Password": "Pa55word-Of-Ada"}, true); err != nil || answer != "true" {
		t.Errorf("got %s, %v", answer, err)
	}
	if n := w.requests() - before; n != 2 {
		t.Errorf("%d requests, want a read and a write", n)
	}
}

// A user signed in and changed the password. The job that set the first one comes again.
func TestAPasswordThatTheUserChangedStays(t *testing.T) {
	t.Parallel()
	w := start(t, row{}, nil)
	set := step{"Set-EntraUserPassword", map[string]any{"UserId": adaID, "Password": "Pa55word-Of-Ada"}}
	_ = w.clock.sleep(t.Context(), time.Second)
	w.does(set)
	_ = w.clock.sleep(t.Context(), time.Minute)
	changed := func() any {
		for _, u := range w.tenant.State().Users {
			if u.ID() == adaID {
				return u["lastPasswordChangeDateTime"]
			}
		}
		return nil
	}
	before := changed()
	if answer, err := w.call(t.Context(), set.function, set.params, true); err != nil || answer != "true" {
		t.Errorf("got %s, %v", answer, err)
	}
	if after := changed(); before == nil || after != before {
		t.Errorf("the password was set at %v, and again at %v", before, after)
	}
}

// What a rollback undoes may not have been done.
func TestRemovingSomebodyWhoNeverWas(t *testing.T) {
	t.Parallel()
	for _, params := range []map[string]any{{"UserId": nobody}, {"Upn": "nobody@contoso.example"}} {
		w := start(t, row{}, nil)
		before := w.state()
		w.does(step{"Remove-EntraUser", params})
		if d := difference(before, w.state()); len(d) > 0 {
			t.Errorf("the tenant was changed:\n%s", strings.Join(d, "\n"))
		}
		if waited := w.clock.Now().Sub(w.began); waited < 30*time.Second {
			t.Errorf("%v: only %s passed: the user may not have been visible yet", params, waited)
		}
	}
}

// A user who has another name than the one given with the id is another person's by now, or at work.
func TestAUserOfAnotherNameIsNotRemoved(t *testing.T) {
	t.Parallel()
	w := start(t, row{}, nil)
	before := w.state()
	w.does(step{"Remove-EntraUser", map[string]any{"UserId": bobID, "Upn": "interim@contoso.example"}})
	if d := difference(before, w.state()); len(d) > 0 {
		t.Errorf("the tenant was changed:\n%s", strings.Join(d, "\n"))
	}
}

// The job that removed a user by name is redelivered after another user got the name.
func TestWhoGotTheNameOfSomebodyRemovedIsSpared(t *testing.T) {
	t.Parallel()
	w := start(t, row{}, nil)
	removed := step{"Remove-EntraUser", map[string]any{"Upn": "cara@contoso.example"}}
	w.does(removed)
	_ = w.clock.sleep(t.Context(), time.Minute)
	w.does(step{"New-EntraUser", map[string]any{"DisplayName": "Another Cara", "UserPrincipalName": "cara@contoso.example"}})
	before := w.state()
	if answer, err := w.call(t.Context(), removed.function, removed.params, true); err != nil || answer != "true" {
		t.Errorf("got %s, %v", answer, err)
	}
	if d := difference(before, w.state()); len(d) > 0 {
		t.Errorf("the tenant was changed:\n%s", strings.Join(d, "\n"))
	}
}

// Setting the external address moved the primary one, and the worker was killed. Only
// the job can tell the former primary address.
func TestAPrimaryAddressThatWasMovedIsNotTakenForGood(t *testing.T) {
	t.Parallel()
	w := start(t, row{movesPrimary: true, seed: func(s *tenant.Seed) { s.Recipients[0].ExternalEmailAddress = "ada@contoso.example" }}, nil)
	job := step{"Set-ExchangeExternalAddress", map[string]any{"Identity": adaID, "ExternalEmail": "ada@new.example"}}
	w.killAfter("Set-MailUser", job)
	for range 2 {
		_, err := w.call(t.Context(), job.function, job.params, true)
		var f *catalog.Failure
		if !errors.As(err, &f) || f.Type != catalog.FailureConflict || !strings.Contains(f.Message, "PrimaryEmail") {
			t.Fatalf("got %v, want a conflict that asks for PrimaryEmail", err)
		}
	}
	job.params["PrimaryEmail"] = "ada@contoso.example"
	w.does(job)
	if r := w.recipient(adaID); r.Primary() != "ada@contoso.example" || r.ExternalEmailAddress != "ada@new.example" {
		t.Errorf("got %s and %s", r.Primary(), r.ExternalEmailAddress)
	}
}

// An alert is sent once if nothing is lost, and otherwise as recognisable copies.
func TestAlertsThatComeTwiceAreAlike(t *testing.T) {
	t.Parallel()
	w := start(t, row{}, nil)
	alert := step{"Send-AdminAlert", map[string]any{"Subject": "Rollback triggered"}}
	w.does(alert)
	if n := len(w.tenant.State().Mails); n != 1 {
		t.Fatalf("%d mails", n)
	}
	w.faults(row{}, tenant.Fault{Op: "sendMail", Status: 503, AfterWrite: true, Count: 1})
	w.does(alert)
	mails := w.tenant.State().Mails
	if len(mails) != 3 {
		t.Fatalf("%d mails, want one and another two", len(mails))
	}
	for _, m := range mails {
		if m.Headers["x-matoolkit-effect"] != "1/7/1" || !strings.HasSuffix(m.Body, "effect 1/7/1") {
			t.Errorf("got %+v", m)
		}
	}
}

func TestNobodyToSendAlerts(t *testing.T) {
	t.Parallel()
	for note, tc := range map[string]struct {
		alert graph.Alert
		kind  string
		says  string
	}{
		"no sender":                {graph.Alert{}, catalog.FailureNotConfigured, "ALERT_FROM"},
		"nobody to send to":        {graph.Alert{From: bobID}, catalog.FailureParameters, "ALERT_TO"},
		"a sender without mailbox": {graph.Alert{From: adaID, To: []string{"a@contoso.example"}}, "MailboxNotEnabledForRESTAPI", "inactive"},
	} {
		w := start(t, row{}, nil)
		w.alert = tc.alert
		_, err := w.call(t.Context(), "Send-AdminAlert", map[string]any{"Subject": "x"}, false)
		var f *catalog.Failure
		if !errors.As(err, &f) || f.Type != tc.kind || !strings.Contains(f.Message, tc.says) {
			t.Errorf("%s: got %v", note, err)
		}
		if mails := w.tenant.State().Mails; len(mails) > 0 {
			t.Errorf("%s: sent %v", note, mails)
		}
	}
}

// A user has a product directly and from a group. A repetition finds the licence of the group alone, and
// fails as the first attempt did.
func TestALicenceOfAGroupRemains(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: func(s *tenant.Seed) {
		withLicense(s)
		bob := s.Users[1]
		bob["licenseAssignmentStates"] = append(bob["licenseAssignmentStates"].([]any), map[string]any{
			"skuId": skuID, "assignedByGroup": groupID, "state": "Active", "error": "None", "disabledPlans": []any{},
		})
	}}, nil)
	for range 2 {
		_, err := w.call(t.Context(), "Remove-EntraUserLicense", map[string]any{"UserId": bobID, "SkuPartNumber": "SPE_E3"}, true)
		var f *catalog.Failure
		if !errors.As(err, &f) || f.Type != catalog.FailureConflict || !strings.Contains(f.Message, "from group "+groupID) {
			t.Fatalf("got %v, want a conflict that names the group", err)
		}
	}
}

// An earlier step gave the user the interim name back, which is not visible on every replica yet.
func TestAUserWhoseNameIsStaleIsRemoved(t *testing.T) {
	t.Parallel()
	w := lagging(t)
	w.does(step{"Set-EntraUserUPN", map[string]any{"UserId": bobID, "NewUserPrincipalName": "interim@contoso.example"}})
	w.does(step{"Remove-EntraUser", map[string]any{"UserId": bobID, "Upn": "interim@contoso.example"}})
	for _, u := range w.tenant.State().Users {
		if u.ID() == bobID {
			t.Errorf("%s is left", u.UPN())
		}
	}
}
