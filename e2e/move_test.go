package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// movePhases are those of the example tenant-to-tenant, with the members who go through.
var movePhases = []struct {
	name    string
	members int
}{{"init", 1}, {"prepare", 12}, {"copy", 11}, {"cut-over", 9}, {"permissions", 8}, {"clean-up", 8}}

// moved is what came of a run of the example.
type moved struct {
	states map[string]tenant.State
	steps  []string // how many steps ended how
}

// TestMoveBetweenTenants runs the example twice: once undisturbed, and once while the handler and both workers are killed in
// every phase, and both tenants throttle, lag and drop connections, also after a write. Both tenants end the same.
// With -soak it goes on with new seeds, and kills every part of the system.
func TestMoveBetweenTenants(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for s := *seed; ; s++ {
		var undisturbed, disturbed moved
		ok := t.Run(fmt.Sprint(s), func(t *testing.T) {
			t.Run("undisturbed", func(t *testing.T) {
				t.Parallel()
				undisturbed = runMove(t, nil, everything)
			})
			t.Run("disturbed", func(t *testing.T) {
				t.Parallel()
				d := &disturbance{seed: s, kills: map[string]int{"handler": 1, workerOf(demo.Source): 1, workerOf(demo.Target): 2}}
				parts := []string{everything}
				if *soak >= 0 {
					parts = separate
					maps.Copy(d.kills, map[string]int{"handler": 2, workerOf(demo.Source): 2, workerOf(demo.Target): 3, "servicebus": 1, "cosmos": 1, "host": 1})
				}
				disturbed = runMove(t, d, parts...)
			})
		})
		if !ok {
			t.Logf("to see it again: go test ./e2e -run '^TestMoveBetweenTenants$' -count 1 -v -seed %d", s)
			return
		}
		for name, want := range undisturbed.states {
			for _, line := range difference(describeAll(t, want), describeAll(t, disturbed.states[name])) {
				t.Errorf("seed %d, tenant %s: %s", s, name, line)
			}
		}
		for _, line := range difference(undisturbed.steps, disturbed.steps) {
			t.Errorf("seed %d, steps: %s", s, line)
		}
		if *soak < 0 || *soak > 0 && time.Since(began) >= *soak {
			return
		}
	}
}

func workerOf(tenant string) string { return workerProcess + "-" + tenant }

// disturbance kills processes so many times in each phase, while both tenants misbehave.
type disturbance struct {
	seed  uint64
	kills map[string]int
}

// moveFile is a file of the example.
func moveFile(name string) string { return filepath.Join(root, "examples", "tenant-to-tenant", name) }

// runMove runs the example and compares the result with the expected one.
func runMove(t *testing.T, d *disturbance, parts ...string) moved {
	t.Helper()
	m := newTenants(t, d, parts...)
	members := moveFile("members.csv")
	a := newAdminOf(m, "tenant-to-tenant", moveFile("runbook.yaml"), members)
	a.every = 200 * time.Millisecond
	a.awaitChecks(75)
	for _, phase := range movePhases {
		if phase.name == "cut-over" {
			a.remove(demo.Leaver)
		}
		over := d.begin(m, a, phase.name, phase.members)
		err := a.advance()
		if err == nil {
			err = a.await(phase.name, ended)
		}
		if err := errors.Join(err, over()); err != nil {
			t.Fatal(err)
		}
	}
	return a.moved(m, members)
}

// newTenants are the source and the target of the example with its people, on a machine of their own.
func newTenants(t *testing.T, d *disturbance, parts ...string) *machine {
	t.Helper()
	m := newMachineWith(t, nil, environment{tenants: []string{demo.Source, demo.Target}}, parts...)
	for name, address := range m.endpoints.TenantURLs {
		seed, err := os.ReadFile(moveFile(name + ".json"))
		if err == nil {
			err = demo.Seed(t.Context(), address, seed)
		}
		if err == nil && d != nil {
			err = misbehave(address, encode(tenant.Faults{Seed: d.seed, LagMS: 600, Rules: []tenant.Fault{
				{Probability: 0.05, Status: 429, RetryAfter: "0.5"},
				{Probability: 0.02, Status: 503, RetryAfter: "0.5"},
				{Probability: 0.01, Drop: true},
				{Probability: 0.03, Drop: true, AfterWrite: true},
				{Probability: 0.05, DelayMS: 300},
			}}))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestMoveWithExchangeBatches runs the shorter runbook of the example, in which the same people fail for the same reasons.
func TestMoveWithExchangeBatches(t *testing.T) {
	t.Parallel()
	m := newTenants(t, nil, everything)
	file := moveFile("members.csv")
	a := newAdminOf(m, "tenant-to-tenant-exchange-batches", moveFile("runbook-exchange-batches.yaml"), file)
	a.every = 200 * time.Millisecond
	a.awaitChecks(45)
	for _, phase := range []string{"prepare", "copy", "cut-over", "clean-up"} {
		if phase == "cut-over" {
			a.remove(demo.Leaver)
		}
		if err := a.advance(); err != nil {
			t.Fatal(err)
		}
		if err := a.await(phase, ended); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := demo.Rows(file)
	if err != nil {
		t.Fatal(err)
	}
	var members api.Page[api.Member]
	a.ask(&members, "batch", "members", a.batch, "--all")
	of := map[string]api.Member{}
	for _, member := range members.Items {
		of[member.Key] = member
	}
	kinds := map[string]map[string]string{} // of recipients by tenant and alias
	var left []string
	for name, address := range m.endpoints.TenantURLs {
		state, err := demo.State(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		kinds[name] = map[string]string{}
		for _, r := range state.Recipients {
			kinds[name][r.Alias] = r.Kind
		}
		for _, b := range state.Batches {
			left = append(left, b.Name)
		}
	}
	for _, row := range rows {
		member, failure := of[row["Upn"]], demo.MoveFailures[row["Upn"]]
		status, source, target := api.MemberDone, tenant.MailUser, tenant.UserMailbox
		switch {
		case row["Upn"] == demo.Leaver:
			status, source, target = "removed", tenant.UserMailbox, ""
		case row["Mailbox"] == "stays":
			source, target = tenant.UserMailbox, ""
		case failure.Phase == "copy":
			status, source, target = "failed", tenant.UserMailbox, tenant.MailUser
		case failure.Phase == "cut-over":
			status = "failed"
		case failure.Phase != "":
			status, source, target = "failed", tenant.UserMailbox, ""
		}
		if member.Status != status || !strings.Contains(member.Error, failure.Reason) || kinds[demo.Source][row["Alias"]] != source || kinds[demo.Target][row["Alias"]] != target {
			t.Errorf("%s is %s (%s), %q in the source and %q in the target; want %s (%s), %q and %q", row["Name"], member.Status, member.Error,
				kinds[demo.Source][row["Alias"]], kinds[demo.Target][row["Alias"]], status, failure.Reason, source, target)
		}
	}
	if want := []string{a.batch + " kofi.mensah"}; !slices.Equal(left, want) {
		t.Errorf("migration batches %q are left, want %q", left, want)
	}
}

// begin kills what is to be killed in a phase, and returns a function that waits for the last kill.
func (d *disturbance) begin(m *machine, a *admin, phase string, members int) (over func() error) {
	if d == nil {
		return func() error { return nil }
	}
	done := make(chan error, len(d.kills))
	for victim, kills := range d.kills {
		name := fnv.New64()
		_, _ = name.Write([]byte(victim + phase))
		random := rand.New(rand.NewPCG(d.seed, name.Sum64()))
		go func() { done <- killIn(m, a, victim, phase, moments(random, kills, members)) }()
	}
	return func() error {
		var errs []error
		for range d.kills {
			errs = append(errs, <-done)
		}
		return errors.Join(errs...)
	}
}

// awaitChecks waits until so many checks have ended.
func (a *admin) awaitChecks(n int) {
	a.t.Helper()
	var checks api.Page[api.Check]
	for end := time.Now().Add(a.patience); time.Now().Before(end); time.Sleep(a.every) {
		out, _, _ := a.give("batch", "checks", a.batch, "--all", "--output", "json") // its status is 1 when one has failed
		if json.Unmarshal([]byte(out), &checks) == nil && len(checks.Items) == n && !slices.ContainsFunc(checks.Items, func(c api.Check) bool { return c.Status == "running" }) {
			return
		}
	}
	a.t.Fatalf("%d of %d checks have begun: %+v", len(checks.Items), n, checks.Items)
}

// remove removes a member. During an outage it repeats the command until the member is removed.
func (a *admin) remove(key string) {
	a.t.Helper()
	var last error
	for end := time.Now().Add(a.patience); time.Now().Before(end); time.Sleep(a.every) {
		if _, _, last = a.give("batch", "remove-member", a.batch, key, "--yes", "--reason", "stays"); last == nil || strings.Contains(last.Error(), "removed") {
			return
		}
	}
	a.t.Fatal(last)
}

// moved compares the result with the one that the example promises, and looks for anything that was left behind.
func (a *admin) moved(m *machine, file string) moved {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	var batch api.Batch
	for end := time.Now().Add(patience); batch.Status != "completed" && time.Now().Before(end); time.Sleep(a.every) {
		a.ask(&batch, "batch", "get", a.batch)
	}
	var members api.Page[api.Member]
	a.ask(&members, "batch", "members", a.batch, "--all")
	rows, err := demo.Rows(file)
	if err != nil {
		a.t.Fatal(err)
	}
	result := moved{states: map[string]tenant.State{}}
	for name, address := range m.endpoints.TenantURLs {
		state, err := demo.State(ctx, address)
		if err != nil {
			a.t.Fatal(err)
		}
		// A worker that was interrupted may send a copy, which says whose it is.
		state.Mails = slices.CompactFunc(state.Mails, func(x, y tenant.Mail) bool {
			return x.Headers["x-matoolkit-effect"] != "" && x.Headers["x-matoolkit-effect"] == y.Headers["x-matoolkit-effect"]
		})
		result.states[name] = state
	}
	if n, err := demo.CheckMove(batch, members.Items, rows, result.states[demo.Source], result.states[demo.Target]); err != nil || n != len(rows)-len(demo.MoveFailures)-1 {
		a.t.Errorf("%d people have moved: %v", n, err)
	}
	for _, p := range movePhases {
		got, err := a.phase(p.name)
		if err != nil || got.Members != p.members || got.Running+got.Waiting+got.Cancelled != 0 {
			a.t.Errorf("phase %s: %+v, %v; want %d members", p.name, got, err, p.members)
		}
	}
	var steps api.Page[api.Step]
	a.ask(&steps, "batch", "steps", a.batch, "--all")
	count := map[string]int{}
	for _, s := range steps.Items {
		count[fmt.Sprintf("%s %s of %s %s", s.Phase, s.Name, s.MemberKey, s.Status)]++
	}
	result.steps = counted(count)
	checkBroker(ctx, m)
	checkStore(ctx, m)
	return result
}

var (
	movedID   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	movedTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
)

// describeAll has a line about each object of a tenant, with everything but times. Names take the place of ids.
func describeAll(t *testing.T, state tenant.State) []string {
	t.Helper()
	names := map[string]string{}
	for _, r := range state.Recipients {
		names[r.GUID] = "recipient of " + r.DisplayName
		if r.ExchangeGUID != "" {
			names[r.ExchangeGUID] = "mailbox of " + r.Alias
		}
	}
	for _, u := range state.Users {
		names[u.ID()] = u.Text("displayName")
	}
	for _, j := range state.Jobs {
		names[j.ID] = "job " + j.Name
	}
	for _, g := range state.Groups {
		names[g.ID()] = fmt.Sprint(g.Properties["displayName"])
	}
	var lines []string
	add := func(kind string, object any) {
		text := movedTime.ReplaceAllString(movedID.ReplaceAllStringFunc(string(encode(object)), func(id string) string {
			if name, ok := names[id]; ok {
				return "(" + name + ")"
			}
			return id
		}), "(time)")
		var plain any
		if err := json.Unmarshal([]byte(text), &plain); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, kind+" "+string(encode(sortedLists(plain))))
	}
	for _, u := range state.Users {
		add("user", u)
	}
	for _, g := range state.Groups {
		add("group", g)
	}
	for _, r := range state.Recipients {
		add("recipient", r)
	}
	for _, b := range state.Batches {
		add("migration batch", b)
	}
	for _, j := range state.Jobs {
		add("migration job", j)
	}
	for _, m := range state.Mails {
		add("mail", map[string]any{"to": m.To, "subject": m.Subject})
	}
	return lines
}

// sortedLists has all lists in one order.
func sortedLists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = sortedLists(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = sortedLists(inner)
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(string(encode(a)), string(encode(b))) })
	}
	return v
}
