package reference

import (
	"maps"
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/local/system"
)

// local up knows the settings that the programs read.
func TestLocalUpKnowsTheSettings(t *testing.T) {
	t.Parallel()
	read, err := readSettings("../..")
	if err != nil {
		t.Fatal(err)
	}
	page := read.(settingsPage)
	names := func(lists ...[]setting) []string {
		all := map[string]bool{}
		for _, s := range slices.Concat(lists...) {
			all[s.Name] = true
		}
		return slices.Sorted(maps.Keys(all))
	}
	worker, handler := system.KnownSettings()
	for program, lists := range map[string][2][]string{
		"worker":  {worker, names(page.Worker, page.Names, page.RabbitMQ, page.Telemetry)},
		"handler": {handler, names(page.Handler, page.Names, page.RabbitMQ, page.Telemetry, page.Scaler)},
	} {
		if known := slices.Compact(slices.Sorted(slices.Values(lists[0]))); !slices.Equal(known, lists[1]) {
			t.Errorf("local up knows these settings of the %s:\n%q\nit reads\n%q", program, known, lists[1])
		}
	}
}
