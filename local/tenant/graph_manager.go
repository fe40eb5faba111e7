package tenant

import "time"

// setManager sets the manager of a user, whose object id State has as managerId: Graph shows a manager
// only as a relationship, which is not simulated.
func (s *Server) setManager(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	manager, refusal := referenced(text(body["@odata.id"]))
	if refusal != nil {
		return refusal
	}
	return s.changeUser(c.arg["user"], func(u User, now, asOf time.Time) (User, *reply) {
		found, visible := s.findUser(manager, asOf)
		if !visible {
			return nil, notFound(manager)
		}
		return u.with(map[string]any{"managerId": found.ID()}), nil
	}, noContent())
}

// revokeSessions has all sessions of a user end that began before now.
func (s *Server) revokeSessions(c *call) *reply {
	return s.changeUser(c.arg["user"], func(u User, now, _ time.Time) (User, *reply) {
		return u.with(map[string]any{"signInSessionsValidFromDateTime": now.UTC().Format(time.RFC3339)}), nil
	}, ok(map[string]any{"@odata.context": c.context("Edm.Boolean"), "value": true}))
}

// changeUser writes the next version of a user that a reader sees.
func (s *Server) changeUser(key string, next func(u User, now, asOf time.Time) (User, *reply), answer *reply) *reply {
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	now, asOf := s.times()
	seen, found := s.findUser(key, asOf)
	if !found {
		return notFound(key)
	}
	current, exists := s.dir.users.rows[seen.ID()].latest()
	if !exists {
		return notFound(key)
	}
	changed, refusal := next(current, now, asOf)
	if refusal != nil {
		return refusal
	}
	if err := s.dir.commit(asOf, putUser(changed, now)); err != nil {
		return s.storageFailed(err)
	}
	return answer
}
