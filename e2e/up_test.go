package e2e_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/system"
)

// TestUpStopsCleanly starts all parts and stops them as Ctrl-C does.
func TestUpStopsCleanly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		signal os.Signal
		state  []string
	}{
		{os.Interrupt, []string{"--ephemeral"}},
		{syscall.SIGTERM, []string{"--data-dir", filepath.Join(t.TempDir(), "data")}},
	} {
		t.Run(tc.signal.String(), func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			dir, ready := t.TempDir(), filepath.Join(t.TempDir(), "endpoints.json")
			up := exec.Command(program("matoolkit"), append([]string{"local", "up", "--free-ports", "--app", dist, "--endpoints", ready}, tc.state...)...)
			up.Stdout, up.Stderr = &out, &errs
			up.Env = append(os.Environ(), "TMPDIR="+dir)
			if err := up.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- up.Wait() }()
			defer func() { _ = up.Process.Kill() }() // it has ended where all is well
			e := awaitEndpoints(t, ready, ended)
			handler, err := handlerPID(e.Addresses.Host)
			if err != nil {
				t.Fatal(err)
			}

			if err := up.Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Errorf("after %s: %v\n%s", tc.signal, err, errs.String())
			}
			if alive(handler) {
				t.Errorf("the handler, process %d, outlives the system", handler)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("files are left behind: %v, %v", left, err)
			}
			if errs.Len() > 0 {
				t.Errorf("it warns of what is no trouble:\n%s", errs.String())
			}
			told := regexp.MustCompile(`ready in (\d+) ms`).FindString(out.String())
			if told == "" {
				t.Errorf("it does not say when it is ready:\n%s", out.String())
			}
			for _, address := range []string{e.Addresses.ServiceBus, e.Addresses.Cosmos, e.Addresses.Host, e.Addresses.Entra, e.Addresses.Tenant} {
				if !strings.Contains(out.String(), address) {
					t.Errorf("it does not name %s:\n%s", address, out.String())
				}
			}
			t.Log(told)
		})
	}
}

func awaitEndpoints(t *testing.T, file string, ended <-chan error) system.Endpoints {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if e, err := system.ReadEndpoints(file); err == nil {
			return e
		}
		select {
		case err := <-ended:
			t.Fatal("the system ended before it was ready: ", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatal("the system is not ready")
	return system.Endpoints{}
}

// alive tells whether there is a process of that id.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
