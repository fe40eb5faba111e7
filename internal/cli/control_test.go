package cli_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/local/entra"
)

const guarded = `name: guarded
data_source:
  type: csv
  primary_key: UserId
phases:
  - name: prepare
    offset: T-1d
    steps:
      - name: reserve
        worker_id: worker-01
        function: Add-License
        params: {Id: "{{UserId}}"}
      - name: check
        worker_id: worker-01
        function: Test-User
        params: {Mail: "{{Mail}}"}
        on_failure: release
      - name: create
        worker_id: worker-01
        function: New-Mailbox
        params: {Name: "{{Name}}"}
        output_params: {Guid: guid}
  - name: cut over
    offset: T-0
    approval: required
    require_success: 100%
    steps:
      - name: move
        worker_id: worker-01
        function: Move-User
        params: {Guid: "{{Guid}}", Name: "{{Name}}"}
on_member_removed:
  - name: tell
    worker_id: worker-01
    function: Send-Mail
    params: {Mail: "{{Mail}}"}
rollbacks:
  release:
    - name: release
      worker_id: worker-01
      function: Remove-License
      params: {Id: "{{UserId}}"}
`

// until gives a command until it prints words, and does not show it.
func (s *transcript) until(words string, args ...string) {
	s.t.Helper()
	s.repeat(words, true, args...)
}

// untilNot gives a command until it no longer prints words.
func (s *transcript) untilNot(words string, args ...string) {
	s.t.Helper()
	s.repeat(words, false, args...)
}

func (s *transcript) repeat(words string, wanted bool, args ...string) {
	s.t.Helper()
	for {
		out, err, _ := s.run(args...)
		if strings.Contains(out+err, words) == wanted {
			return
		}
		if pause(s.ctx, 10*time.Millisecond) != nil {
			s.t.Fatalf("matoolkit %s: %q was not to be %t in the end: %s%s", strings.Join(args, " "), words, !wanted, out, err)
		}
	}
}

var (
	tookAndNote = regexp.MustCompile(`Z  (<1s|\d+s) +`) // took, with whatever note stands behind it
	tasks       = regexp.MustCompile(`(?m)  [a-z0-9]{16}$`)
)

// A batch in which things go wrong, and what an administrator does about it.
func TestControl(t *testing.T) {
	t.Parallel()
	system := newSystem(t, entra.DefaultAdminUPN)
	s := &transcript{person: system.signedIn()}
	members := s.file("members.csv", "UserId,Mail,Name\nu1,a@contoso.com,Ann\nu2,bad@contoso.com,Ben\nu3,c@contoso.com,bad\nu4,d@contoso.com,Dan\n")
	s.type_(0, "runbook", "publish", s.file("guarded.yaml", guarded), "--overdue", "rerun", "--rerun-init", "--quiet", "--force")
	s.type_(0, "batch", "create", "guarded", members)

	s.type_(0, "batch", "advance", "1", "--dry-run")
	s.type_(0, "batch", "pause", "1", "--reason", "the tenant is throttling", "--dry-run")
	s.type_(0, "batch", "pause", "1", "--reason", "the tenant is throttling")
	s.type_(0, "batch", "get", "1")
	s.type_(5, "batch", "advance", "1", "--yes")
	s.type_(0, "batch", "resume", "1", "--quiet")

	s.type_(0, "batch", "advance", "1", "--yes", "--wait", "--quiet")
	s.type_(0, "batch", "members", "1", "--status", "failed")
	s.type_(0, "batch", "steps", "1", "--member", "2")
	s.type_(5, "batch", "advance", "1", "--yes")
	s.type_(5, "batch", "mark-done", "1", "10000003002", "--reason", "created by hand", "--result", `{"id": 7}`)
	s.type_(0, "batch", "mark-done", "1", "10000003002", "--result", `{"guid": "aa01"}`, "--dry-run")
	s.type_(0, "batch", "mark-done", "1", "10000003002", "--reason", "created by hand", "--result", "@"+s.file("result.json", `{"guid": "aa01"}`))
	s.type_(4, "batch", "mark-done", "1", "10000009002", "--reason", "created by hand")
	system.mild.Store(true)
	s.type_(4, "batch", "retry", "1", "--member", "9", "--yes")
	s.type_(5, "batch", "retry", "1", "--member", "1", "--dry-run")
	s.type_(4, "batch", "retry", "1", "--member", "nobody@contoso.com", "--yes")
	s.type_(0, "batch", "retry", "1", "--member", "u2", "--dry-run")
	s.type_(0, "batch", "errors", "1")
	s.type_(0, "batch", "actions", "1")
	s.type_(0, "batch", "retry", "1", "--dry-run")
	s.type_(0, "batch", "skip-step", "1", "--step", "check", "--dry-run")
	s.type_(0, "batch", "retry", "1", "--phase", "Prepare", "--error", "NO SUCH", "--reason", "the mailbox is there", "--yes")
	s.until("No items.", "batch", "members", "1", "--status", "failed")
	s.type_(0, "batch", "watch", "1", "--until-idle", "--quiet")

	s.type_(5, "batch", "add-members", "1", s.file("wrong.csv", "UserId,Mail,Name\n,x,y\n"))
	s.type_(0, "batch", "add-members", "1", s.file("late.csv", "UserId,Mail,Name,Note\nu4,d@contoso.com,Dan,x\nu5,e@contoso.com,Eve,x\n"))
	s.type_(0, "batch", "watch", "1", "--until-idle", "--quiet")
	s.type_(0, "batch", "remove-member", "1", "4", "--yes", "--reason", "has left")
	s.type_(0, "batch", "watch", "1", "--until-idle", "--quiet")
	s.type_(0, "batch", "members", "1")
	s.type_(0, "batch", "steps", "1", "--member", "4")

	s.type_(5, "batch", "advance", "1", "--yes")
	s.type_(4, "batch", "approve", "1", "cutover")
	s.type_(5, "batch", "approve", "1", "prepare")
	s.type_(0, "batch", "approve", "1", "cut over", "--reason", "change 4711")
	system.mild.Store(false)
	s.type_(0, "batch", "advance", "1", "--yes", "--quiet")
	s.type_(0, "batch", "watch", "1", "--quiet")
	s.type_(0, "batch", "members", "1", "--status", "failed")
	s.type_(0, "batch", "skip-step", "1", "20000003000", "--reason", "moved long ago")
	s.type_(0, "batch", "watch", "1", "--quiet")
	s.type_(0, "batch", "phases", "1")
	s.type_(5, "batch", "cancel", "1", "--yes")
	s.type_(0, "batch", "audit", "1")

	s.type_(0, "batch", "create", "guarded", members, "--quiet")
	s.type_(0, "batch", "remove-member", "2", "--search", "u2", "--dry-run")
	s.type_(5, "batch", "remove-member", "2", "--search", "nobody", "--dry-run")
	s.type_(4, "batch", "task", "2", "t1")
	s.type_(2, "batch", "cancel", "2")
	s.type_(0, "batch", "cancel", "2", "--dry-run")
	s.type_(0, "batch", "cancel", "2", "--yes", "--reason", "the merger is off")
	s.type_(1, "batch", "watch", "2", "--quiet")
	s.type_(0, "batch", "get", "2")
	s.type_(0, "batch", "list", "--status", "cancelled", "--quiet")
	s.type_(0, "batch", "list", "--status", "cancelled,completed", "--status", "ACTIVE", "--quiet")
	s.type_(5, "batch", "retry", "2", "--yes")

	// A batch goes over to new versions: the first repeats past phases, the second
	// does not.
	system.mild.Store(true)
	s.type_(0, "batch", "create", "guarded", members, "--quiet")
	s.type_(0, "batch", "advance", "3", "--yes", "--wait", "--quiet")
	s.type_(0, "runbook", "publish", s.file("second.yaml", guarded+"# second\n"), "--overdue", "rerun", "--yes", "--force")
	s.type_(0, "batch", "advance", "3", "--yes", "--wait", "--quiet")
	s.type_(0, "runbook", "publish", s.file("third.yaml", guarded+"# third\n"), "--quiet", "--force")
	s.type_(5, "batch", "advance", "3", "--yes")
	s.type_(0, "batch", "phases", "3")
	golden(t, "control", tasks.ReplaceAllString(tookAndNote.ReplaceAllString(s.String(), "Z  <1s   "), "  TASK"))
}

func TestAReaderChangesNothing(t *testing.T) {
	t.Parallel()
	p := newSystem(t, entra.DefaultReaderUPN).signedIn()
	csv := p.file("members.csv", "UserId\nu1\n")
	for _, args := range []string{
		"cancel 1 --yes", "set 1 --name x", "pause 1", "resume 1", "reschedule 1 --start 2026-03-09 --yes", "approve 1 move", "retry 1 --yes", "skip-step 1 5 --reason x", "mark-done 1 5 --reason x",
		"add-members 1 " + csv, "remove-member 1 2 --yes", "update-members 1 " + csv + " --yes",
	} {
		if _, err, status := p.run(append([]string{"batch"}, strings.Fields(args)...)...); status != 3 || !strings.Contains(err, "it requires the app role ") {
			t.Errorf("a reader's %s: status %d: %s", args, status, err)
		}
	}
}

// An operator drives batches and approves nothing; an approver is the reverse. Neither publishes.
func TestOperatorsAndApprovers(t *testing.T) {
	t.Parallel()
	for upn, c := range map[string]struct{ may, mayNot, shows string }{
		entra.DefaultOperatorUPN: {"pause 9", "approve 9 move", "read, request, request_for_all, operate"},
		entra.DefaultApproverUPN: {"approve 9 move", "pause 9", "read, approve"},
	} {
		p := newSystem(t, upn).signedIn()
		if out, err, status := p.run("me"); status != 0 || !strings.Contains(out, c.shows) || !strings.Contains(out, upn) {
			t.Errorf("me of %s: status %d: %s%s", upn, status, out, err)
		}
		for command, want := range map[string]int{c.may: 4, c.mayNot: 3, "cancel 9 --yes": 3} { // 4: there is no batch 9
			if _, err, status := p.run(append([]string{"batch"}, strings.Fields(command)...)...); status != want {
				t.Errorf("%s of %s: status %d, want %d: %s", command, upn, status, want, err)
			}
		}
	}
}

// On a terminal destructive commands ask for confirmation, with the batch and its members.
func TestCancelAndRemoveAsk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args     []string
		question string
		done     string
	}{
		{[]string{"batch", "cancel", "7"}, "Batch 7: 2 members, up to 3 jobs.\n  move stops for 2 members (3 jobs).\nIn flight: 1 job, at workers or in their queues.\nWay back: None.\nCancel batch 7 of moves (active, 2 members) permanently? [y/N] ", "POST /api/batches/7/cancel"},
		{[]string{"batch", "remove-member", "7", "3"}, "Remove member 3 from batch 7? [y/N] ", "DELETE /api/batches/7/members/3"},
	} {
		for answer, want := range map[string]int{"y\n": 0, "\n": 1, "": 1} {
			var mu sync.Mutex
			var changes []string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"dryRun":true`) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"batchId":7,"action":"cancel","members":2,"jobs":3,"jobsInFlight":1,"phases":[{"phase":"move","effect":"stops","members":2,"jobs":3}],"wayBack":"None."}`)
					return
				}
				if r.Method != http.MethodGet {
					changes = append(changes, r.Method+" "+r.URL.Path)
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"id":7,"memberKey":"eve","runbook":"moves","status":"active","memberCount":2}`)
			}))
			var out, notices strings.Builder
			root := cli.NewRoot(command.Environment{
				Stdin: strings.NewReader(answer), Stdout: &out, Stderr: &notices, Terminal: true, Width: 80,
				Token:  func(context.Context) (string, error) { return "token", nil },
				Getenv: func(name string) string { return map[string]string{"MATOOLKIT_API_URL": s.URL}[name] },
			})
			root.SetArgs(tt.args)
			status := cli.Execute(t.Context(), root)
			s.Close()
			done := strings.Join(changes, " ")
			if status != want || !strings.HasPrefix(notices.String(), tt.question) || done != map[int]string{0: tt.done}[status] {
				t.Errorf("%v with %q: status %d, %q: %s", tt.args, answer, status, done, notices.String())
			}
		}
	}
}

// Ctrl-C ends a question without an answer.
func TestAQuestionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	unanswered, typist := io.Pipe()
	t.Cleanup(func() { _ = typist.Close() })
	root := cli.NewRoot(command.Environment{
		Stdin: unanswered, Stdout: io.Discard, Stderr: &onWrite{what: "[y/N]", do: cancel}, Terminal: true, Width: 80,
		Token:  func(context.Context) (string, error) { return "token", nil },
		Getenv: func(name string) string { return map[string]string{"MATOOLKIT_API_URL": "http://127.0.0.1:1"}[name] },
	})
	root.SetArgs([]string{"batch", "remove-member", "7", "3"})
	if status := cli.Execute(ctx, root); status != 130 {
		t.Errorf("status %d", status)
	}
}

// onWrite calls a function with each write.
type onWrite struct {
	what string
	do   func()
}

func (o *onWrite) Write(p []byte) (int, error) {
	if strings.Contains(string(p), o.what) {
		o.do()
	}
	return len(p), nil
}

// Of a batch that went over to a new version the phases of both are shown, of a step
// what came too late.
func TestNotes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		body string
	}{
		"phases": {[]string{"batch", "phases", "42"}, `{"items":[
			{"id":1,"name":"prepare","runbookVersion":1,"status":"completed","onComplete":"rolling_back","members":2,"succeeded":2},
			{"id":2,"name":"move","runbookVersion":1,"status":"superseded","reason":"superseded by version 2"},
			{"id":3,"name":"prepare","runbookVersion":2,"status":"skipped","reason":"past due when version 2 was published","approvalRequired":true},
			{"id":4,"name":"move","runbookVersion":2,"status":"pending","requireSuccess":99.5,"onComplete":"pending","waiting":2},
			{"id":5,"name":"end","runbookVersion":2,"status":"pending","approvalRequired":true,"approved":{"by":"ada"},"waiting":2}
		]}`},
		"steps": {[]string{"batch", "steps", "42"}, `{"items":[
			{"id":1,"phase":"move","memberId":7,"step":"copy","kind":"phase","status":"failed","error":"no answer by 10:00",
			 "abandonedJobs":[{"jobId":"step-1-attempt-1","receivedAt":"2026-01-02T03:04:05Z","succeeded":true},
			                  {"jobId":"step-1-retry-1","receivedAt":"2026-01-02T03:04:05Z","error":"gone"},{"jobId":"step-1-retry-2"}]},
			{"id":2,"phase":"move","step":"count","kind":"on_complete","status":"skipped","resolved":{"by":"ada"}}
		]}`},
		"member":     {[]string{"batch", "remove-member", "42", "7", "--yes"}, `{"id":7,"memberKey":"u7","status":"removed","removedAt":"2026-01-02T03:04:05Z"}`},
		"cancelling": {[]string{"batch", "cancel", "42", "--yes"}, `{"id":42,"runbook":"moves","status":"cancelling","memberCount":3,"detectedAt":"2026-01-02T03:04:05Z"}`},
	} {
		out, err, status := fake(t, 200, "application/json", tt.body).as(0, tt.args...)
		if status != 0 {
			t.Errorf("%s: status %d: %s", name, status, err)
		}
		golden(t, "table/notes-"+name, out+"-- notices --\n"+err)
	}
}
