package graph

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// team is the group of a team, as readers see it or in its latest state. Which groups have a team comes from the seed:
// resourceProvisioningOptions with Team.
func (s *Service) team(c *call, asOf time.Time) (seen, latest directory.Group, refusal *reply) {
	id := directory.Fold(c.Arg["team"])
	seen, found := s.Directory.Groups.Visible(id, asOf)
	if !found || !slices.Contains(directory.Texts(seen.Properties["resourceProvisioningOptions"]), "Team") {
		return seen, latest, odata.Error(http.StatusNotFound, "NotFound", "No team found with Group Id %s", c.Arg["team"])
	}
	latest, _ = s.Directory.Groups.Latest(id)
	return seen, latest, nil
}

// membershipID is that of a user in a team, which clients must not read.
func membershipID(team, user string) string {
	return base64.StdEncoding.EncodeToString([]byte(team + "##" + user))
}

// teamMember is a member as Teams shows it.
func (s *Service) teamMember(g directory.Group, user string, asOf time.Time) map[string]any {
	roles := []string{}
	if slices.Contains(g.Owners, user) {
		roles = append(roles, "owner")
	}
	u, _ := s.Directory.Users.Visible(user, asOf)
	return map[string]any{
		"@odata.type": "#microsoft.graph.aadUserConversationMember", "id": membershipID(g.ID(), user), "roles": roles,
		"userId": user, "displayName": u.Text("displayName"), "email": u.Text("mail"), "tenantId": s.TenantID,
	}
}

var userClause = regexp.MustCompile(`^\(microsoft\.graph\.aadUserConversationMember/userId eq '([0-9A-Fa-f-]+)'\)$`)

// listTeamMembers lists the members of the group at once; a real team shows changes of the group up to two days later.
func (s *Service) listTeamMembers(c *call) *reply {
	if refusal := c.onlyOptions("filter"); refusal != nil {
		return refusal
	}
	wanted := ""
	if filter, present := c.Option("filter"); present {
		m := userClause.FindStringSubmatch(filter)
		if m == nil {
			return odata.Error(http.StatusBadRequest, "BadRequest", "Invalid filter clause: %s", filter)
		}
		wanted = directory.Fold(m[1])
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	g, _, refusal := s.team(c, asOf)
	if refusal != nil {
		return refusal
	}
	members := []any{}
	for _, id := range g.Members {
		if wanted == "" || wanted == id {
			members = append(members, s.teamMember(g, id, asOf))
		}
	}
	return odata.OK(map[string]any{"@odata.context": c.context("teams('" + g.ID() + "')/members"), "@odata.count": len(members), "value": members})
}

// memberRoles reads the roles in a body. Only properties that a member can be given are known.
func (c *call) memberRoles(properties ...string) (owner bool, body map[string]any, refusal *reply) {
	if body, refusal = c.object(); refusal != nil {
		return false, nil, refusal
	}
	if directory.Text(body["@odata.type"]) != "#microsoft.graph.aadUserConversationMember" {
		return false, nil, odata.Error(http.StatusBadRequest, "BadRequest", "Bad request: the type of the member is missing.")
	}
	for name := range body {
		if name != "@odata.type" && !slices.Contains(properties, name) {
			return false, nil, odata.Error(http.StatusBadRequest, "BadRequest", "Invalid property '%s'.", name)
		}
	}
	roles, isList := body["roles"].([]any)
	if !isList || len(roles) > 1 || len(roles) == 1 && roles[0] != "owner" {
		return false, nil, odata.Error(http.StatusBadRequest, "BadRequest", "Invalid role specified for member.")
	}
	return len(roles) == 1, body, nil
}

var userReference = regexp.MustCompile(`/users\('([^']+)'\)$`)

// addTeamMember adds a member, or changes the role of one.
func (s *Service) addTeamMember(c *call) *reply {
	owner, body, refusal := c.memberRoles("roles", "user@odata.bind")
	if refusal != nil {
		return refusal
	}
	m := userReference.FindStringSubmatch(directory.Text(body["user@odata.bind"]))
	if m == nil {
		return odata.Error(http.StatusBadRequest, "BadRequest", "Invalid bind property name in request. Please bind to a valid user.")
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	_, g, refusal := s.team(c, asOf)
	if refusal != nil {
		return refusal
	}
	u, found := s.findUser(m[1], asOf)
	if !found {
		return odata.Error(http.StatusNotFound, "NotFound", "Failed to find user '%s' in the tenant.", m[1])
	}
	return s.putTeamMember(c, g, u.ID(), owner, http.StatusCreated)
}

func (s *Service) putTeamMember(c *call, g directory.Group, user string, owner bool, status int) *reply {
	now, asOf := s.Times()
	if g.Owners = directory.Without(g.Owners, user); owner {
		g.Owners = append(g.Owners, user)
	}
	if !slices.Contains(g.Members, user) {
		g.Members = append(slices.Clone(g.Members), user)
	}
	if err := s.Directory.Commit(asOf, directory.PutGroup(g, now)); err != nil {
		return s.storageFailed(err)
	}
	answer := s.teamMember(g, user, asOf)
	answer["@odata.context"] = c.context("teams('" + g.ID() + "')/members/microsoft.graph.aadUserConversationMember/$entity")
	return &reply{Status: status, Body: answer}
}

// namedMember is the user of a membership id in the path.
func (s *Service) namedMember(c *call, asOf time.Time) (g directory.Group, user string, refusal *reply) {
	seen, g, refusal := s.team(c, asOf)
	if refusal != nil {
		return g, "", refusal
	}
	for _, id := range seen.Members {
		if membershipID(seen.ID(), id) == c.Arg["membership"] && slices.Contains(g.Members, id) {
			return g, id, nil
		}
	}
	return g, "", odata.Error(http.StatusNotFound, "NotFound", "The member does not exist in the team.")
}

func (s *Service) patchTeamMember(c *call) *reply {
	owner, _, refusal := c.memberRoles("roles")
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	g, user, refusal := s.namedMember(c, asOf)
	if refusal != nil {
		return refusal
	}
	if !owner && lastOwner(g, user) {
		return lastOwnerRefusal()
	}
	return s.putTeamMember(c, g, user, owner, http.StatusOK)
}

func (s *Service) deleteTeamMember(c *call) *reply {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	g, user, refusal := s.namedMember(c, asOf)
	if refusal != nil {
		return refusal
	}
	if lastOwner(g, user) {
		return lastOwnerRefusal()
	}
	g.Members, g.Owners = directory.Without(g.Members, user), directory.Without(g.Owners, user)
	if err := s.Directory.Commit(asOf, directory.PutGroup(g, now)); err != nil {
		return s.storageFailed(err)
	}
	return odata.NoContent()
}

func lastOwner(g directory.Group, user string) bool {
	return len(g.Owners) == 1 && strings.EqualFold(g.Owners[0], user)
}

func lastOwnerRefusal() *reply {
	return odata.Error(http.StatusBadRequest, "BadRequest", "The last owner of a team cannot be removed.")
}
