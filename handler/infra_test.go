package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/internal/otlp"
)

// What the handler is given in Azure is worked out of the Bicep and read by the handler
// itself, so that the two cannot drift apart.

const appBicep = "infra/automation/functions/app.bicep"

// deployed are the app settings that a text of app.bicep makes.
func deployed(t *testing.T, source string) map[string]string {
	t.Helper()
	file, findings := bicep.Parse(appBicep, source)
	if len(findings) > 0 {
		t.Fatal(findings[0])
	}
	const guid = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01"
	cosmosFile, err := os.ReadFile("../infra/automation/functions/cosmos.bicep")
	if err != nil {
		t.Fatal(err)
	}
	cosmos, _ := bicep.Parse("cosmos.bicep", string(cosmosFile))
	given := map[string]any{
		"identityClientId": guid, "storageAccountName": "matoolkittestst", "serviceBusHostName": "matoolkit-test-bus.servicebus.windows.net",
		"cosmosEndpoint": "https://matoolkit-test-cosmos.documents.azure.com:443/",
		"cosmosDatabase": named(t, cosmos, "database"), "cosmosContainer": named(t, cosmos, "container"),
		"insightsConnectionString": "InstrumentationKey=" + guid, "entraTenantIds": []any{guid}, "entraClientId": guid, "entraAudience": "api://" + guid,
		"vaultUri": "https://matoolkit-test-kv.vault.azure.net/", "secretSettings": map[string]any{"OTEL_EXPORTER_OTLP_HEADERS": "collector"}, "logLevel": "info", "workerStartupSeconds": 600,
		"otlpEndpoint": "https://collector.example.com", "extraSettings": map[string]any{}, "dataSources": []any{"MOVES_SQL", "WAREHOUSE"},
	}
	value, err := bicep.Values{File: file, FS: os.DirFS(".."), Given: given}.Of(&bicep.Reference{Name: bicep.Name{Text: "settings"}})
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for name, value := range value.(map[string]any) {
		settings[name] = fmt.Sprint(value)
	}
	return settings
}

// named is the name of a resource in Bicep that has a literal one.
func named(t *testing.T, file *bicep.File, symbol string) string {
	t.Helper()
	for _, r := range file.Resources {
		if r.Text == symbol {
			name, _ := bicep.Literal(r.Body.Value("name"))
			return name
		}
	}
	t.Fatalf("%s has no resource %s", file.Path, symbol)
	return ""
}

// hosts are the settings that the host and the SDKs read. A connection of a trigger has
// three by identity.
func hosts(t *testing.T) []string {
	t.Helper()
	all := []string{
		"AzureWebJobsStorage__accountName", "AzureWebJobsStorage__credential", "AzureWebJobsStorage__clientId",
		"APPLICATIONINSIGHTS_CONNECTION_STRING", "APPLICATIONINSIGHTS_AUTHENTICATION_STRING", "AZURE_CLIENT_ID",
	}
	for _, function := range []string{"orchestrator-events", "worker-results"} {
		data, err := os.ReadFile("../functions/" + function + "/function.json")
		if err != nil {
			t.Fatal(err)
		}
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

func TestDeployedSettingsAreWhatTheHandlerReads(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../" + appBicep)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range settingsDrift(t, deployed(t, string(source)), hosts(t)) {
		t.Error(found)
	}
}

// The comparison fails if one of the sides changes.
func TestDriftOfDeployedSettingsIsFound(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../" + appBicep)
	if err != nil {
		t.Fatal(err)
	}
	for old, want := range map[string]string{
		"    COSMOS_ENDPOINT:":                  "COSMOS_ENDPOINT is not set",
		"    AzureAd__TenantId:":                "AzureAd__TenantId is not set",
		"    AzureAd__Audience:":                "AzureAd__AudienceX is set, and nobody reads it",
		"        DATA_SOURCES:":                 "DATA_SOURCESX is set, and nobody reads it",
		"    LOG_LEVEL:":                        "LOG_LEVELX is set, and nobody reads it",
		"        OTEL_EXPORTER_OTLP_ENDPOINT:":  "OTEL_EXPORTER_OTLP_ENDPOINTX is set, and nobody reads it",
		"    ServiceBusConnection__credential:": "ServiceBusConnection__credential is not set, and the host needs it",
		"    AZURE_CLIENT_ID:":                  "AZURE_CLIENT_IDX is set, and nobody reads it",
	} {
		t.Run(strings.TrimSpace(old), func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(string(source), old) {
				t.Fatalf("%s no longer holds %q", appBicep, old)
			}
			broken := strings.Replace(string(source), old, strings.TrimSuffix(old, ":")+"X:", 1)
			found := settingsDrift(t, deployed(t, broken), hosts(t))
			if !slices.ContainsFunc(found, func(line string) bool { return strings.Contains(line, want) }) {
				t.Errorf("found %q, which does not say %q", found, want)
			}
		})
	}
	environment := deployed(t, string(source))
	environment["COSMOS_CONTAINER"] = "other"
	if found := settingsDrift(t, environment, hosts(t)); len(found) != 1 {
		t.Errorf("another container than the default: %q", found)
	}
}

// The example for one machine has what the handler reads, in the form of one machine.
func TestExampleSettingsAreWhatTheHandlerReads(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../local.settings.json.example")
	if err != nil {
		t.Fatal(err)
	}
	var example struct{ Values map[string]string }
	if err := json.Unmarshal(data, &example); err != nil {
		t.Fatal(err)
	}
	byOthers := []string{"FUNCTIONS_WORKER_RUNTIME", "AzureWebJobsStorage", "IDENTITY_ENDPOINT", "IDENTITY_HEADER"} // by the host and by azidentity
	for _, found := range settingsDrift(t, example.Values, byOthers) {
		t.Error(found)
	}
	broken := maps.Clone(example.Values)
	broken["COSMOS_KEYS"] = broken["COSMOS_KEY"]
	if found := settingsDrift(t, broken, byOthers); len(found) != 1 {
		t.Errorf("a setting that nobody reads: %q", found)
	}
}
