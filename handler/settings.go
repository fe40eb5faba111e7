package main

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/env"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/secret/vault"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// settings are the app settings that the handler reads from its environment.
type settings struct {
	port int // FUNCTIONS_CUSTOMHANDLER_PORT, from the host

	serviceBusConnection string // ServiceBusConnection: a connection string, on one machine
	serviceBusNamespace  string // ServiceBusConnection__fullyQualifiedNamespace: by identity, in Azure

	cosmosEndpoint  string
	cosmosDatabase  string
	cosmosContainer string
	cosmosKey       string // on one machine; without it by identity

	entraInstance string
	entraTenants  []string // AzureAd__TenantId: one, or several with commas
	entraClient   string
	entraAudience string

	keyVault  string // KEY_VAULT_URL: the vault of the key that secrets are encrypted with
	secretKey string // SECRETS_KEY_NAME: its name there; both or none

	caFile   string
	logLevel slog.Level

	// Of the admin API, and of one process of several: see package adminhttp.
	apiRate  int // API_REQUESTS_PER_SECOND, of one caller
	apiBurst int // API_REQUEST_BURST, of one caller
	apiLong  int // API_LONG_REQUESTS, which are answered at once

	dataSources []string // DATA_SOURCES: the settings that runbooks may name in data_source

	workerStartup int // WORKER_STARTUP_SECONDS: how long a worker that was scaled to zero may take to start

	// functionTimeout is the host's: past it the host kills this process.
	functionTimeout time.Duration

	clockOffset time.Duration // MATOOLKIT_CLOCK_OFFSET: ahead of the real time, on one machine only
}

// defaultFunctionTimeout is host.json's; a test holds the two together.
const defaultFunctionTimeout = 10 * time.Minute

// readSettings reads them all and, where any is missing or wrong, names every one
// of those in one error of one line. It never shows a value that is a secret.
func readSettings(lookup func(string) string) (settings, error) {
	r := reader{env.New(lookup)}
	s := settings{
		port:                 r.port("FUNCTIONS_CUSTOMHANDLER_PORT"),
		serviceBusConnection: r.Text("ServiceBusConnection"),
		serviceBusNamespace:  r.Text("ServiceBusConnection__fullyQualifiedNamespace"),
		cosmosEndpoint:       r.address("COSMOS_ENDPOINT"),
		cosmosDatabase:       r.Or("COSMOS_DATABASE", "matoolkit"),
		cosmosContainer:      r.Or("COSMOS_CONTAINER", "matoolkit"),
		cosmosKey:            r.Text("COSMOS_KEY"),
		entraInstance:        r.address("AzureAd__Instance"),
		entraTenants:         r.guids("AzureAd__TenantId"),
		entraClient:          r.guid("AzureAd__ClientId"),
		entraAudience:        r.Text("AzureAd__Audience"),
		keyVault:             r.Text("KEY_VAULT_URL"),
		secretKey:            r.Text("SECRETS_KEY_NAME"),
		caFile:               r.Text("EXTRA_CA_FILE"),
		logLevel:             r.Level("LOG_LEVEL"),
		apiRate:              r.Number("API_REQUESTS_PER_SECOND", adminhttp.DefaultRate, 1, maxNumber),
		apiBurst:             r.Number("API_REQUEST_BURST", adminhttp.DefaultBurst, 1, maxNumber),
		apiLong:              r.Number("API_LONG_REQUESTS", adminhttp.DefaultLong, 1, maxNumber),
		dataSources:          r.names("DATA_SOURCES"),
		workerStartup:        r.Number("WORKER_STARTUP_SECONDS", int(workers.DefaultStartup/time.Second), 1, maxNumber),
		functionTimeout:      r.timeout("AzureFunctionsJobHost__functionTimeout", defaultFunctionTimeout),
	}
	if s.keyVault != "" || s.secretKey != "" {
		if err := vault.Check(s.keyVault, s.secretKey); err != nil {
			r.Problem("KEY_VAULT_URL and SECRETS_KEY_NAME: %v", err)
		}
	}
	s.clockOffset = r.offset("MATOOLKIT_CLOCK_OFFSET", s.cosmosKey != "")
	switch {
	case s.serviceBusConnection == "" && s.serviceBusNamespace == "":
		r.Problem("ServiceBusConnection__fullyQualifiedNamespace is not set (nor ServiceBusConnection, a connection string)")
	case s.serviceBusConnection != "" && s.serviceBusNamespace != "":
		r.Problem("ServiceBusConnection and ServiceBusConnection__fullyQualifiedNamespace are both set")
	case strings.ContainsAny(s.serviceBusNamespace, "/:; "):
		r.Wrong("ServiceBusConnection__fullyQualifiedNamespace", "it is not a host name such as name.servicebus.windows.net")
	}
	if err := r.Err(); err != nil {
		return settings{}, fmt.Errorf("settings: %w", err)
	}
	return s, nil
}

// maxNumber bounds the settings that are numbers.
const maxNumber = 1_000_000

// reader reads the forms of settings that only the handler has.
type reader struct{ *env.Reader }

func (r reader) port(name string) int {
	r.Required(name, "")
	return r.Number(name, 0, 1, 65535)
}

// address reads the URL of a server that has to be set.
func (r reader) address(name string) string {
	r.Required(name, "")
	address, _ := r.Server(name, "")
	return address
}

var guidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func (r reader) guid(name string) string {
	value := r.Required(name, "")
	if value != "" && !guidForm.MatchString(value) {
		r.Wrong(name, "%q is not a GUID", value)
	}
	return value
}

// guids reads one GUID or several with commas between them, each once.
func (r reader) guids(name string) []string {
	r.Required(name, "")
	var all []string
	for _, word := range r.List(name) {
		word = strings.ToLower(word)
		switch {
		case !guidForm.MatchString(word):
			r.Wrong(name, "%q is not a GUID; separate several with commas", word)
		case slices.Contains(all, word):
			r.Wrong(name, "%q is there twice", word)
		}
		all = append(all, word)
	}
	return all
}

// names reads a comma-separated list of setting names without duplicates; it may
// be empty. Errors do not quote an invalid name, which may be a connection string.
func (r reader) names(name string) []string {
	var all []string
	for _, word := range r.List(name) {
		switch {
		case !runbook.SettingName(word):
			r.Wrong(name, "entry %d is not the name of a setting (letters, digits and _); list names with commas between them, not connections", len(all)+1)
		case slices.Contains(all, word):
			r.Wrong(name, "%s is there twice", word)
		}
		all = append(all, word)
	}
	return all
}

var timeSpanForm = regexp.MustCompile(`^(\d{1,2}):([0-5]\d):([0-5]\d)(\.\d{1,7})?$`)

// timeout reads a duration as host.json writes it, hh:mm:ss.
func (r reader) timeout(name string, otherwise time.Duration) time.Duration {
	value := r.Text(name)
	if value == "" {
		return otherwise
	}
	m := timeSpanForm.FindStringSubmatch(value)
	if m == nil {
		r.Wrong(name, "%q is not a duration of hh:mm:ss", value)
		return 0
	}
	d, err := time.ParseDuration(m[1] + "h" + m[2] + "m" + m[3] + m[4] + "s")
	if err != nil || d <= 0 {
		r.Wrong(name, "%q is not a duration of hh:mm:ss", value)
	}
	return d
}

// offset reads by how much the clock is ahead, as 120h0m0s. It is for tests of what
// takes days, on one machine, which is where the store is reached with a key.
func (r reader) offset(name string, oneMachine bool) time.Duration {
	value := r.Text(name)
	if value == "" {
		return 0
	}
	d, err := time.ParseDuration(value)
	switch {
	case !oneMachine:
		r.Wrong(name, "the clock can only be moved on one machine, where COSMOS_KEY is set too")
	case err != nil || d < 0:
		r.Wrong(name, "%q is not a duration of 0 or more such as 120h", value)
	}
	return d
}

// now is the time that batches go by.
func (s settings) now() time.Time { return time.Now().Add(s.clockOffset) }

// deadline is how long an invocation may take: less than functionTimeout by a
// tenth, at most by thirty seconds, so that it fails by itself before the host
// kills the process with every other invocation in it.
func (s settings) deadline() time.Duration {
	return s.functionTimeout - min(s.functionTimeout/10, 30*time.Second)
}
