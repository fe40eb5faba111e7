package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/functions/containerscaler"
	"github.com/matoolkit/matoolkit/infra/templates"
	"github.com/matoolkit/matoolkit/internal/otlp"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// deployed returns the app settings of a deployment.
func deployed(t *testing.T, parameters map[string]any) map[string]string {
	t.Helper()
	app := templates.One(t, templates.Deploy(t, templates.Functions, parameters), "Microsoft.Web/sites")
	return templates.Settings(t, app.At("properties", "siteConfig", "appSettings"))
}

// scalerDisabled keeps the timer of the container scaler from running.
const scalerDisabled = "AzureWebJobs." + containerscaler.Name + ".Disabled"

// hosts are the settings that the host and the SDKs read. The connection of a trigger has
// three of them.
func hosts(t *testing.T) []string {
	t.Helper()
	all := []string{
		"AzureWebJobsStorage__accountName", "AzureWebJobsStorage__credential", "AzureWebJobsStorage__clientId",
		"APPLICATIONINSIGHTS_CONNECTION_STRING", "APPLICATIONINSIGHTS_AUTHENTICATION_STRING", "AZURE_CLIENT_ID", scalerDisabled,
	}
	for _, function := range []string{"orchestrator-events", "worker-results"} {
		data := testenv.Must(os.ReadFile("../functions/" + function + "/function.json"))(t)
		var content struct{ Bindings []struct{ Connection string } }
		if err := json.Unmarshal(data, &content); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"fullyQualifiedNamespace", "credential", "clientId"} {
			all = append(all, content.Bindings[0].Connection+"__"+part)
		}
	}
	return all
}

// noCollector accepts requests and discards them.
type noCollector struct{}

func (noCollector) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: request}, nil
}

// settingsDrift tells how settings differ from what the handler reads.
func settingsDrift(t *testing.T, environment map[string]string, byHost []string) []string {
	t.Helper()
	asked := map[string]bool{}
	lookup := func(name string) string {
		asked[name] = true
		if name == "FUNCTIONS_CUSTOMHANDLER_PORT" {
			return "7071" // The host's alone.
		}
		return environment[name]
	}
	var found []string
	s, err := readSettings(lookup)
	if err != nil {
		return []string{err.Error()}
	}
	providers, err := otlp.Start(context.Background(), otlp.Config{Service: "test", Getenv: lookup, HTTP: &http.Client{Transport: noCollector{}}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		found = append(found, err.Error())
	} else {
		providers.Close(context.Background())
	}
	for name := range environment {
		if !asked[name] && !slices.Contains(byHost, name) {
			found = append(found, name+" is set, and nobody reads it")
		}
	}
	for _, name := range byHost {
		if _, set := environment[name]; !set {
			found = append(found, name+" is not set, and the host needs it")
		}
	}
	if otherwise, err := readSettings(func(name string) string {
		if name == "COSMOS_DATABASE" || name == "COSMOS_CONTAINER" {
			return ""
		}
		return lookup(name)
	}); err != nil || otherwise.cosmosDatabase != s.cosmosDatabase || otherwise.cosmosContainer != s.cosmosContainer {
		found = append(found, fmt.Sprintf("the database is %s/%s, and by default %s/%s", s.cosmosDatabase, s.cosmosContainer, otherwise.cosmosDatabase, otherwise.cosmosContainer))
	}
	return found
}

// TestDeployedSettingsAreWhatTheHandlerReads has the handler read the settings that the
// templates give it.
func TestDeployedSettingsAreWhatTheHandlerReads(t *testing.T) {
	t.Parallel()
	all := map[string]any{
		"otlpEndpoint": "https://collector.example.com", "otlpHeadersSecretName": "headers", "encryptionKeyName": "key",
		"consoleClientId":         "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b08",
		"dataSourceVaultSettings": map[string]any{"MOVES_SQL": "moves-sql"}, "notificationVaultSettings": map[string]any{"TEAMS_URL": "teams-url"}, "dataSourceSettings": map[string]any{"WAREHOUSE": "0123456789abcdef"},
		"extraSettings": map[string]any{"API_REQUESTS_PER_SECOND": "7"},
	}
	scaling := map[string]any{"containerScalerSettings": map[string]any{
		"AZURE_SUBSCRIPTION_ID": "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b08", "AZURE_RESOURCE_GROUP": "validators", "ACI_IMAGE": "registry.example/validator:1", "ACI_NAME_PREFIX": "validator",
		"ACI_LOCATION": "westeurope", "ACI_MAX_INSTANCES": "3", "SB_NAMESPACE": "contoso", "SB_TOPIC_NAME": "validations",
	}, "containerScalerVaultSettings": map[string]any{"ACR_PASSWORD": "registry"}}
	for _, parameters := range []map[string]any{nil, all, scaling} {
		settings := deployed(t, parameters)
		hosts := hosts(t)
		if _, scales := parameters["containerScalerSettings"]; scales {
			if settings[scalerDisabled] != "" || settings["ACR_PASSWORD"] != "@Microsoft.KeyVault(SecretUri=https://matoolkit-prod-kv.vault.azure.net/secrets/registry)" {
				t.Errorf("the scaler is disabled, or has no password: %v", settings)
			}
			settings["ACR_SERVER"], settings["ACR_USERNAME"] = "registry.example", "pull"
			hosts = slices.DeleteFunc(hosts, func(name string) bool { return name == scalerDisabled })
		}
		if want := map[bool]string{true: "MOVES_SQL,WAREHOUSE"}[parameters["dataSourceSettings"] != nil]; settings["DATA_SOURCES"] != want {
			t.Errorf("the data sources are %q, want %q", settings["DATA_SOURCES"], want)
		}
		if want := map[bool]string{true: "TEAMS_URL"}[parameters["notificationVaultSettings"] != nil]; settings["NOTIFICATION_SETTINGS"] != want {
			t.Errorf("the settings of notifications are %q, want %q", settings["NOTIFICATION_SETTINGS"], want)
		}
		for name := range strings.SplitSeq(settings["DATA_SOURCES"]+","+settings["NOTIFICATION_SETTINGS"], ",") {
			if name != "" && settings[name] == "" {
				t.Errorf("the setting %s that a list names is missing", name)
			}
			delete(settings, name) // The use cases read it by the list.
		}
		for _, found := range settingsDrift(t, settings, hosts) {
			t.Error(found)
		}
	}
}

// TestExampleSettingsAreWhatTheHandlerReads has the handler read the example for a local run.
func TestExampleSettingsAreWhatTheHandlerReads(t *testing.T) {
	t.Parallel()
	data := testenv.Must(os.ReadFile("../local.settings.json.example"))(t)
	var example struct{ Values map[string]string }
	if err := json.Unmarshal(data, &example); err != nil {
		t.Fatal(err)
	}
	byOthers := []string{"FUNCTIONS_WORKER_RUNTIME", "AzureWebJobsStorage", "IDENTITY_ENDPOINT", "IDENTITY_HEADER", "AZURE_AUTHORITY_HOST", scalerDisabled} // by the host and by azidentity
	byOthers = append(byOthers, strings.Split(example.Values["DATA_SOURCES"], ",")...)                                                                      // by the list
	for _, found := range settingsDrift(t, example.Values, byOthers) {
		t.Error(found)
	}
}
