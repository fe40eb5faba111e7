package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// badDayRunbook moves people to Fabrikam. Its step join-group names a parameter that the function does not have.
const badDayRunbook = `name: bad-day
data_source: {type: csv, connection: PEOPLE, primary_key: Upn, batch_time_column: CutOver}
retry: {max_retries: 2, interval: 1s}
phases:
  - name: pre-stage
    offset: T-5d
    steps:
      - name: create-user
        worker_id: worker-01
        function: New-ExchangeMailUser
        params:
          DisplayName: "{{Name}}"
          UserPrincipalName: "{{Name}}@fabrikam.onmicrosoft.com"
          ExternalEmail: "{{Name}}@contoso.com"
        output_params: {UserId: Id}
      - name: join-group
        worker_id: worker-01
        function: Add-EntraGroupMember
        params: {Group: 5b2f9a4e-3c1d-4e8a-9f60-0a1b2c3d4e5f, UserId: "{{UserId}}"}
  - name: cut-over
    offset: T-0
    steps:
      - name: set-sign-in-name
        worker_id: worker-01
        function: Set-EntraUserUPN
        params: {UserId: "{{UserId}}", NewUserPrincipalName: "{{Upn}}"}
      - name: set-mailbox-guid
        worker_id: worker-01
        function: Set-ExchangeMailUserGuids
        params: {Identity: "{{UserId}}", ExchangeGuid: "{{MailboxGuid}}"}
on_member_removed:
  - name: leave-group
    worker_id: worker-01
    function: Remove-EntraGroupMember
    params: {GroupId: 5b2f9a4e-3c1d-4e8a-9f60-0a1b2c3d4e5f, UserId: "{{UserId}}"}
`

// badDayTenant is Fabrikam before the day: the group, and the reception with its mailbox.
const badDayTenant = `{
	"verifiedDomains": ["fabrikam.com", "fabrikam.onmicrosoft.com"],
	"users": [{"displayName": "Reception", "mailNickname": "reception", "userPrincipalName": "reception@fabrikam.com"}],
	"recipients": [{"RecipientTypeDetails": "MailUser", "UserPrincipalName": "reception@fabrikam.com", "Alias": "reception", "EmailAddresses": ["SMTP:reception@fabrikam.com"], "ExchangeGuid": "bd2817ad-4706-5219-8c1d-726563657074"}],
	"groups": [{"properties": {"id": "5b2f9a4e-3c1d-4e8a-9f60-0a1b2c3d4e5f", "displayName": "Contoso migration", "mailNickname": "contoso-migration", "mailEnabled": false, "securityEnabled": true}}]
}`

// The cut-over of the day's waves, and the time to which one of them is postponed.
var (
	cutOver   = time.Date(2030, time.March, 9, 18, 0, 0, 0, time.UTC)
	postponed = cutOver.Add(2 * day)
)

// mailbox is the GUID of a person's mailbox: no two names have the same one.
func mailbox(name string) string {
	return fmt.Sprintf("bd2817ad-4706-5219-8c1d-%012x", []byte((name + "......")[:6]))
}

// wave is a list of people.
func wave(separator string, at time.Time, people ...string) []byte {
	lines := []string{strings.Join([]string{"Upn", "Name", "MailboxGuid", "CutOver"}, separator)}
	for _, name := range people {
		lines = append(lines, strings.Join([]string{key(name), name, mailbox(name), at.Format(time.RFC3339)}, separator))
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// TestABadDay has an administrator make the mistakes of a migration, one after the other, and
// repair each with the command line alone.
func TestABadDay(t *testing.T) {
	t.Parallel()
	people := filepath.Join(t.TempDir(), "people.csv")
	m := newMachineWith(t, []byte(badDayTenant), environment{handler: map[string]string{"PEOPLE": people}, worker: map[string]string{"LAG_TIMEOUT_SECONDS": "0"}}, everything)
	s := &saga{machine: m, admin: signIn(m), t: t, runbook: "bad-day"}
	s.moveTo(time.Date(2030, time.March, 1, 9, 1, 0, 0, time.UTC))

	s.wrongParameterIsSeen()
	s.wrongListIsRefused()
	s.doubleClick()
	s.personInTwoLists()
	s.wrongListIsCancelled()
	s.wrongParameterIsRepaired()
	s.wrongGUID()
	s.postponedWave(people)
	s.badDayEnds()
}

// refused gives a command that must fail with a text that has all the words.
func (s *saga) refused(words []string, args ...string) {
	s.t.Helper()
	out, _, err := s.give(args...)
	if err == nil {
		s.t.Errorf("%v succeeds:\n%s", args, out)
		return
	}
	for _, w := range words {
		if text := out + err.Error(); !strings.Contains(text, w) {
			s.t.Errorf("%v does not say %q:\n%s", args, w, text)
		}
	}
}

// wrongParameterIsSeen: publishing names the parameter, and at night an administrator forces it.
func (s *saga) wrongParameterIsSeen() {
	s.t.Helper()
	s.write("bad-day.yaml", []byte(badDayRunbook))
	s.refused([]string{"GroupId", "each call will fail", "--force"}, "runbook", "publish", s.path("bad-day.yaml"))
	s.must("runbook", "publish", s.path("bad-day.yaml"), "--force")
}

// wrongListIsRefused: an export of Excel with semicolons is read; a list whose GUIDs are none is
// refused by row and column, and one of another migration by its columns.
func (s *saga) wrongListIsRefused() {
	s.t.Helper()
	good := wave(";", cutOver, "ada", "ben", "chen")
	s.write("wave.csv", good)
	if out := s.must("batch", "create", "bad-day", s.path("wave.csv"), "--dry-run"); !strings.Contains(out, "semicolon  3 ") {
		s.t.Errorf("the dry run says:\n%s", out)
	}
	s.write("wrong.csv", []byte(strings.Replace(string(good), mailbox("ben"), "unknown", 1)))
	s.refused([]string{"wrong.csv:3:", "column MailboxGuid", "must be a GUID"}, "batch", "create", "bad-day", s.path("wrong.csv"))
	s.write("other.csv", []byte("Mail,Team\nada@contoso.com,Sales\n"))
	s.refused([]string{"Upn", "MailboxGuid"}, "batch", "create", "bad-day", s.path("other.csv"))
	s.wantBatchCount(0)
}

// doubleClick: the same batch is asked for twice, and made once.
func (s *saga) doubleClick() {
	s.t.Helper()
	list := string(wave(";", cutOver, "ada", "ben", "chen"))
	s.write("wave.csv", []byte(strings.Replace(list, mailbox("ben"), mailbox("reception"), 1))) // a mistake for later
	s.must("batch", "create", "bad-day", s.path("wave.csv"))
	s.refused([]string{key("ada"), "batch 1"}, "batch", "create", "bad-day", s.path("wave.csv"))
	s.wantBatchCount(1)
}

// personInTwoLists: chen is in the first wave. The second is refused as a whole, and made without him.
func (s *saga) personInTwoLists() {
	s.t.Helper()
	s.write("second.csv", wave(",", cutOver, "emma", "chen"))
	s.refused([]string{key("chen"), "batch 1"}, "batch", "create", "bad-day", s.path("second.csv"))
	s.wantBatchCount(1)
	s.write("second.csv", wave(",", cutOver, "emma"))
	s.must("batch", "create", "bad-day", s.path("second.csv"))
	s.wantBatchCount(2)
}

// wrongListIsCancelled: emma should come with the data source. Her batch is cancelled before anything
// was done to her, and she is free for another one.
func (s *saga) wrongListIsCancelled() {
	s.t.Helper()
	s.must("batch", "cancel", "2", "--yes", "--reason", "emma moves with the wave of Sales")
	s.awaitBatch(2, "cancelled")
}

// wrongParameterIsRepaired: all fail at once and without retries. The corrected version does the rest,
// for a retry that is given twice, and creates no user again.
func (s *saga) wrongParameterIsRepaired() {
	s.t.Helper()
	s.must("batch", "advance", "1", "--phase", "pre-stage")
	s.until("all have failed", func() (bool, any) { p := s.phaseOf(1, "pre-stage"); return p.Failed == 3, p })
	var steps api.Page[api.Step]
	s.ask(&steps, "batch", "steps", "1", "--status", "failed")
	for _, v := range steps.Items {
		if v.Name != "join-group" || !strings.Contains(v.Error, "Group") || v.RetryCount != 0 {
			s.t.Errorf("%s: %+v, want no retry of a wrong parameter", v.MemberKey, v)
		}
	}
	s.write("bad-day.yaml", []byte(strings.Replace(badDayRunbook, "{Group: ", "{GroupId: ", 1)))
	s.must("runbook", "publish", s.path("bad-day.yaml"))
	if out := s.must("batch", "retry", "1", "--version", "active", "--dry-run"); !strings.Contains(out, "InvalidParameters") {
		s.t.Errorf("the dry run of the retry says:\n%s", out)
	}
	s.must("batch", "retry", "1", "--version", "active", "--yes", "--reason", "the parameter was wrong")
	_, _, _ = s.give("batch", "retry", "1", "--version", "active", "--yes") // the second click
	s.until("all have succeeded", func() (bool, any) {
		p := s.phaseOf(1, "pre-stage")
		return p.Succeeded == 3 && p.Failed == 0, s.phases(1)
	})
	s.wantGroup("ada ben chen")
}

// wrongGUID: ben has the GUID of the reception's mailbox. The administrator corrects it and retries his step alone.
func (s *saga) wrongGUID() {
	s.t.Helper()
	s.must("batch", "advance", "1", "--phase", "cut-over")
	s.until("one of three has failed", func() (bool, any) {
		p := s.phaseOf(1, "cut-over")
		return p.Succeeded == 2 && p.Failed == 1, p
	})
	var failed api.Page[api.Step]
	s.ask(&failed, "batch", "steps", "1", "--status", "failed")
	if len(failed.Items) != 1 || failed.Items[0].MemberKey != key("ben") || !strings.Contains(failed.Items[0].Error, "used by another recipient") {
		s.t.Fatalf("failed are %+v", failed.Items)
	}
	s.refused([]string{"MailboxGuid"}, "member", "set", "1", key("ben"), "MailboxGuid=unknown")
	s.must("member", "set", "1", key("ben"), "MailboxGuid="+mailbox("ben"), "--reason", "the list had the reception's mailbox")
	s.must("batch", "retry", "1", "--yes")
	s.until("nobody has failed", func() (bool, any) {
		p := s.phaseOf(1, "cut-over")
		return p.Succeeded == 3 && s.get(1).Status == "completed", p
	})
	s.wantMailbox("ada", mailbox("ada"))
	s.wantMailbox("ben", mailbox("ben"))
	s.wantMailbox("reception", mailbox("reception"))
	s.wantSignIn("ben", key("ben"))
	audit := s.must("audit", "list", "--output", "json")
	for _, words := range []string{"the list had the reception's mailbox", mailbox("reception"), mailbox("ben")} {
		if !strings.Contains(audit, words) {
			s.t.Errorf("the audit records lack %q", words)
		}
	}
}

// postponedWave: the data source has a wave of five, among them one whom another batch has and one who
// is listed twice. After pre-stage the wave is postponed by two days.
func (s *saga) postponedWave(file string) {
	s.t.Helper()
	names := []string{"emma", "felix", "grace", "hana", "isak"}
	list := string(wave(",", cutOver, append(names, "julia", "julia")...))
	s.source(file, list)
	s.must("automation", "enable", s.runbook)
	s.tick()
	if v := s.automation(); v.ProblemCount == 0 || !strings.Contains(fmt.Sprint(v.Problems), key("julia")) {
		s.t.Errorf("julia is listed twice, and the problems are %+v", v.Problems)
	}
	s.source(file, string(wave(",", cutOver, names...)))
	s.tick()
	s.wantMembers(3, "emma felix grace hana isak")
	s.moveTo(cutOver.Add(-5 * day).Add(time.Second))
	s.awaitPhase(3, "pre-stage", "completed")
	s.wantGroup("ada ben chen emma felix grace hana isak")

	s.source(file, string(wave(",", postponed, names...)))
	s.tick()
	held := s.removals(3)
	if held.Members != 5 || !strings.Contains(held.Reason, postponed.Format(time.RFC3339)) {
		s.t.Fatalf("held is %+v", held)
	}
	if out := s.must("batch", "reschedule", "3", "--start", postponed.Format(time.RFC3339), "--dry-run"); !strings.Contains(out, "cut-over") {
		s.t.Errorf("the dry run of the postponement says:\n%s", out)
	}
	s.must("batch", "reschedule", "3", "--start", postponed.Format(time.RFC3339), "--yes", "--reason", "the line to Oslo is down")
	s.tick()
	s.wantMembers(3, "emma felix grace hana isak")
	s.moveTo(cutOver.Add(time.Minute))
	s.tick()
	if p := s.phaseOf(3, "cut-over"); p.Status != "pending" || !p.DueAt.Equal(postponed) {
		s.t.Errorf("after the old date: %+v", p)
	}
	s.moveTo(postponed.Add(time.Second))
	s.awaitBatch(3, "completed")
	if p := s.phaseOf(3, "cut-over"); p.Succeeded != 5 {
		s.t.Errorf("cut-over of the postponed wave: %+v", p)
	}
}

// badDayEnds: each person has moved once, none was removed, and nothing is left over.
func (s *saga) badDayEnds() {
	s.t.Helper()
	for _, name := range []string{"ada", "ben", "chen", "emma", "felix", "grace", "hana", "isak"} {
		s.wantSignIn(name, key(name))
	}
	s.wantGroup("ada ben chen emma felix grace hana isak")
	s.wantBatchCount(3)
	s.count()
	if s.created != 8 || s.left != 0 {
		s.t.Errorf("%d users were created and %d people left the group, want 8 and none", s.created, s.left)
	}
	checkBroker(s.t.Context(), s.machine)
	checkStore(s.t.Context(), s.machine)
}

// source writes the file that the data source reads.
func (s *saga) source(file, list string) {
	s.t.Helper()
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *saga) wantBatchCount(want int) {
	s.t.Helper()
	var batches api.Page[api.Batch]
	s.ask(&batches, "batch", "list")
	if len(batches.Items) != want {
		s.t.Errorf("there are %d batches, want %d: %+v", len(batches.Items), want, batches.Items)
	}
}

// wantMailbox compares the mailbox of a person in the tenant.
func (s *saga) wantMailbox(name, want string) {
	s.t.Helper()
	for _, r := range s.state().Recipients {
		if r.Alias == name {
			if r.ExchangeGUID != want {
				s.t.Errorf("%s has the mailbox %q, want %q", name, r.ExchangeGUID, want)
			}
			return
		}
	}
	s.t.Errorf("%s is no recipient", name)
}
