package main

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/infra/templates"
	"github.com/matoolkit/matoolkit/internal/otlp"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// deployed returns the environment variables of a deployed worker.
func deployed(t *testing.T, parameters map[string]any) map[string]string {
	t.Helper()
	app := templates.One(t, templates.Deploy(t, templates.Worker, parameters), "Microsoft.App/containerApps")
	return templates.Settings(t, app.At("properties", "template", "containers", 0, "env"))
}

// settingsDrift returns the ways in which settings differ from what the worker reads.
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

// TestDeployedSettingsAreWhatTheWorkerReads has the worker read the settings that the
// templates give it.
func TestDeployedSettingsAreWhatTheWorkerReads(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]map[string]any{
		"with a certificate": {"certificatePassphraseName": "password", "alertFrom": "a@example.com", "alertTo": "b@example.com"},
		"with a secret":      {"credentialKind": "secret", "otlpEndpoint": "http://collector:4318"},
		"with a key":         {"passwordKeySecretName": "passwords"},
		"without collector":  {"collectorImage": ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environment := deployed(t, given)
			if environment[envPasswordKey] != "" { // a reference to the vault
				environment[envPasswordKey] = base64.StdEncoding.EncodeToString(make([]byte, minPasswordKey))
			}
			for _, found := range settingsDrift(environment) {
				t.Error(found)
			}
		})
	}
}

// TestDeployedSettingsFitTheReplicas: replicas share the limits of the tenant, the platform
// waits longer than the worker, and no replica ends by itself.
func TestDeployedSettingsFitTheReplicas(t *testing.T) {
	t.Parallel()
	environment := deployed(t, map[string]any{"maxReplicas": int64(3), "maxParallelism": int64(12), "resultLingerMilliseconds": int64(7)})
	d := templates.Deploy(t, templates.Worker, nil)
	if wait := templates.One(t, d, "Microsoft.App/containerApps").At("properties", "template", "terminationGracePeriodSeconds"); wait != int64(50) {
		t.Errorf("the platform waits %v seconds for a replica to end", wait)
	}
	c := testenv.Must(loadConfig(func(name string) string { return environment[name] }))(t)
	if environment[envShare] != "33" || c.MaxParallelism != 12 || c.ResultLinger != 7*time.Millisecond || c.IdleTimeout != 0 || c.ShutdownGrace != 30*time.Second || !strings.HasSuffix(c.Health, ":8080") {
		t.Errorf("share %s, parallelism %d, linger %s, idle %s, grace %s, probes %s", environment[envShare], c.MaxParallelism, c.ResultLinger, c.IdleTimeout, c.ShutdownGrace, c.Health)
	}
}
