package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/artifact/blobstorage"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq"
	"github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/env"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/secret/vault"
	"github.com/matoolkit/matoolkit/internal/signin"
	"github.com/matoolkit/matoolkit/internal/store/postgres"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// Environment variables. docs/reference/settings.md has their comments.
const (
	envPort            = "FUNCTIONS_CUSTOMHANDLER_PORT"                  // port on which the host calls the handler; the host sets it. With RABBITMQ_URL, the port of the admin API and the console on 127.0.0.1
	envBusNamespace    = "ServiceBusConnection__fullyQualifiedNamespace" // Service Bus namespace, such as name.servicebus.windows.net, used with the managed identity; the triggers of the host read it too. Required, unless ServiceBusConnection or RABBITMQ_URL is set
	envBusString       = "ServiceBusConnection"                          // connection string of Service Bus, for the local system
	envPostgres        = "POSTGRES_URL"                                  // database of the state [outside Azure](../outside-azure.md) in place of Cosmos DB, such as `postgres://user:password@host/database`, with special characters percent-encoded. Without TLS only on this machine. A server in Azure takes the managed identity if there is no password. Set it or COSMOS_ENDPOINT, not both
	envCosmosEndpoint  = "COSMOS_ENDPOINT"                               // account of Cosmos DB, such as https://name.documents.azure.com:443/. Required, unless POSTGRES_URL is set
	envCosmosDatabase  = "COSMOS_DATABASE"                               // database
	envCosmosContainer = "COSMOS_CONTAINER"                              // container
	envCosmosKey       = "COSMOS_KEY"                                    // account key, for the local system; without it, the managed identity is used
	envEntraInstance   = "AzureAd__Instance"                             // Entra ID, such as https://login.microsoftonline.com
	envEntraTenants    = "AzureAd__TenantId"                             // tenants whose users may call the admin API: one id, or several with commas
	envEntraClient     = "AzureAd__ClientId"                             // client id of the app registration of the admin API
	envEntraAudience   = "AzureAd__Audience"                             // Application ID URI that tokens may name as their audience. Default: api:// and the client id
	envConsoleClient   = "CONSOLE_CLIENT_ID"                             // client id of the app registration of pages that call the admin API; without it, /api/console/config.json is not found
	envVaultURL        = "KEY_VAULT_URL"                                 // vault with the key that secret values are encrypted with, such as https://name.vault.azure.net; without it, runbooks with secrets are refused
	envSecretsKey      = "SECRETS_KEY_NAME"                              // name of the secret in the vault that contains the key
	envBlobEndpoint    = "BLOB_ENDPOINT"                                 // account of Blob Storage, such as https://name.blob.core.windows.net, in which outputs are kept that steps use by reference; without it, runbooks with such steps are refused
	envBlobContainer   = "BLOB_CONTAINER"                                // its container for them
	envLogLevel        = "LOG_LEVEL"                                     // `debug`, `info`, `warn` or `error`
	envAPIRate         = "API_REQUESTS_PER_SECOND"                       // requests per second and caller, of one instance
	envAPIBurst        = "API_REQUEST_BURST"                             // requests that one caller may send at once, of one instance
	envAPILong         = "API_LONG_REQUESTS"                             // concurrent reports, previews and uploads of one instance
	envDataSources     = "DATA_SOURCES"                                  // names of the settings that the data sources of runbooks may use, with commas; each named setting contains a connection string, URL, path or warehouse id
	envNotifications   = "NOTIFICATION_SETTINGS"                         // names of the settings that notification rules may use, with commas; each named setting contains the URL of a webhook or of a Teams workflow, or the key of a webhook: 24 to 64 bytes in base64
	envWorkerStartup   = "WORKER_STARTUP_SECONDS"                        // how long a worker that was scaled to zero may take to start, before jobs that wait for it can fail. Default: 600
	envFunctionTimeout = "AzureFunctionsJobHost__functionTimeout"        // timeout of an invocation as hh:mm:ss, which overrides host.json; the handler ends an invocation a little earlier. Default: 00:10:00
	envManagement      = "AZURE_RESOURCE_MANAGER_URL"                    // address of Azure Resource Manager, for the local system. Default: that of the public cloud
	envClockOffset     = "MATOOLKIT_CLOCK_OFFSET"                        // how far the clock is ahead, such as 120h; only for the local system
)

// settings are the app settings that the handler reads from its environment.
type settings struct {
	port int // FUNCTIONS_CUSTOMHANDLER_PORT, from the host

	serviceBusConnection string // ServiceBusConnection: a connection string, on one machine
	serviceBusNamespace  string // ServiceBusConnection__fullyQualifiedNamespace: by identity, in Azure
	serviceBusNames      servicebus.Names
	rabbitMQ             rabbitmq.Settings // instead of Service Bus, and of the Functions host

	postgres string // POSTGRES_URL, instead of Cosmos DB

	cosmosEndpoint  string
	cosmosDatabase  string
	cosmosContainer string
	cosmosKey       string // on one machine; without it by identity

	entraInstance string
	entraTenants  []string // AzureAd__TenantId: one, or several with commas
	entraClient   string
	entraAudience string
	consoleClient string // CONSOLE_CLIENT_ID; empty: no page signs in

	keyVault  string // KEY_VAULT_URL: the vault of the key that secrets are encrypted with
	secretKey string // SECRETS_KEY_NAME: its name there; both or none

	blobEndpoint  string // BLOB_ENDPOINT: the account of the container of outputs
	blobContainer string // BLOB_CONTAINER; both or none

	caFile   string
	logLevel slog.Level

	// Of the admin API, and of one process of several: see package adminhttp.
	apiRate  int // API_REQUESTS_PER_SECOND, of one caller
	apiBurst int // API_REQUEST_BURST, of one caller
	apiLong  int // API_LONG_REQUESTS, which are answered at once

	dataSources []string // DATA_SOURCES: the settings that runbooks may name in data_source

	notifications []string // NOTIFICATION_SETTINGS: the settings that notification rules may name

	workerStartup int // WORKER_STARTUP_SECONDS: how long a worker that was scaled to zero may take to start

	// functionTimeout is the host's: past it the host kills this process.
	functionTimeout time.Duration

	scaler     *scaler.Settings // of the container scaler; nil: it is off
	management string           // AZURE_RESOURCE_MANAGER_URL: of Azure Resource Manager, on one machine

	clockOffset time.Duration // MATOOLKIT_CLOCK_OFFSET: ahead of the real time, on one machine only
}

// defaultFunctionTimeout is host.json's; a test holds the two together.
const defaultFunctionTimeout = 10 * time.Minute

// readSettings reads them all and, where any is missing or wrong, names every one
// of those in one error of one line. It never shows a value that is a secret.
func readSettings(lookup func(string) string) (settings, error) {
	r := reader{env.New(lookup)}
	s := settings{
		port:                 r.port(envPort),
		serviceBusConnection: r.Text(envBusString),
		serviceBusNamespace:  r.Text(envBusNamespace),
		serviceBusNames:      servicebus.ReadNames(r.Reader),
		rabbitMQ:             rabbitmq.ReadSettings(r.Reader),
		postgres:             r.Text(envPostgres),
		cosmosEndpoint:       r.optionalAddress(envCosmosEndpoint),
		cosmosDatabase:       r.Or(envCosmosDatabase, "matoolkit"),
		cosmosContainer:      r.Or(envCosmosContainer, "matoolkit"),
		cosmosKey:            r.Text(envCosmosKey),
		entraInstance:        r.address(envEntraInstance),
		entraTenants:         r.guids(envEntraTenants),
		entraClient:          r.guid(envEntraClient),
		entraAudience:        r.Text(envEntraAudience),
		consoleClient:        r.optionalGUID(envConsoleClient),
		keyVault:             r.Text(envVaultURL),
		secretKey:            r.Text(envSecretsKey),
		blobEndpoint:         r.Text(envBlobEndpoint),
		blobContainer:        r.Text(envBlobContainer),
		caFile:               r.Text(tlsroots.EnvCAFile),
		logLevel:             r.Level(envLogLevel),
		apiRate:              r.Number(envAPIRate, adminhttp.DefaultRate, 1, maxNumber),
		apiBurst:             r.Number(envAPIBurst, adminhttp.DefaultBurst, 1, maxNumber),
		apiLong:              r.Number(envAPILong, adminhttp.DefaultLong, 1, maxNumber),
		dataSources:          r.names(envDataSources),
		notifications:        r.names(envNotifications),
		workerStartup:        r.Number(envWorkerStartup, int(workers.DefaultStartup/time.Second), 1, maxNumber),
		functionTimeout:      r.timeout(envFunctionTimeout, defaultFunctionTimeout),
		management:           r.SecureServer(envManagement),
	}
	var err error
	if s.scaler, err = scaler.ReadSettings(lookup, variables()); err != nil {
		r.Problem("%v", err)
	}
	if s.keyVault != "" || s.secretKey != "" {
		if err := vault.Check(s.keyVault, s.secretKey); err != nil {
			r.Problem("KEY_VAULT_URL and SECRETS_KEY_NAME: %v", err)
		}
	}
	if s.blobEndpoint != "" || s.blobContainer != "" {
		if err := blobstorage.Check(s.blobEndpoint, s.blobContainer); err != nil {
			r.Problem("%s and %s: %v", envBlobEndpoint, envBlobContainer, err)
		}
	}
	if !s.rabbitMQ.On() {
		// The host does not start a trigger that refers to a setting that is not set. With a
		// default here, the app would send messages that nothing receives.
		for _, name := range servicebus.TriggerVariables {
			r.Required(name, "the triggers in function.json refer to it; set its default, "+servicebus.DefaultNames().Settings()[name])
		}
	}
	switch {
	case s.postgres == "" && r.Text(envCosmosEndpoint) == "":
		r.Problem("set %s, or %s outside Azure", envCosmosEndpoint, envPostgres)
	case s.postgres != "" && (r.Text(envCosmosEndpoint) != "" || s.cosmosKey != ""):
		r.Problem("%s and a setting of Cosmos DB are both set", envPostgres)
	case s.postgres != "":
		if err := postgres.CheckURL(s.postgres); err != nil {
			r.Problem("%s: %v", envPostgres, err)
		}
	}
	s.clockOffset = r.offset(envClockOffset, s.cosmosKey != "")
	switch {
	case s.rabbitMQ.On() && (s.serviceBusConnection != "" || s.serviceBusNamespace != ""):
		r.Problem("%s and a setting of Service Bus are both set", rabbitmq.EnvURL)
	case s.rabbitMQ.On():
	case s.serviceBusConnection == "" && s.serviceBusNamespace == "":
		r.Problem("set ServiceBusConnection__fullyQualifiedNamespace, or ServiceBusConnection (a connection string), or %s", rabbitmq.EnvURL)
	case s.serviceBusConnection != "" && s.serviceBusNamespace != "":
		r.Problem("ServiceBusConnection and ServiceBusConnection__fullyQualifiedNamespace are both set")
	case strings.ContainsAny(s.serviceBusNamespace, "/:; "):
		r.Wrong(envBusNamespace, "it is not a host name such as name.servicebus.windows.net")
	}
	if err := r.Err(); err != nil {
		return settings{}, fmt.Errorf("settings: %w", err)
	}
	return s, nil
}

// variables returns the names of all environment variables of this process.
func variables() []string {
	var names []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	return names
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
	return r.optionalAddress(name)
}

// optionalAddress reads the URL of a server, or nothing.
func (r reader) optionalAddress(name string) string {
	address, _ := r.Server(name, "")
	return address
}

var guidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func (r reader) guid(name string) string {
	r.Required(name, "")
	return r.optionalGUID(name)
}

// optionalGUID reads a GUID, or nothing.
func (r reader) optionalGUID(name string) string {
	value := r.Text(name)
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
			r.Wrong(name, "duplicate %q", word)
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
			r.Wrong(name, "entry %d is not the name of a setting (letters, digits and _); use a comma-separated list of names, not of connections", len(all)+1)
		case slices.Contains(all, word):
			r.Wrong(name, "duplicate %s", word)
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
		r.Wrong(name, "the clock can be moved only in a local system, where COSMOS_KEY is set")
	case err != nil || d < 0:
		r.Wrong(name, "%q is not a duration of 0 or more such as 120h", value)
	}
	return d
}

// signIn is how people get tokens for the API: in the tenant, or in theirs if there are several.
func (s settings) signIn() adminhttp.SignIn {
	tenant := "organizations"
	if len(s.entraTenants) == 1 {
		tenant = s.entraTenants[0]
	}
	return adminhttp.SignIn{
		Authority:       strings.TrimSuffix(s.entraInstance, "/") + "/" + tenant,
		Scope:           cmp.Or(strings.TrimSuffix(s.entraAudience, "/"), "api://"+s.entraClient) + "/" + signin.Scope,
		ConsoleClientID: s.consoleClient,
	}
}

// now is the time that batches go by.
func (s settings) now() time.Time { return time.Now().Add(s.clockOffset) }

// deadline is how long an invocation may take: less than functionTimeout by a
// tenth, at most by thirty seconds, so that it fails by itself before the host
// kills the process with every other invocation in it.
func (s settings) deadline() time.Duration {
	return s.functionTimeout - min(s.functionTimeout/10, 30*time.Second)
}
