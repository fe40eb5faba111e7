package runbook_test

import (
	"os"
	"path/filepath"
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
