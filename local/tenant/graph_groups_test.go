package tenant_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/tenant"
)

func TestGroupMembership(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	ann, bob := r.newUser("ann"), r.newUser("bob")
	inner, outer := r.newGroup("inner"), r.newGroup("outer")
	members := "/v1.0/groups/" + inner + "/members"
	r.must(204, "POST", members+"/$ref", r.link(ann))
	r.must(204, "POST", members+"/%24ref", map[string]any{"@odata.id": "https://graph.microsoft.com/v1.0/users/" + bob})
	r.must(204, "POST", "/v1.0/groups/"+outer+"/members/$ref", r.link(inner))

	again := r.must(400, "POST", members+"/$ref", r.link(ann))
	if code, message := again.error(); code != "Request_BadRequest" || message != "One or more added object references already exist for the following modified properties: 'members'." {
		t.Errorf("added twice: %s %q", code, message)
	}
	check := r.must(200, "POST", "/v1.0/users/"+ann+"/checkMemberGroups", map[string]any{"groupIds": []string{outer, inner, ann}})
	if fmt.Sprint(check.body["value"]) != fmt.Sprint([]string{outer, inner}) {
		t.Errorf("checkMemberGroups = %v", check.body["value"])
	}

	first := r.must(200, "GET", members+"?$top=1&$select=id,userPrincipalName", nil)
	next, _ := first.body["@odata.nextLink"].(string)
	second := r.must(200, "GET", strings.TrimPrefix(next, r.URL()), nil)
	if _, more := second.body["@odata.nextLink"]; more || first.values()[0]["id"] != ann || second.values()[0]["id"] != bob {
		t.Errorf("pages: %s %s", first.raw, second.raw)
	}
	if second.values()[0]["@odata.type"] != "#microsoft.graph.user" || second.values()[0]["userPrincipalName"] != "bob@contoso.com" {
		t.Errorf("member = %v", second.values()[0])
	}

	r.must(204, "DELETE", members+"/"+ann+"/$ref", nil)
	gone := r.must(404, "DELETE", members+"/"+ann+"/$ref", nil)
	if code, _ := gone.error(); code != "Request_ResourceNotFound" {
		t.Errorf("removed twice: %s", gone.raw)
	}
	r.must(200, "GET", "/v1.0/users/"+ann, nil)
	r.must(204, "DELETE", members+"/"+bob, nil) // without /$ref: the user itself goes
	r.must(404, "GET", "/v1.0/users/"+bob, nil)
}

func TestAGroupIsCreatedReadListedAndDeleted(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	wave, team := r.newGroup("wave"), r.must(201, "POST", "/v1.0/groups", map[string]any{
		"displayName": "Team", "mailNickname": "team", "mailEnabled": true, "securityEnabled": false, "groupTypes": []string{"Unified"},
	}).id()
	got := r.must(200, "GET", "/v1.0/groups/"+team+"?$select=id,groupTypes,mailEnabled", nil).body
	if got["id"] != team || fmt.Sprint(got["groupTypes"]) != "[Unified]" || got["mailEnabled"] != true || len(got) != 4 {
		t.Errorf("group = %v", got)
	}
	for query, want := range map[string]int{"": 2, "?$filter=displayName%20eq%20'wave'": 1, "?$filter=startswith(mailNickname,'x')": 0} {
		if n := len(r.must(200, "GET", "/v1.0/groups"+query, nil).values()); n != want {
			t.Errorf("%s: %d groups", query, n)
		}
	}
	r.must(400, "GET", "/v1.0/groups?$filter=visibility%20eq%20'x'", nil)
	taken := r.must(400, "POST", "/v1.0/groups", map[string]any{"displayName": "w", "mailNickname": "WAVE", "mailEnabled": false, "securityEnabled": true})
	if _, message := taken.error(); message != "Another object with the same value for property mailNickname already exists." {
		t.Errorf("nickname taken: %q", message)
	}
	r.must(204, "POST", "/v1.0/groups/"+wave+"/members/$ref", r.link(team))
	r.must(400, "DELETE", "/v1.0/groups/"+wave+"/members/"+team, nil) // a group is never deleted through a membership
	r.must(204, "DELETE", "/v1.0/groups/"+team, nil)
	r.must(404, "GET", "/v1.0/groups/"+team, nil)
	if left := r.State().Groups[0].Members; len(left) != 0 {
		t.Errorf("a deleted group is still a member: %v", left)
	}
}

func TestMailEnabledGroupsBelongToExchange(t *testing.T) {
	t.Parallel()
	group := func(id, nickname string, security bool, types ...any) tenant.SeedGroup {
		return tenant.SeedGroup{Properties: map[string]any{
			"id": id, "mailNickname": nickname, "mail": nickname + "@contoso.com",
			"mailEnabled": true, "securityEnabled": security, "groupTypes": types,
		}}
	}
	r := start(t, tenant.Config{Seed: &tenant.Seed{Groups: []tenant.SeedGroup{
		group("dl", "list", false), group("mesg", "secure", true), group("m365", "team", false, "Unified"),
	}}})
	ann := r.newUser("ann")
	for id, status := range map[string]int{"dl": 400, "mesg": 400, "m365": 204} {
		add := r.must(status, "POST", "/v1.0/groups/"+id+"/members/$ref", r.link(ann))
		remove := r.must(status, "DELETE", "/v1.0/groups/"+id+"/members/"+ann+"/$ref", nil)
		for _, a := range []answer{add, remove} {
			if _, message := a.error(); status == 400 && message != "Cannot Update a mail-enabled security groups and or distribution list." {
				t.Errorf("%s: %q", id, message)
			}
		}
	}
}

func TestAnInternalUserIsInvitedAndConvertedBack(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	ann := r.newUser("ann")
	invitation := map[string]any{
		"invitedUserEmailAddress": "ann@fabrikam.com", "inviteRedirectUrl": "https://myapps.microsoft.com",
		"sendInvitationMessage": false, "invitedUser": map[string]any{"id": ann},
	}
	made := r.must(201, "POST", "/v1.0/invitations", invitation)
	if made.body["invitedUser"].(map[string]any)["id"] != ann || made.body["status"] != "PendingAcceptance" {
		t.Errorf("invitation = %s", made.raw)
	}
	state := r.must(200, "GET", "/v1.0/users/"+ann+"?$select=externalUserState,userType", nil).body
	if state["externalUserState"] != "PendingAcceptance" || state["userType"] != "Member" {
		t.Errorf("invited user = %v", state)
	}
	r.must(400, "POST", "/v1.0/invitations", invitation)
	convert := "/beta/users/" + ann + "/convertExternalToInternalMemberUser"
	body := map[string]any{"userPrincipalName": "ann.new@contoso.com", "mail": "ann@contoso.com", "passwordProfile": map[string]any{"password": "Correct-Horse-7"}}
	for change, message := range map[string]string{
		"userPrincipalName": "The provided UPN cannot be empty.", "passwordProfile": "The provided password is not valid.",
	} {
		if _, got := r.must(400, "POST", convert, with(body, map[string]any{change: "absent"})).error(); got != message {
			t.Errorf("without %s: %q", change, got)
		}
	}
	done := r.must(200, "POST", convert, body)
	if done.body["userPrincipalName"] != "ann.new@contoso.com" || done.body["mail"] != "ann@contoso.com" {
		t.Errorf("conversion = %s", done.raw)
	}
	if _, message := r.must(400, "POST", convert, body).error(); !strings.Contains(message, "already internal and is not eligible") {
		t.Errorf("converted twice: %q", message)
	}
}

func TestAnOutsiderIsInvitedAsAGuest(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	body := map[string]any{"invitedUserEmailAddress": "zoe@example.org", "inviteRedirectUrl": "https://x"}
	r.must(201, "POST", "/v1.0/invitations", body)
	guest := r.must(200, "GET", "/v1.0/users/zoe_example.org%23EXT%23@tenant.onmicrosoft.com?$select=userType,mail,externalUserState", nil).body
	if guest["userType"] != "Guest" || guest["mail"] != "zoe@example.org" || guest["externalUserState"] != "PendingAcceptance" {
		t.Errorf("guest = %v", guest)
	}
	if _, message := r.must(400, "POST", "/v1.0/invitations", body).error(); !strings.Contains(message, "already exists in the directory") {
		t.Errorf("invited twice: %q", message)
	}
	r.must(200, "POST", "/beta/users/zoe_example.org%23EXT%23@tenant.onmicrosoft.com/convertExternalToInternalMemberUser",
		map[string]any{"userPrincipalName": "zoe@contoso.com", "passwordProfile": map[string]any{"password": "Correct-Horse-7"}})
	member := r.must(200, "GET", "/v1.0/users/zoe@contoso.com?$select=userType,externalUserState,mailNickname", nil).body
	if member["userType"] != "Member" || member["externalUserState"] != nil || member["mailNickname"] != "zoe" {
		t.Errorf("converted guest = %v", member)
	}
}
