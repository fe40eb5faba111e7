package graph

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

func (s *Service) createGroup(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	owners, members, refusal := takeBound(body)
	if refusal != nil {
		return refusal
	}
	properties, refusal := checkWrite(groupProperties, body)
	if refusal != nil {
		return refusal
	}
	if refusal := checkRequired(properties, "displayName", "mailEnabled", "mailNickname", "securityEnabled"); refusal != nil {
		return refusal
	}
	unified := slices.Contains(directory.Texts(properties["groupTypes"]), "Unified")
	if properties["mailEnabled"] == true && !unified {
		return badRequest("The service does not currently support writes of mail-enabled groups. Please ensure that the mail-enablement property is unset and the security-enablement property is set.")
	}
	if unified != (properties["mailEnabled"] == true) {
		return badRequest("Invalid value specified for property 'mailEnabled' of resource 'Group'.")
	}
	if nickname := directory.Text(properties["mailNickname"]); strings.ContainsAny(nickname, "@()\\[]\";:<>, ") {
		return badRequest("Invalid value specified for property 'mailNickname' of resource 'Group'.")
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	properties["id"] = uuid.NewString()
	properties["createdDateTime"] = now.UTC().Format(time.RFC3339)
	if s.Directory.Taken("groupNickname", directory.Text(properties["mailNickname"]), "") {
		return conflict("mailNickname")
	}
	if owners, refusal = s.boundUsers(owners, asOf); refusal != nil {
		return refusal
	}
	if members, refusal = s.boundUsers(members, asOf); refusal != nil {
		return refusal
	}
	g := directory.Group{Properties: properties, Members: members, Owners: owners}
	var changes []directory.Change
	if unified {
		var r directory.Recipient
		var err error
		if g, r, err = s.Directory.WithMail(g); err == nil {
			err = s.Directory.CheckMail(g)
		}
		if err != nil {
			return badRequest("%s", err)
		}
		changes = append(changes, directory.PutRecipient(r, now))
	}
	if err := s.Directory.Commit(asOf, append(changes, directory.PutGroup(g, now))...); err != nil {
		return s.storageFailed(err)
	}
	answer := project(groupProperties, g.Properties, nil)
	answer["@odata.context"] = c.context("groups/$entity")
	return odata.Created(answer)
}

func (s *Service) getGroup(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("group", groupProperties)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	g, found := s.Directory.Groups.Visible(directory.Fold(c.Arg["group"]), asOf)
	if !found {
		return notFound(c.Arg["group"])
	}
	answer := project(groupProperties, g.Properties, selected)
	answer["@odata.context"] = c.context("groups/$entity")
	return odata.OK(answer)
}

func (s *Service) deleteGroup(c *call) *reply {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	g, refusal := s.writableGroup(c.Arg["group"], asOf)
	if refusal != nil {
		return refusal
	}
	changes := append([]directory.Change{directory.DeleteGroup(g.ID(), now)}, s.Directory.LeaveGroups(g.ID(), now)...)
	if _, exists := s.Directory.Recipients.Latest(g.ID()); exists {
		changes = append(changes, directory.DeleteRecipient(g.ID(), now))
	}
	if err := s.Directory.Commit(asOf, changes...); err != nil {
		return s.storageFailed(err)
	}
	return odata.NoContent()
}

// writableGroup is the latest state of a group that readers can see and that
// Graph may change.
func (s *Service) writableGroup(id string, asOf time.Time) (directory.Group, *reply) {
	if _, visible := s.Directory.Groups.Visible(directory.Fold(id), asOf); !visible {
		return directory.Group{}, notFound(id)
	}
	g, exists := s.Directory.Groups.Latest(directory.Fold(id))
	if !exists {
		return directory.Group{}, notFound(id)
	}
	if g.ExchangeManaged() {
		return directory.Group{}, badRequest("Cannot Update a mail-enabled security groups and or distribution list.")
	}
	return g, nil
}

// visibleObject is a user or group as a member list shows it.
func (s *Service) visibleObject(id string, asOf time.Time) (map[string]any, string, bool) {
	if u, ok := s.Directory.Users.Visible(id, asOf); ok {
		return u, "user", true
	}
	if g, ok := s.Directory.Groups.Visible(id, asOf); ok {
		return g.Properties, "group", true
	}
	return nil, "", false
}

func (s *Service) addMember(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	member, refusal := referenced(directory.Text(body["@odata.id"]))
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	g, refusal := s.writableGroup(c.Arg["group"], asOf)
	if refusal != nil {
		return refusal
	}
	object, _, found := s.visibleObject(member, asOf)
	if !found {
		if u, ok := s.findUser(member, asOf); ok {
			object, found = u, true
		}
	}
	if !found {
		return notFound(member)
	}
	member = directory.Text(object["id"])
	if slices.Contains(g.Members, member) {
		return badRequest("One or more added object references already exist for the following modified properties: 'members'.")
	}
	g.Members = append(slices.Clone(g.Members), member)
	if err := s.Directory.Commit(asOf, directory.PutGroup(g, now)); err != nil {
		return s.storageFailed(err)
	}
	return odata.NoContent()
}

// referenced is the key of the object in an @odata.id such as
// https://graph.microsoft.com/v1.0/directoryObjects/{id}.
func referenced(link string) (string, *reply) {
	u, err := url.Parse(link)
	if err != nil || link == "" {
		return "", badRequest("Invalid URL format specified in payload.")
	}
	segments := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(segments) >= 2 {
		switch segments[len(segments)-2] {
		case "directoryObjects", "users", "groups":
			return directory.Fold(segments[len(segments)-1]), nil
		}
	}
	return "", badRequest("Invalid URL format specified in payload.")
}

func (s *Service) removeMember(c *call) *reply {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	g, refusal := s.writableGroup(c.Arg["group"], asOf)
	if refusal != nil {
		return refusal
	}
	member := directory.Fold(c.Arg["member"])
	if _, _, found := s.visibleObject(member, asOf); !found {
		return notFound(member) // this replica has not heard of the member itself
	}
	seen, _ := s.Directory.Groups.Visible(g.ID(), asOf)
	if !slices.Contains(g.Members, member) {
		if slices.Contains(seen.Members, member) { // this replica has it, the directory no longer
			return badRequest("One or more removed object references do not exist for the following modified properties: 'members'.")
		}
		return notFound(member)
	}
	g.Members = directory.Without(g.Members, member)
	if err := s.Directory.Commit(asOf, directory.PutGroup(g, now)); err != nil {
		return s.storageFailed(err)
	}
	return odata.NoContent()
}

// deleteMember handles a DELETE of a member without /$ref: it deletes the
// member itself, not the membership.
func (s *Service) deleteMember(c *call) *reply {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	g, found := s.Directory.Groups.Visible(directory.Fold(c.Arg["group"]), asOf)
	if !found {
		return notFound(c.Arg["group"])
	}
	if !slices.Contains(g.Members, directory.Fold(c.Arg["member"])) {
		return notFound(c.Arg["member"])
	}
	if _, kind, _ := s.visibleObject(directory.Fold(c.Arg["member"]), asOf); kind == "group" {
		return odata.Error(http.StatusBadRequest, "BadRequest", "Write requests are only supported on contained entities")
	}
	return s.removeUser(c.Arg["member"])
}

func (s *Service) checkMemberGroups(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	for name := range body {
		if name != "groupIds" && !strings.HasPrefix(name, "@odata.") {
			return odata.Error(http.StatusBadRequest, "BadRequest", "The parameter '%s' in the request payload is not a valid parameter for the operation 'checkMemberGroups'.", name)
		}
	}
	ids, isList := body["groupIds"].([]any)
	if !isList || !listValue.accepts(ids) || len(ids) == 0 {
		return badRequest("Property groupIds value is required but is empty or missing.")
	}
	if len(ids) > 20 {
		return badRequest("The number of elements in 'groupIds' exceeds the maximum of 20.")
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	u, found := s.findUser(c.Arg["user"], asOf)
	if !found {
		return notFound(c.Arg["user"])
	}
	all := s.transitiveGroups(u.ID(), asOf)
	matching := []string{}
	for _, id := range directory.Texts(ids) {
		if all[directory.Fold(id)] {
			matching = append(matching, id)
		}
	}
	return odata.OK(map[string]any{"@odata.context": c.context("Collection(Edm.String)"), "value": matching})
}

// transitiveGroups are the groups that id is in, directly or through others.
func (s *Service) transitiveGroups(id string, asOf time.Time) map[string]bool {
	found := map[string]bool{}
	recent := s.Directory.Recent(asOf)
	for frontier := []string{id}; len(frontier) > 0; frontier = frontier[1:] {
		for g := range s.Directory.Groups.Among(append(s.Directory.Owners("member", frontier[0]), recent...), asOf) {
			if !found[g.ID()] && slices.Contains(g.Members, frontier[0]) {
				found[g.ID()] = true
				frontier = append(frontier, g.ID())
			}
		}
	}
	return found
}

func (s *Service) listMembers(c *call) *reply {
	page, refusal := c.paging()
	if refusal != nil {
		return refusal
	}
	every := maps.Clone(userProperties) // a member may be a user or a group
	maps.Copy(every, groupProperties)
	selected, refusal := c.selected("directoryObject", every)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	g, found := s.Directory.Groups.Visible(directory.Fold(c.Arg["group"]), asOf)
	if !found {
		return notFound(c.Arg["group"])
	}
	var members []map[string]any
	for _, id := range g.Members {
		object, kind, visible := s.visibleObject(id, asOf)
		if !visible {
			continue
		}
		schema := userProperties
		if kind == "group" {
			schema = groupProperties
		}
		member := project(schema, object, ofKind(selected, schema))
		member["id"] = id
		member["@odata.type"] = "#microsoft.graph." + kind
		members = append(members, member)
	}
	return c.listing("directoryObjects", members, page)
}

// listUserMembers gives the members who are users. An application that may read the group but no users gets no more than
// their ids.
func (s *Service) listUserMembers(c *call) *reply {
	page, refusal := c.paging("count")
	if refusal != nil {
		return refusal
	}
	if !c.advanced() {
		return odata.Error(http.StatusBadRequest, "Request_UnsupportedQuery", "The specified query with a cast requires the ConsistencyLevel header with the value 'eventual' and $count=true.")
	}
	selected, refusal := c.selected("user", userProperties)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	g, found := s.Directory.Groups.Visible(directory.Fold(c.Arg["group"]), asOf)
	if !found {
		return notFound(c.Arg["group"])
	}
	limited := s.Roles != nil && !holds(s.Roles(c.Token), "User.Read.All")
	users := []map[string]any{}
	for _, id := range g.Members {
		u, visible := s.Directory.Users.Visible(id, asOf)
		if !visible {
			continue
		}
		user := project(userProperties, u, selected)
		if limited {
			for name := range user {
				user[name] = nil
			}
		}
		user["id"] = id
		users = append(users, user)
	}
	return c.listing("users", users, page)
}

func ofKind(selected []string, schema map[string]property) []string {
	return slices.DeleteFunc(slices.Clone(selected), func(name string) bool { _, has := schema[name]; return !has })
}

func (s *Service) listGroups(c *call) *reply {
	page, refusal := c.paging("filter")
	if refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("group", groupProperties)
	if refusal != nil {
		return refusal
	}
	match, refusal := c.filter(filterable{
		"Group",
		[]string{"displayName", "mail", "mailNickname"},
		[]string{"proxyAddresses"},
		map[string]string{"mailNickname": "groupNickname", "proxyAddresses": "proxy"},
	})
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	groups := s.Directory.Groups.EachVisible(asOf)
	if ids, narrow := match.candidates(s.Directory, asOf); narrow {
		groups = s.Directory.Groups.Among(ids, asOf)
	}
	found := page.of(func(yield func(func() map[string]any) bool) {
		for g := range groups {
			if match.holds(g.Properties) && !yield(func() map[string]any { return project(groupProperties, g.Properties, selected) }) {
				return
			}
		}
	})
	return c.pageOf("groups", found, page)
}
