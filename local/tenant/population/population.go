// Package population makes tenants with many people, whose accounts and mailboxes have what those of a real tenant have. It is for
// measurements.
package population

import (
	"encoding/csv"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// The product that each person has.
const (
	SkuPartNumber = "SPE_E3"
	skuID         = "05e9a617-0261-4cee-bb44-138d3ef5d965"
)

// plans is how many service plans the product of a person has, as Microsoft 365 E3 does.
const plans = 60

func id(i int, of string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s %d", of, i)).String()
}

func alias(i int) string { return fmt.Sprintf("person%06d", i) }

// domain and routing are those of the source of the example tenant-to-tenant, target and targetRouting those of its target.
const (
	domain, routing       = "contoso.com", "contoso.onmicrosoft.com"
	target, targetRouting = "fabrikam.com", "fabrikam.onmicrosoft.com"
)

// License is the product, with its service plans.
func License(people int) tenant.License {
	l := tenant.License{SkuPartNumber: SkuPartNumber, SkuID: skuID, Enabled: people + 100}
	for i := range plans {
		service := "exchange"
		if i > 0 {
			service = fmt.Sprintf("Service%02d", i)
		}
		l.Plans = append(l.Plans, tenant.ServicePlan{ID: id(i, "plan"), Name: fmt.Sprintf("PLAN_%02d", i), Service: service})
	}
	return l
}

// Person is one of the people, with a mailbox. Licensed people have the product with all its plans.
func Person(i int, licensed bool) (tenant.User, tenant.Recipient) {
	upn := alias(i) + "@" + domain
	u := tenant.User{
		"id": id(i, "user"), "userPrincipalName": upn, "displayName": fmt.Sprintf("Person %d of Contoso", i), "givenName": "Person", "surname": fmt.Sprintf("No %d", i),
		"mail": upn, "mailNickname": alias(i), "accountEnabled": true, "userType": "Member", "usageLocation": "SE",
		"jobTitle": []string{"Engineer", "Consultant", "Accountant", "Manager"}[i%4], "department": fmt.Sprintf("Department %d", i%50), "companyName": "Contoso",
		"officeLocation": fmt.Sprintf("Building %d", i%20), "employeeId": fmt.Sprintf("E%06d", i), "businessPhones": []any{fmt.Sprintf("+46 8 %06d", i)},
		"mobilePhone": fmt.Sprintf("+46 70 %06d", i), "streetAddress": "Main Street 1", "postalCode": "111 22", "city": "Stockholm", "country": "Sweden",
		"preferredLanguage": "sv-SE", "createdDateTime": fmt.Sprintf("2020-%02d-%02dT08:00:00Z", i%12+1, i%28+1),
		"lastPasswordChangeDateTime": fmt.Sprintf("2026-%02d-%02dT08:%02d:%02dZ", i%12+1, i%28+1, i/60%60, i%60), "securityIdentifier": fmt.Sprintf("S-1-12-1-%d", i),
		"proxyAddresses": []any{"SMTP:" + upn, "smtp:" + alias(i) + "@" + routing, "smtp:" + alias(i) + "@" + targetRouting},
	}
	if i > 0 {
		u["managerId"] = id(i/10, "user")
	}
	if licensed {
		var assigned, provisioned []any
		for _, p := range License(0).Plans {
			assigned = append(assigned, map[string]any{"servicePlanId": p.ID, "service": p.Service, "capabilityStatus": "Enabled"})
			provisioned = append(provisioned, map[string]any{"service": p.Service, "capabilityStatus": "Enabled", "provisioningStatus": "Success"})
		}
		u["assignedLicenses"] = []any{map[string]any{"skuId": skuID, "disabledPlans": []any{}}}
		u["licenseAssignmentStates"] = []any{map[string]any{
			"skuId": skuID, "disabledPlans": []any{}, "assignedByGroup": nil, "state": "Active", "error": "None",
		}}
		u["assignedPlans"], u["provisionedPlans"] = assigned, provisioned
	}
	return u, tenant.Recipient{
		Kind: tenant.UserMailbox, GUID: id(i, "recipient"), ExternalDirectoryObjectID: id(i, "user"), Name: id(i, "user"), DisplayName: u.Text("displayName"),
		Alias: alias(i), UserPrincipalName: upn, ExchangeGUID: id(i, "mailbox"), LegacyDN: "/o=ExchangeLabs/ou=Exchange Administrative Group (FYDIBOHF23SPDLT)/cn=Recipients/cn=" + alias(i),
		EmailAddresses: []string{"SMTP:" + upn, "smtp:" + alias(i) + "@" + routing, "smtp:" + alias(i) + "@" + targetRouting, "x500:/o=Contoso/ou=Old/cn=Recipients/cn=" + alias(i)},
	}
}

// groupSize is how many people are in a group.
const groupSize = 50

// Write writes a snapshot with the objects of a seed and many people.
func Write(dir, tenantID string, seed tenant.Seed, people int) error {
	w, err := snapshot.Create(dir, snapshot.Options{TenantID: tenantID, Tool: "population"})
	if err != nil {
		return err
	}
	add := func(kind snapshot.Kind, object any) {
		if err == nil {
			err = w.Append(kind, "", object)
		}
	}
	for _, name := range seed.VerifiedDomains {
		add(snapshot.Domains, name)
	}
	for _, name := range seed.MigrationEndpoints {
		add(snapshot.MigrationEndpoints, name)
	}
	for _, l := range seed.Licenses {
		if l.SkuPartNumber == SkuPartNumber {
			l.Enabled += people
		}
		add(snapshot.Licenses, l)
	}
	for _, u := range seed.Users {
		add(snapshot.Users, u)
	}
	for _, g := range seed.Groups {
		add(snapshot.Groups, g)
	}
	for _, r := range seed.Recipients {
		add(snapshot.Recipients, r)
	}
	for i := range people {
		u, r := Person(i, true)
		add(snapshot.Users, u)
		add(snapshot.Recipients, r)
	}
	for first := 0; first < people; first += groupSize {
		g := tenant.SeedGroup{Properties: map[string]any{
			"id": id(first, "group"), "displayName": fmt.Sprintf("Group %d", first/groupSize), "mailNickname": fmt.Sprintf("group%05d", first/groupSize), "securityEnabled": true, "mailEnabled": false,
		}}
		for i := first; i < min(first+groupSize, people); i++ {
			g.Members = append(g.Members, id(i, "user"))
		}
		add(snapshot.Groups, g)
	}
	for _, kind := range snapshot.Kinds() {
		if err == nil {
			err = w.Complete(kind, "")
		}
	}
	if err == nil {
		_, err = w.Finish()
	}
	return err
}

// Members writes the first people as the members of the example tenant-to-tenant, who move with their mailboxes.
func Members(to io.Writer, members int) error {
	w := csv.NewWriter(to)
	_ = w.Write([]string{"Upn", "Name", "Alias", "SourceId", "NewUpn", "Department", "Country", "License", "Mailbox"}) // Flush keeps errors
	for i := range members {
		u, _ := Person(i, false)
		_ = w.Write([]string{u.UPN(), u.Text("displayName"), alias(i), u.ID(), alias(i) + "@" + target, u.Text("department"), u.Text("usageLocation"), SkuPartNumber, "moves"})
	}
	w.Flush()
	return w.Error()
}
