package tenant

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

func (s *Server) createGroup(c *call) *reply {
	body, refusal := c.object()
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
	unified := slices.Contains(texts(properties["groupTypes"]), "Unified")
	if properties["mailEnabled"] == true && !unified {
		return badRequest("The service does not currently support writes of mail-enabled groups. Please ensure that the mail-enablement property is unset and the security-enablement property is set.")
	}
	if unified != (properties["mailEnabled"] == true) {
		return badRequest("Invalid value specified for property 'mailEnabled' of resource 'Group'.")
	}
	if nickname := text(properties["mailNickname"]); strings.ContainsAny(nickname, "@()\\[]\";:<>, ") {
		return badRequest("Invalid value specified for property 'mailNickname' of resource 'Group'.")
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	now, asOf := s.times()
	properties["id"] = uuid.NewString()
	properties["createdDateTime"] = now.UTC().Format(time.RFC3339)
	if s.dir.taken("groupNickname", text(properties["mailNickname"]), "") {
		return conflict("mailNickname")
	}
	if err := s.dir.commit(asOf, putGroup(Group{Properties: properties}, now)); err != nil {
		return s.storageFailed(err)
	}
	answer := project(groupProperties, properties, nil)
	answer["@odata.context"] = c.context("groups/$entity")
	return created(answer)
}

func (s *Server) getGroup(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("group", groupProperties)
	if refusal != nil {
		return refusal
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	_, asOf := s.times()
	g, found := s.dir.groups.rows[fold(c.arg["group"])].visible(asOf)
	if !found {
		return notFound(c.arg["group"])
	}
	answer := project(groupProperties, g.Properties, selected)
	answer["@odata.context"] = c.context("groups/$entity")
	return ok(answer)
}

func (s *Server) deleteGroup(c *call) *reply {
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	now, asOf := s.times()
	g, refusal := s.writableGroup(c.arg["group"], asOf)
	if refusal != nil {
		return refusal
	}
	changes := append([]change{{kind: "group", id: g.ID(), at: now}}, s.leaveAllGroups(g.ID(), now)...)
	if err := s.dir.commit(asOf, changes...); err != nil {
		return s.storageFailed(err)
	}
	return noContent()
}

// writableGroup is the latest state of a group that readers can see and that
// Graph may change.
func (s *Server) writableGroup(id string, asOf time.Time) (Group, *reply) {
	if _, visible := s.dir.groups.rows[fold(id)].visible(asOf); !visible {
		return Group{}, notFound(id)
	}
	g, exists := s.dir.groups.rows[fold(id)].latest()
	if !exists {
		return Group{}, notFound(id)
	}
	if g.exchangeManaged() {
		return Group{}, badRequest("Cannot Update a mail-enabled security groups and or distribution list.")
	}
	return g, nil
}

// visibleObject is a user or group as a member list shows it.
func (s *Server) visibleObject(id string, asOf time.Time) (map[string]any, string, bool) {
	if u, ok := s.dir.users.rows[id].visible(asOf); ok {
		return u, "user", true
	}
	if g, ok := s.dir.groups.rows[id].visible(asOf); ok {
		return g.Properties, "group", true
	}
	return nil, "", false
}

func (s *Server) addMember(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	member, refusal := referenced(text(body["@odata.id"]))
	if refusal != nil {
		return refusal
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	now, asOf := s.times()
	g, refusal := s.writableGroup(c.arg["group"], asOf)
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
	member = text(object["id"])
	if slices.Contains(g.Members, member) {
		return badRequest("One or more added object references already exist for the following modified properties: 'members'.")
	}
	g.Members = append(slices.Clone(g.Members), member)
	if err := s.dir.commit(asOf, putGroup(g, now)); err != nil {
		return s.storageFailed(err)
	}
	return noContent()
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
			return fold(segments[len(segments)-1]), nil
		}
	}
	return "", badRequest("Invalid URL format specified in payload.")
}

func (s *Server) removeMember(c *call) *reply {
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	now, asOf := s.times()
	g, refusal := s.writableGroup(c.arg["group"], asOf)
	if refusal != nil {
		return refusal
	}
	member := fold(c.arg["member"])
	if _, _, found := s.visibleObject(member, asOf); !found {
		return notFound(member) // this replica has not heard of the member itself
	}
	seen, _ := s.dir.groups.rows[g.ID()].visible(asOf)
	if !slices.Contains(g.Members, member) {
		if slices.Contains(seen.Members, member) { // this replica has it, the directory no longer
			return badRequest("One or more removed object references do not exist for the following modified properties: 'members'.")
		}
		return notFound(member)
	}
	g.Members = without(g.Members, member)
	if err := s.dir.commit(asOf, putGroup(g, now)); err != nil {
		return s.storageFailed(err)
	}
	return noContent()
}

// deleteMember handles a DELETE of a member without /$ref: it deletes the
// member itself, not the membership.
func (s *Server) deleteMember(c *call) *reply {
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	_, asOf := s.times()
	g, found := s.dir.groups.rows[fold(c.arg["group"])].visible(asOf)
	if !found {
		return notFound(c.arg["group"])
	}
	if !slices.Contains(g.Members, fold(c.arg["member"])) {
		return notFound(c.arg["member"])
	}
	if _, kind, _ := s.visibleObject(fold(c.arg["member"]), asOf); kind == "group" {
		return graphError(http.StatusBadRequest, "BadRequest", "Write requests are only supported on contained entities")
	}
	return s.removeUser(c.arg["member"])
}

// leaveAllGroups removes id from every group that has it as a direct member.
func (s *Server) leaveAllGroups(id string, now time.Time) []change {
	var changes []change
	for _, g := range s.dir.groups.all((*history[Group]).latest) {
		if slices.Contains(g.Members, id) {
			g.Members = without(g.Members, id)
			changes = append(changes, putGroup(g, now))
		}
	}
	return changes
}

func without(list []string, item string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == item })
}

func (s *Server) checkMemberGroups(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	for name := range body {
		if name != "groupIds" && !strings.HasPrefix(name, "@odata.") {
			return graphError(http.StatusBadRequest, "BadRequest", "The parameter '%s' in the request payload is not a valid parameter for the operation 'checkMemberGroups'.", name)
		}
	}
	ids, isList := body["groupIds"].([]any)
	if !isList || !listValue.accepts(ids) || len(ids) == 0 {
		return badRequest("Property groupIds value is required but is empty or missing.")
	}
	if len(ids) > 20 {
		return badRequest("The number of elements in 'groupIds' exceeds the maximum of 20.")
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	_, asOf := s.times()
	u, found := s.findUser(c.arg["user"], asOf)
	if !found {
		return notFound(c.arg["user"])
	}
	all := s.transitiveGroups(u.ID(), asOf)
	matching := []string{}
	for _, id := range texts(ids) {
		if all[fold(id)] {
			matching = append(matching, id)
		}
	}
	return ok(map[string]any{"@odata.context": c.context("Collection(Edm.String)"), "value": matching})
}

// transitiveGroups are the groups that id is in, directly or through others.
func (s *Server) transitiveGroups(id string, asOf time.Time) map[string]bool {
	groups := s.dir.groups.all(func(h *history[Group]) (Group, bool) { return h.visible(asOf) })
	found := map[string]bool{}
	for frontier := []string{id}; len(frontier) > 0; frontier = frontier[1:] {
		for _, g := range groups {
			if !found[g.ID()] && slices.Contains(g.Members, frontier[0]) {
				found[g.ID()] = true
				frontier = append(frontier, g.ID())
			}
		}
	}
	return found
}

func (s *Server) listMembers(c *call) *reply {
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
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	_, asOf := s.times()
	g, found := s.dir.groups.rows[fold(c.arg["group"])].visible(asOf)
	if !found {
		return notFound(c.arg["group"])
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

func ofKind(selected []string, schema map[string]property) []string {
	return slices.DeleteFunc(slices.Clone(selected), func(name string) bool { _, has := schema[name]; return !has })
}

func (s *Server) listGroups(c *call) *reply {
	page, refusal := c.paging("filter")
	if refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("group", groupProperties)
	if refusal != nil {
		return refusal
	}
	match, refusal := c.filter("Group", []string{"displayName", "mail", "mailNickname"}, "proxyAddresses")
	if refusal != nil {
		return refusal
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	_, asOf := s.times()
	var found []map[string]any
	for _, g := range s.dir.groups.all(func(h *history[Group]) (Group, bool) { return h.visible(asOf) }) {
		if match(g.Properties) {
			found = append(found, project(groupProperties, g.Properties, selected))
		}
	}
	return c.listing("groups", found, page)
}
