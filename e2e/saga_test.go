package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// saga is the story of one scheduled migration.
type saga struct {
	*machine
	*admin
	t       *testing.T
	list    *list
	runbook string

	created int // requests that made a user, before the tenant was killed
	left    int // requests that took somebody out of the group, before that
}

func newSaga(t *testing.T) *saga {
	t.Helper()
	l := newList(t)
	seed, err := os.ReadFile(filepath.Join(root, "examples", scheduled, "tenant.json"))
	if err != nil {
		t.Fatal(err)
	}
	m := newMachineWith(t, seed, environment{
		handler: map[string]string{"PEOPLE": "sqlite:" + l.file},
		worker:  map[string]string{"LAG_TIMEOUT_SECONDS": "0"},
	}, everything)
	s := &saga{machine: m, admin: signIn(m), t: t, list: l, runbook: scheduled}
	s.moveTo(time.Date(2030, time.March, 1, 9, 1, 0, 0, time.UTC))
	return s
}

// publish publishes the example's runbook with SQLite as its data source, changed as
// the pairs of old and new say.
func (s *saga) publish(pairs ...string) {
	s.t.Helper()
	body, err := os.ReadFile(filepath.Join(root, "examples", scheduled, "runbook.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	pairs = append(pairs, "type: csv", "type: sql\n  query: SELECT * FROM people")
	for old := range slices.Chunk(pairs, 2) {
		changed := strings.Replace(string(body), old[0], old[1], 1)
		if changed == string(body) {
			s.t.Fatalf("the example's runbook has no %q", old[0])
		}
		body = []byte(changed)
	}
	s.write("runbook.yaml", body)
	s.must("runbook", "publish", s.path("runbook.yaml"), "--force")
}

// until waits for a condition.
func (s *saga) until(what string, is func() (bool, any)) {
	s.t.Helper()
	var last any
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(s.every) {
		ok, now := is()
		if ok {
			return
		}
		last = now
	}
	s.t.Fatalf("%s: not so, but %+v", what, last)
}

func (s *saga) awaitPhase(batch int, phase, status string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%s of batch %d is %s", phase, batch, status), func() (bool, any) { p := s.phaseOf(batch, phase); return p.Status == status, p })
}

func (s *saga) awaitBatch(batch int, status string) {
	s.t.Helper()
	s.until(fmt.Sprintf("batch %d is %s", batch, status), func() (bool, any) { b := s.get(batch); return b.Status == status, b })
}

// awaitStep waits until a person's step has ended.
func (s *saga) awaitStep(batch int, name, step, status string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%s of %s is %s", step, name, status), func() (bool, any) {
		var steps api.Page[api.Step]
		s.ask(&steps, "batch", "steps", strconv.Itoa(batch), "--all")
		var found []api.Step
		for _, v := range steps.Items {
			if v.MemberKey == key(name) && v.Name == step && (v.Kind == "removal") == (step == "leave-migration-group") {
				found = append(found, v)
			}
		}
		return len(found) == 1 && found[0].Status == status, found
	})
}

func (s *saga) automation() api.Automation {
	s.t.Helper()
	var v api.Automation
	s.ask(&v, "automation", "status", s.runbook)
	return v
}

func (s *saga) get(batch int) api.Batch {
	s.t.Helper()
	var v api.Batch
	s.ask(&v, "batch", "get", strconv.Itoa(batch))
	return v
}

func (s *saga) removals(batch int) api.RemovalHold {
	s.t.Helper()
	var v api.RemovalHold
	s.ask(&v, "batch", "removals", strconv.Itoa(batch))
	return v
}

func (s *saga) members(batch int) []api.Member {
	s.t.Helper()
	var v api.Page[api.Member]
	s.ask(&v, "batch", "members", strconv.Itoa(batch), "--all")
	return v.Items
}

func (s *saga) member(batch int, name string) api.Member {
	s.t.Helper()
	for _, m := range s.members(batch) {
		if m.Key == key(name) {
			return m
		}
	}
	s.t.Fatalf("%s is not in batch %d", name, batch)
	return api.Member{}
}

// keysOf are the first names of members, sorted.
func keysOf(members []api.Member) []string {
	var names []string
	for _, m := range members {
		names = append(names, strings.TrimSuffix(m.Key, key("")))
	}
	return sorted(names)
}

func (s *saga) phases(batch int) []api.Phase {
	s.t.Helper()
	var v api.Page[api.Phase]
	s.ask(&v, "batch", "phases", strconv.Itoa(batch))
	return v.Items
}

// phaseOf is a phase as the latest version of the runbook that has it in the batch.
func (s *saga) phaseOf(batch int, name string) api.Phase {
	s.t.Helper()
	for _, p := range slices.Backward(s.phases(batch)) {
		if p.Name == name {
			return p
		}
	}
	s.t.Fatalf("batch %d has no phase %s", batch, name)
	return api.Phase{}
}

// state returns the contents of the tenant.
func (s *saga) state() tenant.State {
	s.t.Helper()
	state, err := demo.State(s.t.Context(), s.endpoints.TenantURL)
	if err != nil {
		s.t.Fatal(err)
	}
	return state
}

// count adds what the tenant was asked for since it was started.
func (s *saga) count() {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.endpoints.TenantURL+"/_local/requests", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	var requests map[string]map[int]int
	if err := json.NewDecoder(response.Body).Decode(&requests); err != nil {
		s.t.Fatal(err)
	}
	s.created += requests["graph POST /users"][http.StatusCreated] + requests["exchange New-MailUser"][http.StatusOK]
	s.left += requests["graph DELETE /groups/{group}/members/{member}/$ref"][http.StatusNoContent]
}

// wantBatches compares the runbook's batches, each by its number and its start.
func (s *saga) wantBatches(want ...string) {
	s.t.Helper()
	var batches api.Page[api.Batch]
	s.ask(&batches, "batch", "list")
	var got []string
	for _, b := range slices.Backward(batches.Items) {
		got = append(got, fmt.Sprintf("%d %s", b.ID, b.BatchStartTime.Format(time.RFC3339)))
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("the batches are %q, want %q", got, want)
	}
}

// awaitMembers ticks the scheduler until a batch has these members: a person who
// moves joins after their removal steps have ended.
func (s *saga) awaitMembers(batch int, want string) {
	s.t.Helper()
	s.until(fmt.Sprintf("batch %d has %s", batch, want), func() (bool, any) {
		s.tick()
		got := s.who(batch)
		return got == want, got
	})
}

// wantMembers compares the present and former members of a batch.
func (s *saga) wantMembers(batch int, want string) {
	s.t.Helper()
	if got := s.who(batch); got != want {
		s.t.Errorf("batch %d has %s; want %s", batch, got, want)
	}
}

// who lists the present and former members of a batch.
func (s *saga) who(batch int) string {
	s.t.Helper()
	by := map[string][]api.Member{}
	for _, m := range s.members(batch) {
		status := m.Status
		if status == "done" {
			status = "active"
		}
		by[status] = append(by[status], m)
	}
	got := strings.Join(keysOf(by["active"]), " ")
	for _, status := range []string{"failed", "removed"} {
		if len(by[status]) > 0 {
			got += ", " + status + ": " + strings.Join(keysOf(by[status]), " ")
		}
	}
	return got
}

// wantPhases compares the phases of a batch, with the versions they belong to.
func (s *saga) wantPhases(batch int, want string) {
	s.t.Helper()
	var got []string
	for _, p := range s.phases(batch) {
		got = append(got, fmt.Sprintf("%s %s v%d", p.Name, p.Status, p.RunbookVersion))
	}
	if got := strings.Join(got, ", "); got != want {
		s.t.Errorf("batch %d has the phases %s; want %s", batch, got, want)
	}
}

// wantSignIn compares a person's sign-in name in the tenant.
func (s *saga) wantSignIn(name, want string) {
	s.t.Helper()
	var got []string
	for _, u := range s.state().Users {
		if u.Text("mailNickname") == name {
			got = append(got, u.UPN())
		}
	}
	if len(got) != 1 || got[0] != want {
		s.t.Errorf("%s signs in as %q, want %q", name, got, want)
	}
}

// wantGroup compares the members of the migration group.
func (s *saga) wantGroup(want string) {
	s.t.Helper()
	state := s.state()
	names := map[string]string{}
	for _, u := range state.Users {
		names[u.ID()] = u.Text("mailNickname")
	}
	var got []string
	for _, id := range state.Groups[0].Members {
		got = append(got, names[id])
	}
	if got := strings.Join(sorted(got), " "); got != want {
		s.t.Errorf("in the group are %s; want %s", got, want)
	}
}
