package main

import (
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// inAzure are the settings as the infrastructure makes them: some are the host's, some
// are read by SDKs.
func inAzure() map[string]string {
	return map[string]string{
		"AzureWebJobsStorage__accountName":          "matoolkitprodst",
		"AzureWebJobsStorage__credential":           "managedidentity",
		"AzureWebJobsStorage__clientId":             "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b03",
		"ServiceBusConnection__credential":          "managedidentity",
		"ServiceBusConnection__clientId":            "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b03",
		"AZURE_CLIENT_ID":                           "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b03",
		"APPLICATIONINSIGHTS_CONNECTION_STRING":     "InstrumentationKey=7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b04",
		"APPLICATIONINSIGHTS_AUTHENTICATION_STRING": "Authorization=AAD;ClientId=7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b03",
		"WEBSITE_HOSTNAME":                          "matoolkit-prod-func.azurewebsites.net",

		"FUNCTIONS_CUSTOMHANDLER_PORT":                  "1234",
		"ServiceBusConnection__fullyQualifiedNamespace": "ns.servicebus.windows.net",
		"COSMOS_ENDPOINT":                               "https://account.documents.azure.com:443/",
		"AzureAd__Instance":                             "https://login.microsoftonline.com/",
		"AzureAd__TenantId":                             "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01",
		"AzureAd__ClientId":                             "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b02",
		"ORCHESTRATOR_EVENTS_TOPIC":                     "orchestrator-events",
		"WORKER_RESULTS_TOPIC":                          "worker-results",
		"ORCHESTRATOR_SUBSCRIPTION":                     "orchestrator",
	}
}

func read(environment map[string]string) (settings, error) {
	return readSettings(func(name string) string { return environment[name] })
}

func TestSettingsAsTheyAreInAzure(t *testing.T) {
	t.Parallel()
	got := testenv.Must(read(inAzure()))(t)
	want := settings{
		port: 1234, serviceBusNamespace: "ns.servicebus.windows.net", serviceBusNames: servicebus.DefaultNames(),
		cosmosEndpoint: "https://account.documents.azure.com:443/", cosmosDatabase: "matoolkit", cosmosContainer: "matoolkit",
		entraInstance: "https://login.microsoftonline.com/", entraTenants: []string{"7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01"}, entraClient: "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b02",
		logLevel: slog.LevelInfo, apiRate: 50, apiBurst: 200, apiLong: 8, workerStartup: 600, functionTimeout: 10 * time.Minute,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ setting, value, want string }{
		"no port":                     {"FUNCTIONS_CUSTOMHANDLER_PORT", "", "FUNCTIONS_CUSTOMHANDLER_PORT is not set"},
		"a port that is none":         {"FUNCTIONS_CUSTOMHANDLER_PORT", "70000", "not a whole number from 1 to 65535"},
		"no Service Bus":              {"ServiceBusConnection__fullyQualifiedNamespace", "", "set ServiceBusConnection__fullyQualifiedNamespace"},
		"Service Bus and RabbitMQ":    {"RABBITMQ_URL", "amqps://user:very-secret@host/", "RABBITMQ_URL and a setting of Service Bus are both set"},
		"an address of RabbitMQ":      {"RABBITMQ_URL", "https://user:very-secret@host/", "RABBITMQ_URL: invalid URL"},
		"a prefix of RabbitMQ":        {"RABBITMQ_PREFIX", "a", "RABBITMQ_PREFIX: set it with RABBITMQ_URL only"},
		"Service Bus twice":           {"ServiceBusConnection", "Endpoint=sb://x", "both set"},
		"an address for a host name":  {"ServiceBusConnection__fullyQualifiedNamespace", "sb://ns.servicebus.windows.net/", "not a host name"},
		"a trigger without its topic": {"WORKER_RESULTS_TOPIC", "", "WORKER_RESULTS_TOPIC is not set: the triggers in function.json refer to it; set its default, worker-results"},
		"one name of two topics":      {"WORKER_JOBS_TOPIC", "Worker-Results", `WORKER_JOBS_TOPIC and WORKER_RESULTS_TOPIC are both "worker-results": give each topic its own name`},
		"a name with a path":          {"WORKER_CONTROL_TOPIC", "a/b", `WORKER_CONTROL_TOPIC: invalid topic name "a/b"`},
		"no Cosmos":                   {"COSMOS_ENDPOINT", "", "set COSMOS_ENDPOINT, or POSTGRES_URL outside Azure"},
		"Cosmos and PostgreSQL":       {"POSTGRES_URL", "postgres://app:passw0rd@host/state", "POSTGRES_URL and a setting of Cosmos DB are both set"},
		"Cosmos in the clear":         {"COSMOS_ENDPOINT", "http://account.documents.azure.com", "must be https"},
		"Cosmos with a key inside":    {"COSMOS_ENDPOINT", "https://user:pass@account.documents.azure.com", "not the URL of a server"},
		"no tenant":                   {"AzureAd__TenantId", "", "AzureAd__TenantId is not set"},
		"a tenant that is a domain":   {"AzureAd__TenantId", "contoso.com", "not a GUID"},
		"a comma too many":            {"AzureAd__TenantId", "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01,", `"" is not a GUID`},
		"a domain among tenants":      {"AzureAd__TenantId", "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01,contoso.com", `"contoso.com" is not a GUID`},
		"every tenant":                {"AzureAd__TenantId", "common", `"common" is not a GUID`},
		"tenants with a semicolon":    {"AzureAd__TenantId", "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01;7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b02", "separate several with commas"},
		"a tenant twice":              {"AzureAd__TenantId", "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01, 7D5D6E9C-3f0a-4a54-9a39-5a1c7f0e1b01", `duplicate "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01"`},
		"blobs without a container":   {"BLOB_ENDPOINT", "https://name.blob.core.windows.net", `BLOB_ENDPOINT and BLOB_CONTAINER: invalid name of a container of Blob Storage ""`},
		"a container of nowhere":      {"BLOB_CONTAINER", "artifacts", `invalid endpoint of Blob Storage ""`},
		"a log level that is none":    {"LOG_LEVEL", "loud", "not one of debug, info, warn, error"},
		"a rate that is none":         {"API_REQUESTS_PER_SECOND", "0", "not a whole number from 1 to 1000000"},
		"a burst that is none":        {"API_REQUEST_BURST", "many", "not a whole number from 1 to 1000000"},
		"a connection for a name":     {"DATA_SOURCES", "PEOPLE,Server=h;Password=pass", "entry 2 is not the name of a setting"},
		"a name too many":             {"DATA_SOURCES", "PEOPLE,", "entry 2 is not the name of a setting"},
		"a name twice":                {"DATA_SOURCES", "PEOPLE, PEOPLE", "duplicate PEOPLE"},
		"no long requests":            {"API_LONG_REQUESTS", "-1", "not a whole number from 1 to 1000000"},
		"an invalid start-up time":    {"WORKER_STARTUP_SECONDS", "10m", "not a whole number from 1 to 1000000"},
		"a timeout that is none":      {"AzureFunctionsJobHost__functionTimeout", "10m", "hh:mm:ss"},
		"a timeout without any time":  {"AzureFunctionsJobHost__functionTimeout", "00:00:00", "hh:mm:ss"},
		"a client id that is no GUID": {"AzureAd__ClientId", "api://x", "not a GUID"},
		"a moved clock in Azure":      {"MATOOLKIT_CLOCK_OFFSET", "120h0m0s", "only in a local system, where COSMOS_KEY is set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environment := inAzure()
			environment[tc.setting] = tc.value
			_, err := read(environment)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.setting) {
				t.Errorf("error %v, want one of %s with %q", err, tc.setting, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "pass") {
				t.Errorf("a secret is in the error: %v", err)
			}
		})
	}
}

// TestStateInPostgreSQL: the connection is checked at the start, and no error shows it.
func TestStateInPostgreSQL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://app:passw0rd@host/state":                 "",
		"postgres://app:passw0rd@localhost/state":            "",
		"postgres://app:passw0rd@host/state?sslmode=disable": "POSTGRES_URL: the connection is always encrypted",
		"postgres://app:passw0rd@host":                       "POSTGRES_URL: the database is missing",
		"postgres://app@host/state":                          "POSTGRES_URL: authentication is missing",
		"mysql://app:passw0rd@host/state":                    "POSTGRES_URL: use postgres://",
	} {
		environment := inAzure()
		delete(environment, "COSMOS_ENDPOINT")
		environment["POSTGRES_URL"] = url
		got, err := read(environment)
		switch {
		case want == "" && (err != nil || got.postgres != url):
			t.Errorf("%s: %v", url, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "passw0rd")):
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}

func TestSeveralTenants(t *testing.T) {
	t.Parallel()
	environment := inAzure()
	environment["AzureAd__TenantId"] = " 7D5D6E9C-3f0a-4a54-9a39-5a1c7f0e1b01 ,7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b0f"
	got, err := read(environment)
	want := []string{"7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01", "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b0f"}
	if err != nil || !slices.Equal(got.entraTenants, want) {
		t.Errorf("%q, %v", got.entraTenants, err)
	}
}

// TestListedDataSources checks that the reader of data sources takes the names in
// DATA_SOURCES, and none where the setting is missing.
func TestListedDataSources(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][]string{"": nil, " ": nil, "PEOPLE": {"PEOPLE"}, " PEOPLE ,WAREHOUSE_1": {"PEOPLE", "WAREHOUSE_1"}} {
		environment := inAzure()
		environment["DATA_SOURCES"] = value
		got, err := read(environment)
		if err != nil || !slices.Equal(got.dataSources, want) {
			t.Errorf("%q: %q, %v", value, got.dataSources, err)
		}
		reader := sources(got.dataSources, nil, nil)
		for _, name := range []string{"PEOPLE", "COSMOS_ENDPOINT"} {
			if err := reader.CheckSetting(name); (err == nil) != slices.Contains(want, name) {
				t.Errorf("%q: %s: %v", value, name, err)
			}
		}
	}
}

func TestSettingsOfOneMachine(t *testing.T) {
	t.Parallel()
	environment := inAzure()
	delete(environment, "ServiceBusConnection__fullyQualifiedNamespace")
	environment["WORKER_JOBS_TOPIC"] = "jobs"
	maps.Copy(environment, map[string]string{
		"ServiceBusConnection": "Endpoint=sb://127.0.0.1:5672;UseDevelopmentEmulator=true;", "COSMOS_ENDPOINT": "http://127.0.0.1:8081", "COSMOS_KEY": "a2V5",
		"COSMOS_DATABASE": "d", "COSMOS_CONTAINER": "c", "LOG_LEVEL": "debug", "API_REQUESTS_PER_SECOND": "7", "API_REQUEST_BURST": "8", "API_LONG_REQUESTS": "9", "WORKER_STARTUP_SECONDS": "60", "AzureFunctionsJobHost__functionTimeout": "00:00:01.5",
	})
	got := testenv.Must(read(environment))(t)
	if got.cosmosDatabase != "d" || got.cosmosContainer != "c" || got.logLevel != slog.LevelDebug || got.apiRate != 7 || got.apiBurst != 8 || got.apiLong != 9 || got.workerStartup != 60 || got.deadline() != 1350*time.Millisecond || got.serviceBusNames.Topic("worker-jobs") != "jobs" {
		t.Errorf("got %+v", got)
	}
	if ahead := time.Until(got.now()); ahead < -time.Second || ahead > 0 {
		t.Errorf("the clock is %s ahead without having been moved", ahead)
	}
}

func TestTheMovedClock(t *testing.T) {
	t.Parallel()
	environment := inAzure()
	environment["COSMOS_KEY"], environment["MATOOLKIT_CLOCK_OFFSET"] = "a2V5", "120h0m0s"
	got := testenv.Must(read(environment))(t)
	if ahead := time.Until(got.now()); ahead < 119*time.Hour || ahead > 120*time.Hour {
		t.Errorf("the clock is %s ahead", ahead)
	}
	for _, value := range []string{"5d", "-120h", "432000", "x"} {
		environment["MATOOLKIT_CLOCK_OFFSET"] = value
		if _, err := read(environment); err == nil || !strings.Contains(err.Error(), "MATOOLKIT_CLOCK_OFFSET: \""+value+"\" is not a duration") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// With RabbitMQ, no setting of Service Bus or of its triggers is needed.
func TestSettingsOfRabbitMQ(t *testing.T) {
	t.Parallel()
	environment := inAzure()
	for name := range servicebus.DefaultNames().Settings() {
		delete(environment, name)
	}
	maps.DeleteFunc(environment, func(name, _ string) bool { return strings.HasPrefix(name, "ServiceBusConnection") })
	environment["RABBITMQ_URL"], environment["RABBITMQ_PREFIX"] = "amqps://user:very-secret@host/", "prod-"
	got := testenv.Must(read(environment))(t)
	if !got.rabbitMQ.On() || got.rabbitMQ.Prefix != "prod-" {
		t.Errorf("%+v", got)
	}
	environment["RABBITMQ_URL"] = "amqps://user:very-secret%@host/"
	if _, err := read(environment); err == nil || strings.Contains(err.Error(), "very-secret") {
		t.Errorf("%v", err)
	}
}
