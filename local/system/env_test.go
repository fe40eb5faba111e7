package system_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/local/system"
)

// TestGivenSettingsAreDataSources checks that the handler's runbooks may name the settings
// that a system is given and those of its tenants: not its own, and not what can be no name.
func TestGivenSettingsAreDataSources(t *testing.T) {
	t.Parallel()
	for want, given := range map[string]map[string]string{
		"TENANT_GRAPH":                  nil,
		"PEOPLE,TENANT_GRAPH,WAREHOUSE": {"WAREHOUSE": "1", "PEOPLE": "people.csv", "COSMOS_KEY": "other", "a.b": "2"},
		"PEOPLE":                        {"PEOPLE": "people.csv", "OTHER": "1", "DATA_SOURCES": "PEOPLE"},
	} {
		if got := system.At(system.Config{Settings: given}).HandlerEnv()["DATA_SOURCES"]; got != want {
			t.Errorf("%v: %q, want %q", given, got, want)
		}
	}
}
