package runbook

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// Every code is shown by one of those files, or by TestOversizeIsRefused.
func TestEveryCodeIsShown(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	files, err := filepath.Glob("testdata/diagnostics/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(golden)
	}
	source, err := os.ReadFile("diagnostic.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`(?m)^\tCode\w+ += "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(codes) == 0 {
		t.Fatal("diagnostic.go has no codes")
	}
	for _, code := range codes {
		if code[1] != CodeTooLarge && code[1] != CodeTooMany && !strings.Contains(shown.String(), "["+code[1]+"]\n") {
			t.Errorf("no file shows %s", code[1])
		}
	}
}
