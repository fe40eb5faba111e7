package tenant_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
)

func TestReplicationLag(t *testing.T) {
	t.Parallel()
	c := newClock()
	r := start(t, tenant.Config{Lag: time.Minute, Now: c.Now, Seed: exchangeSeed()})
	id := r.newMailUser("eva")
	path := "/v1.0/users/" + id

	// A new user is not visible yet, but its name is taken.
	if code, _ := r.must(404, "GET", path, nil).error(); code != "Request_ResourceNotFound" {
		t.Errorf("code %s", code)
	}
	r.must(404, "PATCH", path, map[string]any{"city": "Bern"})
	r.must(400, "POST", "/v1.0/users", person("eva"))
	if a := r.cmdlet("Get-Recipient", map[string]any{"Identity": id}); a.status != 404 {
		t.Errorf("recipient of the new user: %d", a.status)
	}

	c.Advance(time.Minute)
	r.must(200, "GET", path, nil)
	r.mustCmdlet("Get-MailUser", map[string]any{"Identity": id})

	// A change is carried out at once and seen later.
	r.must(204, "PATCH", path, map[string]any{"userPrincipalName": "new@contoso.com"})
	r.must(404, "GET", "/v1.0/users/new@contoso.com", nil)
	if stale := r.must(200, "GET", path, nil).body["userPrincipalName"]; stale != "eva@contoso.com" {
		t.Errorf("just after the change a reader sees %v", stale)
	}
	r.mustCmdlet("Set-MailUser", map[string]any{"Identity": annID, "WindowsEmailAddress": "ann@old.com"})
	if stale := r.mustCmdlet("Get-MailUser", map[string]any{"Identity": annID}).values()[0]["PrimarySmtpAddress"]; stale != "ann@contoso.com" {
		t.Errorf("just after the change Exchange shows %v", stale)
	}
	c.Advance(time.Minute)
	r.must(200, "GET", "/v1.0/users/new@contoso.com", nil)
	if now := r.mustCmdlet("Get-MailUser", map[string]any{"Identity": annID}).values()[0]["PrimarySmtpAddress"]; now != "ann@old.com" {
		t.Errorf("a minute later Exchange shows %v", now)
	}
}

func TestAMembershipIsSeenLate(t *testing.T) {
	t.Parallel()
	c := newClock()
	r := start(t, tenant.Config{Now: c.Now})
	ann, group := r.newUser("ann"), r.newGroup("g")
	c.Advance(time.Hour)
	if err := r.SetFaults(tenant.Faults{LagMS: 2000}); err != nil {
		t.Fatal(err)
	}
	check := func() string {
		a := r.must(200, "POST", "/v1.0/users/"+ann+"/checkMemberGroups", map[string]any{"groupIds": []string{group}})
		return fmt.Sprint(a.body["value"])
	}
	path := "/v1.0/groups/" + group + "/members/"
	r.must(204, "POST", path+"$ref", r.link(ann))
	if check() != "[]" {
		t.Error("the membership is seen at once")
	}
	if _, message := r.must(400, "POST", path+"$ref", r.link(ann)).error(); !strings.Contains(message, "already exist") {
		t.Errorf("added again within the lag: %q", message)
	}
	c.Advance(2 * time.Second)
	if check() != "["+group+"]" {
		t.Error("the membership is never seen")
	}
	r.must(204, "DELETE", path+ann+"/$ref", nil)
	if _, message := r.must(400, "DELETE", path+ann+"/$ref", nil).error(); message != "One or more removed object references do not exist for the following modified properties: 'members'." {
		t.Errorf("removed again within the lag: %q", message)
	}
}

func TestALimit(t *testing.T) {
	t.Parallel()
	c := newClock()
	r := start(t, tenant.Config{Now: c.Now})
	ann := r.newUser("ann")
	if err := r.SetFaults(tenant.Faults{Rules: []tenant.Fault{{Op: "GET /users/{user}", After: 2, PerMS: 10_000, Status: 429}}}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		status     int
		retryAfter string
	}{{200, ""}, {200, ""}, {429, "4"}, {429, "1"}, {200, ""}, {200, ""}, {429, "4"}} {
		a := r.do("GET", "/v1.0/users/"+ann, nil)
		if a.status != want.status || a.header.Get("Retry-After") != want.retryAfter {
			t.Errorf("request %d: got %d and %q, want %+v", i+1, a.status, a.header.Get("Retry-After"), want)
		}
		c.Advance(3200 * time.Millisecond)
		if i == 3 {
			c.Advance(5 * time.Second)
		}
	}
}

func TestFaultRules(t *testing.T) {
	t.Parallel()
	const get = "GET /users/{user}"
	tests := []struct {
		name  string
		rules []tenant.Fault
		want  string // statuses of ten reads
	}{
		{"none", nil, "200 200 200 200 200 200 200 200 200 200"},
		{"every third", []tenant.Fault{{Op: get, Every: 3, Status: 429}}, "200 200 429 200 200 429 200 200 429 200"},
		{"a burst", []tenant.Fault{{Op: get, After: 2, Count: 3, Status: 503}}, "200 200 503 503 503 200 200 200 200 200"},
		{"another service", []tenant.Fault{{Service: "exchange", Status: 503}}, "200 200 200 200 200 200 200 200 200 200"},
		{"another person", []tenant.Fault{{Contains: "bob", Status: 500}}, "200 200 200 200 200 200 200 200 200 200"},
		{"this person", []tenant.Fault{{Contains: "ann@", Count: 1, Status: 504}}, "504 200 200 200 200 200 200 200 200 200"},
		{"two rules", []tenant.Fault{{Op: get, Count: 1, Status: 500}, {Op: get, Count: 1, Status: 504}}, "500 504 200 200 200 200 200 200 200 200"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, tenant.Config{})
			r.newUser("ann")
			if err := r.SetFaults(tenant.Faults{Rules: tt.rules}); err != nil {
				t.Fatal(err)
			}
			var got []string
			for range 10 {
				got = append(got, fmt.Sprint(r.do("GET", "/v1.0/users/ann@contoso.com", nil).status))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), tt.want)
			}
		})
	}
}

func TestProbabilityIsRepeatable(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	run := func(seed uint64) string {
		if err := r.SetFaults(tenant.Faults{Seed: seed, Rules: []tenant.Fault{{Probability: 0.5, Status: 429}}}); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for range 40 {
			fmt.Fprint(&got, r.do("GET", "/v1.0/users", nil).status, " ")
		}
		return got.String()
	}
	first := run(7)
	if first != run(7) {
		t.Error("the same seed strikes other requests")
	}
	if n := strings.Count(first, "429"); n < 5 || n > 35 {
		t.Errorf("%d of 40 struck with probability 0.5", n)
	}
	if first == run(8) {
		t.Error("another seed strikes the same requests")
	}
}

func TestThrottledAnswers(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	for _, after := range []string{"", "2", "0.25"} {
		if err := r.SetFaults(tenant.Faults{Rules: []tenant.Fault{{Status: 429, RetryAfter: after}}}); err != nil {
			t.Fatal(err)
		}
		graph := r.do("GET", "/v1.0/users", nil)
		if code, _ := graph.error(); code != "TooManyRequests" || graph.header.Get("Retry-After") != after {
			t.Errorf("Graph: %s Retry-After %q", code, graph.header.Get("Retry-After"))
		}
		exchange := r.cmdlet("Get-Recipient", nil)
		if exchange.status != 429 || exchange.header.Get("Retry-After") != after || exchange.detail() == "" {
			t.Errorf("Exchange: %d %s", exchange.status, exchange.raw)
		}
	}
}

func TestFaultsBeforeAndAfterTheWrite(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault   tenant.Fault
		dropped bool
		written bool
	}{
		{tenant.Fault{Status: 503}, false, false},
		{tenant.Fault{Status: 504, AfterWrite: true}, false, true},
		{tenant.Fault{Drop: true}, true, false},
		{tenant.Fault{Drop: true, AfterWrite: true}, true, true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%+v", tt.fault), func(t *testing.T) {
			t.Parallel()
			r := start(t, tenant.Config{})
			if err := r.SetFaults(tenant.Faults{Rules: []tenant.Fault{tt.fault}}); err != nil {
				t.Fatal(err)
			}
			a, err := r.send(r.request("POST", "/v1.0/users", person("ann")))
			if (err != nil) != tt.dropped || !tt.dropped && a.status != tt.fault.Status {
				t.Errorf("%v %d", err, a.status)
			}
			if written := len(r.State().Users) == 1; written != tt.written {
				t.Errorf("written = %v", written)
			}
			if n := r.Requests()["graph POST /users"][tt.fault.Status]; n != 1 {
				t.Errorf("counted %v", r.Requests())
			}
		})
	}
}

func TestALatencyDelaysTheAnswer(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	if err := r.SetFaults(tenant.Faults{Rules: []tenant.Fault{{DelayMS: 30}}}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r.must(200, "GET", "/v1.0/users", nil)
	if took := time.Since(began); took < 30*time.Millisecond {
		t.Errorf("answered after %s", took)
	}
}

func TestFaultsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	for _, f := range []tenant.Faults{
		{LagMS: -1},
		{Rules: []tenant.Fault{{}}},
		{Rules: []tenant.Fault{{Status: 200}}},
		{Rules: []tenant.Fault{{Status: 429, Probability: 2}}},
		{Rules: []tenant.Fault{{Status: 429, Service: "sharepoint"}}},
		{Rules: []tenant.Fault{{Status: 429, Every: -1}}},
	} {
		if err := r.SetFaults(f); err == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
}
