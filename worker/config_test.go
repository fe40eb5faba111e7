package main

import (
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/env"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/program"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// minimal is the least that a worker starts with.
var minimal = map[string]string{
	program.EnvWorkerID: "worker-01", program.EnvBusString: "Endpoint=sb://x;SharedAccessKeyName=k;SharedAccessKey=busk3y",
	envTenantID: "tenant-1", envAppID: "app-1", envAppSecret: "s3cret", envTrial: "none",
}

// environment is minimal with changes: an empty value unsets.
func environment(changes map[string]string) func(string) string {
	env := maps.Clone(minimal)
	maps.Copy(env, changes)
	return func(name string) string { return env[name] }
}

const vaultURL = "https://name.vault.azure.net"

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	got := testenv.Must(loadConfig(environment(nil)))(t)
	want := config{
		Settings: program.Settings{
			WorkerID: "worker-01", BusString: minimal[program.EnvBusString], BusNames: servicebus.DefaultNames(),
			MaxParallelism: 2, IdleTimeout: 300 * time.Second, ShutdownGrace: 30 * time.Second, JobTimeout: 10 * time.Minute,
		},
		TenantID: "tenant-1", AppID: "app-1", AppSecret: "s3cret",
		Graph:    service{"https://graph.microsoft.com", "https://graph.microsoft.com/.default"},
		Exchange: service{"https://outlook.office365.com", "https://outlook.office365.com/.default"},
		Requests: graph.Requests{Setting: envRequests}, Cmdlets: exchange.Cmdlets{Setting: envCmdlets},
		Limits: limits{
			Writes: throttle.Rate{Calls: 3000, Per: 150 * time.Second}, Invitations: throttle.Rate{Calls: 150, Per: 5 * time.Second}, Commands: 3,
			Retries: 5, TransientRetries: 4, GraphBackoff: 2 * time.Second, ExchangeBackoff: 3 * time.Second, MaxBackoff: 2 * time.Minute,
		},
		LagTimeout: 30 * time.Second,
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

func TestConfigReadsEverything(t *testing.T) {
	t.Parallel()
	got := testenv.Must(loadConfig(environment(map[string]string{
		program.EnvBusString: "", program.EnvBusNamespace: "ns.servicebus.windows.net", "WORKER_JOBS_TOPIC": "jobs", "WORKER_SUBSCRIPTION_PREFIX": "w-",
		envAuthorityHost: "https://login.microsoftonline.us", envGraphURL: "https://graph.microsoft.us/",
		envExchangeURL: "http://127.0.0.1:7073", "EXTRA_CA_FILE": "ca.pem",
		program.EnvParallelism: "64", program.EnvIdle: "0", program.EnvGrace: "5", program.EnvJobTimeout: "60", envLag: "0", program.EnvLinger: "15", program.EnvLogLevel: "debug", envNoOp: "1", program.EnvCustomDir: "/functions",
		envAlertFrom: "alerts@contoso.example", envAlertTo: "ada@contoso.example, bob@contoso.example,",
		envWrites: "1000", envInvitations: "60", envCommands: "8", envShare: "50", envThrottleRetries: "7", envTransientRetries: "0",
		envGraphBackoff: "4", envExchangeBackoff: "5", envMaxBackoff: "10",
		envRequests: "GET /v1.0/groups/{id}, DELETE /beta/groups/{id},", envCmdlets: "none",
		envPasswordKey: "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
	})))(t)
	names := servicebus.ReadNames(env.New(func(name string) string {
		return map[string]string{"WORKER_JOBS_TOPIC": "jobs", "WORKER_SUBSCRIPTION_PREFIX": "w-"}[name]
	}))
	want := config{
		Settings: program.Settings{
			WorkerID: "worker-01", BusNamespace: "ns.servicebus.windows.net", BusNames: names, CAFile: "ca.pem",
			MaxParallelism: 64, ShutdownGrace: 5 * time.Second, JobTimeout: time.Minute, ResultLinger: 15 * time.Millisecond, LogLevel: slog.LevelDebug, CustomDir: "/functions",
		},
		TenantID: "tenant-1", AppID: "app-1", AppSecret: "s3cret", AuthorityHost: "https://login.microsoftonline.us",
		Graph: service{"https://graph.microsoft.us", "https://graph.microsoft.us/.default"},
		// On this machine a simulation answers, to tokens for the real one.
		Exchange: service{"http://127.0.0.1:7073", "https://outlook.office365.com/.default"},
		Limits: limits{
			Writes: throttle.Rate{Calls: 500, Per: 150 * time.Second}, Invitations: throttle.Rate{Calls: 30, Per: 5 * time.Second}, Commands: 4,
			Retries: 7, GraphBackoff: 4 * time.Second, ExchangeBackoff: 5 * time.Second, MaxBackoff: 10 * time.Second,
		},
		NoOp:        true,
		PasswordKey: []byte("0123456789abcdef0123456789abcdef"),
		Requests:    graph.Requests{Setting: envRequests, Allowed: []string{"GET /v1.0/groups/{id}", "DELETE /beta/groups/{id}"}},
		Cmdlets:     exchange.Cmdlets{Setting: envCmdlets, None: true},
		AlertFrom:   "alerts@contoso.example", AlertTo: []string{"ada@contoso.example", "bob@contoso.example"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

func TestConfigReadsWhereTheSecretIs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		changes map[string]string
		want    vaultConfig
	}{
		{map[string]string{envCertName: "worker"}, vaultConfig{URL: vaultURL, Certificate: "worker", Refresh: time.Hour}},
		{
			map[string]string{envCertName: "worker", envCertPassword: "worker-password", envRefresh: "600"},
			vaultConfig{URL: vaultURL, Certificate: "worker", Password: "worker-password", Refresh: 10 * time.Minute},
		},
		{map[string]string{envSecretName: "text"}, vaultConfig{URL: vaultURL, Secret: "text", Refresh: time.Hour}},
	} {
		changes := map[string]string{envAppSecret: "", envVaultURL: vaultURL, program.EnvIdentityID: "id", envTrial: ""}
		maps.Copy(changes, tc.changes)
		got, err := loadConfig(environment(changes))
		if err != nil || got.Vault != tc.want || got.AppSecret != "" || got.IdentityID != "id" || !got.TryGraph || !got.TryExchange {
			t.Errorf("%v: got %+v, %v", tc.changes, got, err)
		}
	}
}

func TestConfigSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		note    string
		changes map[string]string
		want    string
	}{
		{"no worker id", map[string]string{program.EnvWorkerID: ""}, "WORKER_ID is not set"},
		{"a worker id that is a path", map[string]string{program.EnvWorkerID: "a/b"}, `invalid worker id "a/b"`},
		{"no tenant", map[string]string{envTenantID: ""}, "TARGET_TENANT_ID is not set"},
		{"no app", map[string]string{envAppID: ""}, "APP_ID is not set"},
		{"no secret", map[string]string{envAppSecret: ""}, "no credential: set KEY_VAULT_URL and one of CERT_NAME"},
		{"two secrets", map[string]string{envSecretName: "a"}, "APP_SECRET cannot be combined with"},
		{"a secret and a vault", map[string]string{envVaultURL: vaultURL}, "APP_SECRET cannot be combined with"},
		{"a secret and a password", map[string]string{envCertPassword: "a"}, "APP_SECRET cannot be combined with"},
		{"a vault of nothing", map[string]string{envAppSecret: "", envVaultURL: vaultURL}, "also set CERT_NAME or APP_SECRET_NAME"},
		{"no vault", map[string]string{envAppSecret: "", envCertName: "worker"}, "KEY_VAULT_URL is not set: give the vault of worker"},
		{"two names", map[string]string{envAppSecret: "", envVaultURL: vaultURL, envCertName: "a", envSecretName: "b"}, "set one of CERT_NAME and APP_SECRET_NAME"},
		{"a password of nothing", map[string]string{envAppSecret: "", envVaultURL: vaultURL, envCertPassword: "a", envSecretName: "b"}, "CERT_PASSWORD_NAME is set without CERT_NAME"},
		{"a vault without TLS", map[string]string{envAppSecret: "", envVaultURL: "http://name.vault.azure.net", envCertName: "a"}, "must be https"},
		{"a vault asked all the time", map[string]string{envRefresh: "5"}, "SECRET_REFRESH_SECONDS: must be at least 60"},
		{"an unknown trial", map[string]string{envTrial: "graph,teams"}, `TRIAL_SIGN_IN: unknown API "teams": use graph, exchange or none`},
		{"no write", map[string]string{envWrites: "0"}, `GRAPH_WRITE_LIMIT: "0" is not a whole number from 1`},
		{"no invitation", map[string]string{envInvitations: "0"}, `GRAPH_INVITATION_LIMIT: "0" is not a whole number from 1`},
		{"no command", map[string]string{envCommands: "0"}, `EXCHANGE_COMMAND_LIMIT: "0" is not a whole number from 1`},
		{"fewer than no retries", map[string]string{envThrottleRetries: "-1"}, `THROTTLE_RETRIES: "-1" is not a whole number from 0`},
		{"retries that are no number", map[string]string{envTransientRetries: "four"}, `TRANSIENT_RETRIES: "four" is not a whole number from 0`},
		{"no delay", map[string]string{envGraphBackoff: "0"}, `GRAPH_BACKOFF_SECONDS: "0" is not a whole number from 1`},
		{"a delay that is longer than the longest", map[string]string{envExchangeBackoff: "200"}, "MAX_BACKOFF_SECONDS: must be at least GRAPH_BACKOFF_SECONDS and EXCHANGE_BACKOFF_SECONDS"},
		{"more than all", map[string]string{envShare: "200"}, `TENANT_SHARE_PERCENT: "200" is not a whole number from 1 to 100`},
		{"a prefix that is too long", map[string]string{"WORKER_SUBSCRIPTION_PREFIX": "migrators-"}, `WORKER_SUBSCRIPTION_PREFIX: invalid prefix "migrators-": use letters, digits, '.', '-' and '_', beginning with a letter or digit, at most 7`},
		{"jobs among results", map[string]string{"WORKER_JOBS_TOPIC": "worker-results"}, `WORKER_JOBS_TOPIC and WORKER_RESULTS_TOPIC are both "worker-results"`},
		{"no broker", map[string]string{program.EnvBusString: ""}, "set one of ServiceBusConnection"},
		{"Service Bus and RabbitMQ", map[string]string{"RABBITMQ_URL": "amqps://user:very-secret@host/"}, "RABBITMQ_URL and a setting of Service Bus are both set"},
		{"RabbitMQ for an id that is no word", map[string]string{program.EnvBusString: "", "RABBITMQ_URL": "amqps://host/", program.EnvWorkerID: "a b"}, "invalid worker id"},
		{"two brokers", map[string]string{program.EnvBusNamespace: "x"}, "set one of ServiceBusConnection"},
		{"a namespace as a URL", map[string]string{program.EnvBusString: "", program.EnvBusNamespace: "sb://name.servicebus.windows.net/"}, "ServiceBusConnection__fullyQualifiedNamespace: give the host name"},
		{"a namespace without its domain", map[string]string{program.EnvBusString: "", program.EnvBusNamespace: "name"}, "ServiceBusConnection__fullyQualifiedNamespace: give the host name"},
		{"a key for a namespace", map[string]string{program.EnvBusString: "", program.EnvBusNamespace: "Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKey=busk3y"}, "give the host name"},
		{"http off this machine", map[string]string{envGraphURL: "http://graph.example"}, "must be https: http is allowed only"},
		{"http to what only begins like this machine", map[string]string{envGraphURL: "http://127.0.0.1.example"}, "must be https"},
		{"a password in a URL", map[string]string{envGraphURL: "https://u:s3cret@graph.example"}, "is not the URL of a server"},
		{"a password in what is no URL", map[string]string{envExchangeURL: "https://u:s3cret@graph.example:port"}, "is not the URL of a server"},
		{"a key in a URL", map[string]string{envVaultURL: "https://name.vault.azure.net?code=s3cret"}, "is not the URL of a server"},
		{"no URL", map[string]string{envExchangeURL: "graph.example"}, "is not the URL of a server"},
		{"authority without TLS", map[string]string{envAuthorityHost: "http://127.0.0.1:7072"}, "must be https"},
		{"a linger time of minutes", map[string]string{program.EnvLinger: "60000"}, `RESULT_LINGER_MILLISECONDS: "60000" is not a whole number from 0 to 1000`},
		{"no number", map[string]string{program.EnvParallelism: "many"}, `MAX_PARALLELISM: "many" is not a whole number from 1 to 1000`},
		{"a key that is too short", map[string]string{envPasswordKey: "aHVudGVyMg=="}, "PASSWORD_KEY: the key is not 32 to 64 bytes in base64"},
		{"no request", map[string]string{envRequests: "GET /v1.0/users, /v1.0/groups"}, `GRAPH_REQUESTS: "/v1.0/groups" does not begin with GET`},
		{"no cmdlet", map[string]string{envCmdlets: "Set-CASMailbox,*"}, `EXCHANGE_CMDLETS: "*" is not the name of a cmdlet`},
		{"no address", map[string]string{envAlertTo: "ada@contoso.example; bob@contoso.example"}, "ALERT_TO"},
		{"no parallelism", map[string]string{program.EnvParallelism: "0"}, "MAX_PARALLELISM"},
		{"negative seconds", map[string]string{program.EnvIdle: "-1"}, "IDLE_TIMEOUT_SECONDS"},
		{"no time for jobs", map[string]string{program.EnvJobTimeout: "0"}, "JOB_TIMEOUT_SECONDS: must be at least 1"},
		{"no level", map[string]string{program.EnvLogLevel: "loud"}, "LOG_LEVEL"},
		{"neither on nor off", map[string]string{envNoOp: "yes"}, "WORKER_NOOP"},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			_, err := loadConfig(environment(tc.changes))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q in it", err, tc.want)
			}
			if said := err.Error(); strings.Contains(said, "s3cret") || strings.Contains(said, "busk3y") {
				t.Fatalf("the error tells a secret: %s", said)
			}
		})
	}
}

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := loadConfig(func(string) string { return "" })
	for _, name := range []string{program.EnvWorkerID, envTenantID, envAppID, envAppSecret, program.EnvBusString} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in: %v", name, err)
		}
	}
}
