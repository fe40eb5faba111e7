package alert_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/alert"
)

// TestAlertsAndDocumentKnowTheSameEventsAsTheProgram compares the names of events and attributes
// in the alerts and in the document with those in the program. An alert whose name is not in the
// program never fires.
func TestAlertsAndDocumentKnowTheSameEventsAsTheProgram(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	names := func(text, pattern string) (found []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	want := slices.Sorted(slices.Values(alert.All))
	alerts := read("infra/automation/alerts/alerts.bicep")
	looked := names(alerts, `Event == "([^"]*)"`)
	for _, list := range names(alerts, `Event in \(([^)]*)\)`) {
		looked = append(looked, names(list, `"([^"]*)"`)...)
	}
	slices.Sort(looked)
	if looked = slices.Compact(looked); !slices.Equal(looked, want) {
		t.Errorf("the alerts look for %q; there are %q", looked, want)
	}
	document := read("docs/telemetry.md")
	if told := names(document, "(?m)^\\| `([a-z-]+)` \\| (?:info|warn|error) \\|"); !slices.Equal(told, want) {
		t.Errorf("the document tells of %q; there are %q", told, want)
	}
	used := names(alerts, `Line\.(\w+)`)
	if len(used) < 5 {
		t.Errorf("the alerts use nothing but %q", used)
	}
	sources, err := filepath.Glob(filepath.Join("..", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	program, keys := "", read("internal/logkey/logkey.go")
	for _, path := range sources {
		if !strings.HasSuffix(path, "_test.go") {
			program += read(filepath.Join("internal", "alert", path))
		}
	}
	for _, attribute := range used {
		if !strings.Contains(document, "`"+attribute+"`") {
			t.Errorf("the alerts use the attribute %s, of which the document does not tell", attribute)
		}
		key := regexp.MustCompile(`(\w+) += "` + attribute + `"`).FindStringSubmatch(keys)
		if key == nil || !strings.Contains(program, "logkey."+key[1]+",") {
			t.Errorf("the alerts use the attribute %s, which the program does not write", attribute)
		}
	}
}

// TestDocumentTellsOfEveryAlert compares the document's table of alerts, their severities and the
// defaults of their parameters with the alerts.
func TestDocumentTellsOfEveryAlert(t *testing.T) {
	t.Parallel()
	read := func(path string, pattern string) (found []string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1]+" "+m[2])
		}
		slices.Sort(found)
		return found
	}
	made := read("infra/automation/alerts/alerts.bicep", `key: '([a-z-]+)'\s+description: '[^']+'\s+severity: (\d)`)
	told := read("docs/telemetry.md", "(?m)^\\| `([a-z-]+)` \\| (\\d) \\|")
	if len(made) < 10 || !slices.Equal(made, told) {
		t.Errorf("made: %q\ntold: %q", made, told)
	}
	defaults := read("infra/automation/alerts/alerts.bicep", `(?m)^param (\w+) (?:int|string) = '?(?:PT)?(\d+)`)
	if len(defaults) < 9 {
		t.Fatalf("%q", defaults)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "telemetry.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range defaults {
		name, value, _ := strings.Cut(d, " ")
		row := regexp.MustCompile("(?m)^\\|.*`" + name + "` \\|$").FindString(strings.ReplaceAll(string(text), ",000", "000"))
		if !regexp.MustCompile(`\b` + value + `\b`).MatchString(row) {
			t.Errorf("the parameter %s is %s by default; the document says: %s", name, value, row)
		}
	}
}
