package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/e2e/pages"
	"github.com/matoolkit/matoolkit/local/system"
)

// terminals are those that a page has its reader open: for a command that does not end by
// itself, or that is left running behind an "&". It is given as it is written, but for
// the ports of a system, which are free ones.
type terminals struct {
	open    []*system.Process
	known   string // the file with those of the system that was started last; "" for none
	entered bool   // whether the environment is kept in a file, which each script begins with
}

const enteredFile = ".entered"

var (
	running = regexp.MustCompile(`^(?:eval "\$\((?:bin/)?matoolkit local env --for worker(?: --wait)?\)" && )?((?:bin/)?(?:my-)?worker)$`)
	adopted = regexp.MustCompile(`^eval "\$\((?:bin/)?matoolkit local env(?: --for worker)?(?: --wait)?\)"$`)
)

// opens tells whether a line is given in a terminal of its own.
func (r *runner) opens(line string, background bool) bool {
	if starting.MatchString(line) {
		return !background || strings.Contains(line, " --parts ")
	}
	return running.MatchString(line)
}

// terminal gives a line and waits until what it starts is ready.
func (r *runner) terminal(b pages.Block, line string) {
	r.t.Helper()
	ready := func(said string) bool { return strings.Contains(said, "taking jobs") }
	if starting.MatchString(line) {
		r.shut() // a page has one system at a time
		r.known = "endpoints-of-" + strconv.Itoa(b.Line) + ".json"
		if _, given, ok := strings.Cut(line, "--endpoints "); ok {
			r.known = strings.Fields(given)[0]
		} else {
			line += " --endpoints " + r.known
		}
		if !strings.Contains(line, "--free-ports") {
			line += " --free-ports"
		}
		line = "exec " + line
		ready = func(string) bool {
			_, err := system.ReadEndpoints(filepath.Join(r.home, r.known))
			return err == nil
		}
	} else {
		line = r.here(running.ReplaceAllStringFunc(line, func(l string) string {
			program := running.FindStringSubmatch(l)[1]
			return strings.TrimSuffix(l, program) + "exec " + program
		}))
	}
	name := filepath.Join(r.home, "terminal-"+strconv.Itoa(len(r.open))+".log")
	out, err := os.Create(name)
	if err != nil {
		r.t.Fatal(err)
	}
	defer out.Close() // the process has its own
	p, err := system.Spawn(line, out, r.env, "sh", "-c", r.begun()+"cd "+quote(r.home)+"\n"+line)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(r.open) == 0 {
		r.t.Cleanup(r.shut)
	}
	r.open = append(r.open, p)
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for {
		said, err := os.ReadFile(name)
		if err == nil && ready(string(said)) {
			return
		}
		select {
		case <-p.Done():
			r.t.Fatalf("%s: %s ended:\n%s", b.Where(), line, said)
		case <-ctx.Done():
			r.t.Fatalf("%s: %s is not ready:\n%s", b.Where(), line, said)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// shut ends what the terminals run, the last first, as Ctrl-C does. It has to end well.
func (r *runner) shut() {
	for i := len(r.open) - 1; i >= 0; i-- {
		if err := r.open[i].Stop(patience); err != nil {
			r.t.Errorf("%s: %v", r.open[i].Name, err)
		}
	}
	r.open = nil
}

// adopts takes the environment that a line makes into all that follow.
func (r *runner) adopts(b pages.Block, line string) {
	r.t.Helper()
	if r.known == "" {
		r.t.Fatalf("%s: %s: no line has started the system, and neither does the page's story", b.Where(), line)
	}
	r.script(b.Where(), r.here(line)+" && export -p > "+enteredFile)
	r.entered = true
}

// begun is what a script of the page begins with.
func (r *runner) begun() string {
	if !r.entered {
		return ""
	}
	return ". " + quote(filepath.Join(r.home, enteredFile)) + "\n"
}

// localSystem starts the whole system, in a terminal.
func (r *runner) localSystem() {
	r.t.Helper()
	r.terminal(pages.Block{Page: "the page begins"}, "bin/matoolkit local up")
}

// What docs/own-workers.md calls my-worker: the one of this repository, under another
// id, with a function of its own.
const (
	badgeManifest = `name: Get-Badge
description: The badge of a user.
params:
  - {name: UserId, required: true, description: Whose badge.}
result:
  - {name: BadgeId, description: Its number.}
command: [get-badge.sh]
`
	badgeProgram = `#!/bin/sh
echo '{"success": true, "result": {"BadgeId": "B7"}}'
`
	ownWorkerProgram = `#!/bin/sh
export WORKER_ID=worker-02 CUSTOM_FUNCTIONS_DIR="$PWD/badges" TRIAL_SIGN_IN=none
exec worker
`
)

// ownWorker puts my-worker into the path.
func (r *runner) ownWorker() {
	r.t.Helper()
	for name, text := range map[string]string{
		"badges/get-badge.yaml": badgeManifest, "badges/get-badge.sh": badgeProgram, "programs/my-worker": ownWorkerProgram,
	} {
		file := filepath.Join(r.home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			r.t.Fatal(err)
		}
	}
	r.env["PATH"] = filepath.Join(r.home, "programs") + string(filepath.ListSeparator) + r.env["PATH"]
}
