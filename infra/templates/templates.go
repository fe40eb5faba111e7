// Package templates evaluates the stages of a deployment for tests. All tests that compare
// the templates with the programs read them here.
package templates

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// The stages, as paths of templates from the root of the repository.
const (
	Main      = "infra/main.bicep"
	Shared    = "infra/shared/deploy.bicep"
	Functions = "infra/automation/functions/deploy.bicep"
	Worker    = "infra/automation/worker/deploy.bicep"
	Scaler    = "infra/automation/scaler/deploy.bicep"

	ContextBundle = "infra/automation/context-bundle/deploy.bicep"
)

// Stages are those that are deployed one after the other. The container scaler's is optional.
var Stages = []string{Shared, Functions, Worker}

// ID is the tenant and the app registration of the parameters in these tests.
const ID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01"

// parameters are those that a stage requires.
var parameters = map[string]map[string]any{
	Main:      {"environmentName": "prod", "entraClientId": ID, "targetTenantId": ID, "appId": ID},
	Shared:    {"environmentName": "prod", "privateNetwork": true},
	Functions: {"environmentName": "prod", "privateNetwork": true, "entraClientId": ID, "alertEmails": []any{"a@example.com"}},
	Worker:    {"environmentName": "prod", "targetTenantId": ID, "appId": ID, "workerImage": "image"},
	Scaler:    {"environmentName": "prod", "topicName": "validations"},

	ContextBundle: {"environmentName": "prod", "privateNetwork": true, "workerImage": "image", "githubTokenSecretName": "github-token"},
}

// Root returns the root of the repository: the directory of go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	t.Fatal("no directory above has a go.mod: ", err)
	return ""
}

// Deploy evaluates a stage with its required parameters and with others.
func Deploy(t testing.TB, stage string, others map[string]any) *bicep.Deployment {
	t.Helper()
	deployment, err := Try(t, stage, others)
	if err != nil {
		t.Fatal(err)
	}
	return deployment
}

// Try evaluates a stage that may be refused.
func Try(t testing.TB, stage string, others map[string]any) (*bicep.Deployment, error) {
	t.Helper()
	given := maps.Clone(parameters[stage])
	maps.Copy(given, others)
	return bicep.Deploy(os.DirFS(Root(t)), stage, given)
}

// WhatIf evaluates a stage with what a what-if knows.
func WhatIf(t testing.TB, stage string, others map[string]any) (*bicep.Deployment, error) {
	t.Helper()
	given := maps.Clone(parameters[stage])
	maps.Copy(given, others)
	return bicep.WhatIf(os.DirFS(Root(t)), stage, given)
}

// One returns the only resource of a type.
func One(t testing.TB, d *bicep.Deployment, resourceType string) *bicep.Instance {
	t.Helper()
	all := d.Of(resourceType)
	if len(all) != 1 {
		t.Fatalf("there are %d resources of type %s", len(all), resourceType)
	}
	return all[0]
}

// known are the values that only Azure has, as the last part of their names.
var known = strings.NewReplacer(
	"clientId>", ID, "tenantId>", ID,
	"documentEndpoint>", "https://matoolkit-prod-cosmos.documents.azure.com:443/", "vaultUri>", "https://matoolkit-prod-kv.vault.azure.net/",
)

// atRuntime is a value that only Azure has, up to the last part of its name.
var atRuntime = regexp.MustCompile(`<[^<>]*\.`)

// Settings returns a list of {name, value} as a map. A value that only Azure has is one of the
// form that it will have. One that Azure reads from Key Vault is the name of the secret.
func Settings(t testing.TB, list any) map[string]string {
	t.Helper()
	items, _ := list.([]any)
	if len(items) == 0 {
		t.Fatalf("there are no settings in %v", list)
	}
	settings := map[string]string{}
	for _, item := range items {
		of, _ := item.(map[string]any)
		name, _ := of["name"].(string)
		value, _ := of["secretRef"].(string)
		if of["value"] != nil {
			value = known.Replace(atRuntime.ReplaceAllString(fmt.Sprint(of["value"]), ""))
		}
		if _, twice := settings[name]; name == "" || value == "" || twice {
			t.Fatalf("the setting %v has no name or value, or is given twice", item)
		}
		settings[name] = value
	}
	return settings
}
