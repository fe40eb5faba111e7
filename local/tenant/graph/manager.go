package graph

import (
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// setManager sets the manager of a user, whose object id State has as managerId: Graph shows a manager
// only as a relationship, which is not simulated.
func (s *Service) setManager(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	manager, refusal := referenced(directory.Text(body["@odata.id"]))
	if refusal != nil {
		return refusal
	}
	return s.changeUser(c.Arg["user"], func(u directory.User, now, asOf time.Time) (directory.User, *reply) {
		found, visible := s.findUser(manager, asOf)
		if !visible {
			return nil, notFound(manager)
		}
		return u.With(map[string]any{"managerId": found.ID()}), nil
	}, odata.NoContent())
}

// revokeSessions has all sessions of a user end that began before now.
func (s *Service) revokeSessions(c *call) *reply {
	return s.changeUser(c.Arg["user"], func(u directory.User, now, _ time.Time) (directory.User, *reply) {
		return u.With(map[string]any{"signInSessionsValidFromDateTime": now.UTC().Format(time.RFC3339)}), nil
	}, odata.OK(map[string]any{"@odata.context": c.context("Edm.Boolean"), "value": true}))
}

// changeUser writes the next version of a user that a reader sees.
func (s *Service) changeUser(key string, next func(u directory.User, now, asOf time.Time) (directory.User, *reply), answer *reply) *reply {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	seen, found := s.findUser(key, asOf)
	if !found {
		return notFound(key)
	}
	current, exists := s.Directory.Users.Latest(seen.ID())
	if !exists {
		return notFound(key)
	}
	changed, refusal := next(current, now, asOf)
	if refusal != nil {
		return refusal
	}
	if err := s.Directory.Commit(asOf, directory.PutUser(changed, now)); err != nil {
		return s.storageFailed(err)
	}
	return answer
}
