package infra_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/templates"
)

// bundleWorkers are the workers of the context bundle, with replicas and the number of waiting jobs for each.
var bundleWorkers = map[string][3]string{"sync": {"2", "20", "10"}, "merge": {"2", "5", "5"}, "training": {"0", "2", "1"}}

// TestContextBundleScalesByTheDepthOfItsSubscriptions: each worker has a subscription with a dead-letter queue, and
// replicas by the number of its jobs.
func TestContextBundleScalesByTheDepthOfItsSubscriptions(t *testing.T) {
	t.Parallel()
	d := templates.Deploy(t, templates.ContextBundle, nil)
	apps := d.Of("Microsoft.App/containerApps")
	if len(apps) != len(bundleWorkers) {
		t.Fatalf("%d apps", len(apps))
	}
	subscriptions := map[string]bool{}
	for _, s := range d.Of("Microsoft.ServiceBus/namespaces/topics/subscriptions") {
		if s.At("properties", "deadLetteringOnMessageExpiration") == true && s.At("properties", "maxDeliveryCount") != nil {
			subscriptions[path.Base(s.Name)] = true
		}
	}
	for _, app := range apps {
		id := strings.TrimPrefix(app.Name, "matoolkit-prod-")
		want := bundleWorkers[id]
		scale := func(name ...any) string {
			return fmt.Sprint(app.At(append([]any{"properties", "template", "scale"}, name...)...))
		}
		rule := []any{"rules", 0, "custom", "metadata"}
		got := [3]string{scale("minReplicas"), scale("maxReplicas"), scale(append(rule, "messageCount")...)}
		if got != want {
			t.Errorf("%s: replicas and depth %v, want %v", id, got, want)
		}
		if name := scale(append(rule, "subscriptionName")...); name != "worker-"+id || !subscriptions[name] {
			t.Errorf("%s: scaled by %s of %v", id, name, subscriptions)
		}
	}
}

// TestContextBundleHasNoKeys: identities have one role on the container of the artifacts, and the account takes no keys.
func TestContextBundleHasNoKeys(t *testing.T) {
	t.Parallel()
	d := templates.Deploy(t, templates.ContextBundle, nil)
	want := []string{"func: Storage Blob Data Contributor: blobServices/containers default/artifacts", "sync: Key Vault Secrets User: vaults/secrets github-token"}
	for id := range bundleWorkers {
		want = append(
			want,
			id+": Storage Blob Data Contributor: blobServices/containers default/artifacts",
			id+": Azure Service Bus Data Receiver: topics/subscriptions worker-jobs/worker-"+id,
			"func: Azure Service Bus Data Receiver: topics/subscriptions worker-jobs/worker-"+id,
			id+": Azure Service Bus Data Receiver: topics/subscriptions worker-control/worker-"+id,
			id+": Azure Service Bus Data Sender: topics worker-results",
			id+"-scale: Azure Service Bus Data Owner: topics worker-jobs",
		)
	}
	got := assignedBy(t, d)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the roles are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	account := templates.One(t, d, "Microsoft.Storage/storageAccounts")
	if account.At("properties", "allowSharedKeyAccess") != false || account.At("properties", "publicNetworkAccess") != "Disabled" {
		t.Errorf("the account takes keys, or has a public address: %v", account.At("properties"))
	}
	public := templates.Deploy(t, templates.ContextBundle, map[string]any{"privateNetwork": false})
	if n := len(public.Of("Microsoft.Network/privateEndpoints")); n != 0 {
		t.Errorf("%d private endpoints in the public mode", n)
	}
	for _, app := range d.Of("Microsoft.App/containerApps") {
		settings := templates.Settings(t, app.At("properties", "template", "containers", 0, "env"))
		if has := settings["GITHUB_TOKEN"] != ""; has != strings.HasSuffix(app.Name, "-sync") || has && settings["GITHUB_TOKEN"] != "setting-github-token" {
			t.Errorf("%s: the token is %q", app.Name, settings["GITHUB_TOKEN"])
		}
	}
}

// TestContextBundleWithoutAnImage: the infrastructure comes before the first image.
func TestContextBundleWithoutAnImage(t *testing.T) {
	t.Parallel()
	d := templates.Deploy(t, templates.ContextBundle, map[string]any{"workerImage": ""})
	if n := len(d.Of("Microsoft.App/containerApps")); n != 0 {
		t.Errorf("%d apps", n)
	}
	if n := len(d.Of("Microsoft.ServiceBus/namespaces/topics/subscriptions")); n != 6 {
		t.Errorf("%d subscriptions", n)
	}
}
