package infra_test

import (
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/templates"
)

// Azure's rules for names of the types that the templates make, as regular expressions.
// Source: "Naming rules and restrictions for Azure resources", and for Container Apps the
// service's own messages.
var nameRules = map[string]string{
	"Microsoft.App/containerApps":                      `[a-z][a-z0-9-]{0,30}[a-z0-9]`,
	"Microsoft.App/managedEnvironments":                `[a-z][a-z0-9-]{0,58}[a-z0-9]`,
	"Microsoft.Consumption/budgets":                    `[A-Za-z0-9_-]{1,63}`,
	"Microsoft.ContainerRegistry/registries":           `[a-z0-9]{5,50}`,
	"Microsoft.DocumentDB/databaseAccounts":            `[a-z0-9][a-z0-9-]{2,43}`,
	"Microsoft.Insights/actionGroups":                  `[^:<>+/&%\\?|]{1,259}[^:<>+/&%\\?| .]`,
	"Microsoft.Insights/components":                    `[^%&\\?/]{1,259}[^%&\\?/ .]`,
	"Microsoft.Insights/metricAlerts":                  `[^*#&+:<>?@%{}\\/|]{1,259}[^*#&+:<>?@%{}\\/| .]`,
	"Microsoft.Insights/scheduledQueryRules":           `[^*<>%{}&:\\?/#|]{1,259}[^*<>%{}&:\\?/#| .]`,
	"Microsoft.Insights/workbooks":                     `[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`,
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

// TestNamesFit evaluates the names with the shortest and the longest name, environment and
// worker id that the parameters allow.
func TestNamesFit(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"minLength", "maxLength"} {
		given, longest := map[string]any{}, 0
		for _, p := range parsed(t, templates.Worker).Parameters {
			if n, has := p.Limit(limit); has && (p.Text == "name" || p.Text == "environmentName" || p.Text == "workerId") {
				given[p.Text] = strings.Repeat("x", int(n))
			}
		}
		if len(given) != 3 {
			t.Fatalf("%s: only %v have limits", limit, given)
		}
		for _, stage := range templates.Stages {
			others := map[string]any{"name": given["name"], "environmentName": given["environmentName"]}
			if stage == templates.Worker {
				others = given
			}
			d := templates.Deploy(t, stage, others)
			for _, r := range d.Resources {
				name := path.Base(r.Name)
				if strings.HasSuffix(r.Type, "/topics/subscriptions") {
					longest = max(longest, len(name))
				}
				if strings.Count(r.Type, "/") > 1 || r.Scope != nil {
					continue
				}
				rule, known := nameRules[r.Type]
				if !known {
					t.Errorf("the rule for names of %s is missing", r.Type)
				}
				if !regexp.MustCompile("^(?:"+rule+")$").MatchString(name) || r.Type != "Microsoft.Network/privateDnsZones" && strings.Contains(name, "--") {
					t.Errorf("%s: %s: %s cannot have the name %q", stage, limit, r.Type, name)
				}
				if r.Type == "Microsoft.ServiceBus/namespaces" && (strings.HasSuffix(name, "-sb") || strings.HasSuffix(name, "-mgmt")) {
					t.Errorf("a namespace cannot have the name %q", name)
				}
			}
			for _, name := range d.Modules {
				if len(name) > 64 {
					t.Errorf("%s: the name of the deployment %s has %d characters, Azure allows 64", stage, name, len(name))
				}
			}
		}
		if longest == 0 || longest > 50 {
			t.Errorf("the name of a subscription has %d characters, Azure allows 50", longest)
		}
	}
}

// TestReservedWorkerIDsAreRefused: their identities would be those of another part.
func TestReservedWorkerIDsAreRefused(t *testing.T) {
	t.Parallel()
	for id, reserved := range map[string]bool{"func": true, "Pull": true, "eu-Scale": true, "worker-01": false, "function": false, "scale-eu": false} {
		if _, err := templates.Try(t, templates.Worker, map[string]any{"workerId": id}); (err != nil) != reserved || reserved && !strings.Contains(err.Error(), "workerId: ") {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestSpecificationWorkersHaveResourcesForEveryIDThatARunbookCanName(t *testing.T) {
	t.Parallel()
	app := func(id string) string {
		t.Helper()
		d, err := templates.Try(t, templates.Worker, map[string]any{"name": "matoolkit12", "environmentName": "producti", "workerId": id, "workerImage": "r/w:1"})
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		for _, r := range d.Resources {
			rule, known := nameRules[r.Type]
			if name := path.Base(r.Name); known && strings.Count(r.Type, "/") == 1 && r.Scope == nil && (!regexp.MustCompile("^(?:"+rule+")$").MatchString(name) || strings.Contains(name, "--")) {
				t.Errorf("%s: %s cannot have the name %q", id, r.Type, name)
			}
			if name := path.Base(r.Name); strings.HasSuffix(r.Type, "/topics/subscriptions") && name != "worker-"+id {
				t.Errorf("%s: the subscription is %s", id, name)
			}
		}
		return path.Base(templates.One(t, d, "Microsoft.App/containerApps").Name)
	}
	const base = "matoolkit12-producti-"
	names := map[string]string{}
	for _, id := range []string{
		"w", "worker-01", "exchange-eu", "Exchange.Europe_2", "a--b", "a.b", "a_b", "1.2.3", strings.Repeat("W", 43), strings.Repeat("w", 42) + "x",
	} {
		name := app(id)
		if other, taken := names[name]; taken {
			t.Errorf("%s and %s have the name %s", id, other, name)
		}
		names[name] = id
	}
	for _, id := range []string{"worker-01", "exchange-eu"} {
		if names[base+id] != id {
			t.Errorf("%s does not have its id in its name: %v", id, names)
		}
	}
	for _, pair := range [][2]string{{"worker-01", "WORKER-01"}, {"exchange.europe", "Exchange.Europe"}} {
		if one, two := app(pair[0]), app(pair[1]); one != two {
			t.Errorf("%v have the names %s and %s", pair, one, two)
		}
	}
	for _, id := range []string{"-a", "a.", "_a", "a b", "wörker", "a/b", "a'b"} {
		if _, err := templates.Try(t, templates.Worker, map[string]any{"workerId": id}); err == nil || !strings.Contains(err.Error(), "workerId: use letters") {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestAlertsHaveTheDefaultsOfTheirModule: the stage passes these parameters on.
func TestAlertsHaveTheDefaultsOfTheirModule(t *testing.T) {
	t.Parallel()
	defaults := map[string]any{}
	for _, p := range parsed(t, "infra/automation/alerts/alerts.bicep").Parameters {
		if p.Default != nil {
			defaults[p.Text] = p.DefaultLiteral()
		}
	}
	same := 0
	for _, p := range parsed(t, templates.Functions).Parameters {
		if of, is := defaults[p.Text]; is && p.Default != nil {
			if same++; !reflect.DeepEqual(p.DefaultLiteral(), of) {
				t.Errorf("%s has another default in the stage than in the module", p.Text)
			}
		}
	}
	if same < 10 {
		t.Errorf("only %d defaults are compared", same)
	}
}

// TestIdentifiersAreConstant: what-if skips a nested deployment whose resources have a name, a
// scope or a property name that only a deployment finds out, and so would not show what changes.
func TestIdentifiersAreConstant(t *testing.T) {
	t.Parallel()
	for stage, all := range variants {
		for _, others := range all {
			d, err := templates.WhatIf(t, stage, others)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, name := range d.Modules {
				constant(t, stage, "name of a module", name)
			}
			for _, r := range slices.Concat(d.Resources, d.Existing) {
				at := r.File + ": " + r.Symbol
				constant(t, at, "name", r.Name)
				if r.Scope != nil {
					constant(t, at, "scope", r.Scope.ID)
				}
				constantKeys(t, at, r.Body)
			}
		}
	}
}

func constant(t *testing.T, at, what, text string) {
	t.Helper()
	if strings.ContainsRune(text, '<') {
		t.Errorf("%s: the %s %s is known only in a deployment", at, what, text)
	}
}

func constantKeys(t *testing.T, at string, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			constant(t, at, "property", name)
			constantKeys(t, at, inner)
		}
	case []any:
		for _, inner := range value {
			constantKeys(t, at, inner)
		}
	}
}
