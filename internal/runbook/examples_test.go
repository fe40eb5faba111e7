package runbook_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// The examples that people start from are without findings, warnings included.
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
		if _, found := runbook.Parse(src); len(found) > 0 {
			t.Errorf("%s:\n%v", file, found)
		}
	}
}
