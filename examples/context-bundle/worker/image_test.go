package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

// instructions are those of a Dockerfile by stage; those before the first FROM form a stage of their own.
func instructions(t *testing.T, file string) [][]string {
	t.Helper()
	text := regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(string(testenv.Must(os.ReadFile(file))(t)), "")
	all := [][]string{nil}
	for line := range strings.Lines(regexp.MustCompile(`\\\n\s*`).ReplaceAllString(text, "")) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if strings.HasPrefix(line, "FROM ") {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], line)
	}
	return all
}

// The image differs from that of the worker of a tenant only in what it has, and runs as that does.
func TestImage(t *testing.T) {
	t.Parallel()
	ours, theirs := instructions(t, "Dockerfile"), instructions(t, filepath.Join("..", "..", "..", "worker", "Dockerfile"))
	if len(ours) != 3 || len(theirs) != 3 || !slices.Equal(ours[0], theirs[0]) {
		t.Fatalf("stages %q", ours)
	}
	same := func(stage []string) (kept []string) {
		for _, line := range stage {
			if !strings.HasPrefix(line, "LABEL ") && line != "COPY --from=built /functions /functions" {
				kept = append(kept, line)
			}
		}
		return kept
	}
	if got, want := same(ours[2]), same(theirs[2]); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	built := strings.Join(ours[1], "\n")
	for _, want := range []string{"./examples/context-bundle/worker", "./examples/context-bundle/train", "-X main.version=${VERSION}", "functions/train-semantic-model.yaml /functions/"} {
		if !strings.Contains(built, want) {
			t.Errorf("the first stage has no %s:\n%s", want, built)
		}
	}
}

// What the first stage copies is enough to build both programs, and all that Docker is given.
func TestImageIsBuiltFromWhatTheProgramsNeed(t *testing.T) {
	t.Parallel()
	var given []string
	for line := range strings.Lines(string(testenv.Must(os.ReadFile("Dockerfile.dockerignore"))(t))) {
		given = append(given, strings.TrimSpace(line))
	}
	if !slices.Equal(given, []string{"*", "!go.mod", "!go.sum", "!internal", "!worker", "!examples/context-bundle"}) {
		t.Errorf("Docker is given %q", given)
	}
	out := testenv.Must(exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".", "../train").Output())(t)
	for name := range strings.FieldsSeq(string(out)) {
		at, own := strings.CutPrefix(name, "github.com/matoolkit/matoolkit/")
		if own && !slices.ContainsFunc(given[3:], func(folder string) bool { return strings.HasPrefix(at, folder[1:]+"/") }) {
			t.Errorf("a program imports %s, which is not copied", name)
		}
		if strings.Contains(name, "msgraph") {
			t.Errorf("a program imports %s, which takes minutes to compile", name)
		}
	}
}
