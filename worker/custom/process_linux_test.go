package custom_test

import (
	"context"
	"errors"
	"fmt"
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
)

const (
	prSetChildSubreaper = 36 // of linux/prctl.h
	helper              = "CUSTOM_TEST_HELPER"
)

// The tests' process gets orphans as its children, as the worker does in a
// container, where it is the first process.
func TestMain(m *testing.M) {
	if os.Getenv(helper) != "" {
		shielded()
		return
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		panic(errno)
	}
	os.Exit(m.Run())
}

// family is a function whose process starts another that starts a third, and
// waits. Both descendants write down their ids and hold all pipes.
const family = `
sh -c 'echo $$ >child; sleep 600 & echo $! >grandchild; wait' &
while [ ! -s child ] || [ ! -s grandchild ]; do :; done
`

// pid reads an id that a process of a function wrote down.
func (d directory) pid(t *testing.T, name string) int {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		raw, _ := os.ReadFile(filepath.Join(d.path, name))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
			return pid
		}
		if time.Now().After(deadline) {
			t.Fatalf("no process wrote %s", name)
		}
		time.Sleep(time.Millisecond)
	}
}

// gone fails when a process is there, be it only to be waited for.
func gone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there (%v)", pid, err)
	}
}

func TestNothingOfAFunctionOutlivesItsCall(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		note, manifest, end string
		want                string
	}{
		{"answered", "", `echo '{"success":true}'`, ""},
		{"failed", "", `exit 1`, custom.FailureProcess},
		{"late", "timeout: 3s", `wait`, catalog.FailureTimeout},
		{"too long an answer", "", `yes`, catalog.FailureInvalidResult},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			d := newDirectory(t)
			d.script(t, tc.manifest, family+tc.end)
			_, c := d.load(t, environment())
			began := time.Now()
			_, failure := call(t, c, `{}`)
			if failure == nil && tc.want != "" || failure != nil && failure.Type != tc.want {
				t.Fatalf("got %+v, want %q", failure, tc.want)
			}
			if took := time.Since(began); took > patience {
				t.Errorf("took %s", took)
			}
			gone(t, d.pid(t, "child"))
			gone(t, d.pid(t, "grandchild"))
		})
	}
}

func TestStoppingTheWorkerEndsFunctions(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.script(t, "", family+"wait")
	set, c := d.load(t, environment())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.Call(ctx, "Do", nil)
		ended <- err
	}()
	child, grandchild := d.pid(t, "child"), d.pid(t, "grandchild")

	// Close waits for what runs.
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := set.Close(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close returned %v while a function runs", err)
	}
	stop()
	long, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := set.Close(long); err != nil {
		t.Fatal(err)
	}
	gone(t, child)
	gone(t, grandchild)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error, which is no verdict on the job", err)
	}
	if _, failure := call(t, c, `{}`); failure == nil || !strings.Contains(failure.Message, "the worker is stopping") {
		t.Errorf("after Close: %+v", failure)
	}
}

// A process that took itself out of the group cannot be ended with it, but does not
// hold up the answer either, although it holds the pipes.
func TestProcessThatHidesDoesNotHoldUpTheAnswer(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.script(t, "", `
setsid sh -c 'echo $$ >hidden; exec sleep 600' &
while [ ! -s hidden ]; do :; done
echo '{"success":true}'`)
	_, c := d.load(t, environment())
	t.Cleanup(func() {
		pid := d.pid(t, "hidden")
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
	})
	if got, failure := call(t, c, `{}`); failure != nil || got != "true" {
		t.Fatalf("got %s, %v", got, failure)
	}
}

func TestFunctionsRunSideBySide(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	// Each waits until all have begun.
	d.script(t, "timeout: 10s\nparams: [{name: N, description: x}]", `
touch "began.$$"
while [ "$(ls began.* | wc -l)" -lt 8 ]; do sleep 0.01; done
printf '{"success":true,"result":{"In":%s}}' "$(cat)"`)
	_, c := d.load(t, environment())
	answers := make(chan string, 8)
	for n := range 8 {
		go func() {
			answer, err := c.Call(t.Context(), "Do", fmt.Appendf(nil, `{"N":"%d"}`, n))
			answers <- fmt.Sprintf("%s %v", answer, err)
		}()
	}
	seen := map[string]bool{}
	for range 8 {
		a := <-answers
		if !strings.Contains(a, `"function":"Do"`) || !strings.HasSuffix(a, "<nil>") {
			t.Error(a)
		}
		seen[a] = true
	}
	if len(seen) != 8 {
		t.Errorf("answers were mixed up: %v", seen)
	}
}

// A process of the same user cannot read the worker's environment; it runs here as
// another user than root, because root can read everything.
func TestShieldHidesTheWorkersEnvironment(t *testing.T) {
	t.Parallel()
	dir := testenv.Must(os.MkdirTemp("", "shield"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self := testenv.Must(os.Executable())(t)
	program := filepath.Join(dir, "helper")
	if out, err := exec.Command("cp", self, program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for mode, want := range map[string]bool{"open": true, "shielded": false} {
		cmd := exec.Command(program)
		cmd.Dir = dir
		cmd.Env = []string{helper + "=" + mode, "APP_SECRET=of-the-worker", "PATH=" + os.Getenv("PATH")}
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", mode, err, out)
		}
		if got := strings.Contains(string(out), "APP_SECRET=of-the-worker"); got != want {
			t.Errorf("%s: a child reads the environment: %v, want %v:\n%s", mode, got, want, out)
		}
	}
}

// shielded is the worker of that test.
func shielded() {
	if os.Getenv(helper) == "shielded" {
		if err := custom.Shield(); err != nil {
			panic(err)
		}
	}
	child := exec.Command("cat", fmt.Sprintf("/proc/%d/environ", os.Getpid()))
	child.Env = []string{}
	out, _ := child.CombinedOutput()
	_, _ = os.Stdout.Write(out)
}
