package dispatch_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// When the result of a job that expired is there, all processes of its custom function
// are gone, and what they would have done later is not done.
func TestNothingOfACustomFunctionOutlivesItsJob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := exec.Command("/bin/sh", "-c", "chmod 755 . && cat >do.sh && chmod 755 do.sh")
	// The process and the one that it starts would change something when their sleep ends.
	write.Dir, write.Stdin = dir, strings.NewReader("#!/bin/sh\n(sleep 600; touch changed) & echo $! >child\necho $$ >pid\nsleep 600\ntouch changed\n")
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "do.yaml"), []byte("name: Do\ndescription: Does.\ntimeout: 5m\nparams: [{name: N, description: Any.}]\ncommand: [do.sh]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	set := testenv.Must(custom.Load(custom.Config{Dir: dir, Getenv: os.Getenv}))(t)
	functions := testenv.Must(catalog.New(set.Functions()...))(t)
	b := start(t, functions, options{config: dispatch.Config{Now: standstill}})
	j := job(1)
	expires := standstill().Add(3 * time.Second) // from when it is begun, for the script to write its files
	j.ExpiresAt, j.Parameters = &expires, []byte(`{"N":"1"}`)
	b.send(t, j)
	got := b.result(t)
	if got.Error == nil || got.Error.Type != catalog.FailureTimeout || !strings.Contains(got.Error.Message, "job expired") {
		t.Fatalf("got %+v", got.Error)
	}
	for _, name := range []string{"pid", "child"} {
		raw := testenv.Must(os.ReadFile(filepath.Join(dir, name)))(t)
		pid := testenv.Must(strconv.Atoi(strings.TrimSpace(string(raw))))(t)
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) && !zombie(pid) {
			t.Errorf("%s: process %d still runs: %v", name, pid, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "changed")); err == nil {
		t.Error("the function went on after its job had expired")
	}
}

// zombie tells whether a process has ended and only waits to be reaped by a process that
// is not ours.
func zombie(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(raw), ") ")
	return strings.HasPrefix(after, "Z")
}
