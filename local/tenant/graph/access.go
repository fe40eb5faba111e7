package graph

// policyProperties are the properties of a Conditional Access policy simulated here.
var policyProperties = map[string]property{
	"id": {standard: true}, "displayName": {standard: true}, "state": {standard: true}, "conditions": {kind: objectValue, standard: true},
}

// KnownPolicyProperty tells whether a Conditional Access policy has a property of this name.
func KnownPolicyProperty(name string) bool { _, known := policyProperties[name]; return known }

// listPolicies lists the Conditional Access policies, which come from the seed and apply to nothing.
func (s *Service) listPolicies(c *call) *reply {
	page, refusal := c.paging()
	if refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("conditionalAccessPolicy", policyProperties)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	var all []map[string]any
	for _, p := range s.Directory.Policies.All() {
		all = append(all, project(policyProperties, p, selected))
	}
	return c.listing("identity/conditionalAccess/policies", all, page)
}
