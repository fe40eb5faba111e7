package tenant

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

var (
	upnPattern     = regexp.MustCompile(`^[A-Za-z0-9'._\-+!#$^~]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$`)
	addressPattern = regexp.MustCompile(`^[^@\s<>(),;:"\\]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$`)
)

// findUser is the user that a reader sees under an object id or a user
// principal name.
func (s *Server) findUser(key string, asOf time.Time) (User, bool) {
	id := fold(key)
	if owner, ok := s.dir.owner("upn", key); ok {
		id = owner
	}
	u, ok := s.dir.users.rows[id].visible(asOf)
	if ok && fold(key) != id && fold(u.UPN()) != fold(key) { // a stale replica still has the old name
		return nil, false
	}
	return u, ok
}

func (s *Server) createUser(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	properties, refusal := checkWrite(userProperties, body)
	if refusal != nil {
		return refusal
	}
	if refusal := checkRequired(properties, "accountEnabled", "displayName", "mailNickname", "userPrincipalName"); refusal != nil {
		return refusal
	}
	profile, _ := properties["passwordProfile"].(map[string]any)
	if text(profile["password"]) == "" {
		return badRequest("A password must be specified to create a new user.")
	}
	delete(properties, "passwordProfile") // secrets are not kept

	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	now, asOf := s.times()
	u := User(properties)
	u["id"] = uuid.NewString()
	u["createdDateTime"] = now.UTC().Format(time.RFC3339)
	if u.Text("userType") == "" {
		u["userType"] = "Member"
	}
	if mail := u.Text("mail"); mail != "" {
		u["proxyAddresses"] = []string{"SMTP:" + mail}
	}
	if refusal := s.checkUser(u); refusal != nil {
		return refusal
	}
	changes := append([]change{putUser(u, now)}, s.forwardSync(u, now)...)
	if err := s.dir.commit(asOf, changes...); err != nil {
		return s.storageFailed(err)
	}
	answer := project(userProperties, u, nil)
	answer["@odata.context"] = c.context("users/$entity")
	return created(answer)
}

func checkRequired(properties map[string]any, names ...string) *reply {
	for _, name := range names {
		if value, ok := properties[name]; !ok || value == nil || value == "" {
			return badRequest("Property %s value is required but is empty or missing.", name)
		}
	}
	return nil
}

// checkUser refuses a user whose values are malformed or taken.
func (s *Server) checkUser(u User) *reply {
	upn := u.UPN()
	if !upnPattern.MatchString(upn) {
		return badRequest("Invalid value specified for property 'userPrincipalName' of resource 'User'.")
	}
	if _, domain, _ := strings.Cut(upn, "@"); len(s.dir.domain) > 0 && !s.dir.domain[fold(domain)] {
		return badRequest("The domain portion of the userPrincipalName property is invalid. You must use one of the verified domain names in your organization.")
	}
	nickname := u.Text("mailNickname")
	if nickname == "" || len(nickname) > 64 || strings.ContainsAny(nickname, "@()\\[]\";:<>, ") {
		return badRequest("Invalid value specified for property 'mailNickname' of resource 'User'.")
	}
	for _, address := range append(slices.Clone(u.List("otherMails")), u.Text("mail")) {
		if address != "" && !addressPattern.MatchString(address) {
			property := "otherMails"
			if address == u.Text("mail") {
				property = "mail"
			}
			return badRequest("Invalid value specified for property '%s' of resource 'User'.", property)
		}
	}
	if location := u.Text("usageLocation"); location != "" && len(location) != 2 {
		return badRequest("Invalid value specified for property 'usageLocation' of resource 'User'.")
	}
	id := u.ID()
	if s.dir.taken("upn", upn, id) {
		return conflict("userPrincipalName")
	}
	if s.dir.taken("userNickname", nickname, id) {
		return conflict("mailNickname")
	}
	for _, address := range u.List("proxyAddresses") {
		if s.dir.taken("proxy", address, id) {
			return conflict("proxyAddresses")
		}
	}
	return nil
}

func (s *Server) getUser(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("user", userProperties)
	if refusal != nil {
		return refusal
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	_, asOf := s.times()
	u, found := s.findUser(c.arg["user"], asOf)
	if !found {
		return notFound(c.arg["user"])
	}
	answer := project(userProperties, u, selected)
	answer["@odata.context"] = c.context("users/$entity")
	return ok(answer)
}

func (s *Server) patchUser(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	properties, refusal := checkWrite(userProperties, body)
	if refusal != nil {
		return refusal
	}
	for _, name := range []string{"userPrincipalName", "mailNickname", "displayName", "accountEnabled"} {
		if value, present := properties[name]; present && (value == nil || value == "") {
			return badRequest("Invalid value specified for property '%s' of resource 'User'.", name)
		}
	}
	delete(properties, "passwordProfile")

	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	now, asOf := s.times()
	seen, found := s.findUser(c.arg["user"], asOf)
	if !found {
		return notFound(c.arg["user"])
	}
	current, exists := s.dir.users.rows[seen.ID()].latest()
	if !exists {
		return notFound(c.arg["user"])
	}
	if refusal := checkMastered(current, properties); refusal != nil {
		return refusal
	}
	next := current.with(mergeObjects(current, properties))
	if mail := next.Text("mail"); fold(mail) != fold(current.Text("mail")) {
		next["proxyAddresses"] = withPrimary(current.List("proxyAddresses"), mail)
	}
	if refusal := s.checkUser(next); refusal != nil {
		return refusal
	}
	changes := append([]change{putUser(next, now)}, s.forwardSync(next, now)...)
	if err := s.dir.commit(asOf, changes...); err != nil {
		return s.storageFailed(err)
	}
	return noContent()
}

// checkMastered refuses to change what the directory on-premises is the source of. usageLocation never is.
func checkMastered(current User, properties map[string]any) *reply {
	for name := range properties {
		once := name == "onPremisesExtensionAttributes" && current["onPremisesSyncEnabled"] == false // null: it was never synchronised
		if once || name != "usageLocation" && current["onPremisesSyncEnabled"] == true {
			return badRequest("Unable to update the specified properties for on-premises mastered Directory Sync objects or objects currently undergoing migration.")
		}
	}
	return nil
}

// mergeObjects lets a patch of an object property change only the members it
// names.
func mergeObjects(current User, properties map[string]any) map[string]any {
	for name, value := range properties {
		members, isObject := value.(map[string]any)
		if !isObject {
			continue
		}
		merged := map[string]any{}
		if old, ok := current[name].(map[string]any); ok {
			for k, v := range old {
				merged[k] = v
			}
		}
		for k, v := range members {
			merged[k] = v
		}
		properties[name] = merged
	}
	return properties
}

func (s *Server) deleteUser(c *call) *reply {
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	return s.removeUser(c.arg["user"])
}

// removeUser deletes a user, its recipient and its memberships. A real tenant
// keeps the user for 30 days among the deleted items.
func (s *Server) removeUser(key string) *reply {
	now, asOf := s.times()
	u, found := s.findUser(key, asOf)
	if !found {
		return notFound(key)
	}
	id := u.ID()
	if _, exists := s.dir.users.rows[id].latest(); !exists {
		return notFound(key)
	}
	changes := []change{{kind: "user", id: id, at: now}}
	if _, exists := s.dir.recipients.rows[id].latest(); exists {
		changes = append(changes, change{kind: "recipient", id: id, at: now})
	}
	changes = append(changes, s.leaveAllGroups(id, now)...)
	if err := s.dir.commit(asOf, changes...); err != nil {
		return s.storageFailed(err)
	}
	return noContent()
}
