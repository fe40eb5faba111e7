// Package program has the parts that all worker programs share, apart from their functions: settings, log and telemetry,
// probes, the broker, and the life of the process from its first heartbeat to its last. A program reads its settings, calls
// Start, makes its functions, and calls Run.
package program

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq"
	"github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/env"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/worker/health"
)

// Environment variables.
const (
	EnvWorkerID     = "WORKER_ID"                                     // worker id, by which runbooks name the worker; also its subscription
	EnvBusString    = "ServiceBusConnection"                          // connection string of Service Bus, for the local system
	EnvBusNamespace = "ServiceBusConnection__fullyQualifiedNamespace" // Service Bus namespace, such as name.servicebus.windows.net, used with the managed identity. Required, unless ServiceBusConnection or RABBITMQ_URL is set
	EnvIdentityID   = "AZURE_CLIENT_ID"                               // client id of a user-assigned managed identity, for Key Vault and Service Bus
	EnvParallelism  = "MAX_PARALLELISM"                               // concurrent jobs of one replica, at most 1000
	EnvIdle         = "IDLE_TIMEOUT_SECONDS"                          // the worker exits after this time without a job; 0: never
	EnvGrace        = "SHUTDOWN_GRACE_SECONDS"                        // time for running jobs when the worker is stopped; give the container ten seconds more
	EnvJobTimeout   = "JOB_TIMEOUT_SECONDS"                           // longest run of one job
	EnvLinger       = "RESULT_LINGER_MILLISECONDS"                    // how long a result waits for results of other running jobs, to travel in one message with them, at most 1000; 0: it does not wait
	EnvLogLevel     = "LOG_LEVEL"                                     // `debug`, `info`, `warn` or `error`
	EnvCustomDir    = "CUSTOM_FUNCTIONS_DIR"                          // directory of command functions
	EnvHealth       = "HEALTH_ADDR"                                   // address of the probes /livez and /readyz, such as 0.0.0.0:8080
	EnvReplica      = "CONTAINER_APP_REPLICA_NAME"                    // name of the replica, the instance in traces and audit records; Container Apps sets it
)

// Variables are never given to command functions. What says where the broker is comes in several forms, of which the
// Functions host has more.
var Variables = append([]string{
	EnvWorkerID, EnvBusString, EnvBusNamespace, EnvIdentityID, EnvParallelism, EnvIdle, EnvGrace, EnvJobTimeout, EnvLinger, EnvLogLevel, EnvCustomDir, EnvHealth,
	// By these anybody in the container gets tokens of its managed identity.
	"IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_ENDPOINT", "MSI_SECRET",
	"APPLICATIONINSIGHTS_CONNECTION_STRING", "OTEL_EXPORTER_OTLP_HEADERS",
}, slices.Concat(servicebus.Variables, rabbitmq.Variables)...)

// Settings are those of every worker program.
type Settings struct {
	WorkerID string
	// One of the three names the broker: a connection string (local), a namespace that the
	// managed identity may use, or RabbitMQ.
	BusString, BusNamespace string
	RabbitMQ                rabbitmq.Settings
	BusNames                servicebus.Names
	IdentityID              string // client id of a user-assigned managed identity; empty means the system-assigned one
	CAFile                  string

	MaxParallelism                         int
	IdleTimeout, ShutdownGrace, JobTimeout time.Duration
	// ResultLinger is how long a result waits for others.
	ResultLinger time.Duration
	LogLevel     slog.Level
	CustomDir    string // of command functions; empty means that there are none
	Health       string // address of the probes; empty means that there are none
}

// ReadSettings reads the settings. The reader has the problems.
func ReadSettings(r *env.Reader) Settings {
	s := Settings{
		WorkerID:     r.Required(EnvWorkerID, "the id of this worker in runbooks"),
		BusString:    r.Text(EnvBusString),
		BusNamespace: r.Text(EnvBusNamespace),
		BusNames:     servicebus.ReadNames(r),
		RabbitMQ:     rabbitmq.ReadSettings(r),
		IdentityID:   r.Text(EnvIdentityID),
		CAFile:       r.Text(tlsroots.EnvCAFile),

		MaxParallelism: r.Number(EnvParallelism, 2, 1, 1000),
		IdleTimeout:    r.Seconds(EnvIdle, 300),
		ShutdownGrace:  r.Seconds(EnvGrace, 30),
		JobTimeout:     r.Seconds(EnvJobTimeout, 600),
		ResultLinger:   time.Duration(r.Number(EnvLinger, 0, 0, 1000)) * time.Millisecond,

		LogLevel:  r.Level(EnvLogLevel),
		CustomDir: r.Text(EnvCustomDir),
		Health:    readHealth(r),
	}
	if strings.ContainsAny(s.WorkerID, "/\\?#") {
		r.Wrong(EnvWorkerID, "invalid worker id %q: it must be valid in the name of a subscription", s.WorkerID)
	}
	switch {
	case s.RabbitMQ.On() && (s.BusString != "" || s.BusNamespace != ""):
		r.Problem("%s and a setting of Service Bus are both set", rabbitmq.EnvURL)
	case s.RabbitMQ.On() && !message.ValidWorkerID(s.WorkerID):
		r.Wrong(EnvWorkerID, "invalid worker id %q: use letters, digits, '-', '_' or '.', at most 43", s.WorkerID)
	case s.RabbitMQ.On():
	case (s.BusString == "") == (s.BusNamespace == ""):
		r.Problem("set one of %s (a connection string), %s (such as name.servicebus.windows.net) and %s", EnvBusString, EnvBusNamespace, rabbitmq.EnvURL)
	}
	if v := s.BusNamespace; v != "" && !namespaceHost.MatchString(v) {
		r.Wrong(EnvBusNamespace, "give the host name of the namespace, such as name.servicebus.windows.net, without sb:// and without a key")
	}
	if s.JobTimeout == 0 {
		r.Wrong(EnvJobTimeout, "must be at least 1")
	}
	return s
}

// namespaceHost is how the broker's host is written: with its domain, without a port.
var namespaceHost = regexp.MustCompile(`^[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)+$`)

// readHealth reads where probes are answered.
func readHealth(r *env.Reader) string {
	address := r.Text(EnvHealth)
	if address == "" {
		return ""
	}
	if err := health.CheckAddress(address); err != nil {
		r.Wrong(EnvHealth, "%v", err)
	}
	return address
}
