package e2e_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// migrationGroup is the group of testdata/storm.yaml.
const migrationGroup = "5b2f9a4e-3c1d-4e8a-9f60-0a1b2c3d4e5f"

// person is one member of a storm's batch.
type person struct {
	Given, Surname, Department string
	Alias                      string // in the target tenant
	Source                     string // address at the old place
	UPN                        string // the new sign-in name, and the member's key
	ExchangeGUID               string
	Stumbles                   *stumble // nil: the person is migrated
	Throttled                  string   // what the tenant refuses longer than the worker is patient, in its requests
}

func (p person) display() string { return p.Given + " " + p.Surname }

// interim is the sign-in name until the cut-over.
func (p person) interim() string { return p.Alias + "@fabrikam.onmicrosoft.com" }

// second is the address that is added.
func (p person) second() string { return p.Alias + "@mail.fabrikam.com" }

// x500 is the address by which replies to old mails arrive.
func (p person) x500() string { return "x500:/o=Contoso/cn=" + p.Alias }

// stumble is where and why a person must fail, for what the tenant holds.
type stumble struct{ phase, step, reason string }

// matches tells whether a member's error says where it was, and why.
func (s stumble) matches(text string) bool {
	return strings.Contains(text, s.phase) && strings.Contains(text, s.step) && strings.Contains(text, s.reason)
}

// The ways in which people of a storm fail.
var (
	nameTaken    = stumble{"pre-stage", "create-user", "is already being used by another object"}
	addressTaken = stumble{"mailbox", "add-alias", "Another object with the same value for property proxyAddresses"}
	signInTaken  = stumble{"cut-over", "set-sign-in-name", "Another object with the same value for property userPrincipalName"}
)

// people makes n people. Of every hundred four stumble in each way, and four are
// throttled for long; of each kind there is at least one.
func people(random *rand.Rand, n int) []person {
	all := make([]person, n)
	for i := range all {
		var id uuid.UUID
		for b := range id {
			id[b] = byte(random.UintN(256))
		}
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // a random one, by RFC 9562
		name := fmt.Sprintf("%04d", i+1)
		all[i] = person{
			Given: "Person" + name, Surname: "Storm", Department: []string{"Sales", "Legal", "Finance"}[random.IntN(3)],
			Alias: "person-" + name, Source: "person-" + name + "@contoso.com", UPN: "p" + name + ".storm@fabrikam.com",
			ExchangeGUID: id.String(),
		}
	}
	order := random.Perm(n)
	share := max(1, n*4/100)
	for _, give := range []func(*person){
		func(p *person) { p.Stumbles = &nameTaken },
		func(p *person) { p.Stumbles = &addressTaken },
		func(p *person) { p.Stumbles = &signInTaken },
		func(p *person) { p.Throttled = `"` + p.interim() + `"` },
		func(p *person) { p.Throttled = `"` + p.UPN + `"` },
	} {
		for _, i := range order[:share] {
			give(&all[i])
		}
		order = order[share:]
	}
	return all
}

// tenantOf returns the tenant's initial objects: the group, and the users who
// conflict with some people.
func tenantOf(all []person) tenant.Seed {
	seed := tenant.Seed{
		VerifiedDomains: []string{"fabrikam.com", "fabrikam.onmicrosoft.com", "mail.fabrikam.com"},
		Groups: []tenant.SeedGroup{{Properties: map[string]any{
			"id": migrationGroup, "displayName": "Storm", "mailNickname": "storm", "mailEnabled": false, "securityEnabled": true,
		}}},
	}
	for _, p := range all {
		if p.Stumbles == nil {
			continue
		}
		other := tenant.User{"displayName": "Before " + p.display(), "mailNickname": "before-" + p.Alias, "userPrincipalName": "before-" + p.interim()}
		switch *p.Stumbles {
		case nameTaken:
			other["userPrincipalName"] = p.interim()
		case addressTaken:
			other["mail"] = p.second() // which makes no recipient of the user
		case signInTaken:
			other["userPrincipalName"] = p.UPN
		}
		seed.Users = append(seed.Users, other)
	}
	return seed
}

// faultsOf returns the tenant's permanent faults: it lags, throttles and drops
// connections, also after it has carried out a request.
func faultsOf(all []person, seed uint64) tenant.Faults {
	faults := tenant.Faults{Seed: seed, LagMS: 800}
	for _, p := range all {
		if p.Throttled != "" {
			// Six attempts make a job: the first one ends throttled.
			faults.Rules = append(faults.Rules, tenant.Fault{Contains: p.Throttled, Count: 8, Status: 429, RetryAfter: "0.3"})
		}
	}
	faults.Rules = append(faults.Rules,
		tenant.Fault{Probability: 0.06, Status: 429, RetryAfter: "0.5"},
		tenant.Fault{Probability: 0.02, Status: 503, RetryAfter: "0.5"},
		tenant.Fault{Probability: 0.01, Drop: true},
		tenant.Fault{Probability: 0.02, Drop: true, AfterWrite: true},
		tenant.Fault{Probability: 0.05, DelayMS: 300},
	)
	return faults
}

// writeMembers writes the list that a batch is created of.
func writeMembers(file string, all []person) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	w := csv.NewWriter(f)
	rows := [][]string{{"UserPrincipalName", "GivenName", "Surname", "Department", "Alias", "SourceEmail", "ExchangeGuid"}}
	for _, p := range all {
		rows = append(rows, []string{p.UPN, p.Given, p.Surname, p.Department, p.Alias, p.Source, p.ExchangeGUID})
	}
	return w.WriteAll(rows)
}

// expectation is how a storm must end.
type expectation struct {
	phases  map[string]tally
	steps   map[string]int // by "phase/step status"
	tenant  []string       // one line about each object, sorted
	stumble map[string]stumble
}

// tally is how many members went into a phase, and how they came out.
type tally struct{ members, succeeded, failed int }

// sequence is testdata/storm.yaml as far as the order of things goes.
var sequence = []struct {
	phase string
	steps []string
}{
	{"pre-stage", []string{"create-user", "set-department", "join-group", "see-membership"}},
	{"mailbox", []string{"add-alias", "set-mailbox-guids"}},
	{"verify", []string{"check-department"}},
	{"cut-over", []string{"set-sign-in-name", "see-sign-in-name", "set-primary-address"}},
}

// expect plays the batch through for one person after the other, as if nothing
// ever went wrong but what the tenant holds.
func expect(all []person, batch string) expectation {
	e := expectation{phases: map[string]tally{"init": {1, 1, 0}}, steps: map[string]int{"init/create-batch-account succeeded": 1}, stumble: map[string]stumble{}}
	group := []string{}
	user := func(display, upn string) { e.tenant = append(e.tenant, fmt.Sprintf("user %s <%s>", display, upn)) }
	recipient := func(display, guid string, addresses ...string) {
		e.tenant = append(e.tenant, fmt.Sprintf("recipient %s %s %s", display, guid, sorted(addresses)))
	}
	// The administrator, from whose mailbox alerts are sent, is there from the start.
	user("Avery Admin", entra.DefaultAdminUPN)
	recipient("Avery Admin", "", "SMTP:"+entra.DefaultAdminUPN)
	user("Storm "+batch, "storm-"+batch+"@fabrikam.onmicrosoft.com")
	for _, p := range all {
		e.walk(p)
		at := stumble{}
		if p.Stumbles != nil {
			at = *p.Stumbles
			e.stumble[p.UPN] = at
		}
		before := "Before " + p.display()
		switch at {
		case nameTaken:
			user(before, p.interim())
		case addressTaken:
			user(before, "before-"+p.interim())
			user(p.display(), p.interim())
			recipient(p.display(), "", "SMTP:"+p.interim(), p.x500())
			group = append(group, p.display())
		case signInTaken: // rolled back: out of the group again
			user(before, p.UPN)
			user(p.display(), p.interim())
			recipient(p.display(), p.ExchangeGUID, "SMTP:"+p.interim(), "smtp:"+p.second(), p.x500())
		default:
			user(p.display(), p.UPN)
			recipient(p.display(), p.ExchangeGUID, "SMTP:"+p.UPN, "smtp:"+p.interim(), "smtp:"+p.second(), p.x500())
			group = append(group, p.display())
		}
	}
	e.tenant = sorted(append(e.tenant, "group Storm "+strings.Join(sorted(group), ", ")))
	return e
}

// walk counts one person through the phases.
func (e *expectation) walk(p person) {
	for _, phase := range sequence {
		count := e.phases[phase.phase]
		count.members++
		fails := p.Stumbles != nil && p.Stumbles.phase == phase.phase
		if fails {
			count.failed++
		} else {
			count.succeeded++
		}
		e.phases[phase.phase] = count
		status := "succeeded"
		for _, step := range phase.steps {
			if fails && p.Stumbles.step == step {
				e.steps[phase.phase+"/"+step+" failed"]++
				status = "cancelled"
				continue
			}
			e.steps[phase.phase+"/"+step+" "+status]++
		}
		if fails {
			if *p.Stumbles == signInTaken {
				e.steps[phase.phase+"/leave-group succeeded"]++
			}
			return
		}
	}
}

// describeState is the tenant's own state in the expectation's words.
func describeState(state tenant.State) []string {
	var lines []string
	names := map[string]string{}
	for _, u := range state.Users {
		names[u.ID()] = u.Text("displayName")
		lines = append(lines, fmt.Sprintf("user %s <%s>", u.Text("displayName"), u.UPN()))
	}
	for _, r := range state.Recipients {
		lines = append(lines, fmt.Sprintf("recipient %s %s %s", r.DisplayName, r.ExchangeGUID, sorted(r.EmailAddresses)))
	}
	for _, g := range state.Groups {
		var members []string
		for _, id := range g.Members {
			members = append(members, names[id])
		}
		lines = append(lines, fmt.Sprintf("group %s %s", g.Properties["displayName"], strings.Join(sorted(members), ", ")))
	}
	return sorted(lines)
}

// encode is v as JSON; everything here can be encoded.
func encode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return body
}
