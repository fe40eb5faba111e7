package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/internal/otlp"
)

// What the worker is given in Container Apps is worked out of the Bicep and read by the
// worker itself, so that the two cannot drift apart.

// deployed are the environment variables that a text of the worker's deploy.bicep makes.
func deployed(t *testing.T, source string, given map[string]any) map[string]string {
	t.Helper()
	file, findings := bicep.Parse("infra/automation/worker/deploy.bicep", source)
	if len(findings) > 0 {
		t.Fatal(findings[0])
	}
	const guid = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01"
	all := map[string]any{
		"environmentName": "test", "targetTenantId": guid, "appId": guid, "location": "westeurope",
		"workerIdentity": map[string]any{"outputs": map[string]any{"clientId": guid}},
		"vault":          map[string]any{"outputs": map[string]any{"vaultUri": "https://matoolkit-test-kv.vault.azure.net"}},
	}
	for name, value := range given {
		all[name] = value
	}
	values := bicep.Values{File: file, FS: os.DirFS(".."), Given: all}
	environment := map[string]string{}
	for _, module := range file.Modules {
		if module.Text != "app" {
			continue
		}
		params, _ := module.Body.Value("params").(*bicep.Object)
		settings, err := values.Of(params.Value("settings"))
		if err != nil {
			t.Fatal(err)
		}
		for _, setting := range settings.([]any) {
			entry := setting.(map[string]any)
			environment[fmt.Sprint(entry["name"])] = fmt.Sprint(entry["value"])
		}
	}
	return environment
}

// settingsDrift tells how settings differ from what the worker reads. The container is
// given none that are empty.
func settingsDrift(environment map[string]string) []string {
	asked := map[string]bool{}
	getenv := func(name string) string {
		asked[name] = true
		return environment[name]
	}
	if _, err := loadConfig(getenv); err != nil {
		return []string{err.Error()}
	}
	var found []string
	for name := range environment {
		if !asked[name] && name != otlp.EnvEndpoint {
			found = append(found, name+" is set, and nobody reads it")
		}
	}
	return found
}

func deployBicep(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("../infra/automation/worker/deploy.bicep")
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

func TestDeployedSettingsAreWhatTheWorkerReads(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]map[string]any{
		"with a certificate": {"certificatePasswordName": "password", "alertFrom": "a@example.com", "alertTo": "b@example.com"},
		"with a secret":      {"credentialKind": "secret", "otlpEndpoint": "http://collector:4318"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, found := range settingsDrift(deployed(t, deployBicep(t), given)) {
				t.Error(found)
			}
		})
	}
}

// Replicas share the tenant's limits, the platform waits longer than the worker, and no
// replica ends by itself.
func TestDeployedSettingsFitTheReplicas(t *testing.T) {
	t.Parallel()
	environment := deployed(t, deployBicep(t), map[string]any{"maxReplicas": int64(3), "maxParallelism": int64(12)})
	c, err := loadConfig(func(name string) string { return environment[name] })
	if err != nil {
		t.Fatal(err)
	}
	if environment[envShare] != "33" || c.MaxParallelism != 12 || c.IdleTimeout != 0 || c.ShutdownGrace != 30*time.Second || !strings.HasSuffix(c.Health, ":8080") {
		t.Errorf("share %s, parallelism %d, idle %s, grace %s, probes %s", environment[envShare], c.MaxParallelism, c.IdleTimeout, c.ShutdownGrace, c.Health)
	}
}

// The comparison fails if one of the sides changes.
func TestDriftOfDeployedSettingsIsFound(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		envWorkerID: "WORKER_ID is not set", envBusNamespace: envBusNamespace, envTenantID: "TARGET_TENANT_ID is not set",
		envAppID: "APP_ID is not set", envVaultURL: "KEY_VAULT_URL", envCertName: "CERT_NAME", envIdentityID: "AZURE_CLIENT_IDX is set, and nobody reads it",
		envParallelism: "MAX_PARALLELISMX is set, and nobody reads it", envHealth: "HEALTH_ADDRX is set, and nobody reads it", envLogLevel: "LOG_LEVELX is set, and nobody reads it",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := deployBicep(t)
			old := "name: '" + name + "'"
			if !strings.Contains(source, old) {
				t.Fatalf("deploy.bicep no longer sets %s", name)
			}
			found := settingsDrift(deployed(t, strings.Replace(source, old, "name: '"+name+"X'", 1), nil))
			if !slices.ContainsFunc(found, func(line string) bool { return strings.Contains(line, want) }) {
				t.Errorf("found %q, which does not say %q", found, want)
			}
		})
	}
}
