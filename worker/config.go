package main

import (
	"encoding/base64"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/env"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/program"
)

// Environment variables.
const (
	envTenantID      = "TARGET_TENANT_ID"     // id of the target tenant
	envAppID         = "APP_ID"               // client id of the app registration in the target tenant
	envAppSecret     = "APP_SECRET"           // client secret, for the local system; only read without the settings of Key Vault
	envAuthorityHost = "AZURE_AUTHORITY_HOST" // Entra ID of another cloud
	envGraphURL      = "GRAPH_URL"            // Graph of another cloud
	envExchangeURL   = "EXCHANGE_URL"         // Exchange Online of another cloud
	envLag           = "LAG_TIMEOUT_SECONDS"  // how long a call waits until the tenant shows an object that was just created; 0: it does not wait
	envNoOp          = "WORKER_NOOP"          // `1` adds the function No-Op, which does nothing, for measurements
	envRequests      = "GRAPH_REQUESTS"       // requests that Invoke-GraphRequest may make beside those of other functions, with commas, such as `GET /v1.0/groups/{id}`, or `GET /v1.0/groups?$filter&$expand` with query options beside `$select`, `$top`, `$skip` and `$count`; `none`: it makes no requests
	envCmdlets       = "EXCHANGE_CMDLETS"     // cmdlets that Invoke-ExchangeCommand may run with any parameters, with commas, such as `Set-CASMailbox`, beside what other functions run; `none`: it runs nothing
	envAlertFrom     = "ALERT_FROM"           // object id or sign-in name of the mailbox that Send-AdminAlert sends from
	envMailFrom      = "MAIL_FROM"            // object id or sign-in name of the mailbox that Send-MemberMail sends from
	envMailDomains   = "MAIL_DOMAINS"         // domains whose people get mails of Send-MemberMail and Send-AdminAlert, and passes and passwords to hand over, with commas; empty: only `ALERT_TO` gets mails
	envPasswordKey   = "PASSWORD_KEY"         // key from which Reset-EntraUserPassword derives the password of a job, so that all deliveries of the job set the same: 32 to 64 random bytes in base64, the same at all replicas; empty: passwords are random
	envWebhooks      = "WEBHOOK_SETTINGS"     // names of the settings that Send-WebhookMessage may use, with commas; each named setting contains the URL of a webhook or of a Teams workflow, or the key of a webhook: 24 to 64 bytes in base64
	envAlertTo       = "ALERT_TO"             // default recipients of Send-AdminAlert, with commas; a runbook names others within `MAIL_DOMAINS` only
)

// ownVariables are never given to custom functions.
var ownVariables = append([]string{
	envTenantID, envAppID, envAppSecret, envAuthorityHost, envGraphURL, envExchangeURL, envLag, envNoOp,
	envAlertFrom, envAlertTo, envMailFrom, envMailDomains, envPasswordKey, envWebhooks, envRequests, envCmdlets,
	envWrites, envInvitations, envCommands, envShare, envThrottleRetries, envTransientRetries, envGraphBackoff, envExchangeBackoff, envMaxBackoff,
	envVaultURL, envCertName, envCertPassword, envSecretName, envRefresh, envTrial,
}, program.Variables...)

// Defaults of Graph and Exchange Online, whose tokens a server on this machine
// asks for as well.
const (
	publicGraph    = "https://graph.microsoft.com"
	publicExchange = "https://outlook.office365.com"
)

// config is everything that the environment says.
type config struct {
	program.Settings

	TenantID, AppID, AppSecret string
	// Vault has the client secret or a certificate where AppSecret is empty.
	Vault         vaultConfig
	AuthorityHost string // empty means the public cloud's
	// The APIs that are called once before jobs are taken.
	TryGraph, TryExchange bool
	Graph, Exchange       service

	Limits limits

	// LagTimeout is how long one call to the tenant waits for an object that is not
	// found to become visible; beyond that the step's retries are there.
	LagTimeout time.Duration
	NoOp       bool
	// AlertFrom sends the mails of Send-AdminAlert, to AlertTo unless the job says to
	// whom. Empty: the function fails.
	AlertFrom string
	AlertTo   []string
	// MailFrom sends the mails of Send-MemberMail, to people in MailDomains. Without one of them the function fails. Passes
	// and passwords to hand over are mailed to people in MailDomains, too, by AlertFrom.
	MailFrom    string
	MailDomains []string
	// PasswordKey derives passwords that are handed over; nil: they are random.
	PasswordKey []byte
	// Webhooks are the settings with addresses and keys of Send-WebhookMessage.
	Webhooks []string
	// Requests and Cmdlets list the requests that runbooks may have the generic functions make.
	Requests graph.Requests
	Cmdlets  exchange.Cmdlets
}

// service is an API of the target tenant and the scope of tokens for it.
type service struct{ URL, Scope string }

// loadConfig reads the environment and reports everything that is wrong with it
// at once. No error repeats the value of a secret.
func loadConfig(getenv func(string) string) (config, error) {
	r := reader{env.New(getenv)}
	c := config{
		Settings:      program.ReadSettings(r.Reader),
		TenantID:      r.Required(envTenantID, "the id of the target tenant"),
		AppID:         r.Required(envAppID, "the client id of the app registration in the target tenant"),
		AppSecret:     r.Text(envAppSecret),
		Vault:         r.vault(r.Text(envAppSecret)),
		AuthorityHost: r.SecureServer(envAuthorityHost),
		Graph:         r.service(envGraphURL, publicGraph),
		Exchange:      r.service(envExchangeURL, publicExchange),
		AlertFrom:     r.Text(envAlertFrom),
		AlertTo:       r.addresses(envAlertTo),
		MailFrom:      r.Text(envMailFrom),
		MailDomains:   r.domains(envMailDomains),
		PasswordKey:   r.passwordKey(),
		Webhooks:      r.webhooks(envWebhooks, getenv),

		Requests: r.requests(),
		Cmdlets:  r.cmdlets(),

		Limits: r.limits(),

		LagTimeout: r.Seconds(envLag, 30),

		NoOp: r.Switch(envNoOp),
	}
	c.TryGraph, c.TryExchange = r.trials()
	return c, r.Err()
}

// none is the value of an allow-list that allows nothing.
const none = "none"

// requests reads what Invoke-GraphRequest may do.
func (r reader) requests() graph.Requests {
	allowed := graph.Requests{Setting: envRequests, None: r.Text(envRequests) == none}
	if !allowed.None {
		allowed.Allowed = r.allowed(envRequests, graph.CheckRequest)
	}
	return allowed
}

// cmdlets reads what Invoke-ExchangeCommand may do.
func (r reader) cmdlets() exchange.Cmdlets {
	allowed := exchange.Cmdlets{Setting: envCmdlets, None: r.Text(envCmdlets) == none}
	if !allowed.None {
		allowed.Allowed = r.allowed(envCmdlets, exchange.CheckCmdlet)
	}
	return allowed
}

// allowed reads a list whose items have a form.
func (r reader) allowed(name string, check func(string) error) (items []string) {
	for _, item := range r.List(name) {
		if item == "" {
			continue
		}
		if err := check(item); err != nil {
			r.Wrong(name, "%v", err)
			continue
		}
		items = append(items, item)
	}
	return items
}

// reader reads the forms of settings that only the worker has.
type reader struct{ *env.Reader }

// addresses reads mail addresses with commas between them.
func (r reader) addresses(name string) []string {
	var list []string
	for _, part := range r.List(name) {
		if part == "" {
			continue
		}
		if parsed, err := mail.ParseAddress(part); err != nil || parsed.Address != part {
			r.Wrong(name, "%q is not a mail address; separate several with commas", part)
			continue
		}
		list = append(list, part)
	}
	return list
}

// mailDomain is the form of a domain of people.
var mailDomain = regexp.MustCompile(`^[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)+$`)

// domains reads domains with commas between them.
func (r reader) domains(name string) (list []string) {
	for _, part := range r.List(name) {
		if part != "" && !mailDomain.MatchString(part) {
			r.Wrong(name, "%q is not a domain, such as fabrikam.com; separate several with commas", part)
		} else if part != "" {
			list = append(list, part)
		}
	}
	return list
}

// Sizes of the key of passwords, in bytes.
const minPasswordKey, maxPasswordKey = 32, 64

// passwordKey reads the key of passwords. No error has its value.
func (r reader) passwordKey() []byte {
	text := r.Text(envPasswordKey)
	if text == "" {
		return nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) < minPasswordKey || len(key) > maxPasswordKey {
		r.Wrong(envPasswordKey, "the key is not %d to %d bytes in base64; make one with: openssl rand -base64 32", minPasswordKey, maxPasswordKey)
		return nil
	}
	return key
}

// settingName is the form of the name of a setting.
var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// webhooks reads the names of settings, which must be set and not be other settings of the worker.
func (r reader) webhooks(name string, getenv func(string) string) (list []string) {
	for _, part := range r.List(name) {
		switch {
		case part == "":
		case !settingName.MatchString(part), slices.ContainsFunc(ownVariables, func(own string) bool { return strings.EqualFold(own, part) }):
			r.Wrong(name, "%q cannot be the setting of a webhook: use letters, digits and _, and no other setting of the worker", part)
		case strings.TrimSpace(getenv(part)) == "":
			r.Wrong(name, "the setting %s is not set or empty", part)
		default:
			list = append(list, part)
		}
	}
	return list
}

// service reads the URL of an API. Tokens are for the API at that address, or
// for the public one when a simulation of it runs on this machine.
func (r reader) service(name, public string) service {
	server, local := r.Server(name, public)
	server = strings.TrimRight(server, "/")
	switch {
	case server == "":
		return service{}
	case local:
		return service{URL: server, Scope: public + "/.default"}
	}
	return service{URL: server, Scope: server + "/.default"}
}
