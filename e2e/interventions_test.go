package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
)

// interventionsRunbook has steps that do nothing, or fail where a member's Answer is "failure".
const interventionsRunbook = `name: moves
data_source: {type: csv, connection: PEOPLE, primary_key: Mail, batch_time_column: CutoverTime}
phases:
  - name: move
    offset: T-5d
    steps:
      - {name: move-mailbox, worker_id: worker-01, function: No-Op, params: {Answer: "{{Answer}}"}}
  - name: cutover
    offset: T-0
    approval: required
    steps:
      - {name: switch, worker_id: worker-01, function: No-Op, params: {Value: "{{Mail}}"}}
on_member_removed:
  - {name: tell, worker_id: worker-01, function: No-Op}
`

// newInterventions starts a system whose runbook's data source is people.csv, which is not there yet.
func newInterventions(t *testing.T) *saga {
	t.Helper()
	seed, err := os.ReadFile(filepath.Join(example, "tenant.json"))
	if err != nil {
		t.Fatal(err)
	}
	people := filepath.Join(t.TempDir(), "people.csv")
	m := newMachineWith(t, seed, environment{handler: map[string]string{"PEOPLE": people}, worker: map[string]string{"WORKER_NOOP": "1"}}, everything)
	s := &saga{machine: m, admin: signIn(m), t: t, runbook: "moves"}
	s.write("moves.yaml", []byte(interventionsRunbook))
	s.must("runbook", "publish", s.path("moves.yaml"), "--force")
	return s
}

// movers is a member CSV of n members, of whom those with these numbers fail.
func movers(n int, failing ...int) []byte {
	list := "Mail,CutoverTime,Answer\n"
	for i := 1; i <= n; i++ {
		answer := "good"
		if slices.Contains(failing, i) {
			answer = "failure"
		}
		list += fmt.Sprintf("p%d@contoso.com,2035-03-03T18:00:00Z,%s\n", i, answer)
	}
	return []byte(list)
}

// TestInterventions has an administrator act on batches with the command line: members who failed
// are retried, skipped and marked done, a phase is approved, a batch is paused, resumed and
// cancelled, a version is deactivated, and a failing data source and its held removals are resolved.
func TestInterventions(t *testing.T) {
	t.Parallel()
	s := newInterventions(t)
	s.membersThatFail()
	s.batchIsStopped()
	s.dataSourceFails()
	s.messagesAreKept()
	s.versionIsDeactivated()
}

func (s *saga) membersThatFail() {
	s.t.Helper()
	s.write("movers.csv", movers(5, 3, 4, 5))
	s.must("batch", "create", "moves", s.path("movers.csv"))
	s.must("batch", "advance", "1", "--phase", "move", "--wait")
	failed := func(want int) (steps map[int]api.Step) {
		s.until(fmt.Sprintf("%d members have failed", want), func() (bool, any) {
			var page api.Page[api.Step]
			s.ask(&page, "batch", "steps", "1", "--status", "failed")
			steps = map[int]api.Step{}
			for _, v := range page.Items {
				steps[v.MemberID] = v
			}
			return len(steps) == want && s.phaseOf(1, "move").Failed == want, page.Items
		})
		return steps
	}
	steps := failed(3)
	s.must("batch", "skip-step", "1", strconv.FormatInt(steps[3].ID, 10), "--reason", "there is no mailbox")
	s.write("result.json", []byte(`{"Id": "by-hand"}`))
	s.must("batch", "mark-done", "1", strconv.FormatInt(steps[4].ID, 10), "--result", "@"+s.path("result.json"), "--reason", "moved by hand")
	first := failed(1)[5]
	s.must("batch", "retry", "1", "--step", "move-mailbox", "--error", "failure", "--reason", "once more", "--yes")
	s.until("the retry has failed as well", func() (bool, any) { now := failed(1)[5]; return now.JobID != first.JobID, now })
	s.must("batch", "remove-member", "1", "1", "--yes", "--reason", "stays")
	s.write("more.csv", []byte("Mail,Answer\np9@contoso.com,good\n"))
	s.must("batch", "add-members", "1", s.path("more.csv"))

	s.must("batch", "watch", "1", "--until-idle")
	if _, _, err := s.give("batch", "advance", "1", "--phase", "cutover"); err == nil || !strings.Contains(err.Error(), "approval") {
		s.t.Errorf("cutover begins before its approval: %v", err)
	}
	s.must("batch", "approve", "1", "cutover", "--reason", "change 4711")
	s.must("batch", "advance", "1", "--phase", "cutover")
	s.awaitBatch(1, "completed")
	var all api.Page[api.Step]
	s.ask(&all, "batch", "steps", "1", "--all")
	var ended []string
	for _, v := range all.Items {
		ended = append(ended, fmt.Sprintf("%s %s %s", strings.TrimSuffix(v.MemberKey, "@contoso.com"), v.Name, v.Status))
	}
	slices.Sort(ended)
	if want := []string{
		"p1 move-mailbox succeeded", "p1 tell succeeded", "p2 move-mailbox succeeded", "p2 switch succeeded", "p3 move-mailbox skipped", "p3 switch succeeded",
		"p4 move-mailbox succeeded", "p4 switch succeeded", "p5 move-mailbox failed", "p9 move-mailbox succeeded", "p9 switch succeeded",
	}; !slices.Equal(ended, want) {
		s.t.Errorf("the steps ended as\n%q, want\n%q", ended, want)
	}
	audit := s.must("audit", "list", "--output", "csv")
	for _, reason := range []string{"there is no mailbox", "moved by hand", "once more", "stays", "change 4711"} {
		if !strings.Contains(audit, reason) {
			s.t.Errorf("the audit records lack %q:\n%s", reason, audit)
		}
	}
}

func (s *saga) batchIsStopped() {
	s.t.Helper()
	s.write("movers.csv", movers(3))
	s.must("batch", "create", "moves", s.path("movers.csv"))
	s.must("batch", "pause", "2", "--reason", "the tenant is throttling")
	if _, _, err := s.give("batch", "advance", "2", "--phase", "move"); err == nil || !strings.Contains(err.Error(), "paused") {
		s.t.Errorf("a paused batch is advanced: %v", err)
	}
	s.must("batch", "resume", "2")
	s.must("batch", "advance", "2", "--phase", "move")
	s.awaitPhase(2, "move", "completed")
	s.must("batch", "cancel", "2", "--yes", "--reason", "the merger is off")
	s.awaitBatch(2, "cancelled")
}

func (s *saga) dataSourceFails() {
	s.t.Helper()
	s.must("automation", "enable", "moves")
	s.tick()
	if v := s.automation(); v.LastError == "" {
		s.t.Errorf("a data source without its file does not fail: %+v", v)
	}
	if err := os.WriteFile(s.handler["PEOPLE"], movers(10), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.tick()
	s.awaitBatch(3, "active")
	if v := s.automation(); v.LastError != "" {
		s.t.Errorf("the error stays: %+v", v)
	}
	if err := os.WriteFile(s.handler["PEOPLE"], movers(5), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.tick()
	if held := s.removals(3); held.Members != 5 {
		s.t.Fatalf("held: %+v, want 5 members", held)
	}
	s.must("batch", "discard-removals", "3", "--reason", "the export was cut off")
	s.tick()
	if b := s.get(3); b.Held != nil || b.DiscardedRemovals != 5 {
		s.t.Errorf("after a discard: %+v", b)
	}
	s.must("automation", "disable", "moves")
}

// messagesAreKept sends two results of batches that do not exist: one is replayed, one discarded.
func (s *saga) messagesAreKept() {
	s.t.Helper()
	client, err := azservicebus.NewClientFromConnectionString(s.endpoints.Worker["ServiceBusConnection"], nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close(s.t.Context())
	sender, err := client.NewSender(message.TopicWorkerResults, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range 2 {
		body, err := json.Marshal(message.Result{JobID: "strange", Status: "Success", CorrelationData: message.Correlation{BatchID: 100_000 + i, StepExecutionID: 1}})
		if err == nil {
			err = sender.SendMessage(s.t.Context(), &azservicebus.Message{Body: body, MessageID: new(fmt.Sprintf("strange-%d", i))}, nil)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	kept := func() (page api.Page[api.UnprocessableMessage]) { s.ask(&page, "messages", "list"); return page }
	s.until("two messages are kept", func() (bool, any) { p := kept(); return len(p.Items) == 2, p.Items })
	first, second := kept().Items[0].ID, kept().Items[1].ID
	s.must("messages", "discard", first, "--yes", "--reason", "a test of the vendor's")
	s.until("the message is discarded", func() (bool, any) { p := kept(); return len(p.Items) == 1, p.Items })
	s.must("messages", "replay", second, "--reason", "the handler is newer")
	s.until("the replayed message is kept again", func() (bool, any) {
		p := kept()
		return len(p.Items) == 1 && p.Items[0].ID != first, p.Items
	})
}

func (s *saga) versionIsDeactivated() {
	s.t.Helper()
	var v api.Runbook
	s.ask(&v, "runbook", "get", "moves")
	s.must("runbook", "delete", "moves", strconv.Itoa(v.Version), "--yes", "--reason", "the merger is off")
	if _, _, err := s.give("batch", "create", "moves", s.path("movers.csv")); err == nil {
		s.t.Error("a batch is made of a runbook without an active version")
	}
}
