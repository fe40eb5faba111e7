package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// scheduled is the example that follows a list of people.
const scheduled = "scheduled-migration"

// The cut-overs of the two batches, as the list has them (in Berlin) and as they are.
// Their phases are due four minutes after a tick: what begins then did not need one.
const (
	inMarch = "2030-03-09 18:04"
	later   = "2030-03-16 10:04"
)

var (
	first  = time.Date(2030, time.March, 9, 17, 4, 0, 0, time.UTC)
	second = time.Date(2030, time.March, 16, 9, 4, 0, 0, time.UTC)
)

const day = 24 * time.Hour

// TestScheduledMigration has a list of people drive the example's runbook to its end,
// over weeks that the clock is moved through: people come, leave, move and change
// while the query breaks, the list is empty for a while, the runbook gets a new version
// and the system is killed.
func TestScheduledMigration(t *testing.T) {
	t.Parallel()
	s := newSaga(t)
	s.nothingUntilEnabled()
	s.listChangesBeforeAnythingIsDue()
	s.queryBreaks()
	s.listIsEmpty()
	s.phaseBeginsBetweenTicks()
	s.listChangesInTheMiddle()
	s.newVersion()
	s.everythingIsKilled()
	s.manyLeave()
	s.cutOver()
	s.quietHours()
	s.automationEnds()
	s.secondBatchEnds()
	s.outcome()
}

func (s *saga) nothingUntilEnabled() {
	s.list.add(inMarch, "ada", "amir", "anna", "ben", "beatriz", "carlos", "chloe", "chen", "deepa", "elena")
	s.list.add(later, "emma", "felix", "grace", "hana", "isak")
	s.publish()
	s.tick()
	s.wantBatches()
	var p api.QueryPreview
	s.ask(&p, "query", "preview", scheduled)
	if len(p.Groups) != 2 || p.Groups[0].Rows != 10 || !p.Groups[0].BatchStartTime.Equal(first) || p.Groups[1].Rows != 5 || !p.Groups[1].BatchStartTime.Equal(second) {
		s.t.Errorf("preview: got %+v, want a batch of 10 and one of 5", p.Groups)
	}
	if p.Additions == nil || p.Additions.People != 15 {
		s.t.Fatalf("preview: the additions of 15 people are not held: %+v", p.Additions)
	}
	s.must("automation", "enable", scheduled, "--revision", p.Additions.Revision)
	s.tick()
	s.wantBatches("1 "+first.Format(time.RFC3339), "2 "+second.Format(time.RFC3339))
	s.wantMembers(1, "ada amir anna beatriz ben carlos chen chloe deepa elena")
	s.wantMembers(2, "emma felix grace hana isak")
	for _, batch := range []int{1, 2} {
		s.awaitPhase(batch, "init", "completed")
	}
	s.wantPhases(1, "init completed v1, pre-stage pending v1, verify pending v1, cut-over pending v1, wind-up pending v1")
	if due := s.phaseOf(1, "pre-stage").DueAt; !due.Equal(first.Add(-5 * day)) {
		s.t.Errorf("pre-stage is due at %s", due)
	}
}

func (s *saga) listChangesBeforeAnythingIsDue() {
	s.list.remove("elena")
	s.list.set("deepa", "CutoverTime", later)
	s.list.add(inMarch, "zoe")
	s.list.set("amir", "CutoverTime", "when he is ready")
	s.tick()
	s.wantMembers(1, "ada amir anna beatriz ben carlos chen chloe zoe, removed: deepa elena")
	s.awaitMembers(2, "deepa emma felix grace hana isak")
	if v := s.automation(); v.LastError != "" || v.ProblemCount != 1 || v.Problems[0].Key != key("amir") || v.Problems[0].Column != "CutoverTime" {
		s.t.Errorf("got %+v, want a problem with amir's time alone", v)
	}
	s.list.set("amir", "CutoverTime", inMarch)
	s.tick()
	if v := s.automation(); v.ProblemCount != 0 {
		s.t.Errorf("problems are left: %+v", v.Problems)
	}
}

func (s *saga) queryBreaks() {
	was := s.automation()
	s.list.do("ALTER TABLE people RENAME TO elsewhere")
	s.tick()
	v := s.automation()
	if !strings.Contains(v.LastError, "no such table: people") || !strings.Contains(v.LastError, scheduled) {
		s.t.Errorf("the error is %q", v.LastError)
	}
	if v.LastErrorAt == nil || !v.LastErrorAt.Equal(*v.LastRunAt) || !v.LastGoodAt.Equal(*was.LastGoodAt) {
		s.t.Errorf("got %+v, want an error at the last run, and the last good one as before (%s)", v, was.LastGoodAt)
	}
	s.wantMembers(1, "ada amir anna beatriz ben carlos chen chloe zoe, removed: deepa elena")
	var rb api.Runbook
	s.ask(&rb, "runbook", "get", scheduled)
	if rb.LastError != v.LastError || !rb.Enabled {
		s.t.Errorf("the runbook shows %+v", rb)
	}
	s.list.do("ALTER TABLE elsewhere RENAME TO people")
	s.tick()
	if v := s.automation(); v.LastError != "" || v.LastErrorAt != nil || !v.LastGoodAt.Equal(*v.LastRunAt) {
		s.t.Errorf("got %+v, want no error", v)
	}
}

func (s *saga) listIsEmpty() {
	s.list.do("ALTER TABLE people RENAME TO elsewhere")
	s.list.do("CREATE TABLE people (" + columns + ")")
	s.tick()
	v := s.automation()
	if len(v.Held) != 2 || v.LastError != "" || v.Rows != 0 {
		s.t.Fatalf("got %+v, want the removals of two batches held", v)
	}
	for i, of := range []int{9, 6} {
		if h := v.Held[i]; h.BatchID != i+1 || h.Members != of || h.Of != of || !strings.Contains(h.Reason, "no rows") {
			s.t.Errorf("got %+v, want all %d members of batch %d", h, of, i+1)
		}
	}
	s.wantMembers(1, "ada amir anna beatriz ben carlos chen chloe zoe, removed: deepa elena")
	s.list.do("DROP TABLE people")
	s.list.do("ALTER TABLE elsewhere RENAME TO people")
	s.tick()
	if v := s.automation(); len(v.Held) != 0 {
		s.t.Errorf("held are still %+v", v.Held)
	}
	if b := s.get(2); b.Held != nil || b.DiscardedRemovals != 0 {
		s.t.Errorf("batch 2 has %+v held and %d kept", b.Held, b.DiscardedRemovals)
	}
}

func (s *saga) phaseBeginsBetweenTicks() {
	s.beginsByMessage(1, "pre-stage", first.Add(-5*day))
	s.awaitPhase(1, "pre-stage", "completed")
	if p := s.phaseOf(1, "pre-stage"); p.Succeeded != 9 || p.Members != 9 {
		s.t.Errorf("pre-stage: %+v", p)
	}
	s.wantPhases(2, "init completed v1, pre-stage pending v1, verify pending v1, cut-over pending v1, wind-up pending v1")
}

func (s *saga) listChangesInTheMiddle() {
	s.list.add(inMarch, "julia")
	s.list.remove("carlos")
	s.tick()
	s.wantMembers(1, "ada amir anna beatriz ben chen chloe julia zoe, removed: carlos deepa elena")
	s.awaitStep(1, "julia", "join-migration-group", "succeeded")
	s.awaitStep(1, "carlos", "leave-migration-group", "succeeded")
	s.wantGroup("ada amir anna beatriz ben chen chloe julia zoe")
}

// newVersion publishes a version under which the sign-in name comes from another
// column, while the first batch is between pre-stage and verify.
func (s *saga) newVersion() {
	s.publish(`NewUserPrincipalName: "{{UserPrincipalName}}"`, `NewUserPrincipalName: "{{SignInName}}"`)
	s.tick()
	s.wantPhases(1, "init completed v1, pre-stage completed v1, verify superseded v1, cut-over superseded v1, wind-up superseded v1, "+
		"on_member_removed completed v1, pre-stage skipped v2, verify pending v2, cut-over pending v2, wind-up pending v2")
	s.wantPhases(2, "init completed v1, pre-stage superseded v1, verify superseded v1, cut-over superseded v1, wind-up superseded v1, "+
		"pre-stage pending v2, verify pending v2, cut-over pending v2, wind-up pending v2")
	if got := string(s.member(1, "ben").Data["SignInName"]); got != `"new.ben@fabrikam.com"` {
		s.t.Errorf("ben's SignInName is %s: the new version's column did not come with it", got)
	}
	s.list.set("ben", "SignInName", "benjamin@fabrikam.com")
	s.tick()
	if got := string(s.member(1, "ben").Data["SignInName"]); got != `"benjamin@fabrikam.com"` {
		s.t.Errorf("ben's SignInName is %s after it was changed", got)
	}
}

// everythingIsKilled ends all processes and starts them with what they kept.
func (s *saga) everythingIsKilled() {
	s.count()
	before := s.clock()
	for _, process := range []string{workerProcess, everything} {
		s.processes[process].Kill()
	}
	for _, process := range []string{everything, workerProcess} {
		s.start(process)
	}
	if after := s.clock(); after.Before(before) || after.Sub(before) > patience {
		s.t.Errorf("the clock was at %s and goes on at %s", before, after)
	}
	s.wantGroup("ada amir anna beatriz ben chen chloe julia zoe")
	s.moveTo(first.Add(-day).Add(5 * time.Second)) // past the moment: the timer's own tick takes it up
	s.awaitPhase(1, "verify", "completed")
	if p := s.phaseOf(1, "verify"); p.Succeeded != 9 || p.RunbookVersion != 2 {
		s.t.Errorf("verify: %+v", p)
	}
}

// manyLeave has more people taken off the list than leave at once: those of the first
// batch have left indeed, those of the second have not.
func (s *saga) manyLeave() {
	s.list.remove("chen", "chloe", "zoe", "hana", "isak")
	s.tick()
	s.wantMembers(1, "ada amir anna beatriz ben chen chloe julia zoe, removed: carlos deepa elena")
	held := s.removals(1)
	var who []api.Member
	for _, m := range held.Items {
		if who = append(who, m.Member); m.MovesTo != nil {
			s.t.Errorf("%s leaves, and would move to %s", m.Key, m.MovesTo)
		}
	}
	if !slices.Equal(keysOf(who), []string{"chen", "chloe", "zoe"}) || held.Members != 3 || held.Of != 9 || !strings.Contains(held.Reason, "20%") {
		s.t.Errorf("held is %+v", held)
	}
	if held := s.removals(2); held.Members != 2 || held.Of != 6 {
		s.t.Errorf("held is %+v", held.RemovalHoldSummary)
	}
	if _, _, err := s.give("batch", "confirm-removals", "1", "--yes", "--revision", "another"); err == nil {
		s.t.Error("removals were confirmed that nobody has looked at")
	}
	s.must("batch", "confirm-removals", "1", "--yes", "--revision", held.Revision, "--reason", "they stay with Contoso")
	s.must("batch", "discard-removals", "2", "--reason", "the export was cut off")
	s.until("the confirmed removals are carried out", func() (bool, any) { b := s.get(1); return b.Held == nil, b.Held })
	s.wantMembers(1, "ada amir anna beatriz ben julia, removed: carlos chen chloe deepa elena zoe")
	for _, name := range []string{"chen", "chloe", "zoe"} {
		s.awaitStep(1, name, "leave-migration-group", "succeeded")
	}
	s.list.set("beatriz", "CutoverTime", later) // one of six: at once
	s.tick()
	s.wantMembers(1, "ada amir anna ben julia, removed: beatriz carlos chen chloe deepa elena zoe")
	s.awaitMembers(2, "beatriz deepa emma felix grace hana isak")
	if b := s.get(2); b.Held != nil || b.DiscardedRemovals != 2 {
		s.t.Errorf("batch 2 has %+v held, and %d are kept, not hana and isak", b.Held, b.DiscardedRemovals)
	}
	s.awaitStep(1, "beatriz", "leave-migration-group", "succeeded")
	s.wantGroup("ada amir anna ben julia")
}

func (s *saga) cutOver() {
	s.beginsByMessage(1, "cut-over", first)
	s.awaitPhase(1, "cut-over", "completed")
	s.wantSignIn("ada", "new.ada@fabrikam.com")
	s.wantSignIn("ben", "benjamin@fabrikam.com")
	s.wantSignIn("chen", "chen@fabrikam.onmicrosoft.com")
	if p := s.phaseOf(1, "cut-over"); p.Succeeded != 5 || p.Members != 5 {
		s.t.Errorf("cut-over: %+v", p)
	}
}

// quietHours hold pre-stage of the second batch, which is due on a Monday morning,
// until the evening. Minutes later the first batch ends.
func (s *saga) quietHours() {
	s.moveTo(second.Add(-5 * day).Add(time.Second))
	s.until("pre-stage of batch 2 waits", func() (bool, any) {
		p := s.phaseOf(2, "pre-stage")
		return p.Reason == "quiet hours until 2030-03-11T17:00:00Z", p
	})
	s.awaitPhase(2, "pre-stage", "pending")
	s.moveTo(time.Date(2030, time.March, 11, 17, 0, 2, 0, time.UTC))
	s.awaitPhase(2, "pre-stage", "completed")
	if p := s.phaseOf(2, "pre-stage"); p.Succeeded != 7 || p.DispatchedAt.Before(time.Date(2030, time.March, 11, 17, 0, 0, 0, time.UTC)) {
		s.t.Errorf("pre-stage of batch 2: %+v", p)
	}
	s.wantGroup("ada amir anna beatriz ben deepa emma felix grace hana isak julia")
	s.beginsByMessage(1, "wind-up", first.Add(2*day))
	s.awaitBatch(1, "completed")
	s.wantGroup("beatriz deepa emma felix grace hana isak")
}

// automationEnds: no batch is made any more, and the one that there is goes on.
func (s *saga) automationEnds() {
	s.must("automation", "disable", scheduled)
	s.list.add("2030-04-06 18:04", "noah")
	s.list.add(later, "mia")
	s.list.add(inMarch, "olga") // whose batch has ended
	s.tick()
	s.wantBatches("1 "+first.Format(time.RFC3339), "2 "+second.Format(time.RFC3339))
	s.wantMembers(1, "ada amir anna ben julia, removed: beatriz carlos chen chloe deepa elena zoe")
	s.wantMembers(2, "beatriz deepa emma felix grace hana isak mia")
	s.awaitStep(2, "mia", "join-migration-group", "succeeded")
}

func (s *saga) secondBatchEnds() {
	for _, step := range []struct {
		phase string
		at    time.Time
	}{
		{"verify", time.Date(2030, time.March, 15, 17, 0, 2, 0, time.UTC)}, // due on a Friday morning
		{"cut-over", second.Add(time.Second)},
		{"wind-up", time.Date(2030, time.March, 18, 17, 0, 2, 0, time.UTC)},
	} {
		s.moveTo(step.at)
		s.awaitPhase(2, step.phase, "completed")
		if p := s.phaseOf(2, step.phase); p.Succeeded != 8 || p.DispatchedAt.Before(step.at.Truncate(time.Minute)) {
			s.t.Errorf("%s of batch 2: %+v", step.phase, p)
		}
	}
	s.awaitBatch(2, "completed")
	s.tick() // the people are on the list still, and nothing comes of it
	s.wantBatches("1 "+first.Format(time.RFC3339), "2 "+second.Format(time.RFC3339))
}

// outcome checks the tenant's requests and looks for leftovers.
func (s *saga) outcome() {
	for _, name := range strings.Fields("ada amir anna beatriz deepa emma felix grace hana isak julia mia") {
		s.wantSignIn(name, "new."+key(name))
	}
	s.wantGroup("")
	s.count()
	if want := 2 + 17; s.created != want { // the batches' own, nine in pre-stage of each, less beatriz, and julia and mia
		s.t.Errorf("%d users were created, want %d", s.created, want)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if want := 5 + 5 + 8; s.left != want { // carlos, those three and beatriz; then both batches
		s.t.Errorf("people were taken out of the group %d times, want %d", s.left, want)
	}
	checkBroker(ctx, s.machine)
	checkStore(ctx, s.machine)
}

// beginsByMessage has a phase begin at its moment by the message that the tick before
// it scheduled, and by no tick.
func (s *saga) beginsByMessage(batch int, phase string, due time.Time) {
	s.t.Helper()
	if before := due.Truncate(5 * time.Minute); s.clock().Before(before) {
		s.moveTo(before)
	}
	s.until("the timer's tick", func() (bool, any) {
		at := s.automation().LastRunAt
		return !at.Before(due.Truncate(5 * time.Minute)), at
	})
	s.tick() // and to its end
	if p := s.phaseOf(batch, phase); p.Status != "pending" || !p.DueAt.Equal(due) {
		s.t.Errorf("%s, before it is due at %s: %+v", phase, due, p)
	}
	s.moveTo(due)
	s.until(phase+" begins", func() (bool, any) { p := s.phaseOf(batch, phase); return p.Status != "pending", p })
	ticked := *s.automation().LastRunAt
	if at := s.phaseOf(batch, phase).DispatchedAt; at.Before(due) || !ticked.Before(due) {
		s.t.Errorf("%s began at %s, is due at %s, and the last tick was at %s", phase, at, due, ticked)
	}
}
