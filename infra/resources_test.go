package infra_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/infra/templates"
)

var people = []any{map[string]any{"id": templates.ID, "type": "User"}}

// variants are the sets of parameters by which a stage creates every resource that it can.
var variants = map[string][]map[string]any{
	templates.Main: {nil, {"privateNetwork": true, "deployerPrincipalId": templates.ID, "workerImage": "image", "alertEmails": []any{"a@example.com"}}},
	templates.Shared: {
		nil,
		{"privateNetwork": false},
		{"vaultOfficers": people, "imagePushers": people, "deleteLocks": true, "natGatewayZone": "1", "registrySku": "Premium", "deployerAddresses": []any{"192.0.2.7"}, "recoverVault": true, "zoneRedundant": true, "logDailyQuotaGb": int64(5)},
		{"natGateway": false},
	},
	templates.Functions: {
		nil,
		{"privateNetwork": false, "apiAllowedAddresses": []any{"192.0.2.0/24", "198.51.100.7"}, "alertEmails": []any{"a@example.com"}},
		{
			"deployerAddresses": []any{"192.0.2.7"}, "scaleByMessageCount": true, "cosmosCapacity": "autoscale", "zoneRedundant": true,
			"alwaysReadyApi": int64(1), "alwaysReadyTimer": int64(1), "alwaysReadyEvents": int64(1), "alwaysReadyResults": int64(1),
			"dataSourceVaultSettings": map[string]any{"MOVES_SQL": "moves-sql"}, "notificationVaultSettings": map[string]any{"TEAMS_URL": "teams-url"}, "dataSourceSettings": map[string]any{"WAREHOUSE": "0123456789abcdef"},
			"encryptionKeyName": "secrets-key", "otlpEndpoint": "https://collector.example.com", "otlpHeadersSecretName": "otlp-headers",
			"alertActionGroupIds": []any{"/subscriptions/x"}, "monthlyBudget": int64(1000), "budgetStart": "2026-12-01", "deleteLocks": true, "extraSettings": map[string]any{"API_REQUESTS_PER_SECOND": "7"},
			"containerScalerSettings": map[string]any{"ACI_IMAGE": "image"}, "containerScalerVaultSettings": map[string]any{"ACR_PASSWORD": "registry"},
		},
	},
	templates.Worker: {
		nil,
		{"workerImage": ""},
		{"credentialKind": "secret", "otlpEndpoint": "https://collector.example.com", "otlpHeadersSecretName": "otlp-headers", "vaultAccess": "vault", "scaleRoleId": templates.ID, "functionsStorageName": "functions"},
		{"certificatePassphraseName": "password", "alertFrom": "a@example.com", "alertTo": "b@example.com", "mailFrom": "c@example.com", "mailDomains": "example.com", "passwordKeySecretName": "passwords", "webhookVaultSettings": map[string]any{"TEAMS_URL": "teams-url"}, "cpu": "2", "maxReplicas": int64(3)},
	},
	templates.Scaler: {nil, {"subnetName": "snet-containers", "subnetRoleId": ownRole, "alertsEnabled": false}},
	templates.ContextBundle: {
		nil,
		{"workerImage": "", "privateNetwork": false},
		{"githubTokenSecretName": "", "otlpEndpoint": "http://collector:4318", "scaleRoleId": templates.ID, "syncMaxReplicas": int64(1)},
	},
}

// TestResourcesFitTheirTypes compares all resources with Azure's schemas. It also shows that
// every expression of the templates can be evaluated.
func TestResourcesFitTheirTypes(t *testing.T) {
	t.Parallel()
	types, err := bicep.KnownTypes()
	if err != nil {
		t.Fatal(err)
	}
	used, made := map[string]bool{}, map[string]bool{}
	for stage, all := range variants {
		for _, others := range all {
			ids := map[string]bool{}
			d := templates.Deploy(t, stage, others)
			for _, r := range append(slices.Clone(d.Existing), d.Resources...) {
				used[r.Type+"@"+r.APIVersion] = true
			}
			for _, r := range d.Resources {
				made[r.File+" "+r.Symbol] = true
				for _, found := range types.Check(r) {
					t.Errorf("%s with %v: %s", stage, others, found)
				}
				id := r.ID
				if r.Scope != nil {
					id += " on " + r.Scope.ID
				}
				if ids[strings.ToLower(id)] {
					t.Errorf("%s: %s creates %s, as another resource does", stage, r.File, id)
				}
				ids[strings.ToLower(id)] = true
			}
		}
	}
	for _, file := range templateFiles(t) {
		for _, r := range parsed(t, file).Resources {
			if !r.Existing && !made[file+" "+r.Text] {
				t.Errorf("%s: no variant of this test creates %s", file, r.Text)
			}
		}
	}
	for name := range types {
		if !used[name] {
			t.Errorf("no template uses the schema of %s", name)
		}
	}
}

func templateFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"infra/*.bicep", "infra/*/*.bicep", "infra/*/*/*.bicep"} {
		found, err := fs.Glob(os.DirFS(".."), pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 20 {
		t.Fatalf("only %q are found", files)
	}
	return files
}

func parsed(t *testing.T, file string) *bicep.File {
	t.Helper()
	source, err := os.ReadFile(path.Join("..", file))
	if err != nil {
		t.Fatal(err)
	}
	tree, found := bicep.Parse(file, string(source))
	if len(found) > 0 {
		t.Fatal(found[0])
	}
	return tree
}

// TestParametersAndOutputsAreDescribed also checks that parameters are used.
func TestParametersAndOutputsAreDescribed(t *testing.T) {
	t.Parallel()
	for _, file := range templateFiles(t) {
		tree, used := parsed(t, file), map[string]bool{}
		tree.Walk(func(e bicep.Expression) bool {
			if r, is := e.(*bicep.Reference); is {
				used[r.Text] = true
			}
			return true
		})
		for _, p := range tree.Parameters {
			if p.Description() == "" {
				t.Errorf("%s:%d: the parameter %s has no description", file, p.Line, p.Text)
			}
			if !used[p.Text] {
				t.Errorf("%s:%d: the parameter %s is not used", file, p.Line, p.Text)
			}
		}
		for _, o := range tree.Outputs {
			if o.Description() == "" {
				t.Errorf("%s:%d: the output %s has no description", file, o.Line, o.Text)
			}
		}
	}
}

// The compiler's rule secure-secrets-in-params takes a parameter of such a name for a secret.
var (
	secretWord    = regexp.MustCompile(`(?i)password|pwd|secret|accountkey|acctkey`)
	allowedSecret = regexp.MustCompile(`(?i)secret(permissions|version|ur[il]|name)`)
)

// TestTemplatesReadNoSecret: the parameters and outputs of a deployment stay readable in the
// resource group. The programs sign in by identity, and Key Vault gives them secrets, so that
// no template takes a secret, reads a key or returns one.
func TestTemplatesReadNoSecret(t *testing.T) {
	t.Parallel()
	for _, file := range templateFiles(t) {
		tree := parsed(t, file)
		for _, p := range tree.Parameters {
			if kind := p.Type.Text; (kind == "string" || kind == "object") && secretWord.MatchString(p.Text) && !allowedSecret.MatchString(p.Text) {
				t.Errorf("%s:%d: the compiler warns that the parameter %s looks like a secret", file, p.Line, p.Text)
			}
			for _, d := range p.Decorators {
				if d.Text == "secure" {
					t.Errorf("%s:%d: the parameter %s is a secret", file, p.Line, p.Text)
				}
			}
		}
		tree.Walk(func(e bicep.Expression) bool {
			if call, is := e.(*bicep.Call); is && (strings.HasPrefix(call.Text, "list") || call.Text == "getSecret") {
				t.Errorf("%s:%d: %s() reads a secret", file, call.Line, call.Text)
			}
			return true
		})
	}
}

// azdVariables are those that azd or the user of azure.yaml sets.
var azdVariables = map[string]string{
	"${AZURE_ENV_NAME}": "prod", "${AZURE_LOCATION}": "westeurope", "${AZURE_PRINCIPAL_ID}": templates.ID, "${AZURE_PRINCIPAL_TYPE=User}": "User",
	"${ENTRA_CLIENT_ID}": templates.ID, "${TARGET_TENANT_ID}": templates.ID, "${TARGET_APP_ID}": templates.ID, "${WORKER_IMAGE}": "image",
}

// TestParameterFilesFit deploys each stage with its parameter files.
func TestParameterFilesFit(t *testing.T) {
	t.Parallel()
	for _, stage := range append([]string{templates.Main}, templates.Stages...) {
		files, err := fs.Glob(os.DirFS(".."), strings.TrimSuffix(stage, ".bicep")+".parameters*.json")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no parameter files, %v", stage, err)
		}
		for _, name := range files {
			given := parameterFile(t, name)
			if strings.Contains(name, "prod") && stage == templates.Functions {
				if _, err := templates.Try(t, stage, given); err == nil || !strings.Contains(err.Error(), "alertEmails: name who receives alerts") {
					t.Errorf("%s: alerts have no receiver: %v", name, err)
				}
				given["alertEmails"] = []any{"a@example.com"}
			}
			if _, err := templates.Try(t, stage, given); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// parameterFile returns the parameters of a file, as azd or az reads them.
func parameterFile(t *testing.T, name string) map[string]any {
	t.Helper()
	var content struct {
		Parameters map[string]struct{ Value any }
	}
	data, err := os.ReadFile(path.Join("..", name))
	if err == nil {
		err = json.Unmarshal(data, &content)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	given := map[string]any{}
	for parameter, of := range content.Parameters {
		switch value := of.Value.(type) {
		case float64:
			given[parameter] = int64(value)
		case string:
			if given[parameter] = value; strings.HasPrefix(value, "${") {
				given[parameter] = azdVariables[value]
			}
		default:
			given[parameter] = value
		}
	}
	return given
}

// TestAzureYAMLGivesParameters checks the deployments in the hooks of azure.yaml: they give
// parameters that the template has, and all that it requires.
func TestAzureYAMLGivesParameters(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../azure.yaml")
	if err != nil {
		t.Fatal(err)
	}
	deployments := regexp.MustCompile(`--template-file (\S+)((?:[^\n]*\\\n)*[^\n]*)`).FindAllStringSubmatch(string(text), -1)
	if len(deployments) == 0 {
		t.Fatal("no deployment is found")
	}
	for _, deployment := range deployments {
		given := map[string]bool{}
		for _, p := range regexp.MustCompile(`\s(\w+)="\$`).FindAllStringSubmatch(strings.ReplaceAll(deployment[2], `:+`, " "), -1) {
			given[p[1]] = true
		}
		for _, p := range parsed(t, deployment[1]).Parameters {
			if (p.Default == nil || p.Text == "name") && !given[p.Text] { // the name can be set in main.parameters.json
				t.Errorf("%s requires %s", deployment[1], p.Text)
			}
			delete(given, p.Text)
		}
		for name := range given {
			t.Errorf("%s has no parameter %s", deployment[1], name)
		}
	}
}

// TestStagesFindEachOther: a stage refers to resources of an earlier one by their name and type.
func TestStagesFindEachOther(t *testing.T) {
	t.Parallel()
	made, found := map[string]bool{}, 0
	for _, stage := range templates.Stages {
		d := templates.Deploy(t, stage, map[string]any{})
		for _, r := range d.Resources {
			made[r.ID] = true
		}
		for _, r := range d.Existing {
			if found++; !made[r.ID] && r.Type != "Microsoft.KeyVault/vaults/secrets" {
				t.Errorf("%s: no earlier stage creates %s", r.File, r.ID)
			}
		}
		for _, r := range d.Resources { // Subnets are part of their network.
			for _, subnet := range subnets(r) {
				made["Microsoft.Network/virtualNetworks/subnets/"+subnet] = true
			}
		}
		for _, r := range d.Resources {
			for _, id := range regexp.MustCompile(`Microsoft\.Network/virtualNetworks/subnets/[^\s\]]+`).FindAllString(fmt.Sprint(r.Body), -1) {
				if found++; !made[id] {
					t.Errorf("%s: no stage creates %s", r.File, id)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d references are found", found)
	}
}

func subnets(r *bicep.Instance) []string {
	list, _ := r.At("properties", "subnets").([]any)
	var names []string
	for _, subnet := range list {
		names = append(names, r.Name+"/"+fmt.Sprint(subnet.(map[string]any)["name"]))
	}
	return names
}
