package infra_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/internal/message"
)

func operations(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEachAlertHasItsPlace holds "When an alert goes off" of docs/operations.md to the alerts
// that the templates make: there is something to do for each, and for no other.
func TestEachAlertHasItsPlace(t *testing.T) {
	t.Parallel()
	var want []string
	for name, kind := range made(t, "automation/functions", true) {
		if key, is := strings.CutPrefix(name, "matoolkit-prod-alert-"); is && strings.HasPrefix(kind, "Microsoft.Insights/") {
			want = append(want, key)
		}
	}
	_, section, _ := strings.Cut(operations(t), "\n## When an alert goes off\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var got []string
	for _, heading := range regexp.MustCompile(`(?m)^### (.+)$`).FindAllStringSubmatch(section, -1) {
		for name := range strings.SplitSeq(heading[1], ", ") {
			if name != "and alerts of the platform" {
				got = append(got, name)
			}
		}
	}
	_, table, _ := strings.Cut(section, "\n| alert | what it is |")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(table, -1) {
		if !slices.Contains(got, row[1]) { // one has both
			got = append(got, row[1])
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) < 10 {
		t.Errorf("the page has %q, the templates %q", got, want)
	}
}

// TestOperatorsFindWhatThePageQuotes looks for what docs/operations.md says that a log, an
// error or a dead letter has, in what writes it.
func TestOperatorsFindWhatThePageQuotes(t *testing.T) {
	t.Parallel()
	sources := map[string]string{}
	for quoted, folder := range map[string]string{
		"signs in at the target tenant with\na new secret": "worker/signin",
		"signs in at the\ntarget tenant":                   "worker/signin",
		"no result within …":                               "internal/engine/runstate",
		"cannot receive jobs":                              "worker/dispatch",
		"UnreadableJob":                                    "worker/dispatch",
		"IsThrottled":                                      "internal/logkey",
		"matoolkit.worker.call.throttles":                  "worker/telemetry",
		"SilentWorkers":                                    "internal/logkey",
		"OldestSeconds":                                    "internal/logkey",
		"health":                                           "internal/app",
	} {
		if !strings.Contains(operations(t), "`"+quoted+"`") {
			t.Errorf("the page does not quote %q any more", quoted)
		}
		if sources[folder] == "" {
			sources[folder] = sourceOf(t, filepath.Join("..", folder))
		}
		text := strings.TrimSuffix(strings.ReplaceAll(quoted, "\n", " "), "…")
		if !strings.Contains(sources[folder], `"`+text) {
			t.Errorf("%s does not write %q", folder, text)
		}
	}
}

// sourceOf is the Go code of a folder, without its tests.
func sourceOf(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	files, err := fs.Glob(os.DirFS(folder), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// TestTimesOfTheBroker holds what docs/operations.md says of Service Bus to how its topics
// and subscriptions are made.
func TestTimesOfTheBroker(t *testing.T) {
	t.Parallel()
	v, err := deployed(repository(t), "infra/shared/servicebus.bicep", nil)
	if err != nil {
		t.Fatal(err)
	}
	topics, err := v.Of(&bicep.Reference{Name: bicep.Name{Text: "topics"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics.([]any) {
		of := topic.(map[string]any)
		properties := of["Properties"].(map[string]any)
		for _, subscription := range of["Subscriptions"].([]any) {
			own := subscription.(map[string]any)["Properties"].(map[string]any)
			got := fmt.Sprint(properties["DuplicateDetectionHistoryTimeWindow"], properties["DefaultMessageTimeToLive"], own["DefaultMessageTimeToLive"], own["MaxDeliveryCount"])
			deliveries, life := int64(10), "P7D"
			if of["Name"] != message.TopicWorkerControl {
				deliveries = 2000
			} else { // of which docs/worker.md tells
				life = "P14D"
			}
			if got != fmt.Sprint("PT10M", life, life, deliveries) {
				t.Errorf("%v: %s, where the page says ten minutes, seven days and 2,000 deliveries", of["Name"], got)
			}
		}
	}
	for _, told := range []string{"ten\nminutes at least: for so long Service Bus drops", "for seven days there was no worker", "2,000 deliveries", "ten times a worker began this job"} {
		if !strings.Contains(operations(t), told) {
			t.Errorf("the page does not say %q any more", told)
		}
	}
}
