package entra

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/google/uuid"
)

// Named is a tenant beside that of the admin API: an administrator without a role there, and a
// worker and an app registration of data sources with the permissions of those of DefaultConfig. All ids follow from the name.
type Named struct {
	Name, TenantID, Domain       string
	WorkerClientID, WorkerSecret string
	PeopleClientID, PeopleSecret string // of data sources of the type graph
	AdminUPN, AdminObjectID      string
}

var tenantName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

// NamedTenants returns the tenants of different names.
func NamedTenants(names ...string) (tenants []Named, err error) {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("the tenant %s is given twice", name)
		}
		t, err := namedTenant(name)
		if err != nil {
			return nil, err
		}
		tenants = append(tenants, t)
	}
	return tenants, nil
}

func namedTenant(name string) (Named, error) {
	if !tenantName.MatchString(name) {
		return Named{}, fmt.Errorf("invalid name of a tenant %q: use small letters, digits and '-', starting with a letter, at most 31", name)
	}
	id := func(of string) string {
		return uuid.NewSHA1(uuid.MustParse(DefaultTenantID), []byte(of+" "+name)).String()
	}
	n := Named{
		Name: name, TenantID: id("tenant"), Domain: name + ".onmicrosoft.com",
		PeopleClientID: id("people"), PeopleSecret: "local-people-secret-" + name,
		WorkerClientID: id("worker"), WorkerSecret: "local-worker-secret-" + name, AdminObjectID: id("administrator"),
	}
	n.AdminUPN = "admin@" + n.Domain
	return n, nil
}

// Tenant returns the directory of the tenant. Its tokens are for Graph and Exchange Online only.
func (n Named) Tenant() Tenant {
	all := DefaultConfig().Tenants[0]
	worker, _ := all.application(DefaultWorkerClientID)
	worker.ClientID, worker.Secrets = n.WorkerClientID, []string{n.WorkerSecret}
	people, _ := all.application(DefaultPeopleClientID)
	people.ClientID, people.Secrets = n.PeopleClientID, []string{n.PeopleSecret}
	graph, _ := all.application(GraphClientID)
	exchange, _ := all.application(ExchangeClientID)
	return Tenant{
		ID: n.TenantID, Domain: n.Domain, Applications: []Application{graph, exchange, worker, people},
		Users: []User{{UPN: n.AdminUPN, Name: "Avery Admin", ObjectID: n.AdminObjectID}},
	}
}
