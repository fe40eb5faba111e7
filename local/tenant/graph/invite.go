package graph

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// invite makes a guest of an address, or, with invitedUser.id, lets an
// existing internal user sign in with an external account.
func (s *Service) invite(c *call) *reply {
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
	address := directory.Text(body["invitedUserEmailAddress"])
	if !directory.ValidAddress(address) {
		return odata.Error(http.StatusBadRequest, "BadRequest", "The invited user email address is missing or invalid.")
	}
	redirect := directory.Text(body["inviteRedirectUrl"])
	if redirect == "" {
		return odata.Error(http.StatusBadRequest, "BadRequest", "The invite redirect url is missing or invalid.")
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	var next directory.User
	if invited, ok := body["invitedUser"].(map[string]any); ok && directory.Text(invited["id"]) != "" {
		next, refusal = s.inviteInternal(directory.Text(invited["id"]), address, asOf)
	} else {
		next, refusal = s.inviteGuest(body, address, now)
	}
	if refusal != nil {
		return refusal
	}
	next["externalUserState"] = "PendingAcceptance"
	next["externalUserStateChangeDateTime"] = now.UTC().Format(time.RFC3339)
	if err := s.Directory.Commit(asOf, append([]directory.Change{directory.PutUser(next, now)}, s.Directory.ForwardSync(next, now)...)...); err != nil {
		return s.storageFailed(err)
	}
	return odata.Created(map[string]any{
		"@odata.context": c.context("invitations/$entity"), "id": uuid.NewString(),
		"inviteRedeemUrl":         "https://login.microsoftonline.com/redeem?rd=" + s.TenantID + "&user=" + next.ID(),
		"invitedUserDisplayName":  body["invitedUserDisplayName"],
		"invitedUserType":         next.Text("userType"),
		"invitedUserEmailAddress": address, "inviteRedirectUrl": redirect,
		"sendInvitationMessage": body["sendInvitationMessage"] == true,
		"status":                "PendingAcceptance", "invitedUser": map[string]any{"id": next.ID()},
	})
}

func (s *Service) inviteInternal(id, address string, asOf time.Time) (directory.User, *reply) {
	if _, found := s.Directory.Users.Visible(directory.Fold(id), asOf); !found {
		return nil, notFound(id)
	}
	u, exists := s.Directory.Users.Latest(directory.Fold(id))
	switch {
	case !exists:
		return nil, notFound(id)
	case u.Text("onPremisesUserPrincipalName") != "":
		return nil, odata.Error(http.StatusBadRequest, "BadRequest", "The user is synchronized from on-premises (onPremisesUserPrincipalName is set) and cannot be invited.")
	case u.Text("externalUserState") != "":
		return nil, odata.Error(http.StatusBadRequest, "BadRequest", "The invited user already exists in the directory as object ID: %s. They can use that account to sign in to shared apps and resources.", u.ID())
	case !strings.EqualFold(u.Text("mail"), address):
		return nil, odata.Error(http.StatusBadRequest, "BadRequest", "The invited user email address does not match the mail of the user.")
	}
	return u.With(nil), nil
}

func (s *Service) inviteGuest(body map[string]any, address string, now time.Time) (directory.User, *reply) {
	if owner, taken := s.Directory.Owner("proxy", "smtp:"+address); taken {
		return nil, odata.Error(http.StatusBadRequest, "BadRequest", "The invited user already exists in the directory as object ID: %s. They can use that account to sign in to shared apps and resources.", owner)
	}
	userType := directory.Text(body["invitedUserType"])
	if userType == "" {
		userType = "Guest"
	}
	if userType != "Guest" && userType != "Member" {
		return nil, badRequest("Invalid value specified for property 'invitedUserType' of resource 'Invitation'.")
	}
	name := directory.Text(body["invitedUserDisplayName"])
	if name == "" {
		name, _, _ = strings.Cut(address, "@")
	}
	nickname := strings.ReplaceAll(address, "@", "_") + "#EXT#"
	domain := cmp.Or(s.Directory.InitialDomain(), "tenant.onmicrosoft.com")
	u := directory.User{
		"id": uuid.NewString(), "createdDateTime": now.UTC().Format(time.RFC3339), "accountEnabled": true,
		"displayName": name, "mail": address, "otherMails": []string{address}, "mailNickname": nickname,
		"userPrincipalName": nickname + "@" + domain, "userType": userType, "creationType": "Invitation",
		"proxyAddresses": []string{"SMTP:" + address},
	}
	if s.Directory.Taken("upn", u.UPN(), u.ID()) {
		return nil, conflict("userPrincipalName")
	}
	return u, nil
}

// convertUser turns an external user into an internal member.
func (s *Service) convertUser(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	fail := func(message string) *reply {
		return odata.Error(http.StatusBadRequest, "badRequest", "%s", message)
	}
	for name := range body {
		switch strings.ToLower(name) {
		case "userprincipalname", "passwordprofile", "mail":
		default:
			return badRequest("Invalid property '%s'.", name)
		}
	}
	profile, _ := body["passwordProfile"].(map[string]any)
	upn, password := directory.Text(body["userPrincipalName"]), directory.Text(profile["password"])
	mail, hasMail := body["mail"]

	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	seen, found := s.findUser(c.Arg["user"], asOf)
	if !found {
		return notFound(c.Arg["user"])
	}
	u, exists := s.Directory.Users.Latest(seen.ID())
	if !exists {
		return notFound(c.Arg["user"])
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
	case !synced && (!directory.ValidUPN(upn) || len(s.Directory.Domains) > 0 && !s.Directory.Domains[directory.Fold(domain)]):
		return fail("The provided UPN does not have a valid domain.")
	case !synced && len(password) < 8:
		return fail("The provided password is not valid.")
	case hasMail && directory.Text(mail) == "":
		return fail("The mail provided cannot be empty.")
	}
	next := u.With(map[string]any{"externalUserState": nil, "externalUserStateChangeDateTime": nil, "userType": "Member"})
	if !synced {
		next["userPrincipalName"] = upn
	}
	if hasMail {
		next["mail"] = directory.Text(mail)
		next["proxyAddresses"] = directory.WithPrimary(u.List("proxyAddresses"), directory.Text(mail))
	}
	if strings.Contains(next.Text("mailNickname"), "#EXT#") {
		next["mailNickname"], _, _ = strings.Cut(next.UPN(), "@")
	}
	if refusal := s.checkUser(next); refusal != nil {
		return refusal
	}
	if err := s.Directory.Commit(asOf, append([]directory.Change{directory.PutUser(next, now)}, s.Directory.ForwardSync(next, now)...)...); err != nil {
		return s.storageFailed(err)
	}
	return odata.OK(map[string]any{
		"@odata.context": c.context("microsoft.graph.conversionUserDetails"),
		"displayName":    next["displayName"], "userPrincipalName": next.UPN(), "mail": next["mail"],
		"convertedToInternalDateTime": now.UTC().Format(time.RFC3339),
	})
}
