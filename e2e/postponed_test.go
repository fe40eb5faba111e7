package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// TestPostponedWaves postpones three waves by two days, of which all members have finished the first
// phase, and answers each hold in another way: the members move, start again, or stay.
func TestPostponedWaves(t *testing.T) {
	t.Parallel()
	people := filepath.Join(t.TempDir(), "people.csv")
	m := newMachineWith(t, []byte(badDayTenant), environment{handler: map[string]string{"PEOPLE": people}, worker: map[string]string{"LAG_TIMEOUT_SECONDS": "0"}}, everything)
	s := &saga{machine: m, admin: signIn(m), t: t, runbook: "bad-day"}
	s.moveTo(time.Date(2030, time.March, 1, 9, 1, 0, 0, time.UTC))
	s.write("bad-day.yaml", []byte(strings.Replace(badDayRunbook, "{Group: ", "{GroupId: ", 1)))
	s.must("runbook", "publish", s.path("bad-day.yaml"), "--force")

	waves := []string{"ada ben chen", "emma felix grace", "hana isak jon"}
	everybody := strings.Join(waves, " ")
	s.waves(people, cutOver, waves)
	s.must("automation", "enable", s.runbook)
	s.tick()
	s.moveTo(cutOver.Add(-5*day + 2*time.Hour + time.Second))
	for batch := 1; batch <= 3; batch++ {
		s.wantMembers(batch, waves[batch-1])
		s.awaitPhase(batch, "pre-stage", "completed")
	}
	s.wantGroup(everybody)

	s.waves(people, postponed, waves)
	s.tick()
	s.decide(1, "move-members", "--yes")
	s.awaitBatches(4)
	s.awaitMembers(4, waves[0])
	s.decide(2, "confirm-removals", "--yes")
	s.awaitBatches(5)
	s.awaitMembers(5, waves[1])
	s.decide(3, "discard-removals")
	s.tick()
	if out, status, err := s.give("batch", "removals", "3"); status != 4 {
		t.Errorf("what was discarded is held again: %s%v", out, err)
	}
	s.wantMembers(1, ", removed: "+waves[0])
	s.wantMembers(2, ", removed: "+waves[1])
	s.wantGroup(waves[0] + " " + waves[2])

	s.moveTo(cutOver.Add(2*time.Hour + time.Second)) // the old time
	s.awaitBatch(3, "completed")
	for batch := 1; batch <= 2; batch++ { // nobody is left for their cut-over
		s.until("the empty batch has ended", func() (bool, any) { b := s.get(batch); return b.Terminal(), b })
	}
	s.awaitPhase(5, "pre-stage", "completed")
	s.moveTo(postponed.Add(time.Hour + time.Second))
	s.awaitBatch(4, "completed")
	s.awaitBatch(5, "completed")

	for batch, want := range map[int]string{
		1: "create-user join-group", 2: "create-user join-group leave-group", 3: "create-user join-group set-mailbox-guid set-sign-in-name",
		4: "set-mailbox-guid set-sign-in-name", 5: "create-user join-group set-mailbox-guid set-sign-in-name",
	} {
		if got := s.stepsOf(batch); got != want {
			t.Errorf("batch %d ran %s, want %s", batch, got, want)
		}
	}
	for _, name := range strings.Fields(everybody) {
		s.wantSignIn(name, key(name))
	}
	s.wantGroup(everybody)
	if s.count(); s.created != 9 || s.left != 3 {
		t.Errorf("%d users were created and %d people left the group, want 9 and 3", s.created, s.left)
	}
	checkBroker(t.Context(), m)
	checkStore(t.Context(), m)
}

// waves writes the list of waves that start one hour after the other.
func (s *saga) waves(file string, first time.Time, waves []string) {
	s.t.Helper()
	list := ""
	for i, people := range waves {
		lines := string(wave(",", first.Add(time.Duration(i)*time.Hour), strings.Fields(people)...))
		if i > 0 {
			_, lines, _ = strings.Cut(lines, "\n")
		}
		list += lines
	}
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// awaitBatches ticks the scheduler until there are so many batches: the one of a new start is made when the
// first person comes into it, whose removal steps have ended then.
func (s *saga) awaitBatches(n int) {
	s.t.Helper()
	s.until(fmt.Sprintf("there are %d batches", n), func() (bool, any) {
		s.tick()
		var batches api.Page[api.Batch]
		s.ask(&batches, "batch", "list")
		return len(batches.Items) == n, batches.Items
	})
}

// decide answers the hold of a batch of which all members move, by its revision. The batch stays as it is
// until then.
func (s *saga) decide(batch int, answer string, options ...string) {
	s.t.Helper()
	held := s.removals(batch)
	if held.Members != 3 || held.Moving != 3 || held.MovesInto != 0 {
		s.t.Fatalf("held is %+v", held)
	}
	id := strconv.Itoa(batch)
	var preview api.Preview
	if s.ask(&preview, "batch", answer, id, "--dry-run"); preview.Members != 3 {
		s.t.Errorf("the dry run foresees %+v", preview)
	}
	if again := s.removals(batch); again.Revision != held.Revision || again.Confirmed != nil {
		s.t.Errorf("the dry run changed the hold: %+v", again)
	}
	if _, status, _ := s.give(append([]string{"batch", answer, id, "--revision", "0123456789abcdef"}, options...)...); status != 5 {
		s.t.Errorf("%s by another revision ends with %d", answer, status)
	}
	s.must(append([]string{"batch", answer, id, "--revision", held.Revision, "--reason", "postponed by two days"}, options...)...)
}

// stepsOf lists the steps of a batch that succeeded, each once.
func (s *saga) stepsOf(batch int) string {
	s.t.Helper()
	var steps api.Page[api.Step]
	s.ask(&steps, "batch", "steps", strconv.Itoa(batch), "--status", "succeeded", "--all")
	seen := map[string]bool{}
	var names []string
	for _, v := range steps.Items {
		if !seen[v.Name] {
			seen[v.Name] = true
			names = append(names, v.Name)
		}
	}
	return strings.Join(sorted(names), " ")
}
