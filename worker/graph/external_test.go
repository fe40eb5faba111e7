package graph_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// A person who moves into this tenant: first invited with the old account, then
// made a member in their own right.
func TestUserIsInvitedAndConverted(t *testing.T) {
	t.Parallel()
	for note, fault := range map[string]tenant.Fault{
		"without trouble":                    {Service: "graph", Op: "none", Status: 500},
		"with each answer of a POST lost":    {Service: "graph", Op: "POST", Every: 2, Status: 503, AfterWrite: true},
		"with each first answer cut off":     {Service: "graph", Op: "POST", Count: 1, Drop: true, AfterWrite: true},
		"with each second request throttled": {Service: "graph", Every: 2, Status: 429, RetryAfter: "0.5"},
	} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			w := start(t, fault)
			invite := map[string]any{"UserId": adaID, "InvitedUserEmail": "ada@old.example"}
			for range 2 {
				if answer, failure := w.call(t, "New-EntraB2BInvitation", invite); failure != nil || answer != "true" {
					t.Fatalf("invitation: got %s, %v", answer, failure)
				}
			}
			u := w.user(t, "ada@contoso.example")
			if u.Text("externalUserState") != "PendingAcceptance" || u.Text("mail") != "ada@old.example" {
				t.Fatalf("got state %q and mail %q", u.Text("externalUserState"), u.Text("mail"))
			}
			convert := map[string]any{"UserId": adaID, "UserPrincipalName": "ada@fabrikam.example", "Mail": "ada@fabrikam.example"}
			for range 2 {
				if answer, failure := w.call(t, "Convert-EntraB2BToInternal", convert); failure != nil || answer != "true" {
					t.Fatalf("conversion: got %s, %v", answer, failure)
				}
			}
			u = w.user(t, "ada@fabrikam.example")
			if u.Text("externalUserState") != "" || u.Text("mail") != "ada@fabrikam.example" || u.Text("userType") != "Member" {
				t.Fatalf("got state %q, mail %q, type %q", u.Text("externalUserState"), u.Text("mail"), u.Text("userType"))
			}
		})
	}
}

func TestWhatIsNotAsAskedForIsAConflict(t *testing.T) {
	t.Parallel()
	w := start(t)
	_, failure := w.call(t, "Convert-EntraB2BToInternal", map[string]any{"UserId": adaID, "UserPrincipalName": "other@contoso.example"})
	if failure == nil || failure.Type != catalog.FailureConflict || !strings.Contains(failure.Message, "with the name ada@contoso.example") {
		t.Errorf("conversion of an internal user: got %+v", failure)
	}
	if _, failure := w.call(t, "New-EntraB2BInvitation", map[string]any{"UserId": adaID, "InvitedUserEmail": "ada@old.example"}); failure != nil {
		t.Fatal(failure)
	}
	_, failure = w.call(t, "New-EntraB2BInvitation", map[string]any{"UserId": adaID, "InvitedUserEmail": "ada@other.example"})
	if failure == nil || failure.Type != catalog.FailureConflict || !strings.Contains(failure.Message, "another address") {
		t.Errorf("invitation under another address: got %+v", failure)
	}
}

func TestUserFromOnPremisesIsNotInvited(t *testing.T) {
	t.Parallel()
	w := start(t)
	const synced = "11111111-0000-4000-8000-000000000002"
	if err := w.Seed(tenant.Seed{Users: []tenant.User{{
		"id": synced, "userPrincipalName": "sync@contoso.example", "displayName": "Sync", "mailNickname": "sync",
		"accountEnabled": true, "onPremisesUserPrincipalName": "sync@corp.example",
	}}}); err != nil {
		t.Fatal(err)
	}
	_, failure := w.call(t, "New-EntraB2BInvitation", map[string]any{"UserId": synced, "InvitedUserEmail": "sync@old.example"})
	if failure == nil || failure.Type != catalog.FailureConflict || !strings.Contains(failure.Message, "on-premises") {
		t.Errorf("got %+v", failure)
	}
	if mail := w.user(t, "sync@contoso.example").Text("mail"); mail != "" {
		t.Errorf("mail was changed to %s", mail)
	}
}
