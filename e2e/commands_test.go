package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/e2e/pages"
)

// TestCommandsInDocuments holds every command of make and of the worker that a document
// shows, in a block or in its text, against the Makefile and the program. Those of
// matoolkit are held against it in cmd/matoolkit.
func TestCommandsInDocuments(t *testing.T) {
	t.Parallel()
	targets := makeTargets(t)
	for _, page := range documents(t) {
		shown, err := page.Commands("make", "worker", "go")
		if err != nil {
			t.Error(err)
		}
		for _, c := range shown {
			var fault error
			switch c.Program() {
			case "make":
				fault = made(c, targets)
			case "worker":
				fault = understood(c)
			}
			for _, word := range c.Words[1:] {
				if fault == nil {
					fault = there(strings.TrimPrefix(word, "./"))
				}
			}
			if fault != nil {
				t.Errorf("%s: %q: %v", c.Where, c, fault)
			}
		}
	}
}

var (
	inTheRepository = regexp.MustCompile(`^(?:\.github|cmd|docs|e2e|examples|functions|handler|infra|internal|local|worker)/[\w./*-]*$`)
	quotedPath      = regexp.MustCompile("`([^`\n ]+/[^`\n ]*)`")
)

// there tells when a word names a file or a folder of the repository, and there is none.
func there(word string) error {
	if !inTheRepository.MatchString(word) || strings.Contains(word, "...") {
		return nil
	}
	found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(word)))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no %s", word)
	}
	return err
}

// TestPathsInDocuments looks for the files and folders that the text of a document quotes.
func TestPathsInDocuments(t *testing.T) {
	t.Parallel()
	quoted := 0
	for _, page := range documents(t) {
		for i, line := range strings.Split(page.Prose, "\n") {
			for _, m := range quotedPath.FindAllStringSubmatch(line, -1) {
				if inTheRepository.MatchString(m[1]) {
					quoted++
				}
				if err := there(m[1]); err != nil {
					t.Errorf("%s:%d: %v", page.Name, i+1, err)
				}
			}
		}
	}
	if quoted < 50 {
		t.Errorf("the documents quote %d paths; are they found?", quoted)
	}
}

// TestTargetsAreInDocuments holds the documents against the Makefile: each target that
// its help lists is told of.
func TestTargetsAreInDocuments(t *testing.T) {
	t.Parallel()
	told := map[string]bool{}
	for _, page := range documents(t) {
		shown, err := page.Commands("make")
		if err != nil {
			t.Error(err)
		}
		for _, c := range shown {
			for _, target := range c.Words[1:] {
				told[target] = told[target] || c.Program() == "make"
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):.*## `).FindAllStringSubmatch(makefile(t), -1) {
		if !told[m[1]] {
			t.Errorf("no document shows `make %s`", m[1])
		}
	}
}

func makefile(t *testing.T) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func makeTargets(t *testing.T) []string {
	t.Helper()
	var targets []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(makefile(t), -1) {
		targets = append(targets, m[1])
	}
	return targets
}

// made tells which target of a command there is not.
func made(c pages.Command, targets []string) error {
	for _, word := range c.Words[1:] {
		if !strings.Contains(word, "=") && !strings.HasPrefix(word, "-") && !slices.Contains(targets, word) {
			return fmt.Errorf("the Makefile has no target %s", word)
		}
	}
	return nil
}

var wordOfCommand = regexp.MustCompile(`^[a-z]+$`)

// understood tells what the worker does not know of a command line, by its own help.
func understood(c pages.Command) error {
	command, options := c.Words[1:], []string(nil)
	for i, w := range command {
		if !wordOfCommand.MatchString(w) {
			command, options = command[:i], command[i:]
			break
		}
	}
	out, err := exec.Command(program("worker"), append(slices.Clone(command), "--help")...).CombinedOutput()
	name := strings.Join(append([]string{"worker"}, command...), " ")
	if err != nil || !regexp.MustCompile(`(?m)^\s+`+name+`( |$)`).Match(out) {
		return fmt.Errorf("there is no command %s", name)
	}
	for _, w := range options {
		option, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(option, "-") && !regexp.MustCompile(`(?m)(^|[ ,])`+regexp.QuoteMeta(option)+`([ ,=]|$)`).Match(out) {
			return fmt.Errorf("there is no option %s", option)
		}
	}
	return nil
}

// TestWhatIsNoCommandIsFound holds the tests above to their point.
func TestWhatIsNoCommandIsFound(t *testing.T) {
	t.Parallel()
	targets := makeTargets(t)
	for line, good := range map[string]bool{
		"make demo":                         true,
		"make soak SOAK=10m":                true,
		"make coffee":                       false,
		"worker functions":                  true,
		"bin/worker":                        true,
		"worker --version":                  true,
		"worker health --ready":             true,
		"worker functions --custom-dir DIR": true,
		"worker dance":                      false,
		"worker functions --quickly":        false,
		"worker health --custom-dir x":      false,
	} {
		page, err := pages.Parse("page", "```sh\n"+line+"\n```\n")
		if err != nil {
			t.Fatal(err)
		}
		commands, err := page.Commands()
		if err != nil || len(commands) != 1 {
			t.Fatalf("%s: %v, %v", line, commands, err)
		}
		if commands[0].Program() == "make" {
			err = made(commands[0], targets)
		} else {
			err = understood(commands[0])
		}
		if good != (err == nil) {
			t.Errorf("%s: got %v", line, err)
		}
	}
}
