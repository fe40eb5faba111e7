package runbook

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what Parse finds into testdata/diagnostics/*.golden")

// Each testdata/diagnostics/*.yaml has faults of one kind; its .golden lists all
// that Parse finds, a line each.
func TestDiagnostics(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/diagnostics/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rb, found := Parse(src)
			if (rb == nil) != found.HasErrors() {
				t.Errorf("runbook is nil: %v, errors: %v", rb == nil, found.HasErrors())
			}
			var got strings.Builder
			for _, d := range found {
				fmt.Fprintln(&got, d)
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("%s found:\n%s\nwant:\n%s", file, got.String(), want)
			}
		})
	}
}
