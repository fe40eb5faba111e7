package graph

import (
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// findUser is the user that a reader sees under an object id or a user
// principal name.
func (s *Service) findUser(key string, asOf time.Time) (directory.User, bool) {
	id := directory.Fold(key)
	if owner, ok := s.Directory.Owner("upn", key); ok {
		id = owner
	}
	u, ok := s.Directory.Users.Visible(id, asOf)
	if ok && directory.Fold(key) != id && directory.Fold(u.UPN()) != directory.Fold(key) { // a stale replica still has the old name
		return nil, false
	}
	return u, ok
}

func (s *Service) createUser(c *call) *reply {
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
	if directory.Text(profile["password"]) == "" {
		return badRequest("A password must be specified to create a new user.")
	}
	delete(properties, "passwordProfile") // secrets are not kept

	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	u := directory.User(properties)
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
	changes := append([]directory.Change{directory.PutUser(u, now)}, s.Directory.ForwardSync(u, now)...)
	if err := s.Directory.Commit(asOf, changes...); err != nil {
		return s.storageFailed(err)
	}
	answer := project(userProperties, u, nil)
	answer["@odata.context"] = c.context("users/$entity")
	return odata.Created(answer)
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
func (s *Service) checkUser(u directory.User) *reply {
	if err := s.Directory.CheckUser(u); err != nil {
		return badRequest("%s", err)
	}
	return nil
}

func (s *Service) getUser(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("user", userProperties)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	u, found := s.findUser(c.Arg["user"], asOf)
	if !found {
		return notFound(c.Arg["user"])
	}
	answer := project(userProperties, u, selected)
	answer["@odata.context"] = c.context("users/$entity")
	return odata.OK(answer)
}

func (s *Service) patchUser(c *call) *reply {
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
	profile, reset := properties["passwordProfile"].(map[string]any)
	if password := directory.Text(profile["password"]); reset && len(password) < 8 {
		return badRequest("The specified password does not comply with password complexity requirements. Please provide a different password.")
	}
	delete(properties, "passwordProfile") // secrets are not kept

	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	if reset {
		properties["lastPasswordChangeDateTime"] = now.UTC().Format(time.RFC3339)
	}
	seen, found := s.findUser(c.Arg["user"], asOf)
	if !found {
		return notFound(c.Arg["user"])
	}
	current, exists := s.Directory.Users.Latest(seen.ID())
	if !exists {
		return notFound(c.Arg["user"])
	}
	if refusal := checkMastered(current, properties); refusal != nil {
		return refusal
	}
	next := current.With(mergeObjects(current, properties))
	if mail := next.Text("mail"); directory.Fold(mail) != directory.Fold(current.Text("mail")) {
		next["proxyAddresses"] = directory.WithPrimary(current.List("proxyAddresses"), mail)
	}
	if refusal := s.checkUser(next); refusal != nil {
		return refusal
	}
	changes := append([]directory.Change{directory.PutUser(next, now)}, s.Directory.ForwardSync(next, now)...)
	if err := s.Directory.Commit(asOf, changes...); err != nil {
		return s.storageFailed(err)
	}
	return odata.NoContent()
}

// checkMastered refuses to change what the directory on-premises is the source of. usageLocation never is.
func checkMastered(current directory.User, properties map[string]any) *reply {
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
func mergeObjects(current directory.User, properties map[string]any) map[string]any {
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

func (s *Service) deleteUser(c *call) *reply {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	return s.removeUser(c.Arg["user"])
}

// removeUser moves a user to the deleted items, and deletes its recipient and its memberships.
func (s *Service) removeUser(key string) *reply {
	now, asOf := s.Times()
	u, found := s.findUser(key, asOf)
	if !found {
		return notFound(key)
	}
	id := u.ID()
	if _, exists := s.Directory.Users.Latest(id); !exists {
		return notFound(key)
	}
	changes := []directory.Change{directory.DeleteUser(id, now)}
	if _, exists := s.Directory.Recipients.Latest(id); exists {
		changes = append(changes, directory.DeleteRecipient(id, now))
	}
	changes = append(changes, s.Directory.LeaveGroups(id, now)...)
	if err := s.Directory.Commit(asOf, changes...); err != nil {
		return s.storageFailed(err)
	}
	if err := s.Directory.KeepDeleted(u.Deleted(now)); err != nil {
		return s.storageFailed(err)
	}
	return odata.NoContent()
}
