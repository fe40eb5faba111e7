package tenant

import (
	"fmt"

	"github.com/google/uuid"
)

// License is the tenant's subscription to one product.
type License struct {
	SkuPartNumber string        `json:"skuPartNumber"`
	SkuID         string        `json:"skuId,omitempty"`
	Enabled       int           `json:"enabled"`  // licences that were bought
	Consumed      int           `json:"consumed"` // licences of people who are not in the tenant's state
	Plans         []ServicePlan `json:"servicePlans,omitempty"`
}

// ServicePlan is a part of a product.
type ServicePlan struct {
	ID      string `json:"servicePlanId"`
	Name    string `json:"servicePlanName"`
	Service string `json:"service"` // as in assignedPlans of a user, such as exchange
}

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
func (s *Server) getDomain(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("domain", domainProperties)
	if refusal != nil {
		return refusal
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	name := fold(c.arg["domain"])
	if len(s.dir.domain) > 0 && !s.dir.domain[name] {
		return notFound(c.arg["domain"])
	}
	answer := project(domainProperties, map[string]any{
		"id": name, "isVerified": true, "isAdminManaged": true, "isDefault": false, "isInitial": false, "isRoot": true, "authenticationType": "Managed",
	}, selected)
	answer["@odata.context"] = c.context("domains/$entity")
	return ok(answer)
}

func (s *Server) listSkus(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("subscribedSku", skuProperties)
	if refusal != nil {
		return refusal
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	all := []map[string]any{}
	_, asOf := s.times()
	for _, l := range s.dir.licenses {
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
			"consumedUnits": s.consumed(l, func(h *history[User]) (User, bool) { return h.visible(asOf) }),
			"prepaidUnits":  map[string]any{"enabled": l.Enabled, "suspended": 0, "warning": 0, "lockedOut": 0},
		}, selected))
	}
	return ok(map[string]any{"@odata.context": c.context("subscribedSkus"), "value": all})
}

// seedLicense adds a product, or replaces what the tenant has of it.
func (s *Server) seedLicense(l License) error {
	if l.SkuPartNumber == "" || l.Enabled < 0 || l.Consumed < 0 {
		return fmt.Errorf("%+v needs a skuPartNumber and numbers of 0 or more", l)
	}
	if l.SkuID == "" {
		l.SkuID = uuid.NewSHA1(uuid.NameSpaceOID, []byte(fold(l.SkuPartNumber))).String()
	}
	if s.dir.disk != nil {
		if err := s.dir.disk.saveLicense(l); err != nil {
			return err
		}
	}
	s.dir.putLicense(l)
	return nil
}

func (d *directory) putLicense(l License) {
	for i := range d.licenses {
		if fold(d.licenses[i].SkuPartNumber) == fold(l.SkuPartNumber) {
			d.licenses[i] = l
			return
		}
	}
	d.licenses = append(d.licenses, l)
}
