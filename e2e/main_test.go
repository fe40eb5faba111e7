package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// The repository and what was built of it.
var (
	root    string // of the repository
	bin     string // the folder with matoolkit and worker
	dist    string // the staged Functions app
	example string // the folder of the example that is migrated
)

var (
	seed = flag.Uint64("seed", 1, "of the moments at which things are killed")
	soak = flag.Duration("soak", -1, "go on with storms of full size and new seeds for so long, 0 for as long as nobody stops it; less is one small storm")
	keep = flag.String("keep", "", "keep the state and the logs of each scenario in this folder")
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The scenarios mostly wait for each other's clocks: more of them than there are
	// processors run at once, unless -parallel says otherwise.
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "4")
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "matoolkit-e2e-")
	if err == nil {
		defer os.RemoveAll(dir)
		cleanUpWhenStopped(dir)
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return m.Run()
}

// cleanUpWhenStopped has Ctrl-C leave nothing behind: the processes end with this
// one, and all files are in dir, those of the tests as well.
func cleanUpWhenStopped(dir string) {
	_ = os.Setenv("TMPDIR", dir)
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stopped
		_ = os.RemoveAll(dir)
		os.Exit(130)
	}()
}

// build builds the programs as the Makefile does, which shares their cache, and
// stages the Functions app.
func build(dir string) (err error) {
	if root, err = filepath.Abs(".."); err != nil {
		return err
	}
	bin, dist, example = filepath.Join(dir, "bin"), filepath.Join(dir, "dist"), filepath.Join(root, "examples", "user-migration")
	for program, into := range map[string]string{"./handler": dist, "./cmd/matoolkit": bin, "./worker": bin} {
		cmd := exec.Command("go", "build", "-trimpath", "-o", into+string(filepath.Separator), program)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", program, err, out)
		}
	}
	staged, err := filepath.Glob(filepath.Join(root, "functions", "*", "function.json"))
	if err != nil {
		return err
	}
	for _, file := range append(staged, filepath.Join(root, "host.json")) {
		name := filepath.Base(file)
		if name == "function.json" {
			name = filepath.Join(filepath.Base(filepath.Dir(file)), name)
		}
		body, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		target := filepath.Join(dist, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(target, body, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func program(name string) string { return filepath.Join(bin, name) }
