package infra_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/infra/templates"
)

// roleNames are the names of Azure's built-in roles.
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
	"ba92f5b4-2d11-453d-a403-e96b0029c9fe": "Storage Blob Data Contributor",
	"b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
	"0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3": "Storage Table Data Contributor",
	"5d977122-f97e-4b4d-a52f-6b43003ddb4d": "Azure Container Instances Contributor Role",
	"f1a07417-d97a-45cb-824c-7a7467783830": "Managed Identity Operator",
	"acdd72a7-3385-48ef-bd42-f606fba81ae7": "Reader",
	ownRole:                                "own role",
}

const ownRole = "11111111-2222-3333-4444-555555555555"

// usualRoles are all roles of a deployment with the default parameters: identity, role and
// scope.
var usualRoles = []string{
	"func: Azure Service Bus Data Receiver: topics/subscriptions orchestrator-events/orchestrator",
	"func: Azure Service Bus Data Receiver: topics/subscriptions worker-jobs/worker-worker-01", // reads dead letters
	"func: Azure Service Bus Data Receiver: topics/subscriptions worker-results/orchestrator",
	"func: Azure Service Bus Data Sender: topics orchestrator-events",
	"func: Azure Service Bus Data Sender: topics worker-control",
	"func: Azure Service Bus Data Sender: topics worker-jobs",
	"func: Azure Service Bus Data Sender: topics worker-results",
	"func: Cosmos DB Built-in Data Contributor: database matoolkit",
	"func: Monitoring Metrics Publisher: components matoolkit-prod-appi",
	"func: Storage Blob Data Owner: storageAccounts matoolkitprodst",
	"func: Storage Table Data Contributor: storageAccounts matoolkitprodst",
	"pull: AcrPull: registries matoolkitprodacr",
	"worker-01-scale: Azure Service Bus Data Owner: topics worker-jobs", // counts messages
	"worker-01: Azure Service Bus Data Receiver: topics/subscriptions worker-control/worker-worker-01",
	"worker-01: Azure Service Bus Data Receiver: topics/subscriptions worker-jobs/worker-worker-01",
	"worker-01: Azure Service Bus Data Sender: topics worker-results",
	"worker-01: Key Vault Secrets User: vaults/secrets worker",
	"worker-01: Monitoring Metrics Publisher: components matoolkit-prod-appi",
}

// TestEachIdentityHasTheRolesThatItNeeds: a role that a template assigns beyond this list, or
// on more than it names, fails the test.
func TestEachIdentityHasTheRolesThatItNeeds(t *testing.T) {
	t.Parallel()
	if got := assigned(t, nil); !slices.Equal(got, usualRoles) {
		t.Errorf("the roles are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(usualRoles, "\n"))
	}
	for name, tc := range map[string]struct {
		stage      string
		parameters map[string]any
		more, less []string
	}{
		"people": {
			templates.Shared,
			map[string]any{
				"vaultOfficers": []any{map[string]any{"id": "officer", "type": "Group"}}, "imagePushers": []any{map[string]any{"id": "pusher", "type": "ServicePrincipal"}},
			},
			[]string{
				"officer: Key Vault Certificates Officer: vaults matoolkit-prod-kv", "officer: Key Vault Secrets Officer: vaults matoolkit-prod-kv",
				"pusher: AcrPush: registries matoolkitprodacr",
			},
			nil,
		},
		"secrets of the handler": {
			templates.Functions,
			map[string]any{"dataSourceVaultSettings": map[string]any{"MOVES_SQL": "moves-sql"}, "notificationVaultSettings": map[string]any{"TEAMS_URL": "teams-url"}, "otlpHeadersSecretName": "headers", "encryptionKeyName": "key"},
			[]string{"func: Key Vault Secrets User: vaults/secrets headers", "func: Key Vault Secrets User: vaults/secrets key", "func: Key Vault Secrets User: vaults/secrets moves-sql", "func: Key Vault Secrets User: vaults/secrets teams-url"},
			nil,
		},
		"scaling by message count": {
			templates.Functions,
			map[string]any{"scaleByMessageCount": true},
			[]string{
				"func: Azure Service Bus Data Owner: topics/subscriptions orchestrator-events/orchestrator",
				"func: Azure Service Bus Data Owner: topics/subscriptions worker-results/orchestrator",
			},
			[]string{usualRoles[0], usualRoles[2]},
		},
		"secrets of a worker": {
			templates.Worker,
			map[string]any{"otlpHeadersSecretName": "headers", "certificatePassphraseName": "password", "passwordKeySecretName": "passwords", "webhookVaultSettings": map[string]any{"TEAMS_URL": "teams-url"}},
			[]string{"worker-01: Key Vault Secrets User: vaults/secrets headers", "worker-01: Key Vault Secrets User: vaults/secrets password", "worker-01: Key Vault Secrets User: vaults/secrets passwords", "worker-01: Key Vault Secrets User: vaults/secrets teams-url"},
			nil,
		},
		"the whole vault": {
			templates.Worker,
			map[string]any{"vaultAccess": "vault"},
			[]string{"worker-01: Key Vault Secrets User: vaults matoolkit-prod-kv"},
			[]string{usualRoles[16]},
		},
		"another collector": {
			templates.Worker, map[string]any{"otlpEndpoint": "http://collector:4318"}, nil, []string{usualRoles[17]},
		},
		"an own role for the scaler": {
			templates.Worker, map[string]any{"scaleRoleId": ownRole}, []string{"worker-01-scale: own role: topics worker-jobs"}, []string{usualRoles[12]},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := slices.DeleteFunc(slices.Clone(usualRoles), func(role string) bool { return slices.Contains(tc.less, role) })
			want = append(want, tc.more...)
			slices.Sort(want)
			if got := assigned(t, map[string]map[string]any{tc.stage: tc.parameters}); !slices.Equal(got, want) {
				t.Errorf("the roles are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// assigned returns the roles that the stages assign, in order.
func assigned(t *testing.T, parameters map[string]map[string]any) []string {
	t.Helper()
	var all []string
	for _, stage := range templates.Stages {
		all = append(all, assignedBy(t, templates.Deploy(t, stage, parameters[stage]))...)
	}
	slices.Sort(all)
	return all
}

// assignedBy returns the roles that a deployment assigns: identity, role and scope.
func assignedBy(t *testing.T, d *bicep.Deployment) (all []string) {
	t.Helper()
	for _, r := range d.Resources {
		if !strings.HasSuffix(strings.ToLower(r.Type), "roleassignments") {
			continue
		}
		role := roleNames[path.Base(fmt.Sprint(r.At("properties", "roleDefinitionId")))]
		if role == "" {
			t.Errorf("%s: the role %v has no name in this test", r.File, r.At("properties", "roleDefinitionId"))
		}
		identity := path.Base(fmt.Sprint(r.At("properties", "principalId")))
		identity = strings.TrimSuffix(strings.TrimPrefix(identity, "matoolkit-prod-"), "-id.properties.principalId>")
		all = append(all, identity+": "+role+": "+assignedOn(t, r))
	}
	return all
}

// assignedOn returns the kind and the name of the scope of a role.
func assignedOn(t *testing.T, r *bicep.Instance) string {
	t.Helper()
	if r.Scope == nil && r.Type == "Microsoft.Authorization/roleAssignments" {
		return "resource group"
	}
	if r.Scope == nil { // a role of Cosmos DB itself
		_, database, _ := strings.Cut(fmt.Sprint(r.At("properties", "scope")), "/dbs/")
		if database == "" || strings.Contains(database, "/") {
			t.Fatalf("%s: the scope is %v, not a database", r.File, r.At("properties", "scope"))
		}
		return "database " + database
	}
	_, kind, _ := strings.Cut(r.Scope.Type, "/")
	_, below, _ := strings.Cut(kind, "/")
	name := r.Scope.Name
	if below != "" {
		_, name, _ = strings.Cut(name, "/")
		if !strings.HasPrefix(kind, "vaults/") {
			kind = below
		}
	}
	return kind + " " + name
}

// TestPublicAddresses: what can be called from outside, and from where.
func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	some := []any{"192.0.2.7"}
	for name, tc := range map[string]struct {
		parameters map[string]any
		want       map[string]string
	}{
		"private": {map[string]any{"privateNetwork": true}, map[string]string{"registries": "all"}},
		"private, with deployers": {
			map[string]any{"privateNetwork": true, "deployerAddresses": some},
			map[string]string{"registries": "all", "storageAccounts": "some", "vaults": "some", "deployment site": "some"},
		},
		"private, with callers": {map[string]any{"privateNetwork": true, "apiAllowedAddresses": some}, map[string]string{"registries": "all", "sites": "some"}},
		"public": {map[string]any{"privateNetwork": false}, map[string]string{
			"registries": "all", "databaseAccounts": "all", "namespaces": "all", "storageAccounts": "all", "vaults": "all", "sites": "all", "deployment site": "all",
		}},
		"public, with callers": {map[string]any{"privateNetwork": false, "apiAllowedAddresses": some}, map[string]string{
			"registries": "all", "databaseAccounts": "all", "namespaces": "all", "storageAccounts": "all", "vaults": "all", "sites": "some", "deployment site": "all",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for _, stage := range []string{templates.Shared, templates.Functions} {
				given := map[string]any{}
				for _, p := range parsed(t, stage).Parameters {
					if value, is := tc.parameters[p.Text]; is {
						given[p.Text] = value
					}
				}
				for _, r := range templates.Deploy(t, stage, given).Resources {
					access := r.At("properties", "publicNetworkAccess")
					if access == nil {
						continue
					}
					rules, _ := r.At("properties").(map[string]any)
					for _, in := range []string{"networkAcls", "siteConfig"} {
						if inner, is := rules[in].(map[string]any); is {
							rules = inner
						}
					}
					if r.Type == "Microsoft.Web/sites" {
						got["sites"] = openTo(access, rules["ipSecurityRestrictionsDefaultAction"], rules["ipSecurityRestrictions"])
						got["deployment site"] = openTo(access, rules["scmIpSecurityRestrictionsDefaultAction"], rules["scmIpSecurityRestrictions"])
					} else {
						got[path.Base(r.Type)] = openTo(access, rules["defaultAction"], rules["ipRules"])
					}
				}
			}
			for _, name := range []string{"registries", "databaseAccounts", "namespaces", "storageAccounts", "vaults", "sites", "deployment site"} {
				if got[name] != tc.want[name] {
					t.Errorf("%s is open to %q, want %q", name, got[name], tc.want[name])
				}
				delete(got, name)
			}
			for name := range got {
				t.Errorf("%s has a public address, of which this test does not know", name)
			}
		})
	}
}

// openTo returns who can call a public address: all, some or "".
func openTo(access, byDefault, rules any) string {
	list, _ := rules.([]any)
	switch {
	case access == "Disabled" || byDefault == "Deny" && len(list) == 0:
		return ""
	case byDefault == "Deny":
		return "some"
	}
	return "all"
}
