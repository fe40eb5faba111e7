package system

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/entra"
)

// What the parts and the programs agree on locally. The keys guard nothing: the
// parts listen on loopback only.
const (
	Database  = "matoolkit"
	Container = "matoolkit"
	SASKey    = "SAS_KEY_VALUE"
)

// APIURL is the base of the admin API.
func (s *System) APIURL() string { return "http://" + s.config.Addresses.Host + "/api" }

// ConsoleURL is the address of the operations console.
func (s *System) ConsoleURL() string { return s.APIURL() + "/console/" }

// TenantURL is the base of Graph and Exchange, of all tenants. With one tenant its local endpoints are
// there, too.
func (s *System) TenantURL() string { return "http://" + s.config.Addresses.Tenant }

// TenantURLOf is the base of the local endpoints of a named tenant.
func (s *System) TenantURLOf(name string) string { return s.TenantURL() + "/tenants/" + name }

// CAFile is the certificate that the local Entra ID's TLS stands on.
func (s *System) CAFile() string { return s.caFile }

// ServiceBusConnection is the connection string of the local Service Bus.
func (s *System) ServiceBusConnection() string {
	return fmt.Sprintf("Endpoint=sb://%s;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=%s;UseDevelopmentEmulator=true;", s.config.Addresses.ServiceBus, SASKey)
}

// HandlerEnv are the app settings of the handler.
func (s *System) HandlerEnv() map[string]string {
	settings := map[string]string{
		"FUNCTIONS_WORKER_RUNTIME": "custom",
		"ServiceBusConnection":     s.ServiceBusConnection(),
		"COSMOS_ENDPOINT":          "http://" + s.config.Addresses.Cosmos,
		"COSMOS_DATABASE":          Database,
		"COSMOS_CONTAINER":         Container,
		"COSMOS_KEY":               cosmos.DefaultKey,
		"AzureAd__Instance":        "https://" + s.config.Addresses.Entra + "/",
		"AzureAd__TenantId":        entra.DefaultTenantID,
		"AzureAd__ClientId":        entra.DefaultAdminAPIClientID,
		"AzureAd__Audience":        entra.DefaultAdminAPIAudience,
		"CONSOLE_CLIENT_ID":        entra.DefaultConsoleClientID,
		"KEY_VAULT_URL":            "https://" + s.config.Addresses.KeyVault,
		"SECRETS_KEY_NAME":         SecretsKey,
		"BLOB_ENDPOINT":            s.BlobEndpoint(),
		"BLOB_CONTAINER":           BlobContainer,
		"IDENTITY_ENDPOINT":        "https://" + s.config.Addresses.Entra + entra.IdentityPath,
		"IDENTITY_HEADER":          entra.IdentityHeader,
		"AZURE_AUTHORITY_HOST":     "https://" + s.config.Addresses.Entra + "/",
		"EXTRA_CA_FILE":            s.caFile,
	}
	maps.Copy(settings, s.names.Settings())
	maps.Copy(settings, s.scalerSettings())
	// The runbooks and notification rules of a local system may name every setting that it was given.
	names := slices.Sorted(maps.Keys(s.config.Settings))
	names = slices.DeleteFunc(names, func(name string) bool {
		_, own := settings[name]
		return own || !runbook.SettingName(name)
	})
	if len(names) > 0 {
		settings["NOTIFICATION_SETTINGS"] = strings.Join(names, ",")
	}
	graphs := s.graphSettings()
	maps.Copy(settings, graphs)
	names = slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(graphs)))))
	settings["DATA_SOURCES"] = strings.Join(names, ",")
	maps.Copy(settings, s.config.Settings)
	return settings
}

// graphSettings are the connections of data sources of the type graph, one for each tenant: TENANT_GRAPH, or SOURCE_GRAPH
// of a tenant that is named source.
func (s *System) graphSettings() map[string]string {
	settings := map[string]string{}
	add := func(prefix, tenant, client, secret string) {
		settings[prefix+"_GRAPH"] = fmt.Sprintf("TenantId=%s;ClientId=%s;ClientSecret=%s;Endpoint=%s", tenant, client, secret, s.TenantURL())
	}
	for _, n := range s.config.Tenants {
		add(strings.ToUpper(strings.ReplaceAll(n.Name, "-", "_")), n.TenantID, n.PeopleClientID, n.PeopleSecret)
	}
	if len(s.config.Tenants) == 0 {
		add("TENANT", entra.DefaultTenantID, entra.DefaultPeopleClientID, entra.DefaultPeopleSecret)
	}
	return settings
}

// WorkerEnv is the environment of a worker of the one tenant.
func (s *System) WorkerEnv() map[string]string {
	return s.workerEnv(s.config.Workers[0], entra.Named{
		TenantID: entra.DefaultTenantID, WorkerClientID: entra.DefaultWorkerClientID, WorkerSecret: entra.DefaultWorkerSecret, AdminUPN: entra.DefaultAdminUPN,
	})
}

// WorkerEnvs are the environments of the workers of the named tenants.
func (s *System) WorkerEnvs() map[string]map[string]string {
	envs := map[string]map[string]string{}
	for _, n := range s.config.Tenants {
		envs[n.Name] = s.workerEnv(workerOf(n.Name), n)
	}
	return envs
}

func (s *System) workerEnv(id string, of entra.Named) map[string]string {
	env := map[string]string{
		"WORKER_ID":            id,
		"ServiceBusConnection": s.ServiceBusConnection(),
		"TARGET_TENANT_ID":     of.TenantID,
		"APP_ID":               of.WorkerClientID,
		"APP_SECRET":           of.WorkerSecret,
		"AZURE_AUTHORITY_HOST": "https://" + s.config.Addresses.Entra + "/",
		"GRAPH_URL":            s.TenantURL(),
		"EXCHANGE_URL":         s.TenantURL(),
		"ALERT_FROM":           of.AdminUPN,
		"ALERT_TO":             of.AdminUPN,
		"MAIL_FROM":            of.AdminUPN,
		"MAIL_DOMAINS":         of.AdminUPN[strings.LastIndex(of.AdminUPN, "@")+1:],
		"EXTRA_CA_FILE":        s.caFile,
		"MAX_PARALLELISM":      "8",
		"IDLE_TIMEOUT_SECONDS": "0",
		"LAG_TIMEOUT_SECONDS":  "2", // the local tenant lags only where a fault makes it
		"BLOB_ENDPOINT":        s.BlobEndpoint(),
		"BLOB_CONTAINER":       BlobContainer,
		"IDENTITY_ENDPOINT":    "https://" + s.config.Addresses.Entra + entra.IdentityPath,
		"IDENTITY_HEADER":      entra.IdentityHeader,
	}
	maps.Copy(env, s.githubEnv())
	maps.Copy(env, s.names.Settings())
	maps.Copy(env, s.config.WorkerSettings[""])
	if of.Name != "" {
		maps.Copy(env, s.config.WorkerSettings[of.Name])
	}
	return env
}

// CLIEnv is the environment of a CLI that administers this system.
func (s *System) CLIEnv() map[string]string {
	return map[string]string{
		"MATOOLKIT_API_URL":   s.APIURL(),
		"MATOOLKIT_TENANT_ID": entra.DefaultTenantID,
		"MATOOLKIT_CLIENT_ID": entra.DefaultCLIClientID,
		"MATOOLKIT_API_SCOPE": entra.DefaultAdminAPIScope,
		"MATOOLKIT_AUTHORITY": "https://" + s.config.Addresses.Entra + "/",
		"MATOOLKIT_CA_FILE":   s.caFile,
	}
}

// Endpoints are the addresses that another process needs to use this system:
// "matoolkit local up --endpoints FILE" writes them as JSON.
type Endpoints struct {
	CLI        map[string]string            `json:"cli"`
	Worker     map[string]string            `json:"worker,omitempty"`  // of the one tenant
	Workers    map[string]map[string]string `json:"workers,omitempty"` // by the names of the tenants
	Handler    map[string]string            `json:"handler"`
	TenantURL  string                       `json:"tenantUrl,omitempty"`
	TenantURLs map[string]string            `json:"tenantUrls,omitempty"` // of local endpoints, by the names of the tenants
	Addresses  Addresses                    `json:"addresses"`
}

// Endpoints of the system as it runs: of the parts that were started or are known to run
// elsewhere. A variable that points at another part is left out.
func (s *System) Endpoints() Endpoints {
	e := Endpoints{CLI: s.list(s.CLIEnv()), Handler: s.list(s.HandlerEnv())}
	if len(s.config.Tenants) == 0 {
		e.Worker = s.list(s.WorkerEnv())
	} else {
		e.Workers, e.TenantURLs = map[string]map[string]string{}, map[string]string{}
	}
	for name, env := range s.WorkerEnvs() {
		e.Workers[name] = s.list(env)
	}
	a := s.config.Addresses
	if s.lists(ServiceBus) {
		e.Addresses.ServiceBus = a.ServiceBus
		if len(s.config.Containers) > 0 {
			e.Addresses.ARM = a.ARM
		}
	}
	if s.lists(Cosmos) {
		e.Addresses.Cosmos = a.Cosmos
	}
	if s.lists(Identity) {
		e.Addresses.Entra, e.Addresses.Tenant, e.Addresses.KeyVault, e.Addresses.Blob = a.Entra, a.Tenant, a.KeyVault, a.Blob
		if s.config.GitHub != nil {
			e.Addresses.GitHub = a.GitHub
		}
		e.TenantURL = s.TenantURL()
		for _, n := range s.config.Tenants {
			e.TenantURLs[n.Name] = s.TenantURLOf(n.Name)
		}
	}
	if s.lists(Host) {
		e.Addresses.Host = a.Host
	}
	return e
}

// lists reports whether Endpoints has one of the parts.
func (s *System) lists(parts ...Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return slices.Contains(s.listed, p) })
}

// list leaves the variables out that point at parts that are not listed.
func (s *System) list(env map[string]string) map[string]string {
	graphs := s.graphSettings()
	maps.DeleteFunc(env, func(name, _ string) bool {
		parts, ok := pointsAt[name]
		if _, graph := graphs[name]; graph {
			parts, ok = []Part{Identity}, true
		}
		return ok && !s.lists(parts...)
	})
	return env
}

// pointsAt names the parts that a variable of the programs is about: one of them is
// needed. The CA is the one of all parts that have TLS.
var pointsAt = map[string][]Part{
	"ServiceBusConnection": {ServiceBus},
	"COSMOS_ENDPOINT":      {Cosmos}, "COSMOS_DATABASE": {Cosmos}, "COSMOS_CONTAINER": {Cosmos}, "COSMOS_KEY": {Cosmos},
	"AzureAd__Instance": {Identity}, "AzureAd__TenantId": {Identity}, "AzureAd__ClientId": {Identity}, "AzureAd__Audience": {Identity},
	"KEY_VAULT_URL": {Identity}, "SECRETS_KEY_NAME": {Identity}, "IDENTITY_ENDPOINT": {Identity}, "IDENTITY_HEADER": {Identity},
	"TARGET_TENANT_ID": {Identity}, "APP_ID": {Identity}, "APP_SECRET": {Identity}, "AZURE_AUTHORITY_HOST": {Identity},
	"GITHUB_URL": {Identity}, "GITHUB_TOKEN": {Identity},
	"BLOB_ENDPOINT": {Identity}, "BLOB_CONTAINER": {Identity},
	"GRAPH_URL": {Identity}, "EXCHANGE_URL": {Identity}, "ALERT_FROM": {Identity}, "ALERT_TO": {Identity}, "MAIL_FROM": {Identity}, "MAIL_DOMAINS": {Identity},
	"MATOOLKIT_TENANT_ID": {Identity}, "MATOOLKIT_CLIENT_ID": {Identity}, "MATOOLKIT_API_SCOPE": {Identity}, "MATOOLKIT_AUTHORITY": {Identity},
	"MATOOLKIT_API_URL": {Host},
	"SB_CONNECTION_STR": {ServiceBus}, "INSTANCE_SB_CONNECTION_STR": {ServiceBus}, "AZURE_RESOURCE_MANAGER_URL": {ServiceBus},
	"EXTRA_CA_FILE": {Identity, ServiceBus}, "MATOOLKIT_CA_FILE": {Identity, ServiceBus},
}
