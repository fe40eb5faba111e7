package runbook_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const formatDoc = "../../docs/runbook-format.md"

// Each field that the parser knows is explained, in code font and by its name.
func TestReferenceHasEveryField(t *testing.T) {
	t.Parallel()
	doc := read(t, formatDoc)
	known := 0
	for _, file := range []string{"decode.go", "phase.go", "retry.go", "datasource.go", "quiet.go"} {
		for _, call := range regexp.MustCompile(`\.object\(.*?((?:, "[a-z_]+")+)\)\n`).FindAllStringSubmatch(read(t, file), -1) {
			for name := range strings.FieldsFuncSeq(call[1], func(r rune) bool { return strings.ContainsRune(`", `, r) }) {
				known++
				if !strings.Contains(doc, "`"+name+"`") {
					t.Errorf("%s is not explained", name)
				}
			}
		}
	}
	if known < 35 {
		t.Errorf("the parser knows %d fields; are they found?", known)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each code that a finding can have is explained, with whether it stops the runbook, and
// there are no others.
func TestReferenceHasEveryCode(t *testing.T) {
	t.Parallel()
	explained := map[string]string{}
	_, table, _ := strings.Cut(read(t, formatDoc), "\n## Findings\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (error|warning) \\|").FindAllStringSubmatch(table, -1) {
		explained[row[1]] = row[2]
	}
	const functions = "lint/check.go"
	for _, file := range []string{"diagnostic.go", functions, "../runbooks/check.go"} {
		for _, code := range regexp.MustCompile(`(?m)^(?:\t|const )([cC]ode[A-Z]\w+) += "([a-z-]+)"`).FindAllStringSubmatch(read(t, file), -1) {
			want := "error"
			if file == functions || warned(t, code[1]) {
				want = "warning"
			}
			if explained[code[2]] != want {
				t.Errorf("%s is explained as %q, want %q", code[2], explained[code[2]], want)
			}
			delete(explained, code[2])
		}
	}
	for code := range explained {
		t.Errorf("%s is explained, and nothing is found under that name", code)
	}
}

// warned tells whether the package warns of a code.
func warned(t *testing.T, code string) bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		return regexp.MustCompile(`warnf\(.*\b` + code + `\b`).MatchString(read(t, file))
	})
}

// Each limit is told of.
func TestReferenceHasEveryLimit(t *testing.T) {
	t.Parallel()
	doc, source := read(t, formatDoc), read(t, "parse.go")+read(t, "retry.go")+read(t, "quiet.go")+read(t, "offset.go")
	for limit, told := range map[string]string{
		"MaxBytes = 1 << 20":              "at most 1 MB",
		"MaxPhases = 200":                 "200 phases",
		"MaxSteps = 500":                  "500 steps in one list",
		"maxVisited = 400_000":            "400,000 values",
		"maxDepth = 32":                   "nested at most 32 deep",
		"maxKey = 200":                    "at most 200 bytes",
		"maxColumns = 500":                "500 multi-valued columns",
		"maxDiagnostics = 200":            "200 findings",
		"maxRetries = 100":                "from 0 to 100",
		"maxWindows = 50":                 "1 to 50 spans",
		"maxSpan = 3650 * 24 * time.Hour": "at most 3650 days",
	} {
		if !strings.Contains(regexp.MustCompile(` +`).ReplaceAllString(source, " "), limit) {
			t.Errorf("the limit is not %s any more: correct the page, and this test", limit)
		}
		if !strings.Contains(doc, told) {
			t.Errorf("the page does not say %q", told)
		}
	}
}
