package graph

import (
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// maxBound is how many owners and members a request may give a new group.
const maxBound = 20

// takeBound takes the users out of a body whom it binds to a new group.
func takeBound(body map[string]any) (owners, members []string, refusal *reply) {
	for name, into := range map[string]*[]string{"owners@odata.bind": &owners, "members@odata.bind": &members} {
		value, present := body[name]
		if !present {
			continue
		}
		delete(body, name)
		if !listValue.accepts(value) || value == nil {
			return nil, nil, badRequest("Invalid value specified for property '%s' of resource.", name)
		}
		for _, link := range directory.Texts(value) {
			id, refusal := referenced(link)
			if refusal != nil {
				return nil, nil, refusal
			}
			if slices.Contains(*into, id) {
				return nil, nil, badRequest("A bind operation requires a collection of unique IDs.")
			}
			*into = append(*into, id)
		}
	}
	if len(owners)+len(members) > maxBound {
		return nil, nil, badRequest("The number of relationships exceeds the maximum of %d.", maxBound)
	}
	return owners, members, nil
}

// boundUsers are the object ids of users that readers can see.
func (s *Service) boundUsers(ids []string, asOf time.Time) (found []string, refusal *reply) {
	for _, id := range ids {
		u, visible := s.findUser(id, asOf)
		if !visible {
			return nil, notFound(id)
		}
		found = append(found, u.ID())
	}
	return found, nil
}

func (s *Service) listOwners(c *call) *reply {
	page, refusal := c.paging()
	if refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("directoryObject", userProperties)
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
	var owners []map[string]any
	for _, id := range g.Owners {
		if u, visible := s.Directory.Users.Visible(id, asOf); visible {
			owner := project(userProperties, u, selected)
			owner["id"], owner["@odata.type"] = id, "#microsoft.graph.user"
			owners = append(owners, owner)
		}
	}
	return c.listing("directoryObjects", owners, page)
}

// addOwner adds a user. Graph also takes service principals, which are not simulated.
func (s *Service) addOwner(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	owner, refusal := referenced(directory.Text(body["@odata.id"]))
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
	u, found := s.findUser(owner, asOf)
	if !found {
		return notFound(owner)
	}
	if slices.Contains(g.Owners, u.ID()) {
		return badRequest("One or more added object references already exist for the following modified properties: 'owners'.")
	}
	g.Owners = append(slices.Clone(g.Owners), u.ID())
	if err := s.Directory.Commit(asOf, directory.PutGroup(g, now)); err != nil {
		return s.storageFailed(err)
	}
	return odata.NoContent()
}

func (s *Service) removeOwner(c *call) *reply {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	g, refusal := s.writableGroup(c.Arg["group"], asOf)
	if refusal != nil {
		return refusal
	}
	owner := directory.Fold(c.Arg["owner"])
	if !slices.Contains(g.Owners, owner) {
		return notFound(owner)
	}
	if lastOwner(g, owner) {
		return badRequest("The group must have at least one owner, hence this owner cannot be removed.")
	}
	g.Owners = directory.Without(g.Owners, owner)
	if err := s.Directory.Commit(asOf, directory.PutGroup(g, now)); err != nil {
		return s.storageFailed(err)
	}
	return odata.NoContent()
}
