package graph

import (
	"maps"
	"slices"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// domainProperties are the properties of a domain simulated here, from the domain resource type of
// Graph v1.0.
var domainProperties = map[string]property{
	"id": {standard: true}, "isVerified": {kind: boolValue, standard: true}, "isAdminManaged": {kind: boolValue, standard: true},
	"isDefault": {kind: boolValue, standard: true}, "isInitial": {kind: boolValue, standard: true},
	"isRoot": {kind: boolValue, standard: true}, "authenticationType": {standard: true},
}

// skuProperties are those of a subscribedSku.
var skuProperties = map[string]property{
	"id": {standard: true}, "skuId": {standard: true}, "skuPartNumber": {standard: true}, "appliesTo": {standard: true},
	"capabilityStatus": {standard: true}, "consumedUnits": {standard: true}, "prepaidUnits": {kind: objectValue, standard: true},
	"servicePlans": {kind: listValue, standard: true},
}

// getDomain finds every domain in a tenant that accepts all.
func (s *Service) getDomain(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("domain", domainProperties)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	name := directory.Fold(c.Arg["domain"])
	if len(s.Directory.Domains) > 0 && !s.Directory.Domains[name] {
		return notFound(c.Arg["domain"])
	}
	answer := project(domainProperties, domainOf(name), selected)
	answer["@odata.context"] = c.context("domains/$entity")
	return odata.OK(answer)
}

func (s *Service) listSkus(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("subscribedSku", skuProperties)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	all := []map[string]any{}
	_, asOf := s.Times()
	for _, l := range s.Directory.Licenses {
		plans := []any{}
		for _, p := range l.Plans {
			plans = append(plans, map[string]any{"servicePlanId": p.ID, "servicePlanName": p.Name, "provisioningStatus": "Success", "appliesTo": "User"})
		}
		status := "Enabled"
		if l.Enabled == 0 {
			status = "Suspended"
		}
		all = append(all, project(skuProperties, map[string]any{
			"id": l.SkuID, "skuId": l.SkuID, "skuPartNumber": l.SkuPartNumber, "appliesTo": "User", "capabilityStatus": status, "servicePlans": plans,
			"consumedUnits": s.Directory.VisibleUnits(l, asOf),
			"prepaidUnits":  map[string]any{"enabled": l.Enabled, "suspended": 0, "warning": 0, "lockedOut": 0},
		}, selected))
	}
	return odata.OK(map[string]any{"@odata.context": c.context("subscribedSkus"), "value": all})
}

// listDomains lists the verified domains. A tenant that accepts all has none.
func (s *Service) listDomains(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil { // Graph gives them all at once
		return refusal
	}
	selected, refusal := c.selected("domain", domainProperties)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	all := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Directory.Domains)) {
		all = append(all, project(domainProperties, domainOf(name), selected))
	}
	return odata.OK(map[string]any{"@odata.context": c.context("domains"), "value": all})
}

func domainOf(name string) map[string]any {
	return map[string]any{
		"id": name, "isVerified": true, "isAdminManaged": true, "isDefault": false, "isInitial": false, "isRoot": true, "authenticationType": "Managed",
	}
}
