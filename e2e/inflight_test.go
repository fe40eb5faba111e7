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

// slow is a machine whose worker has two functions: Do-Slowly, which records its begin
// and its end and runs until the test releases it, and Undo, which records its runs.
type slow struct {
	*machine
	*admin
	t     *testing.T
	notes string
}

func newSlow(t *testing.T, parallelism int) *slow {
	t.Helper()
	functions, notes := filepath.Join(t.TempDir(), "functions"), t.TempDir()
	if err := os.Mkdir(functions, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(functions, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("do.yaml", "name: Do-Slowly\ndescription: Lasts until it is released.\ntimeout: 5m\nenvironment: [NOTES]\ncommand: [do.sh]\n", 0o600)
	write("do.sh", "#!/bin/sh\necho begin >>\"$NOTES/log\"\nwhile [ ! -e \"$NOTES/release\" ]; do sleep 0.05; done\necho end >>\"$NOTES/log\"\necho '{\"success\":true,\"result\":true}'\n", 0o700)
	write("undo.yaml", "name: Undo\ndescription: Notes that it ran.\nenvironment: [NOTES]\ncommand: [undo.sh]\n", 0o600)
	write("undo.sh", "#!/bin/sh\necho undo >>\"$NOTES/log\"\necho '{\"success\":true,\"result\":true}'\n", 0o700)
	m := newMachineWith(t, []byte("{}"), environment{locks: true, worker: map[string]string{
		"CUSTOM_FUNCTIONS_DIR": functions, "NOTES": notes, "MAX_PARALLELISM": fmt.Sprint(parallelism),
	}}, everything)
	return &slow{machine: m, admin: signIn(m), t: t, notes: notes}
}

func (s *slow) begin(members int, step, more string) {
	s.t.Helper()
	s.write("slow.yaml", []byte("name: slow\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - name: do\n    offset: T-0\n    steps:\n"+
		"      - {name: do, worker_id: worker-01, function: Do-Slowly"+step+"}\n"+more))
	var csv strings.Builder
	csv.WriteString("Upn\n")
	for i := range members {
		fmt.Fprintf(&csv, "p%d@example.com\n", i)
	}
	s.write("slow.csv", []byte(csv.String()))
	s.must("runbook", "publish", s.path("slow.yaml"), "--force")
	s.must("batch", "create", "slow", s.path("slow.csv"))
	s.must("batch", "advance", "1", "--phase", "do", "--yes")
}

func (s *slow) release() {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.notes, "release"), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *slow) log() string {
	body, err := os.ReadFile(filepath.Join(s.notes, "log"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(body)), " ")
}

// until waits for a condition.
func (s *slow) until(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: not so; the functions noted %q", what, s.log())
		}
	}
}

// steps counts the steps of the batch by status.
func (s *slow) steps() map[string]int {
	s.t.Helper()
	var page api.Page[api.Step]
	s.ask(&page, "batch", "steps", "1", "--all")
	counts := map[string]int{}
	for _, v := range page.Items {
		counts[v.Status]++
	}
	return counts
}

func (s *slow) status() string {
	var b api.Batch
	s.ask(&b, "batch", "get", "1")
	return b.Status
}

// TestUndoWaitsForTheJobThatRuns: the removal steps of a member begin when the member's
// job has ended at the worker, and not while it runs.
func TestUndoWaitsForTheJobThatRuns(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 4)
	s.begin(1, "", "on_member_removed:\n  - {name: undo, worker_id: worker-01, function: Undo}\n")
	s.until("the job runs", func() bool { return s.log() == "begin" })
	s.must("batch", "remove-member", "1", "1", "--yes", "--reason", "left")
	s.until("the removal steps wait", func() bool { return s.steps()["pending"] == 1 })
	if got := s.log(); got != "begin" {
		t.Errorf("the functions noted %q before the job was released", got)
	}
	s.release()
	s.until("the batch has ended", func() bool { return s.status() != "active" })
	if got := s.log(); got != "begin end undo" {
		t.Errorf("the functions noted %q", got)
	}
}

// TestJobDoesNotOutliveItsStep: the worker ends a job when its step's time is over, and
// only then the retry begins.
func TestJobDoesNotOutliveItsStep(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 4)
	s.begin(1, ", timeout: 5s, on_failure: undo, retry: {max_retries: 1, interval: 1s}", "rollbacks:\n  undo:\n    - {name: undo, worker_id: worker-01, function: Undo}\n")
	s.until("the batch has ended", func() bool { return s.status() == "failed" })
	s.release() // nothing is left that could note its end
	s.until("no process is left", func() bool { return s.steps()["failed"] == 1 })
	if got := s.log(); got != "begin begin undo" {
		t.Errorf("the functions noted %q", got)
	}
}

// TestCancelReachesTheJobsInTheQueue: with one job running and 59 in the worker's queue,
// a cancellation lets the one end, and no other begins.
func TestCancelReachesTheJobsInTheQueue(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 1)
	const members = 60
	s.begin(members, "", "")
	s.until("all jobs are sent", func() bool { // of both pages
		sent := 0
		for _, n := range s.steps() {
			sent += n
		}
		return sent == members
	})
	s.until("a job runs", func() bool { return s.log() == "begin" })
	s.must("batch", "cancel", "1", "--yes", "--reason", "the merger is off")
	if got := s.status(); got != "cancelling" {
		t.Errorf("the batch is %s while a job of it runs", got)
	}
	s.until("the worker has read the control", func() bool { return strings.Contains(s.machine.log(workerProcess), "jobs revoked") })
	s.release()
	s.until("the batch is cancelled", func() bool { return s.status() == "cancelled" })
	counts := s.steps()
	if got := s.log(); got != "begin end" || counts["succeeded"] != 1 || counts["cancelled"] != members-1 {
		t.Errorf("the functions noted %q, the steps are %v", got, counts)
	}
}
