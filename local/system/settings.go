package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/local/functionshost"
)

// The settings that the programs read, as docs/reference/settings.md lists them. A test holds the lists to the programs.
var (
	workerSettings = strings.Fields(`
		WORKER_ID ServiceBusConnection ServiceBusConnection__fullyQualifiedNamespace TARGET_TENANT_ID APP_ID APP_SECRET
		AZURE_AUTHORITY_HOST GRAPH_URL EXCHANGE_URL MAX_PARALLELISM IDLE_TIMEOUT_SECONDS SHUTDOWN_GRACE_SECONDS
		JOB_TIMEOUT_SECONDS RESULT_LINGER_MILLISECONDS LAG_TIMEOUT_SECONDS LOG_LEVEL WORKER_NOOP CUSTOM_FUNCTIONS_DIR
		GRAPH_REQUESTS EXCHANGE_CMDLETS HEALTH_ADDR CONTAINER_APP_REPLICA_NAME ALERT_FROM MAIL_FROM MAIL_DOMAINS PASSWORD_KEY
		WEBHOOK_SETTINGS ALERT_TO GRAPH_WRITE_LIMIT GRAPH_INVITATION_LIMIT EXCHANGE_COMMAND_LIMIT TENANT_SHARE_PERCENT
		THROTTLE_RETRIES TRANSIENT_RETRIES GRAPH_BACKOFF_SECONDS EXCHANGE_BACKOFF_SECONDS MAX_BACKOFF_SECONDS KEY_VAULT_URL
		CERT_NAME CERT_PASSWORD_NAME APP_SECRET_NAME SECRET_REFRESH_SECONDS AZURE_CLIENT_ID TRIAL_SIGN_IN EXTRA_CA_FILE`)
	handlerSettings = strings.Fields(`
		FUNCTIONS_CUSTOMHANDLER_PORT ServiceBusConnection__fullyQualifiedNamespace ServiceBusConnection POSTGRES_URL COSMOS_ENDPOINT
		COSMOS_DATABASE COSMOS_CONTAINER COSMOS_KEY AzureAd__Instance AzureAd__TenantId AzureAd__ClientId AzureAd__Audience
		CONSOLE_CLIENT_ID KEY_VAULT_URL SECRETS_KEY_NAME LOG_LEVEL API_REQUESTS_PER_SECOND API_REQUEST_BURST
		API_LONG_REQUESTS DATA_SOURCES NOTIFICATION_SETTINGS WORKER_STARTUP_SECONDS AzureFunctionsJobHost__functionTimeout
		AZURE_RESOURCE_MANAGER_URL BLOB_CONTAINER BLOB_ENDPOINT MATOOLKIT_CLOCK_OFFSET EXTRA_CA_FILE`)
	// sharedSettings are those of packages of both programs.
	sharedSettings = strings.Fields(`
		ORCHESTRATOR_EVENTS_TOPIC WORKER_JOBS_TOPIC WORKER_CONTROL_TOPIC WORKER_RESULTS_TOPIC ORCHESTRATOR_SUBSCRIPTION
		WORKER_SUBSCRIPTION_PREFIX RABBITMQ_URL RABBITMQ_PREFIX
		OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_TRACES_ENDPOINT OTEL_EXPORTER_OTLP_METRICS_ENDPOINT
		OTEL_EXPORTER_OTLP_LOGS_ENDPOINT OTEL_EXPORTER_OTLP_HEADERS OTEL_SDK_DISABLED OTEL_TRACES_EXPORTER
		OTEL_METRICS_EXPORTER OTEL_LOGS_EXPORTER OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_TRACES_PROTOCOL
		OTEL_EXPORTER_OTLP_METRICS_PROTOCOL OTEL_EXPORTER_OTLP_LOGS_PROTOCOL`)
	scalerSettings = strings.Fields(`
		AZURE_SUBSCRIPTION_ID AZURE_RESOURCE_GROUP ACI_IMAGE ACI_NAME_PREFIX ACI_LOCATION ACI_MAX_INSTANCES ACI_DEFAULT_CPU
		ACI_MEMORY_MULTIPLIER ACI_MIN_MEMORY_GB ACI_MAX_MEMORY_GB ACI_IDENTITY_ID ACI_SUBNET_ID ACR_SERVER ACR_USERNAME
		ACR_PASSWORD SB_CONNECTION_STR SB_NAMESPACE SB_RESOURCE_GROUP SB_TOPIC_NAME INSTANCE_SUBSCRIPTION_ENV_NAME
		INSTANCE_MESSAGE_ENV_NAME`)
)

// KnownSettings are the names of the settings of the worker, and of those of the handler with its container scaler. Some
// are in both.
func KnownSettings() (worker, handler []string) {
	return slices.Concat(workerSettings, sharedSettings), slices.Concat(handlerSettings, sharedSettings, scalerSettings)
}

// webhookSettings is the setting of the worker that names settings with the addresses of webhooks.
const webhookSettings = "WEBHOOK_SETTINGS"

// Settings of the programs of a system, besides those that they need to find each other.
type Settings struct {
	Handler map[string]string
	Worker  map[string]map[string]string // by the names of tenants; those for all workers under the empty name
}

// ReadSettings reads settings of the form NAME=VALUE, or TENANT:NAME=VALUE for the worker of one of the named tenants. A
// setting goes to the programs that read it, and one that overrides host.json to the Functions host. Other names, which runbooks and notification rules use, go to the handler; one
// that is almost that of a known setting is refused. A value may be a secret, so errors do not quote it.
func ReadSettings(all, tenants []string) (Settings, error) {
	read := Settings{Handler: map[string]string{}, Worker: map[string]map[string]string{}}
	worker, handler := KnownSettings()
	for _, text := range all {
		if rest, ok := strings.CutPrefix(text[strings.Index(text, ":")+1:], webhookSettings+"="); ok {
			worker = append(worker, strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ' ' })...)
		}
	}
	given := map[string]bool{}
	for _, text := range all {
		name, value, ok := strings.Cut(text, "=")
		tenant, rest, directed := strings.Cut(name, ":")
		if directed {
			name = rest
		} else {
			tenant = ""
		}
		of := func(program []string) bool { return slices.Contains(program, name) }
		put := func() {
			if read.Worker[tenant] == nil {
				read.Worker[tenant] = map[string]string{}
			}
			read.Worker[tenant][name] = value
		}
		switch {
		case !ok || name == "":
			return read, errors.New("give NAME=VALUE, or TENANT:NAME=VALUE")
		case given[tenant+":"+name]:
			return read, fmt.Errorf("%s is given twice", name)
		case name == "WORKER_ID":
			return read, errors.New("WORKER_ID is not given as a setting: use --worker-id")
		case directed && !slices.Contains(tenants, tenant):
			return read, fmt.Errorf("%s: there is no tenant %q: use one of --tenants", name, tenant)
		case directed && !of(worker):
			return read, fmt.Errorf("the worker has no setting %s%s", name, near(name, worker))
		case of(worker):
			put()
			if of(handler) && !directed {
				read.Handler[name] = value
			}
		case of(handler), strings.HasPrefix(name, functionshost.OverridePrefix):
			read.Handler[name] = value
		case !runbook.SettingName(name):
			return read, fmt.Errorf("unknown setting %q: use letters, digits and _", name)
		case near(name, slices.Concat(worker, handler)) != "":
			return read, fmt.Errorf("unknown setting %s%s", name, near(name, slices.Concat(worker, handler)))
		default:
			read.Handler[name] = value
		}
		given[tenant+":"+name] = true
	}
	return read, nil
}

// near lists known names that are close to a misspelt one, as the end of a message.
func near(name string, known []string) string {
	var alike []string
	for _, k := range slices.Compact(slices.Sorted(slices.Values(known))) {
		if humanize.Nearest(name, []string{k}) != "" {
			alike = append(alike, k)
		}
	}
	if len(alike) == 0 {
		return ""
	}
	return "; close names are: " + strings.Join(alike[:min(len(alike), 5)], ", ")
}

// workerSettingsFile has the settings of the workers of the system whose state is in the folder around it.
const workerSettingsFile = "worker-settings.json"

// keepWorkerSettings writes the settings of the workers where other programs find them.
func (s *System) keepWorkerSettings() error {
	if s.config.DataDir == "" {
		return nil
	}
	file := filepath.Join(s.config.DataDir, workerSettingsFile)
	if len(s.config.WorkerSettings) == 0 {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	body, err := json.Marshal(s.config.WorkerSettings)
	if err == nil {
		err = os.MkdirAll(s.config.DataDir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, body, 0o600)
	}
	return err
}

// WorkerSettingsIn returns the settings of the workers of the system that has its state in the folder, if there is one.
func WorkerSettingsIn(dataDir string) (settings map[string]map[string]string, err error) {
	file := filepath.Join(dataDir, workerSettingsFile)
	body, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &settings)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return settings, nil
}
