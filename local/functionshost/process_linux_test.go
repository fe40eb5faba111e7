package functionshost

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

// A host that is killed leaves its handler running, which has to end by itself: package handler
// tests that.
func TestAKilledHostLeavesItsHandler(t *testing.T) {
	t.Parallel()
	self := testenv.Must(os.Executable())(t)
	host := exec.Command(self)
	host.Env = append(os.Environ(), "FAKE_ROLE=host", "FAKE_APP="+app(t, map[string]string{"tick": yearly}), "FAKE_REPORT="+report(t, nil))
	out := testenv.Must(host.StdoutPipe())(t)
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	_ = host.Process.Kill()
	_ = host.Wait() // it was killed
	if err != nil || pid <= 0 {
		t.Fatalf("no handler: %q, %v", line, err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the handler ended with its host: %v", err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestAnInvocationUsesTheCPUTimeOfTheRealHost(t *testing.T) {
	t.Parallel()
	s := run(t, Config{AppDir: app(t, map[string]string{"tick": yearly}), InvocationCPU: 20 * time.Millisecond}, func(w http.ResponseWriter, _ *http.Request) { success(w) })
	used := func() time.Duration {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			t.Fatal(err)
		}
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	before := used()
	for range 3 {
		if err := s.Invoke(t.Context(), "tick", []byte(`{"Data":{},"Metadata":{}}`)); err != nil {
			t.Fatal(err)
		}
	}
	if got := used() - before; got < 60*time.Millisecond {
		t.Errorf("3 invocations used %v, want 60 ms at least", got)
	}
}
