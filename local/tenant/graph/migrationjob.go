package graph

import "github.com/matoolkit/matoolkit/local/tenant/migrationjob"

// migrationJobs is the path of Microsoft's own moves.
const migrationJobs = "solutions/migrations/crossTenantMigrationJobs"

// Jobs are Microsoft's own moves.
func (s *Service) Jobs() migrationjob.Jobs {
	now, asOf := s.Times()
	return migrationjob.Jobs{Directory: s.Directory, TenantID: s.TenantID, Delay: s.MoveDelay, Now: now, AsOf: asOf, Linked: s.Linked}
}

func (s *Service) createMigrationJob(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	return s.Jobs().Create(body)
}

func (s *Service) patchMigrationJob(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	return s.Jobs().Patch(c.Arg["job"], body)
}

func (s *Service) getMigrationJob(c *call) *reply {
	if refusal := c.onlyOptions(); refusal != nil {
		return refusal
	}
	return s.Jobs().Get(c.Arg["job"])
}

func (s *Service) getMigrationUser(c *call) *reply {
	if refusal := c.onlyOptions(); refusal != nil {
		return refusal
	}
	return s.Jobs().User(c.Arg["job"], c.Arg["member"])
}

func (s *Service) validateMigrationJob(c *call) *reply { return s.Jobs().Validate(c.Arg["job"]) }
func (s *Service) startMigrationJob(c *call) *reply    { return s.Jobs().Start(c.Arg["job"]) }
func (s *Service) cancelMigrationJob(c *call) *reply   { return s.Jobs().Cancel(c.Arg["job"]) }
func (s *Service) deleteMigrationJob(c *call) *reply   { return s.Jobs().Delete(c.Arg["job"]) }

func (s *Service) cancelMigrationUser(c *call) *reply {
	return s.Jobs().CancelUser(c.Arg["job"], c.Arg["member"])
}
