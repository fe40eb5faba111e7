package infra_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// Azure's rules for names of the types that the templates make, as regular expressions.
// Source: "Naming rules and restrictions for Azure resources", and for Container Apps the
// service's own messages.
var nameRules = map[string]string{
	"Microsoft.App/containerApps":                      `[a-z][a-z0-9-]{0,30}[a-z0-9]`,
	"Microsoft.App/managedEnvironments":                `[a-z][a-z0-9-]{0,58}[a-z0-9]`,
	"Microsoft.ContainerRegistry/registries":           `[a-z0-9]{5,50}`,
	"Microsoft.DocumentDB/databaseAccounts":            `[a-z0-9][a-z0-9-]{2,43}`,
	"Microsoft.Insights/actionGroups":                  `[^:<>+/&%\\?|]{1,259}[^:<>+/&%\\?| .]`,
	"Microsoft.Insights/components":                    `[^%&\\?/]{1,259}[^%&\\?/ .]`,
	"Microsoft.Insights/metricAlerts":                  `[^*#&+:<>?@%{}\\/|]{1,259}[^*#&+:<>?@%{}\\/| .]`,
	"Microsoft.Insights/scheduledQueryRules":           `[^*<>%{}&:\\?/#|]{1,259}[^*<>%{}&:\\?/#| .]`,
	"Microsoft.KeyVault/vaults":                        `[a-z][a-z0-9-]{1,22}[a-z0-9]`,
	"Microsoft.ManagedIdentity/userAssignedIdentities": `[a-z0-9][a-z0-9_-]{2,127}`,
	"Microsoft.Network/natGateways":                    `[a-z0-9][a-z0-9_.-]{0,78}[a-z0-9_]`,
	"Microsoft.Network/privateDnsZones":                `[a-z0-9-]+(\.[a-z0-9-]+){1,33}`,
	"Microsoft.Network/privateEndpoints":               `[a-z0-9][a-z0-9_.-]{0,62}[a-z0-9_]`,
	"Microsoft.Network/publicIPAddresses":              `[a-z0-9][a-z0-9_.-]{0,78}[a-z0-9_]`,
	"Microsoft.Network/virtualNetworks":                `[a-z0-9][a-z0-9_.-]{0,62}[a-z0-9_]`,
	"Microsoft.OperationalInsights/workspaces":         `[a-z0-9][a-z0-9-]{2,61}[a-z0-9]`,
	"Microsoft.ServiceBus/namespaces":                  `[a-z][a-z0-9-]{4,48}[a-z0-9]`,
	"Microsoft.Storage/storageAccounts":                `[a-z0-9]{3,24}`,
	"Microsoft.Web/serverfarms":                        `[a-z0-9-]{1,60}`,
	"Microsoft.Web/sites":                              `[a-z0-9][a-z0-9-]{0,58}[a-z0-9]`,
}

// What is in the group's history, also for each module.
const deploymentName = `[A-Za-z0-9_.()-]{1,64}`

// A name, an environment and a worker's id of every length that the parameters allow make
// names that Azure takes: the longest and the shortest are worked out.
func TestNamesFit(t *testing.T) {
	t.Parallel()
	least, most := map[string]any{}, map[string]any{}
	for _, folder := range stages {
		for _, p := range parsed(t, filepath.Join(folder, "deploy.bicep")).Parameters {
			if !slices.Contains([]string{"name", "environmentName", "workerId"}, p.Text) {
				continue
			}
			var short, long int
			if _, err := fmt.Sscanf(length(p), "%d to %d", &short, &long); err != nil || short < 1 || long < short {
				t.Fatalf("%s: the length of %s has no limits: %v", folder, p.Text, err)
			}
			for given, n := range map[*map[string]any]int{&least: short, &most: long} {
				text := strings.Repeat("x", n)
				if before, twice := (*given)[p.Text]; twice && before != text {
					t.Errorf("%s: %s has other limits than in another stage", folder, p.Text)
				}
				(*given)[p.Text] = text
			}
		}
	}
	for what, given := range map[string]map[string]any{"the shortest": least, "the longest": most} {
		given["privateNetwork"], given["workerImage"], given["vaultOfficers"], given["imagePushers"] = true, "image", []any{}, []any{}
		for _, folder := range stages {
			path := filepath.Join(folder, "deploy.bicep")
			names := map[string]string{}
			makes(t, path, maps.Clone(given), names)
			for name, kind := range names {
				rule, known := nameRules[kind]
				if !known {
					t.Errorf("%s: what names of %s may be is not known", folder, kind)
				}
				if !regexp.MustCompile("^(?:"+rule+")$").MatchString(name) || kind != "Microsoft.Network/privateDnsZones" && strings.Contains(name, "--") {
					t.Errorf("%s: %s: %s %q does not fit", folder, what, kind, name)
				}
				if kind == "Microsoft.ServiceBus/namespaces" && (strings.HasSuffix(name, "-sb") || strings.HasSuffix(name, "-mgmt")) {
					t.Errorf("%s: a namespace must not be called %q", folder, name)
				}
			}
			file := parsed(t, path)
			for _, m := range file.Modules {
				name, err := bicep.Values{File: file, Given: given}.Of(m.Body.Value("name"))
				if err != nil || !regexp.MustCompile("^"+deploymentName+"$").MatchString(fmt.Sprint(name)) {
					t.Errorf("%s: %s: the deployment %s is called %q: %v", folder, what, m.Text, name, err)
				}
			}
		}
	}
	for kind, n := range map[string]int{"Microsoft.App/containerApps": 33, "Microsoft.KeyVault/vaults": 25, "Microsoft.Storage/storageAccounts": 25} {
		if regexp.MustCompile("^(?:" + nameRules[kind] + ")$").MatchString(strings.Repeat("x", n)) {
			t.Errorf("a name of %s with %d letters would not be found", kind, n)
		}
	}
	if n := len(subscriptionOf(t, most)); n > 50 {
		t.Errorf("the longest name of a subscription has %d letters, Azure allows 50", n)
	}
}

// subscriptionOf is the name of a worker's subscription.
func subscriptionOf(t *testing.T, given map[string]any) string {
	t.Helper()
	bus := parsed(t, "automation/worker/bus.bicep")
	for _, r := range bus.Resources {
		if r.Text == "subscription" {
			return fmt.Sprint(must(t, bicep.Values{File: bus, Given: given}, r.Body.Value("name")))
		}
	}
	t.Fatal("there is no subscription")
	return ""
}

// Ids of workers whose identities would be somebody else's are refused before anything
// is made.
func TestReservedIdsOfWorkersAreRefused(t *testing.T) {
	t.Parallel()
	file := parsed(t, "automation/worker/deploy.bicep")
	at := slices.IndexFunc(file.Variables, func(v *bicep.Variable) bool { return v.Text == "id" })
	if at < 0 {
		t.Fatal("there is no variable id")
	}
	for id, taken := range map[string]bool{"func": true, "pull": true, "eu-scale": true, "worker-01": false, "function": false, "scale-eu": false} {
		got, err := bicep.Values{File: file, Given: map[string]any{"workerId": id}}.Of(file.Variables[at].Value)
		switch {
		case taken && (err == nil || !strings.Contains(err.Error(), "workerId: ")):
			t.Errorf("%s: %v, %v; it is to be refused", id, got, err)
		case !taken && (err != nil || got != id):
			t.Errorf("%s: %v, %v", id, got, err)
		}
	}
}

// What alerts go by is given to the stage, and has the same defaults there as in the
// module, which other deployments may use by itself.
func TestAlertsHaveTheDefaultsOfTheirModule(t *testing.T) {
	t.Parallel()
	stage := parsed(t, "automation/functions/deploy.bicep")
	n := 0
	for _, p := range parsed(t, "automation/alerts/alerts.bicep").Parameters {
		at := slices.IndexFunc(stage.Parameters, func(other *bicep.Parameter) bool { return other.Text == p.Text })
		if p.Default == nil || at < 0 {
			continue
		}
		n++
		inner, outer := must(t, bicep.Values{}, p.Default), must(t, bicep.Values{}, stage.Parameters[at].Default)
		if fmt.Sprint(inner) != fmt.Sprint(outer) {
			t.Errorf("%s is %v by default, in the module %v", p.Text, outer, inner)
		}
	}
	if n < 10 {
		t.Errorf("only %d are given", n)
	}
}

// The second stage finds what the first has made by its names, of the same type, and a
// worker what the Functions app's part of its stage has made.
func TestSecondStageFindsWhatTheFirstMakes(t *testing.T) {
	t.Parallel()
	given := map[string]any{
		"name": "matoolkit", "environmentName": "prod", "workerId": "worker-01", "workerImage": "image", "privateNetwork": true,
	}
	first, functions := made(t, "shared", true), made(t, "automation/functions", true)
	found := 0
	for _, folder := range []string{"automation/functions", "automation/worker"} {
		file := parsed(t, filepath.Join(folder, "deploy.bicep"))
		for _, r := range file.Resources {
			if !r.Existing {
				continue
			}
			found++
			name := fmt.Sprint(must(t, bicep.Values{File: file, Given: given}, r.Body.Value("name")))
			if folder == "automation/worker" && first[name] == "" {
				first[name] = functions[name]
			}
			if first[name] != r.Type {
				t.Errorf("%s looks for the %s %q; the first stage makes: %q", folder, r.Type, name, first[name])
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d are looked for", found)
	}
	// Subnets and what modules look for go by text.
	network, err := os.ReadFile("shared/network.bicep")
	if err != nil {
		t.Fatal(err)
	}
	for file, pattern := range map[string]string{
		"automation/functions/deploy.bicep": `'\$\{base\}(-vnet)', '([a-z-]+)'`,
		"automation/worker/deploy.bicep":    `containerEnvironmentName: '\$\{base\}(-cae)'|vaultName: '\$\{base\}(-kv)'|busName = '\$\{base\}(-bus)'`,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
		if len(all) < 2 {
			t.Errorf("%s: %q is found %d times", file, pattern, len(all))
		}
		for _, m := range all {
			if strings.Contains(pattern, "vnet") {
				if first["matoolkit-prod"+m[1]] == "" || !strings.Contains(string(network), "name: '"+m[2]+"'") {
					t.Errorf("%s looks for %s, which is not made", file, m[0])
				}
			} else if suffix := strings.Join(m[1:], ""); first["matoolkit-prod"+suffix] == "" {
				t.Errorf("%s looks for %s, which is not made", file, m[0])
			}
		}
	}
}
