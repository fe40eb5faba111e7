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

// TenantURL is the base of the tenant's Graph and Exchange.
func (s *System) TenantURL() string { return "http://" + s.config.Addresses.Tenant }

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
		"KEY_VAULT_URL":            "https://" + s.config.Addresses.KeyVault,
		"SECRETS_KEY_NAME":         SecretsKey,
		"IDENTITY_ENDPOINT":        "https://" + s.config.Addresses.Entra + entra.IdentityPath,
		"IDENTITY_HEADER":          entra.IdentityHeader,
		"EXTRA_CA_FILE":            s.caFile,
	}
	// The runbooks of a local system may name every setting that it was given.
	names := slices.Sorted(maps.Keys(s.config.Settings))
	names = slices.DeleteFunc(names, func(name string) bool {
		_, own := settings[name]
		return own || !runbook.SettingName(name)
	})
	if len(names) > 0 {
		settings["DATA_SOURCES"] = strings.Join(names, ",")
	}
	maps.Copy(settings, s.config.Settings)
	return settings
}

// WorkerEnv is the environment of a worker of this system.
func (s *System) WorkerEnv() map[string]string {
	return map[string]string{
		"WORKER_ID":            s.config.Workers[0],
		"ServiceBusConnection": s.ServiceBusConnection(),
		"TARGET_TENANT_ID":     entra.DefaultTenantID,
		"APP_ID":               entra.DefaultWorkerClientID,
		"APP_SECRET":           entra.DefaultWorkerSecret,
		"AZURE_AUTHORITY_HOST": "https://" + s.config.Addresses.Entra + "/",
		"GRAPH_URL":            s.TenantURL(),
		"EXCHANGE_URL":         s.TenantURL(),
		"ALERT_FROM":           entra.DefaultAdminUPN,
		"ALERT_TO":             entra.DefaultAdminUPN,
		"EXTRA_CA_FILE":        s.caFile,
		"MAX_PARALLELISM":      "8",
		"IDLE_TIMEOUT_SECONDS": "0",
		"LAG_TIMEOUT_SECONDS":  "2", // the local tenant lags only where a fault makes it
	}
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
	CLI       map[string]string `json:"cli"`
	Worker    map[string]string `json:"worker"`
	Handler   map[string]string `json:"handler"`
	TenantURL string            `json:"tenantUrl"`
	Addresses Addresses         `json:"addresses"`
}

// Endpoints of the system as it runs.
func (s *System) Endpoints() Endpoints {
	return Endpoints{CLI: s.CLIEnv(), Worker: s.WorkerEnv(), Handler: s.HandlerEnv(), TenantURL: s.TenantURL(), Addresses: s.config.Addresses}
}
