package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/loopback"
	"github.com/matoolkit/matoolkit/internal/trust"
	"github.com/matoolkit/matoolkit/worker/health"
)

// Environment variables.
const (
	envWorkerID      = "WORKER_ID"
	envBusString     = "ServiceBusConnection"
	envBusNamespace  = "ServiceBusConnection__fullyQualifiedNamespace"
	envTenantID      = "TARGET_TENANT_ID"
	envAppID         = "APP_ID"
	envAppSecret     = "APP_SECRET"
	envAuthorityHost = "AZURE_AUTHORITY_HOST"
	envGraphURL      = "GRAPH_URL"
	envExchangeURL   = "EXCHANGE_URL"
	envParallelism   = "MAX_PARALLELISM"
	envIdle          = "IDLE_TIMEOUT_SECONDS"
	envGrace         = "SHUTDOWN_GRACE_SECONDS"
	envJobTimeout    = "JOB_TIMEOUT_SECONDS"
	envLag           = "LAG_TIMEOUT_SECONDS"
	envLogLevel      = "LOG_LEVEL"
	envNoOp          = "WORKER_NOOP"
	envCustomDir     = "CUSTOM_FUNCTIONS_DIR"
	envHealth        = "HEALTH_ADDR"
	envAlertFrom     = "ALERT_FROM"
	envAlertTo       = "ALERT_TO"
)

// ownVariables are never given to custom functions. What says where the broker is
// comes in several forms, of which the Functions host has more.
var ownVariables = []string{
	envWorkerID, envBusString, envBusNamespace, envTenantID, envAppID, envAppSecret, envAuthorityHost,
	envGraphURL, envExchangeURL, envParallelism, envIdle, envGrace, envJobTimeout, envLag, envLogLevel, envNoOp, envCustomDir,
	envAlertFrom, envAlertTo, envHealth, envWrites, envShare,
	envVaultURL, envCertName, envCertPassword, envSecretName, envRefresh, envIdentityID, envTrial,
	// By these anybody in the container gets tokens of its managed identity.
	"IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_ENDPOINT", "MSI_SECRET",
	"APPLICATIONINSIGHTS_CONNECTION_STRING", "OTEL_EXPORTER_OTLP_HEADERS",
}

// Defaults of Graph and Exchange Online, whose tokens a server on this machine
// asks for as well.
const (
	publicGraph    = "https://graph.microsoft.com"
	publicExchange = "https://outlook.office365.com"
)

// config is everything that the environment says.
type config struct {
	WorkerID string
	// One of the two names the broker: a connection string (local), or a
	// namespace that the managed identity may use.
	BusString, BusNamespace string

	TenantID, AppID, AppSecret string
	// Vault has the client secret or a certificate where AppSecret is empty.
	Vault         vaultConfig
	IdentityID    string // client id of a user-assigned managed identity; empty means the system-assigned one
	AuthorityHost string // empty means the public cloud's
	// The APIs that are called once before jobs are taken.
	TryGraph, TryExchange bool
	Graph, Exchange       service
	CAFile                string

	Limits limits

	MaxParallelism                         int
	IdleTimeout, ShutdownGrace, JobTimeout time.Duration
	// LagTimeout is how long one call to the tenant waits for an object that is not
	// found to become visible; beyond that the step's retries are there.
	LagTimeout time.Duration
	LogLevel   slog.Level
	NoOp       bool
	CustomDir  string // of custom functions; empty means that there are none
	Health     string // address of the probes; empty means that there are none
	// AlertFrom sends the mails of Send-AdminAlert, to AlertTo unless the job says to
	// whom. Empty: the function fails.
	AlertFrom string
	AlertTo   []string
}

// service is an API of the target tenant and the scope of tokens for it.
type service struct{ URL, Scope string }

// loadConfig reads the environment and reports everything that is wrong with it
// at once. No error repeats the value of a secret.
func loadConfig(getenv func(string) string) (config, error) {
	r := reader{getenv: getenv}
	c := config{
		WorkerID:      r.required(envWorkerID, "the worker's id, by which its jobs are addressed"),
		BusString:     getenv(envBusString),
		BusNamespace:  getenv(envBusNamespace),
		TenantID:      r.required(envTenantID, "the id of the target tenant"),
		AppID:         r.required(envAppID, "the client id of the app registration in the target tenant"),
		AppSecret:     getenv(envAppSecret),
		Vault:         r.vault(getenv(envAppSecret)),
		IdentityID:    getenv(envIdentityID),
		AuthorityHost: r.secureURL(envAuthorityHost),
		Graph:         r.service(envGraphURL, publicGraph),
		Exchange:      r.service(envExchangeURL, publicExchange),
		CAFile:        getenv(trust.EnvCAFile),
		CustomDir:     getenv(envCustomDir),
		Health:        r.health(envHealth),
		AlertFrom:     getenv(envAlertFrom),
		AlertTo:       r.addresses(envAlertTo),

		Limits: r.limits(),

		MaxParallelism: r.number(envParallelism, 2, 1, 1000),
		IdleTimeout:    r.seconds(envIdle, 300),
		ShutdownGrace:  r.seconds(envGrace, 30),
		JobTimeout:     r.seconds(envJobTimeout, 600),
		LagTimeout:     r.seconds(envLag, 30),
	}
	c.TryGraph, c.TryExchange = r.trials()
	if strings.ContainsAny(c.WorkerID, "/\\?#") {
		r.fault("%s: %q cannot be part of a subscription's name", envWorkerID, c.WorkerID)
	}
	if (c.BusString == "") == (c.BusNamespace == "") {
		r.fault("set one of %s (a connection string) and %s (such as name.servicebus.windows.net)", envBusString, envBusNamespace)
	}
	if v := c.BusNamespace; v != "" && !namespaceHost.MatchString(v) {
		r.fault("%s: it is not the host name of a namespace, such as name.servicebus.windows.net, without sb:// and a key", envBusNamespace)
	}
	if c.JobTimeout == 0 {
		r.fault("%s: a job needs a time limit", envJobTimeout)
	}
	if v := getenv(envLogLevel); v != "" && c.LogLevel.UnmarshalText([]byte(v)) != nil {
		r.fault("%s: %q is not one of debug, info, warn, error", envLogLevel, v)
	}
	switch v := getenv(envNoOp); v {
	case "", "0":
	case "1":
		c.NoOp = true
	default:
		r.fault("%s: %q is neither 0 nor 1", envNoOp, v)
	}
	return c, errors.Join(r.faults...)
}

// namespaceHost is how the broker's host is written: with its domain, without a port.
var namespaceHost = regexp.MustCompile(`^[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)+$`)

// reader collects what is wrong.
type reader struct {
	getenv func(string) string
	faults []error
}

func (r *reader) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

func (r *reader) required(name, what string) string {
	v := r.getenv(name)
	if v == "" {
		r.fault("%s is not set: %s", name, what)
	}
	return v
}

func (r *reader) number(name string, otherwise, least, most int) int {
	v := r.getenv(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		r.fault("%s: %q is not a whole number from %d to %d", name, v, least, most)
	}
	return n
}

// addresses reads mail addresses with commas between them.
func (r *reader) addresses(name string) []string {
	var list []string
	for part := range strings.SplitSeq(r.getenv(name), ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if parsed, err := mail.ParseAddress(part); err != nil || parsed.Address != part {
			r.fault("%s: %q is not a mail address; several have commas between them", name, part)
			continue
		}
		list = append(list, part)
	}
	return list
}

func (r *reader) seconds(name string, otherwise int) time.Duration {
	return time.Duration(r.number(name, otherwise, 0, 7*24*3600)) * time.Second
}

// service reads the URL of an API. Tokens are for the API at that address, or
// for the public one when a simulation of it runs on this machine.
func (r *reader) service(name, public string) service {
	v := strings.TrimRight(r.getenv(name), "/")
	if v == "" {
		v = public
	}
	u, err := serverURL(v)
	switch {
	case err != nil:
		r.fault("%s: %v", name, err)
		return service{}
	case loopback.Is(u.Hostname()):
		return service{URL: v, Scope: public + "/.default"}
	case u.Scheme != "https":
		r.fault("%s: %q must be https: only a server on this machine may be called without it", name, v)
	}
	return service{URL: v, Scope: v + "/.default"}
}

// health reads where probes are answered.
func (r *reader) health(name string) string {
	v := r.getenv(name)
	if v == "" {
		return ""
	}
	if err := health.CheckAddress(v); err != nil {
		r.fault("%s: %v", name, err)
	}
	return v
}

func (r *reader) secureURL(name string) string {
	v := r.getenv(name)
	if v == "" {
		return ""
	}
	if u, err := serverURL(v); err != nil {
		r.fault("%s: %v", name, err)
	} else if u.Scheme != "https" {
		r.fault("%s: %q must be https", name, v)
	}
	return v
}

// serverURL reads a scheme and a host. Its error does not repeat v: what is wrong with
// it may be a password or a key in it.
func serverURL(v string) (*url.URL, error) {
	u, err := url.Parse(v)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("it is not the URL of a server, such as https://name.example, without a user and a query")
	}
	return u, nil
}
