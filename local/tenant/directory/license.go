package directory

import (
	"fmt"
	"slices"
	"strings"
	"time"

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

// AssignedLicenses are the folded ids of the products that are assigned to a user.
func (u User) AssignedLicenses() []string {
	list, _ := u["assignedLicenses"].([]any)
	var skus []string
	for _, item := range list {
		license, _ := item.(map[string]any)
		skus = append(skus, Fold(Text(license["skuId"])))
	}
	return skus
}

// ActiveLicenses are the folded ids of the products that a user has without errors.
func (u User) ActiveLicenses() []string {
	states, _ := u["licenseAssignmentStates"].([]any)
	var skus []string
	for _, item := range states {
		state, _ := item.(map[string]any)
		if sku := Fold(Text(state["skuId"])); state["state"] == "Active" && !slices.Contains(skus, sku) {
			skus = append(skus, sku)
		}
	}
	return skus
}

func (d *Directory) countLicenses(before, after User) {
	for _, sku := range before.ActiveLicenses() {
		d.licensed[sku]--
	}
	for _, sku := range after.ActiveLicenses() {
		d.licensed[sku]++
	}
}

// ConsumedUnits is how many licences of a product are assigned, to users and to those who are not in the state.
func (d *Directory) ConsumedUnits(l License) int { return l.Consumed + d.licensed[Fold(l.SkuID)] }

// VisibleUnits is ConsumedUnits as a replica shows it that has seen all writes up to asOf.
func (d *Directory) VisibleUnits(l License, asOf time.Time) int {
	n, sku := d.ConsumedUnits(l), Fold(l.SkuID)
	for _, id := range d.Recent(asOf) {
		latest, _ := d.Users.Latest(id)
		seen, _ := d.Users.Visible(id, asOf)
		if slices.Contains(latest.ActiveLicenses(), sku) {
			n--
		}
		if slices.Contains(seen.ActiveLicenses(), sku) {
			n++
		}
	}
	return n
}

// AddDomains adds verified domains. The first ones come with those of the users who are there, whose names were
// accepted while the tenant had no list: a tenant has no name of another domain.
func (d *Directory) AddDomains(names ...string) error {
	folded := make([]string, 0, len(names))
	for _, name := range names {
		folded = append(folded, Fold(name))
	}
	if len(d.Domains) == 0 && len(folded) > 0 {
		for u := range d.Users.Each() {
			if _, domain, ok := strings.Cut(Fold(u.UPN()), "@"); ok && !slices.Contains(folded, domain) {
				folded = append(folded, domain)
			}
		}
	}
	if d.disk != nil {
		if err := d.disk.saveNames(domainTable, folded); err != nil {
			return err
		}
	}
	for _, name := range folded {
		d.Domains[name] = true
	}
	return nil
}

// AddOrganizationHolds adds retention policies that apply to all mailboxes.
func (d *Directory) AddOrganizationHolds(holds ...string) (err error) {
	d.OrganizationHolds, err = d.addNames(holdTable, d.OrganizationHolds, holds)
	return err
}

// AddMigrationEndpoints adds endpoints in other tenants.
func (d *Directory) AddMigrationEndpoints(names ...string) (err error) {
	d.MigrationEndpoints, err = d.addNames(endpointTable, d.MigrationEndpoints, names)
	return err
}

func (d *Directory) addNames(table string, present, more []string) ([]string, error) {
	if d.disk != nil {
		if err := d.disk.saveNames(table, more); err != nil {
			return present, err
		}
	}
	for _, name := range more {
		if !slices.Contains(present, name) {
			present = append(present, name)
		}
	}
	return present, nil
}
