package exchange

import (
	"slices"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

func init() { // not a literal: run reaches back into cmdlets
	cmdlets["Get-OrganizationConfig"] = cmdlet{names(), (*Service).organization}
	cmdlets["Get-MigrationEndpoint"] = cmdlet{names("ResultSize"), (*Service).migrationEndpoints}
}

// holdsOf are the properties of a mailbox about holds.
func holdsOf(r directory.Recipient) map[string]any {
	h := directory.Holds{}
	if r.Holds != nil {
		h = *r.Holds
	}
	return map[string]any{
		"LitigationHoldEnabled": h.Litigation, "InPlaceHolds": append([]string{}, h.InPlace...), "ComplianceTagHoldApplied": h.ComplianceTag,
		"DelayHoldApplied": h.Delay, "DelayReleaseHoldApplied": h.DelayRelease,
	}
}

func (s *Service) organization(c *call) *reply {
	return c.results([]map[string]any{{
		"Name": s.TenantID, "InPlaceHolds": append([]string{}, slices.Sorted(slices.Values(s.Directory.OrganizationHolds))...),
	}})
}

// migrationEndpoints lists the endpoints in other tenants. A tenant that accepts all names has none.
func (s *Service) migrationEndpoints(c *call) *reply {
	found := []map[string]any{}
	for _, name := range s.Directory.MigrationEndpoints {
		found = append(found, map[string]any{"Identity": name, "EndpointType": "ExchangeRemoteMove"})
	}
	return c.results(found)
}
