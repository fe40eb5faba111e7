package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/loopback"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/secret/vault"
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
	r := reader{lookup: lookup}
	s := settings{
		port:                 r.port("FUNCTIONS_CUSTOMHANDLER_PORT"),
		serviceBusConnection: lookup("ServiceBusConnection"),
		serviceBusNamespace:  lookup("ServiceBusConnection__fullyQualifiedNamespace"),
		cosmosEndpoint:       r.address("COSMOS_ENDPOINT"),
		cosmosDatabase:       r.or("COSMOS_DATABASE", "matoolkit"),
		cosmosContainer:      r.or("COSMOS_CONTAINER", "matoolkit"),
		cosmosKey:            lookup("COSMOS_KEY"),
		entraInstance:        r.address("AzureAd__Instance"),
		entraTenants:         r.guids("AzureAd__TenantId"),
		entraClient:          r.guid("AzureAd__ClientId"),
		entraAudience:        lookup("AzureAd__Audience"),
		keyVault:             lookup("KEY_VAULT_URL"),
		secretKey:            lookup("SECRETS_KEY_NAME"),
		caFile:               lookup("EXTRA_CA_FILE"),
		logLevel:             r.level("LOG_LEVEL"),
		apiRate:              r.count("API_REQUESTS_PER_SECOND", adminhttp.DefaultRate),
		apiBurst:             r.count("API_REQUEST_BURST", adminhttp.DefaultBurst),
		apiLong:              r.count("API_LONG_REQUESTS", adminhttp.DefaultLong),
		dataSources:          r.names("DATA_SOURCES"),
		workerStartup:        r.count("WORKER_STARTUP_SECONDS", int(app.DefaultWorkerStartup/time.Second)),
		functionTimeout:      r.timeout("AzureFunctionsJobHost__functionTimeout", defaultFunctionTimeout),
	}
	if s.keyVault != "" || s.secretKey != "" {
		if err := vault.Check(s.keyVault, s.secretKey); err != nil {
			r.wrong("KEY_VAULT_URL and SECRETS_KEY_NAME: %v", err)
		}
	}
	s.clockOffset = r.offset("MATOOLKIT_CLOCK_OFFSET", s.cosmosKey != "")
	switch {
	case s.serviceBusConnection == "" && s.serviceBusNamespace == "":
		r.wrong("ServiceBusConnection__fullyQualifiedNamespace is missing (or ServiceBusConnection, a connection string)")
	case s.serviceBusConnection != "" && s.serviceBusNamespace != "":
		r.wrong("ServiceBusConnection and ServiceBusConnection__fullyQualifiedNamespace are both set")
	case strings.ContainsAny(s.serviceBusNamespace, "/:; "):
		r.wrong("ServiceBusConnection__fullyQualifiedNamespace is not a host name such as name.servicebus.windows.net")
	}
	if len(r.problems) > 0 {
		return settings{}, errors.New("settings: " + strings.Join(r.problems, "; "))
	}
	return s, nil
}

// reader reads settings one by one and collects what is wrong with them.
type reader struct {
	lookup   func(string) string
	problems []string
}

func (r *reader) wrong(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *reader) must(name string) string {
	value := r.lookup(name)
	if value == "" {
		r.wrong("%s is missing", name)
	}
	return value
}

func (r *reader) or(name, otherwise string) string {
	if value := r.lookup(name); value != "" {
		return value
	}
	return otherwise
}

func (r *reader) port(name string) int {
	value := r.must(name)
	port, err := strconv.Atoi(value)
	if value != "" && (err != nil || port < 1 || port > 65535) {
		r.wrong("%s is %q, not a port", name, value)
	}
	return port
}

// address reads a URL: https, or plain http on this machine's loopback.
func (r *reader) address(name string) string {
	value := r.must(name)
	if value == "" {
		return ""
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback.Is(u.Hostname())) {
		r.wrong("%s is not an https address", name)
	}
	return value
}

var guidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func (r *reader) guid(name string) string {
	value := r.must(name)
	if value != "" && !guidForm.MatchString(value) {
		r.wrong("%s is %q, not a GUID", name, value)
	}
	return value
}

// guids reads one GUID or several with commas between them, each once.
func (r *reader) guids(name string) []string {
	value := r.must(name)
	if value == "" {
		return nil
	}
	var all []string
	for word := range strings.SplitSeq(value, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		switch {
		case !guidForm.MatchString(word):
			r.wrong("%s has %q, not a GUID; several stand with commas between them", name, word)
		case slices.Contains(all, word):
			r.wrong("%s has %q twice", name, word)
		}
		all = append(all, word)
	}
	return all
}

// names reads the names of settings with commas between them, each once; none is
// possible. It does not quote what is no name: it may be a connection string.
func (r *reader) names(name string) []string {
	value := strings.TrimSpace(r.lookup(name))
	if value == "" {
		return nil
	}
	var all []string
	for word := range strings.SplitSeq(value, ",") {
		word = strings.TrimSpace(word)
		switch {
		case !runbook.SettingName(word):
			r.wrong("%s: entry %d is not the name of a setting (letters, digits and _); list names with commas between them, not connections", name, len(all)+1)
		case slices.Contains(all, word):
			r.wrong("%s has %s twice", name, word)
		}
		all = append(all, word)
	}
	return all
}

// count reads a number of 1 or more.
func (r *reader) count(name string, otherwise int) int {
	value := r.lookup(name)
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 1_000_000 {
		r.wrong("%s is %q, not a number from 1 to 1000000", name, value)
	}
	return n
}

func (r *reader) level(name string) slog.Level {
	var level slog.Level
	if value := r.or(name, "info"); level.UnmarshalText([]byte(value)) != nil {
		r.wrong("%s is %q, not debug, info, warn or error", name, value)
	}
	return level
}

var timeSpanForm = regexp.MustCompile(`^(\d{1,2}):([0-5]\d):([0-5]\d)(\.\d{1,7})?$`)

// timeout reads a duration as host.json writes it, hh:mm:ss.
func (r *reader) timeout(name string, otherwise time.Duration) time.Duration {
	value := r.lookup(name)
	if value == "" {
		return otherwise
	}
	m := timeSpanForm.FindStringSubmatch(value)
	if m == nil {
		r.wrong("%s is %q, not a duration of hh:mm:ss", name, value)
		return 0
	}
	d, err := time.ParseDuration(m[1] + "h" + m[2] + "m" + m[3] + m[4] + "s")
	if err != nil || d <= 0 {
		r.wrong("%s is %q, not a duration of hh:mm:ss", name, value)
	}
	return d
}

// offset reads by how much the clock is ahead, as 120h0m0s. It is for tests of what
// takes days, on one machine, which is where the store is reached with a key.
func (r *reader) offset(name string, oneMachine bool) time.Duration {
	value := r.lookup(name)
	if value == "" {
		return 0
	}
	d, err := time.ParseDuration(value)
	switch {
	case !oneMachine:
		r.wrong("%s is set, but the clock can only be moved on one machine, where COSMOS_KEY is set too", name)
	case err != nil || d < 0:
		r.wrong("%s is %q, not a duration of 0 or more such as 120h", name, value)
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
