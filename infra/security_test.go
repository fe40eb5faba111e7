package infra_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// The tests compare testdata/access.md with the roles and the public addresses that the templates
// give, in both directions.

// roleNames are what the reference of Azure's built-in roles calls them.
var roleNames = map[string]string{
	"7f951dda-4ed3-4680-a7ca-43fe172d538d": "AcrPull",
	"8311e382-0749-4cb8-b61a-304f252e45ec": "AcrPush",
	"090c5cfd-751d-490a-894a-3ce6f1109419": "Azure Service Bus Data Owner",
	"4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0": "Azure Service Bus Data Receiver",
	"69a216fc-b8fb-44d8-bc22-1f3c2cd27a39": "Azure Service Bus Data Sender",
	"00000000-0000-0000-0000-000000000002": "Cosmos DB Built-in Data Contributor",
	"a4417e6f-fecd-4de8-b567-7b0420556985": "Key Vault Certificates Officer",
	"b86a8fe4-44ce-4948-aee5-eccb2c155cd7": "Key Vault Secrets Officer",
	"4633458b-17de-408a-b874-0445c86b69e6": "Key Vault Secrets User",
	"3913510d-42f4-4e42-8a64-420c390055eb": "Monitoring Metrics Publisher",
	"b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
	"0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3": "Storage Table Data Contributor",
	ownRole:                                "the one given",
}

const ownRole = "11111111-2222-3333-4444-555555555555"

// scopeKinds are the page's words for what a role is given on.
var scopeKinds = map[string]string{
	"Microsoft.ContainerRegistry/registries":               "registry",
	"Microsoft.DocumentDB/databaseAccounts":                "account",
	"Microsoft.DocumentDB/databaseAccounts/sqlDatabases":   "database",
	"Microsoft.Insights/components":                        "Application Insights",
	"Microsoft.KeyVault/vaults":                            "vault",
	"Microsoft.KeyVault/vaults/secrets":                    "secret",
	"Microsoft.ServiceBus/namespaces":                      "namespace",
	"Microsoft.ServiceBus/namespaces/topics":               "topic",
	"Microsoft.ServiceBus/namespaces/topics/subscriptions": "subscription",
	"Microsoft.Storage/storageAccounts":                    "storage account",
}

// The parameters by which a deployment gets other roles than one with the defaults.
var otherwise = map[string]map[string]any{
	"scaleByMessageCount":     {"scaleByMessageCount": true},
	"dataSourceSecrets":       {"dataSourceSecrets": map[string]any{"MOVES_SQL": "moves-sql"}},
	"otlpHeadersSecretName":   {"otlpHeadersSecretName": "otlp-headers"},
	"secretsKeyName":          {"secretsKeyName": "secrets-key"},
	"certificatePasswordName": {"certificatePasswordName": "worker-password"},
	"vaultAccess=vault":       {"vaultAccess": "vault"},
	"scaleRoleId":             {"scaleRoleId": ownRole},
}

// TestTemplatesGrantTheseRoles compares the table of roles with the templates.
func TestTemplatesGrantTheseRoles(t *testing.T) {
	t.Parallel()
	usual := granted(t, nil)
	want := map[string]string{} // identity | role | on, to when it is so
	for grant := range usual {
		want[grant] = ""
	}
	for parameter, values := range otherwise {
		given := granted(t, values)
		if maps.Equal(given, usual) {
			t.Errorf("%s makes no difference to the roles", parameter)
		}
		for grant := range given {
			if !usual[grant] {
				want[grant] = strings.TrimPrefix(want[grant]+", `"+parameter+"`", ", ")
			}
		}
		for grant := range usual {
			if !given[grant] {
				want[grant] = "not with `" + parameter + "`"
			}
		}
	}
	if len(want) < 15 {
		t.Fatalf("only %d roles are given: %v", len(want), want)
	}
	got, identity := map[string]string{}, ""
	for _, row := range tableOf(t, "Roles", "identity") {
		if row[0] != "" {
			identity = row[0]
			if name, is := strings.CutPrefix(identity, "`"); is {
				identity = strings.TrimSuffix(name, "`")
			}
		}
		grant := strings.Join([]string{identity, row[1], row[2]}, " | ")
		if _, twice := got[grant]; twice {
			t.Errorf("%s is in the table twice", grant)
		}
		got[grant] = row[3]
	}
	for grant := range maps.Keys(union(got, want)) {
		is, told := got[grant]
		when, given := want[grant]
		switch {
		case !told:
			t.Errorf("the page does not tell of: %s | %s", grant, when)
		case !given:
			t.Errorf("no template gives: %s", grant)
		case is != when:
			t.Errorf("%s: the page has %q, the templates %q", grant, is, when)
		}
	}
}

// granted are the roles that all stages give, as identity | role | on.
func granted(t *testing.T, other map[string]any) map[string]bool {
	t.Helper()
	given := map[string]any{
		"name": "matoolkit", "environmentName": "prod", "workerId": "worker-01", "workerImage": "image", "privateNetwork": true,
		"vaultOfficers": []any{"those in `vaultOfficers`"}, "imagePushers": []any{"those in `imagePushers`"},
	}
	maps.Copy(given, other)
	all := map[string]bool{}
	for _, folder := range stages {
		visit(t, filepath.Join(folder, "deploy.bicep"), given, func(v bicep.Values, r *bicep.Resource) {
			if !strings.HasSuffix(strings.ToLower(r.Type), "roleassignments") {
				return
			}
			of := r.Body.Value("properties").(*bicep.Object)
			var role, on string
			if r.Type == "Microsoft.Authorization/roleAssignments" {
				role = fmt.Sprint(must(t, v, of.Value("roleDefinitionId").(*bicep.Call).Arguments[1]))
				on = fmt.Sprint(must(t, v, r.Body.Value("scope")).(map[string]any)["id"])
			} else { // of Cosmos DB itself
				role = path.Base(fmt.Sprint(must(t, v, of.Value("roleDefinitionId"))))
				_, database, _ := strings.Cut(fmt.Sprint(must(t, v, of.Value("scope"))), "/dbs/")
				if database == "" || strings.Contains(database, "/") {
					t.Fatalf("%s: a role is not given on a database", v.File.Path)
				}
				on = "database `" + database + "`"
			}
			if roleNames[role] == "" || on == "" {
				t.Fatalf("%s: a role %s on %q has no name in this test", v.File.Path, role, on)
			}
			all[fmt.Sprintf("%s | %s | %s", must(t, v, of.Value("principalId")), roleNames[role], on)] = true
		})
	}
	return all
}

// TestTemplatesOpenTheseAddresses compares the table of public addresses with the templates.
func TestTemplatesOpenTheseAddresses(t *testing.T) {
	t.Parallel()
	some := []any{"192.0.2.7"}
	want := map[string][]string{}
	for _, given := range []map[string]any{
		{"privateNetwork": true},
		{"privateNetwork": true, "deployerAddresses": some},
		{"privateNetwork": true, "apiAllowedAddresses": some},
		{"privateNetwork": false},
		{"privateNetwork": false, "apiAllowedAddresses": some},
	} {
		maps.Copy(given, map[string]any{"name": "matoolkit", "environmentName": "prod"})
		for _, folder := range []string{"shared", "automation/functions"} {
			visit(t, filepath.Join(folder, "deploy.bicep"), given, func(v bicep.Values, r *bicep.Resource) {
				properties, is := r.Body.Value("properties").(*bicep.Object)
				if !is || properties.Value("publicNetworkAccess") == nil {
					return
				}
				access := must(t, v, properties.Value("publicNetworkAccess"))
				rules, action, listed := properties, "defaultAction", "ipRules"
				for _, part := range publicParts[r.Type] {
					if part.in != "" {
						rules, _ = properties.Value(part.in).(*bicep.Object)
					}
					if part.action != "" {
						action, listed = part.action, part.listed
					}
					want[part.name] = append(want[part.name], openTo(t, v, access, rules, action, listed))
				}
				if publicParts[r.Type] == nil {
					t.Errorf("%s: the page has no row for %s", v.File.Path, r.Type)
				}
			})
		}
	}
	got := map[string]bool{}
	for _, row := range tableOf(t, "The network", "what can be called from outside") {
		got[row[0]] = true
		if !slices.Equal(row[1:], want[row[0]]) {
			t.Errorf("%s: the page has %q, the templates %q", row[0], row[1:], want[row[0]])
		}
	}
	for name := range want {
		if !got[name] {
			t.Errorf("the page has no row for %s", name)
		}
	}
}

// publicParts are the rows of the page for what has a public address: where the rules for
// addresses are, by whose default and which list.
var publicParts = map[string][]struct{ name, in, action, listed string }{
	"Microsoft.ContainerRegistry/registries": {{name: "registry"}},
	"Microsoft.DocumentDB/databaseAccounts":  {{name: "Cosmos DB"}},
	"Microsoft.KeyVault/vaults":              {{name: "Key Vault", in: "networkAcls"}},
	"Microsoft.ServiceBus/namespaces":        {{name: "Service Bus"}},
	"Microsoft.Storage/storageAccounts":      {{name: "storage account", in: "networkAcls"}},
	"Microsoft.Web/sites": {
		{"admin API", "siteConfig", "ipSecurityRestrictionsDefaultAction", "ipSecurityRestrictions"},
		{"its deployment site", "siteConfig", "scmIpSecurityRestrictionsDefaultAction", "scmIpSecurityRestrictions"},
	},
}

// openTo tells to whom a public address answers.
func openTo(t *testing.T, v bicep.Values, access any, rules *bicep.Object, action, listed string) string {
	t.Helper()
	addresses := 0
	if list := rules.Value(listed); list != nil {
		addresses = len(must(t, v, list).([]any))
	}
	denied := rules.Value(action) != nil && must(t, v, rules.Value(action)) == "Deny"
	switch {
	case access != "Disabled" && denied && addresses > 0:
		return "these addresses"
	case access == "Disabled" || denied:
		return "nobody"
	}
	return "everybody"
}

// visit calls do for each resource that a file and its modules make, with the values that
// hold there.
func visit(t *testing.T, file string, given map[string]any, do func(bicep.Values, *bicep.Resource)) {
	t.Helper()
	parsed, known := parsed(t, file), maps.Clone(given)
	for _, m := range parsed.Modules {
		known[m.Text] = map[string]any{"outputs": outputsOf(t, file, m, known)}
	}
	for _, r := range parsed.Resources {
		nameFor(t, parsed, r, known)
		if r.Existing && r.Type == "Microsoft.ManagedIdentity/userAssignedIdentities" { // its principal is its name, too
			name := must(t, bicep.Values{File: parsed, FS: os.DirFS("."), Given: known}, r.Body.Value("name"))
			known[r.Text] = map[string]any{"id": name, "properties": map[string]any{"principalId": name}}
		}
	}
	for _, r := range parsed.Resources {
		if r.Existing {
			continue
		}
		for _, v := range rounds(t, parsed, known, r.Loop, r.Condition) {
			do(v, r)
		}
	}
	for _, m := range parsed.Modules {
		for _, v := range rounds(t, parsed, known, m.Loop, m.Condition) {
			visit(t, filepath.Join(filepath.Dir(file), m.Source), paramsOf(v, m), do)
		}
	}
}

// paramsOf are the parameters of a module, as far as they can be known here.
func paramsOf(v bicep.Values, m *bicep.Module) map[string]any {
	values := map[string]any{}
	if params, is := m.Body.Value("params").(*bicep.Object); is {
		for _, p := range params.Properties {
			if value, err := v.Of(p.Value); err == nil {
				values[p.Text] = value
			}
		}
	}
	return values
}

// outputsOf stand for those of a module. The principal of an identity is its name.
func outputsOf(t *testing.T, file string, m *bicep.Module, known map[string]any) map[string]any {
	t.Helper()
	outputs := map[string]any{}
	v := bicep.Values{File: parsed(t, file), FS: os.DirFS("."), Given: known}
	for _, o := range parsed(t, filepath.Join(filepath.Dir(file), m.Source)).Outputs {
		outputs[o.Text] = m.Text + "." + o.Text
		if o.Text == "principalId" {
			outputs[o.Text] = must(t, v, m.Body.Value("params").(*bicep.Object).Value("identityName"))
		}
	}
	return outputs
}

// nameFor makes known what a resource is, as far as a role can be given on it: its kind
// and its name, of a subscription with that of the topic.
func nameFor(t *testing.T, file *bicep.File, r *bicep.Resource, known map[string]any) {
	t.Helper()
	if scopeKinds[r.Type] == "" {
		return
	}
	var all []any
	for _, v := range rounds(t, file, known, r.Loop, nil) { // a condition is not about the name
		name := fmt.Sprint(must(t, v, r.Body.Value("name")))
		if strings.Count(r.Type, "/") > 2 {
			name = fmt.Sprint(must(t, v, r.Body.Value("parent")).(map[string]any)["name"]) + "/" + name
		}
		all = append(all, map[string]any{"id": scopeKinds[r.Type] + " `" + name + "`", "name": name})
	}
	if known[r.Text] = all; r.Loop == nil {
		known[r.Text] = all[0]
	}
}

// tableOf gives the rows of the table of testdata/access.md that is under a heading and
// whose first column has this name.
func tableOf(t *testing.T, heading, column string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "access.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, table, more := strings.Cut(section, "\n| "+column+" |")
	if !found || !more {
		t.Fatalf("testdata/access.md has no table of %s under %q", column, heading)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var rows [][]string
	for _, line := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
		cells := regexp.MustCompile(` *\| *`).Split(strings.Trim(line, "| "), -1)
		if strings.HasPrefix(line, "| |") {
			cells = slices.Insert(cells, 0, "")
		}
		rows = append(rows, cells)
	}
	return rows
}
