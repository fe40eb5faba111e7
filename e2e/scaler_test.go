package e2e_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestContainerScaler runs the demo of the container scaler: the real handler, with a local program as each
// container.
func TestContainerScaler(t *testing.T) {
	t.Parallel()
	container := filepath.Join(t.TempDir(), "container-per-message")
	build := exec.Command("go", "build", "-trimpath", "-o", container, "./examples/container-per-message")
	build.Dir = root
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program("matoolkit"), "local", "demo-scaler", "--app", dist, "--program", container, "--messages", "7", "--instances", "2").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "7 messages were settled, each by one container, at most 2 at once. All container groups are deleted.") {
		t.Errorf("%v\n%s", err, out)
	}
}
