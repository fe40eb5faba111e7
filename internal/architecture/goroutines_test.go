package architecture_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goroutine is where one begins.
var goroutine = regexp.MustCompile(`\bgo func\(|\.Go\(func\(|^\s*go [a-z]`)

// TestGoroutinesOfRequestsCatchPanics checks that each goroutine of the handler's packages calls
// panics.Catch, or invocation's guard: a panic in one without ends the process. handler/main.go
// has the goroutines of the process itself.
func TestGoroutinesOfRequestsCatchPanics(t *testing.T) {
	t.Parallel()
	for name := range readImports(t) {
		if !strings.HasPrefix(name, "functions/") && !strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "internal/cli") || name == "internal/testenv" ||
			strings.HasSuffix(name, "test") || strings.HasPrefix(name, "internal/app/") || name == "internal/otlp" {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", "..", name, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(source), "\n")
			for i, line := range lines {
				if code, _, _ := strings.Cut(line, "//"); !goroutine.MatchString(code) {
					continue
				}
				if body := strings.Join(lines[i:min(i+3, len(lines))], "\n"); !strings.Contains(body, "panics.Catch(") && !strings.Contains(body, "guard(") {
					t.Errorf("%s:%d starts a goroutine without panics.Catch: %s", file, i+1, strings.TrimSpace(line))
				}
			}
		}
	}
}
