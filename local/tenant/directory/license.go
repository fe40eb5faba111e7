package directory

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

// AddLicense adds a product, or replaces what the tenant has of it.
func (d *Directory) AddLicense(l License) error {
	if l.SkuPartNumber == "" || l.Enabled < 0 || l.Consumed < 0 {
		return fmt.Errorf("%+v needs a skuPartNumber and numbers of 0 or more", l)
	}
	if l.SkuID == "" {
		l.SkuID = uuid.NewSHA1(uuid.NameSpaceOID, []byte(Fold(l.SkuPartNumber))).String()
	}
	if d.disk != nil {
		if err := d.disk.saveLicense(l); err != nil {
			return err
		}
	}
	d.putLicense(l)
	return nil
}

func (d *Directory) putLicense(l License) {
	for i := range d.Licenses {
		if Fold(d.Licenses[i].SkuPartNumber) == Fold(l.SkuPartNumber) {
			d.Licenses[i] = l
			return
		}
	}
	d.Licenses = append(d.Licenses, l)
}

// AddDomains adds verified domains.
func (d *Directory) AddDomains(names ...string) error {
	if d.disk != nil {
		if err := d.disk.saveDomains(names); err != nil {
			return err
		}
	}
	for _, name := range names {
		d.Domains[Fold(name)] = true
	}
	return nil
}
