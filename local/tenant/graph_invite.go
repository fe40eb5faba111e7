package tenant

import (
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// invite makes a guest of an address, or, with invitedUser.id, lets an
// existing internal user sign in with an external account.
func (s *Server) invite(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	for name := range body {
		switch name {
		case "invitedUserEmailAddress", "inviteRedirectUrl", "invitedUserDisplayName", "sendInvitationMessage",
			"invitedUserMessageInfo", "invitedUserType", "invitedUser", "resetRedemption":
		default:
			if !strings.HasPrefix(name, "@odata.") {
				return badRequest("Invalid property '%s'.", name)
			}
		}
	}
	if body["resetRedemption"] == true {
		return badRequest("Invalid property 'resetRedemption'.")
	}
	address := text(body["invitedUserEmailAddress"])
	if !addressPattern.MatchString(address) {
		return graphError(http.StatusBadRequest, "BadRequest", "The invited user email address is missing or invalid.")
	}
	redirect := text(body["inviteRedirectUrl"])
	if redirect == "" {
		return graphError(http.StatusBadRequest, "BadRequest", "The invite redirect url is missing or invalid.")
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	now, asOf := s.times()
	var next User
	if invited, ok := body["invitedUser"].(map[string]any); ok && text(invited["id"]) != "" {
		next, refusal = s.inviteInternal(text(invited["id"]), address, asOf)
	} else {
		next, refusal = s.inviteGuest(body, address, now)
	}
	if refusal != nil {
		return refusal
	}
	next["externalUserState"] = "PendingAcceptance"
	next["externalUserStateChangeDateTime"] = now.UTC().Format(time.RFC3339)
	if err := s.dir.commit(asOf, append([]change{putUser(next, now)}, s.forwardSync(next, now)...)...); err != nil {
		return s.storageFailed(err)
	}
	return created(map[string]any{
		"@odata.context": c.context("invitations/$entity"), "id": uuid.NewString(),
		"inviteRedeemUrl":         "https://login.microsoftonline.com/redeem?rd=" + s.cfg.TenantID + "&user=" + next.ID(),
		"invitedUserDisplayName":  body["invitedUserDisplayName"],
		"invitedUserType":         next.Text("userType"),
		"invitedUserEmailAddress": address, "inviteRedirectUrl": redirect,
		"sendInvitationMessage": body["sendInvitationMessage"] == true,
		"status":                "PendingAcceptance", "invitedUser": map[string]any{"id": next.ID()},
	})
}

func (s *Server) inviteInternal(id, address string, asOf time.Time) (User, *reply) {
	if _, found := s.dir.users.rows[fold(id)].visible(asOf); !found {
		return nil, notFound(id)
	}
	u, exists := s.dir.users.rows[fold(id)].latest()
	switch {
	case !exists:
		return nil, notFound(id)
	case u.Text("onPremisesUserPrincipalName") != "":
		return nil, graphError(http.StatusBadRequest, "BadRequest", "The user is synchronized from on-premises (onPremisesUserPrincipalName is set) and cannot be invited.")
	case u.Text("externalUserState") != "":
		return nil, graphError(http.StatusBadRequest, "BadRequest", "The invited user already exists in the directory as object ID: %s. They can use that account to sign in to shared apps and resources.", u.ID())
	case !strings.EqualFold(u.Text("mail"), address):
		return nil, graphError(http.StatusBadRequest, "BadRequest", "The invited user email address does not match the mail of the user.")
	}
	return u.with(nil), nil
}

func (s *Server) inviteGuest(body map[string]any, address string, now time.Time) (User, *reply) {
	if owner, taken := s.dir.owner("proxy", "smtp:"+address); taken {
		return nil, graphError(http.StatusBadRequest, "BadRequest", "The invited user already exists in the directory as object ID: %s. They can use that account to sign in to shared apps and resources.", owner)
	}
	userType := text(body["invitedUserType"])
	if userType == "" {
		userType = "Guest"
	}
	if userType != "Guest" && userType != "Member" {
		return nil, badRequest("Invalid value specified for property 'invitedUserType' of resource 'Invitation'.")
	}
	name := text(body["invitedUserDisplayName"])
	if name == "" {
		name, _, _ = strings.Cut(address, "@")
	}
	nickname := strings.ReplaceAll(address, "@", "_") + "#EXT#"
	domain := "tenant.onmicrosoft.com"
	for verified := range s.dir.domain {
		if strings.HasSuffix(verified, ".onmicrosoft.com") {
			domain = verified
		}
	}
	u := User{
		"id": uuid.NewString(), "createdDateTime": now.UTC().Format(time.RFC3339), "accountEnabled": true,
		"displayName": name, "mail": address, "otherMails": []string{address}, "mailNickname": nickname,
		"userPrincipalName": nickname + "@" + domain, "userType": userType, "creationType": "Invitation",
		"proxyAddresses": []string{"SMTP:" + address},
	}
	if s.dir.taken("upn", u.UPN(), u.ID()) {
		return nil, conflict("userPrincipalName")
	}
	return u, nil
}

// convertUser turns an external user into an internal member.
func (s *Server) convertUser(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	fail := func(message string) *reply {
		return graphError(http.StatusBadRequest, "badRequest", "%s", message)
	}
	for name := range body {
		switch strings.ToLower(name) {
		case "userprincipalname", "passwordprofile", "mail":
		default:
			return badRequest("Invalid property '%s'.", name)
		}
	}
	profile, _ := body["passwordProfile"].(map[string]any)
	upn, password := text(body["userPrincipalName"]), text(profile["password"])
	mail, hasMail := body["mail"]

	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	now, asOf := s.times()
	seen, found := s.findUser(c.arg["user"], asOf)
	if !found {
		return notFound(c.arg["user"])
	}
	u, exists := s.dir.users.rows[seen.ID()].latest()
	if !exists {
		return notFound(c.arg["user"])
	}
	synced := u["onPremisesSyncEnabled"] == true
	_, domain, _ := strings.Cut(upn, "@")
	switch {
	case u.Text("externalUserState") == "":
		return fail("The user authentication is already internal and is not eligible for conversion.")
	case synced && (upn != "" || password != ""):
		return fail("For users synchronized from on-premises, userPrincipalName and passwordProfile must be empty")
	case !synced && upn == "":
		return fail("The provided UPN cannot be empty.")
	case !synced && (!upnPattern.MatchString(upn) || len(s.dir.domain) > 0 && !s.dir.domain[fold(domain)]):
		return fail("The provided UPN does not have a valid domain.")
	case !synced && len(password) < 8:
		return fail("The provided password is not valid.")
	case hasMail && text(mail) == "":
		return fail("The mail provided cannot be empty.")
	}
	next := u.with(map[string]any{"externalUserState": nil, "externalUserStateChangeDateTime": nil, "userType": "Member"})
	if !synced {
		next["userPrincipalName"] = upn
	}
	if hasMail {
		next["mail"] = text(mail)
		next["proxyAddresses"] = withPrimary(u.List("proxyAddresses"), text(mail))
	}
	if strings.Contains(next.Text("mailNickname"), "#EXT#") {
		next["mailNickname"], _, _ = strings.Cut(next.UPN(), "@")
	}
	if refusal := s.checkUser(next); refusal != nil {
		return refusal
	}
	if err := s.dir.commit(asOf, append([]change{putUser(next, now)}, s.forwardSync(next, now)...)...); err != nil {
		return s.storageFailed(err)
	}
	return ok(map[string]any{
		"@odata.context": c.context("microsoft.graph.conversionUserDetails"),
		"displayName":    next["displayName"], "userPrincipalName": next.UPN(), "mail": next["mail"],
		"convertedToInternalDateTime": now.UTC().Format(time.RFC3339),
	})
}
