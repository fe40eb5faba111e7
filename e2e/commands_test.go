package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCommandsInTheDocumentsExist holds every command that a document shows against
// the programs and the Makefile.
func TestCommandsInTheDocumentsExist(t *testing.T) {
	t.Parallel()
	targets := makeTargets(t)
	for _, file := range documents(t) {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(root, file)
		for _, line := range shown(string(body)) {
			words := strings.Fields(line)
			switch filepath.Base(words[0]) {
			case "make":
				for _, target := range words[1:] {
					if !strings.Contains(target, "=") && !slices.Contains(targets, target) {
						t.Errorf("%s: %q: the Makefile has no target %s", name, line, target)
					}
				}
			case "matoolkit", "worker":
				for _, fault := range unknown(words) {
					t.Errorf("%s: %q: %s", name, line, fault)
				}
			}
		}
	}
}

func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*.md", "examples/*/*.md", "infra/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, files...)
	}
	return all
}

func makeTargets(t *testing.T) []string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(string(body), -1) {
		targets = append(targets, m[1])
	}
	return targets
}

var (
	fences  = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```")
	quoted  = regexp.MustCompile("`((?:bin/)?(?:matoolkit|worker|make) [^`\n]+)`")
	command = regexp.MustCompile(`^(?:\$ )?((?:bin/)?(?:matoolkit|worker|make)(?: .*)?)$`)
	comment = regexp.MustCompile(`\s+#.*$`)
	chained = regexp.MustCompile(`\s*(?:&&?|\|\|?|;)\s*`)
)

// shown are the commands in a document: lines of its code blocks, and what its text
// quotes.
func shown(document string) []string {
	var all []string
	for _, m := range quoted.FindAllStringSubmatch(fences.ReplaceAllString(document, ""), -1) {
		all = append(all, m[1])
	}
	for _, block := range fences.FindAllStringSubmatch(document, -1) {
		for line := range strings.Lines(block[1]) {
			for _, part := range chained.Split(comment.ReplaceAllString(strings.TrimSpace(line), ""), -1) {
				if m := command.FindStringSubmatch(part); m != nil {
					all = append(all, m[1])
				}
			}
		}
	}
	return all
}

// unknown is what the program does not know of a command line: its own help for the
// command tells.
func unknown(words []string) []string {
	path := []string{filepath.Base(words[0])}
	for _, w := range words[1:] {
		if !regexp.MustCompile(`^[a-z-]+$`).MatchString(w) || strings.HasPrefix(w, "-") {
			break
		}
		path = append(path, w)
	}
	// Words behind the command are its arguments: the longest path that is one counts.
	var help string
	for n := len(path); n > 0; n-- {
		out, err := exec.Command(program(path[0]), append(slices.Clone(path[1:n]), "--help")...).CombinedOutput()
		if err == nil && regexp.MustCompile(`(?m)^\s+`+regexp.QuoteMeta(strings.Join(path[:n], " "))+`( |$)`).Match(out) {
			help, path = string(out), path[:n]
			break
		}
	}
	var faults []string
	if help == "" || strings.Contains(help, path[len(path)-1]+" [command]") && len(words) > len(path) && !strings.HasPrefix(words[len(path)], "-") {
		faults = append(faults, "there is no such command")
	}
	for _, w := range words[len(path):] {
		flag, _, _ := strings.Cut(w, "=")
		if len(flag) > 1 && flag[0] == '-' && flag != "--help" && !regexp.MustCompile(`(?m)(^|[ ,])`+regexp.QuoteMeta(flag)+`([ ,=]|$)`).MatchString(help) {
			faults = append(faults, "there is no option "+flag)
		}
	}
	return faults
}

// TestWhatIsNoCommandIsFound holds the test above to its point.
func TestWhatIsNoCommandIsFound(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"matoolkit batch advance 42 --wait":                      0,
		"bin/matoolkit local up --parts servicebus":              0,
		"matoolkit runbook publish moves.yaml -o json":           0,
		"matoolkit config set api-url https://x":                 0,
		"worker functions":                                       0,
		"matoolkit batch rewind 42":                              1,
		"matoolkit local destroy":                                1,
		"matoolkit batch advance 42 --backwards":                 1,
		"matoolkit demo":                                         1,
		"matoolkit local up --free-ports --everything --quick=1": 2,
	} {
		if got := unknown(strings.Fields(line)); len(got) != want {
			t.Errorf("%s: got %q, want %d faults", line, got, want)
		}
	}
	document := "Give `matoolkit auth login`.\n```sh\n$ make demo && bin/worker   # now\nother thing\n```\n"
	if got := shown(document); !slices.Equal(got, []string{"matoolkit auth login", "make demo", "bin/worker"}) {
		t.Errorf("got %q", got)
	}
}
