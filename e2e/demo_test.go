package e2e_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// startDemo starts "matoolkit local demo", which builds its worker with a shell command.
func startDemo(t *testing.T, worker, build string) (cmd *exec.Cmd, stdout, stderr *output) {
	t.Helper()
	stdout, stderr = &output{grown: make(chan struct{}, 1)}, &output{grown: make(chan struct{}, 1)}
	cmd = exec.Command(program("matoolkit"), "local", "demo", "--data-dir", filepath.Join(t.TempDir(), "demo"), "--app", dist, "--example", example, "--worker", worker, "--build-worker", build)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended unless the test failed
	return cmd, stdout, stderr
}

// output is the standard output of a program.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.grown <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the program has printed a text.
func (o *output) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.After(patience); !strings.Contains(o.String(), text); {
		select {
		case <-o.grown:
		case <-deadline:
			t.Fatalf("no %q in %q", text, o)
		}
	}
}

// A demo starts the local system while its worker is built, and then runs that worker: the program
// that was there before cannot run.
func TestDemoRunsTheWorkerThatItBuilds(t *testing.T) {
	t.Parallel()
	gate, worker := filepath.Join(t.TempDir(), "gate"), filepath.Join(t.TempDir(), "worker")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", "echo 'exit 9' >"+worker+" && chmod +x "+worker).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd, stdout, stderr := startDemo(t, worker, "read go <"+gate+" && cp "+program("worker")+" "+worker+".new && mv "+worker+".new "+worker)
	stdout.await(t, "Compiling the worker")
	if !strings.Contains(stdout.String(), "== Sign in") {
		t.Errorf("the local system has not started during the build: %s", stdout)
	}
	if out, err := exec.Command("sh", "-c", "echo go >"+gate).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
	}
	// The last line opens the console on the result, which the demo keeps.
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	last := lines[len(lines)-1]
	_, data, found := strings.Cut(last, "local up --data-dir ")
	data, _, _ = strings.Cut(data, " --open")
	if files, err := os.ReadDir(data); !found || err != nil || len(files) < 2 {
		t.Errorf("%q does not open a state: %d files, %v", last, len(files), err)
	}
}

func TestDemoEndsWhenTheBuildFails(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := startDemo(t, program("worker"), "echo worker.go:1:2: undefined: x >&2; exit 3")
	_ = cmd.Wait() // its status is checked
	if status := cmd.ProcessState.ExitCode(); status != exit.Failed {
		t.Errorf("status %d, want %d", status, exit.Failed)
	}
	for _, want := range []string{"worker.go:1:2: undefined: x", "the build of the worker: exit status 3"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("no %q in %s", want, stderr)
		}
	}
	if strings.Contains(stdout.String(), "Publish") {
		t.Errorf("the demo went on: %s", stdout)
	}
}

// The processes of a build end with the demo, those that the shell started as well: they hold a pipe.
func TestInterruptedDemoEndsTheBuild(t *testing.T) {
	t.Parallel()
	held := filepath.Join(t.TempDir(), "held")
	if err := syscall.Mkfifo(held, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, stdout, stderr := startDemo(t, program("worker"), "exec >"+held+"; (sh -c 'sleep 1000; true'); true")
	pipe, err := os.Open(held)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	stdout.await(t, "Compiling the worker")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its status is checked
	if status := cmd.ProcessState.ExitCode(); status != exit.Interrupted {
		t.Errorf("status %d, want %d\n%s", status, exit.Interrupted, stderr)
	}
	if err := pipe.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := pipe.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a process of the build still runs: %v", err)
	}
}
