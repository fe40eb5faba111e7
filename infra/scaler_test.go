package infra_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/templates"
	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/scalertest"
	"github.com/matoolkit/matoolkit/local/arm"
	"github.com/matoolkit/matoolkit/local/entra"
)

const (
	attached = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/matoolkit-prod-containers-id"
	subnet   = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/matoolkit-prod-vnet/subnets/snet-containers"
)

// permissions has what the roles of the Functions app permit, from Azure's built-in roles: actions, on
// resources whose path contains a text.
var permissions = map[string]struct {
	actions []string
	on      string
}{
	"func: Azure Container Instances Contributor Role: resource group":                     {[]string{arm.ActionReadGroup, arm.ActionWriteGroup, arm.ActionDeleteGroup}, "/resourceGroups/validators/"},
	"func: Managed Identity Operator: userAssignedIdentities matoolkit-prod-containers-id": {[]string{arm.ActionAssignIdentity}, attached},
	"func: Reader: topics validations":                                                     {[]string{arm.ActionReadSubscriptions}, "/topics/validations/"},
	"func: own role: subnets snet-containers":                                              {[]string{arm.ActionJoinSubnet}, subnet},
}

// others are the roles of the containers, and the one for what Service Bus itself serves.
var others = []string{
	"containers: AcrPull: registries matoolkitprodacr",
	"containers: Azure Service Bus Data Receiver: topics validations",
	"func: Azure Service Bus Data Receiver: topics validations",
}

// TestTheRolesOfTheContainerScalerAreThoseOfItsCalls has the scaler create, read and delete with what the
// roles of its stage permit, and with each of them missing.
func TestTheRolesOfTheContainerScalerAreThoseOfItsCalls(t *testing.T) {
	t.Parallel()
	given := map[string]any{"subnetName": "snet-containers", "subnetRoleId": ownRole}
	assigned := assignedBy(t, templates.Deploy(t, templates.Scaler, given))
	slices.Sort(assigned)
	want := append(slices.Sorted(maps.Keys(permissions)), others...)
	slices.Sort(want)
	if !slices.Equal(assigned, want) {
		t.Fatalf("the roles are\n%s\nwant\n%s", strings.Join(assigned, "\n"), strings.Join(want, "\n"))
	}
	if err := scale(t, assigned); err != nil {
		t.Errorf("with all roles: %v", err)
	}
	for role := range permissions {
		without := slices.DeleteFunc(slices.Clone(assigned), func(one string) bool { return one == role })
		if err := scale(t, without); err == nil || !strings.Contains(err.Error(), "AuthorizationFailed") {
			t.Errorf("without the role %s: %v", role, err)
		}
	}
	if plain := assignedBy(t, templates.Deploy(t, templates.Scaler, nil)); slices.ContainsFunc(plain, func(role string) bool { return strings.Contains(role, "subnets") }) {
		t.Errorf("without a subnet, the roles are %q", plain)
	}
	if _, err := templates.Try(t, templates.Scaler, map[string]any{"subnetName": "snet-containers"}); err == nil || !strings.Contains(err.Error(), "subnetName and subnetRoleId: give both, or neither") {
		t.Errorf("a subnet without a role: %v", err)
	}
}

// scale does everything that the scaler does, with what the roles of the Functions app permit.
func scale(t *testing.T, roles []string) error {
	t.Helper()
	azure := scalertest.Start(t, scalertest.Config{
		Settings: map[string]string{"ACI_IDENTITY_ID": attached, "ACI_SUBNET_ID": subnet, "ACR_SERVER": "registry.example"},
		Allowed: func(client, action, resource string) bool {
			return client == entra.DefaultHandlerClientID && slices.ContainsFunc(roles, func(role string) bool {
				p, ok := permissions[role]
				return ok && slices.Contains(p.actions, action) && strings.Contains(resource, p.on)
			})
		},
	})
	azure.SendSize("a", "m-1", 10)
	if _, err := azure.Waiting(t.Context()); err != nil {
		return err
	}
	g := azure.Settings().GroupFor(scaler.Message{Subscription: "a", ID: "m-1", Size: scaler.Size{MB: "10"}})
	if _, err := azure.Create(t.Context(), g); err != nil {
		return err
	}
	azure.Settled()
	if found, err := azure.Groups(t.Context()); err != nil || len(found) != 1 {
		return fmt.Errorf("%d groups: %w", len(found), err)
	}
	azure.Exit("a", "m-1", 0)
	if _, err := azure.Delete(t.Context(), g.Name); err != nil {
		return err
	}
	used := map[string]bool{}
	for _, r := range azure.ARM.Requests() {
		used[r.Method+" "+r.Action] = true
	}
	for _, call := range []string{
		http.MethodGet + " " + arm.ActionReadGroup, http.MethodPut + " " + arm.ActionWriteGroup, http.MethodDelete + " " + arm.ActionDeleteGroup, http.MethodGet + " " + arm.ActionReadSubscriptions,
	} {
		if !used[call] {
			t.Errorf("the scaler has not called %s", call)
		}
	}
	if len(used) != 4 {
		t.Errorf("the calls are %v", used)
	}
	return nil
}

// TestTheScalersFunctionIsDisabledUnlessConfigured: otherwise its timer would run each minute.
func TestTheScalersFunctionIsDisabledUnlessConfigured(t *testing.T) {
	t.Parallel()
	const disabled = "AzureWebJobs.containerscaler.Disabled"
	for name, c := range map[string]struct {
		settings map[string]any
		want     string
	}{"off": {map[string]any{}, "true"}, "on": {map[string]any{"ACI_IMAGE": "image"}, ""}} {
		d := templates.Deploy(t, templates.Functions, map[string]any{"containerScalerSettings": c.settings})
		settings := templates.Settings(t, templates.One(t, d, "Microsoft.Web/sites").At("properties", "siteConfig", "appSettings"))
		if settings[disabled] != c.want || (settings["ACI_IMAGE"] == "image") != (c.want == "") {
			t.Errorf("%s: %s is %q", name, disabled, settings[disabled])
		}
	}
}
