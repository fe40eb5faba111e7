package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
)

// TestWalkthrough gives the commands of the scheduled example's README, one after the
// other, to a shell. Those that start the system are the machine's own here, on ports
// that are free. After each that moves the clock it waits, as a reader would.
func TestWalkthrough(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(root, "examples", scheduled)
	body, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := scripted(string(body))
	const starting = 6 // of them build and start the system, and sign in
	if len(lines) <= starting || lines[starting-1] != "bin/matoolkit auth login" {
		t.Fatalf("the system is not started by the first %d commands: %q", starting, lines)
	}

	home := t.TempDir()
	for name, target := range map[string]string{"bin": bin, "examples": filepath.Join(root, "examples")} {
		if err := os.Symlink(target, filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	seed, err := os.ReadFile(filepath.Join(folder, "tenant.json"))
	if err != nil {
		t.Fatal(err)
	}
	m := newMachineWith(t, seed, environment{handler: map[string]string{"PEOPLE": filepath.Join(home, ".data", "people.csv")}}, everything)
	s := &saga{machine: m, admin: signIn(m), t: t, runbook: scheduled}
	s.shell(home, lines[1])

	shows := map[string][]string{
		"query preview scheduled-migration":   {"2030-03-09 17:00:00Z  none", "2030-03-16 09:00:00Z  none", "15 rows"},
		"batch list":                          {"scheduled-migration"},
		"batch phases 1":                      {"pre-stage"},
		"batch members 1 --status removed":    {"elena.petrova", "deepa.nair"},
		"batch members 2":                     {"deepa.nair"},
		"automation status scheduled-migrati": {"3 of 8 active members", "2 of 6 active members"},
		"batch removals 1":                    {"ada.lindqvist", "amir.haddad", "chen.wei", "20%"},
		"batch phases 2":                      {"quiet hours until 2030-03-11T17:00:00Z"},
		"batch watch 1":                       {"completed"},
		"batch watch 2":                       {"completed"},
	}
	for _, line := range lines[starting:] {
		out := s.shell(home, line)
		for command, words := range shows {
			if !strings.Contains(line, command) || strings.Contains(line, "--until-idle") {
				continue
			}
			for _, w := range words {
				if !strings.Contains(out, w) {
					t.Errorf("%s does not show %q:\n%s", line, w, out)
				}
			}
			delete(shows, command)
		}
		s.idle()
	}
	for command := range shows {
		t.Errorf("the README has no command %q", command)
	}

	s.wantBatches("1 2030-03-09T17:00:00Z", "2 2030-03-16T09:00:00Z")
	for batch, active := range map[int]int{1: 5, 2: 6} {
		s.awaitBatch(batch, "completed")
		stayed := slices.DeleteFunc(s.members(batch), func(m api.Member) bool { return m.Status != "done" })
		if len(stayed) != active {
			t.Errorf("batch %d ends with %d members, want %d: %+v", batch, len(stayed), active, stayed)
		}
	}
	arrived := 0
	for _, u := range s.state().Users {
		if strings.HasSuffix(u.UPN(), "@fabrikam.com") {
			arrived++
		}
	}
	if arrived != 11 {
		t.Errorf("%d people arrived, want 11", arrived)
	}
	s.wantGroup("")
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// scripted are the lines of a document's sh blocks.
func scripted(document string) []string {
	var all []string
	for _, block := range shellBlock.FindAllStringSubmatch(document, -1) {
		all = append(all, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	return all
}

// shell runs a line in a shell with an administrator's credentials.
func (s *saga) shell(dir, line string) string {
	s.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(s.t.Context(), "sh", "-e", "-c", line)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	err := cmd.Run()
	s.t.Logf("$ %s\n%s%s", line, out.String(), errs.String())
	if err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
	return out.String()
}

// idle waits until all that is due in any batch has been done, or says why not.
func (s *saga) idle() {
	s.t.Helper()
	s.until("nothing is under way", func() (bool, any) {
		var batches api.Page[api.Batch]
		s.ask(&batches, "batch", "list")
		now := s.clock()
		for _, b := range batches.Items {
			if b.Held != nil && b.Held.Confirmed != nil {
				return false, b
			}
			for _, p := range s.phases(b.ID) {
				due := p.Status == "pending" && p.Reason == "" && (p.DueAt == nil || p.DueAt.Before(now))
				runs := p.Status == "dispatched" && (p.Kind != "removal" || p.Running+p.Waiting > 0)
				if due || runs {
					return false, fmt.Sprintf("batch %d: %+v", b.ID, p)
				}
			}
		}
		return true, nil
	})
}
