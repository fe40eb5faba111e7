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

// TestAlertsKnowTheEventsOfTheProgram compares the names of events and attributes in the alerts
// with those in the program. An alert whose name is not in the program never fires.
func TestAlertsKnowTheEventsOfTheProgram(t *testing.T) {
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
	alerts := read("infra/automation/alerts/alerts.bicep") + read("infra/automation/scaler/alerts.bicep")
	looked := names(alerts, `Event == "([^"]*)"`)
	for _, list := range names(alerts, `Event in \(([^)]*)\)`) {
		looked = append(looked, names(list, `"([^"]*)"`)...)
	}
	slices.Sort(looked)
	if looked = slices.Compact(looked); !slices.Equal(looked, want) {
		t.Errorf("the alerts look for %q; there are %q", looked, want)
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
		key := regexp.MustCompile(`(\w+) += "` + attribute + `"`).FindStringSubmatch(keys)
		if key == nil || !strings.Contains(program, "logkey."+key[1]+",") {
			t.Errorf("the alerts use the attribute %s, which the program does not write", attribute)
		}
	}
}
