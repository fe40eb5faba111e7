package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// bundlePrograms are the worker of the context bundle, and the folder of its command function.
func bundlePrograms(t *testing.T) (worker, functions string) {
	t.Helper()
	dir, err := buildBundle()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "context-worker"), filepath.Join(dir, "functions")
}

// buildBundle builds the programs of the context bundle, once, in a folder that goes with the tests.
var buildBundle = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "context-bundle-"); err != nil {
		return "", err
	}
	functions := filepath.Join(dir, "functions")
	for name, folder := range map[string]string{filepath.Join(dir, "context-worker"): "worker", filepath.Join(functions, "train"): "train"} {
		build := exec.Command("go", "build", "-trimpath", "-o", name, "./examples/context-bundle/"+folder)
		build.Dir = root
		build.Env = append(build.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w\n%s", err, out)
		}
	}
	manifest, err := os.ReadFile(filepath.Join(root, "examples", "context-bundle", "functions", "train-semantic-model.yaml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(functions, "train-semantic-model.yaml"), manifest, 0o644)
	}
	return dir, errors.Join(err, os.Chmod(functions, 0o755))
})

// TestContextBundle runs the demo of requests: the real handler, GitHub, Blob Storage, and three real workers. The demo
// itself compares each result, and which repositories GitHub was asked for.
func TestContextBundle(t *testing.T) {
	t.Parallel()
	worker, functions := bundlePrograms(t)
	out, err := exec.CommandContext(t.Context(), program("matoolkit"), "local", "demo-pipeline", "--app", dist, "--data-dir", filepath.Join(t.TempDir(), "demo"),
		"--worker", worker, "--functions", functions, "--example", filepath.Join(root, "examples", "context-bundle")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"10 of 10 items succeeded", "GitHub was asked for 10 repositories", "there are 1 models, one of this bundle", // refresh
		"is cached", "GitHub was asked for 0 repositories", // again
		"GitHub was asked for 2 repositories", "there are 2 models, one of this bundle", // two stale
		"The worker listed 10 repositories twice, and read them once.",
		"keeps the earlier context of api, and lacks gone",      // failures
		"all 11 items failed, and GitHub was asked for nothing", // hostile owner
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
