package exchange

import (
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

// group is the latest state of the distribution group an identity names.
func (s *Service) group(c *call, asOf time.Time) (directory.Recipient, directory.Group, *reply) {
	identity, refusal := c.identity()
	if refusal != nil {
		return directory.Recipient{}, directory.Group{}, refusal
	}
	r, found := s.findRecipient(identity, asOf, groupKinds)
	if !found {
		return directory.Recipient{}, directory.Group{}, recipientNotFound(identity)
	}
	g, exists := s.Directory.Groups.Latest(r.ExternalDirectoryObjectID)
	if !exists {
		return directory.Recipient{}, directory.Group{}, recipientNotFound(identity)
	}
	return r, g, nil
}

// groupMembers lists the members that are recipients; Exchange does not see
// the others.
func (s *Service) groupMembers(c *call) *reply {
	_, asOf := s.Times()
	r, _, refusal := s.group(c, asOf)
	if refusal != nil {
		return refusal
	}
	g, _ := s.Directory.Groups.Visible(r.ExternalDirectoryObjectID, asOf)
	var members []map[string]any
	for _, id := range g.Members {
		if member, visible := s.Directory.Recipients.Visible(id, asOf); visible {
			members = append(members, s.output(member))
		}
	}
	return c.results(members)
}

func (s *Service) memberOf(c *call, asOf time.Time) (directory.Recipient, *reply) {
	identity := directory.Text(c.exchange.parameters["member"])
	if identity == "" {
		return directory.Recipient{}, cmdletFailure(parameterBinding, "Cannot process command because of one or more missing mandatory parameters: Member.")
	}
	member, found := s.findRecipient(identity, asOf, recipientKinds)
	if !found {
		return directory.Recipient{}, exchangeFailure(404, "NotFound", objectNotFound, "Couldn't find object \"%s\". Please make sure that it was spelled correctly or specify a different object.", identity)
	}
	return member, nil
}

func (s *Service) addGroupMember(c *call) *reply {
	now, asOf := s.Times()
	r, g, refusal := s.group(c, asOf)
	if refusal != nil {
		return refusal
	}
	member, refusal := s.memberOf(c, asOf)
	if refusal != nil {
		return refusal
	}
	if slices.Contains(g.Members, member.ExternalDirectoryObjectID) {
		return cmdletFailure(memberExists, "The recipient \"%s\" is already a member of the group \"%s\".", member.Name, r.Name)
	}
	g.Members = append(slices.Clone(g.Members), member.ExternalDirectoryObjectID)
	return s.saveMembers(c, g, now, asOf)
}

func (s *Service) removeGroupMember(c *call) *reply {
	now, asOf := s.Times()
	r, g, refusal := s.group(c, asOf)
	if refusal != nil {
		return refusal
	}
	member, refusal := s.memberOf(c, asOf)
	if refusal != nil {
		return refusal
	}
	if !slices.Contains(g.Members, member.ExternalDirectoryObjectID) {
		return cmdletFailure(memberNotFound, "The recipient \"%s\" isn't a member of the group \"%s\".", member.Name, r.Name)
	}
	g.Members = directory.Without(g.Members, member.ExternalDirectoryObjectID)
	return s.saveMembers(c, g, now, asOf)
}

func (s *Service) saveMembers(c *call, g directory.Group, now, asOf time.Time) *reply {
	if err := s.Directory.Commit(asOf, directory.PutGroup(g, now)); err != nil {
		return s.storageFailed(err)
	}
	return c.nothing()
}
