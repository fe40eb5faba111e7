package runbook_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// The examples that people start from are without findings, but for warnings that the
// README beside them explains by their codes.
func TestExamplesAreClean(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*/runbook.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		readme, err := os.ReadFile(filepath.Join(filepath.Dir(file), "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		_, found := runbook.Parse(src)
		for _, f := range found {
			if f.Severity != runbook.SeverityWarning || !strings.Contains(string(readme), "`"+f.Code+"`") {
				t.Errorf("%s: %s", file, f)
			}
		}
	}
}

// An example names each tenant once: its worker, and its domain.
func TestExamplesNameTheirTenantsOnce(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	places := regexp.MustCompile(`\bworker-[a-z0-9]+\b|\b[a-z]+(\.onmicrosoft)?\.com\b`)
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := map[string][]string{}
		for _, line := range strings.Split(string(src), "\n") {
			line, _, _ = strings.Cut(line, "#")
			for _, place := range places.FindAllString(line, -1) {
				lines[place] = append(lines[place], strings.TrimSpace(line))
			}
		}
		for place, found := range lines {
			if len(found) > 1 {
				t.Errorf("%s names %s %d times, in %q: name it once in vars", file, place, len(found), found)
			}
		}
	}
}
