package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/matoolkit/matoolkit/e2e/answers"
)

// The repository and the programs built from it.
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

// TestMain has "make build" make what the tests run.
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
		if err = os.Chmod(dir, 0o711); err == nil { // the account of a PostgreSQL server has a folder in it
			err = build(filepath.Join(dir, "clone"))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return answers.Compare(m, root, dir)
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

// build runs "make build" in a folder that has what a clone has, by links, so that
// bin/ and dist/ of the repository stay as they are.
func build(dir string) (err error) {
	if root, err = filepath.Abs(".."); err != nil {
		return err
	}
	bin, dist, example = filepath.Join(dir, "bin"), filepath.Join(dir, "dist"), filepath.Join(root, "examples", "user-migration")
	if err = os.Mkdir(dir, 0o700); err == nil {
		err = clone(dir)
	}
	if err != nil {
		return err
	}
	cmd := exec.Command("make", "--no-print-directory", "build")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make build: %w\n%s", err, out)
	}
	return nil
}

// clone links what make works with, and what the documents name, into a folder.
func clone(dir string) error {
	for _, name := range strings.Fields(`Makefile go.mod go.sum cmd console examples functions handler host.json infra internal local
		local.settings.json.example worker`) {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func program(name string) string { return filepath.Join(bin, name) }
