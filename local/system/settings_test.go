package system_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/system"
)

// Each setting goes to the programs that read it.
func TestSettingsGoToTheirPrograms(t *testing.T) {
	t.Parallel()
	read := testenv.Must(system.ReadSettings([]string{
		"PEOPLE=Server=tcp:127.0.0.1,1433;Database=people;Password=a=b", "EMPTY=", "MAX_PARALLELISM=2", "target:MAX_PARALLELISM=3",
		"source:GRAPH_REQUESTS=GET /v1.0/groups/{id}, GET /v1.0/sites/{id}", "LOG_LEVEL=debug", "API_REQUESTS_PER_SECOND=5",
		"WEBHOOK_SETTINGS=ALARM_URL,ALARM_KEY", "ALARM_URL=https://alarm.example/a:b",
		"AzureFunctionsJobHost__extensions__serviceBus__maxConcurrentCalls=64",
	}, []string{"source", "target"}))(t)
	if want := (map[string]string{
		"PEOPLE": "Server=tcp:127.0.0.1,1433;Database=people;Password=a=b", "EMPTY": "", "LOG_LEVEL": "debug", "API_REQUESTS_PER_SECOND": "5",
		"AzureFunctionsJobHost__extensions__serviceBus__maxConcurrentCalls": "64",
	}); !maps.Equal(read.Handler, want) {
		t.Errorf("the handler gets %q, want %q", read.Handler, want)
	}
	dir := t.TempDir()
	tenants := testenv.Must(entra.NamedTenants("source", "target"))(t)
	testenv.Started(system.Start(t.Context(), system.Config{
		Parts: []system.Part{system.Identity}, Addresses: system.FreeAddresses(), DataDir: dir, Tenants: tenants, WorkerSettings: read.Worker,
	}))(t)
	kept := testenv.Must(system.WorkerSettingsIn(dir))(t)
	workers := system.At(system.Config{Tenants: tenants, WorkerSettings: kept}).WorkerEnvs()
	for name, want := range map[string]map[string]string{
		"source": {"MAX_PARALLELISM": "2", "GRAPH_REQUESTS": "GET /v1.0/groups/{id}, GET /v1.0/sites/{id}", "LOG_LEVEL": "debug", "ALARM_URL": "https://alarm.example/a:b", "WORKER_ID": "worker-source"},
		"target": {"MAX_PARALLELISM": "3", "GRAPH_REQUESTS": "", "LOG_LEVEL": "debug", "PEOPLE": "", "WORKER_ID": "worker-target"},
	} {
		for setting, value := range want {
			if got := workers[name][setting]; got != value {
				t.Errorf("the worker of %s has %s %q, want %q", name, setting, got, value)
			}
		}
	}
	if one := system.At(system.Config{WorkerSettings: map[string]map[string]string{"": {"MAX_PARALLELISM": "4"}}}).WorkerEnv(); one["MAX_PARALLELISM"] != "4" {
		t.Errorf("the one worker has %q", one["MAX_PARALLELISM"])
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"PEOPLE":                                     "give NAME=VALUE",
		"=secret":                                    "give NAME=VALUE",
		"MAX_PARALELISM=secret":                      "unknown setting MAX_PARALELISM; close names are: MAX_PARALLELISM",
		"COSMOS_KEYS=secret":                         "unknown setting COSMOS_KEYS; close names are: COSMOS_KEY",
		"A.B=secret":                                 `unknown setting "A.B": use letters`,
		"WORKER_ID=secret":                           "use --worker-id",
		"other:MAX_PARALLELISM=secret":               `there is no tenant "other"`,
		"target:PEOPLE=secret":                       "the worker has no setting PEOPLE",
		"target:MAX_PARALELISM=secret":               "the worker has no setting MAX_PARALELISM; close names are: MAX_PARALLELISM",
		"target:API_REQUEST_BURST=":                  "the worker has no setting API_REQUEST_BURST",
		"target:LOG_LEVEL=1 target:LOG_LEVEL=secret": "LOG_LEVEL is given twice",
	} {
		_, err := system.ReadSettings(strings.Fields(given), []string{"source", "target"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", given, err, want)
		}
	}
	if worker, handler := system.KnownSettings(); !slices.Contains(worker, "WORKER_ID") || !slices.Contains(handler, "COSMOS_KEY") {
		t.Error("settings are missing")
	}
}
