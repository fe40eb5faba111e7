package infra_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/infra/templates"
)

// collectorFile has the fields that the tests read of collector.yaml. The collector itself refuses unknown
// fields.
type collectorFile struct {
	Extensions struct {
		AzureAuth struct {
			ManagedIdentity struct {
				ClientID string `yaml:"client_id"`
			} `yaml:"managed_identity"`
			Scopes []string
		} `yaml:"azure_auth"`
	}
	Receivers struct {
		OTLP struct {
			Protocols struct{ HTTP struct{ Endpoint string } }
		}
	}
	Processors, Exporters map[string]map[string]any
	Service               struct {
		Extensions []string
		Telemetry  map[string]map[string]string
		Pipelines  map[string]struct{ Receivers, Processors, Exporters []string }
	}
}

func containers(t *testing.T, others map[string]any) []bicep.Instance {
	t.Helper()
	list, _ := templates.One(t, templates.Deploy(t, templates.Worker, others), "Microsoft.App/containerApps").At("properties", "template", "containers").([]any)
	all := make([]bicep.Instance, len(list))
	for i, one := range list {
		all[i].Body = one.(map[string]any)
	}
	return all
}

// TestSpecificationTheCollectorSendsAllSignalsToApplicationInsights: the worker sends to where the collector
// beside it listens, which authenticates as the worker: Application Insights takes no keys.
func TestSpecificationTheCollectorSendsAllSignalsToApplicationInsights(t *testing.T) {
	t.Parallel()
	all := containers(t, nil)
	if len(all) != 2 || all[0].At("name") != "worker" || all[1].At("name") != "collector" {
		t.Fatalf("containers %v", all)
	}
	worker, collector := templates.Settings(t, all[0].At("env")), templates.Settings(t, all[1].At("env"))
	if args, ok := all[1].At("args").([]any); !ok || len(args) != 1 || args[0] != "--config=env:COLLECTOR_CONFIG" {
		t.Errorf("the arguments are %v", all[1].At("args"))
	}
	text := collector["COLLECTOR_CONFIG"]
	if source, err := os.ReadFile("automation/worker/collector.yaml"); err != nil || string(source) != text {
		t.Errorf("the configuration is not collector.yaml: %v", err)
	}
	var c collectorFile
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	// The collector and the worker share the network of their replica and nothing else does.
	if listens := c.Receivers.OTLP.Protocols.HTTP.Endpoint; listens != "127.0.0.1:4318" || worker["OTEL_EXPORTER_OTLP_ENDPOINT"] != "http://localhost:4318" {
		t.Errorf("the collector listens at %s, the worker sends to %s", listens, worker["OTEL_EXPORTER_OTLP_ENDPOINT"])
	}
	for _, signal := range []string{"traces", "metrics", "logs"} {
		p := c.Service.Pipelines[signal]
		if !slices.Equal(p.Receivers, []string{"otlp"}) || !slices.Equal(p.Processors, []string{"memory_limiter"}) || !slices.Equal(p.Exporters, []string{"azure_monitor"}) {
			t.Errorf("%s: %+v", signal, p)
		}
	}
	if len(c.Service.Pipelines) != 3 || c.Processors["memory_limiter"] == nil {
		t.Errorf("pipelines %v, processors %v", c.Service.Pipelines, c.Processors)
	}
	auth, _ := c.Exporters["azure_monitor"]["auth"].(map[string]any)
	if auth["authenticator"] != "azure_auth" || !slices.Equal(c.Service.Extensions, []string{"azure_auth"}) ||
		!slices.Equal(c.Extensions.AzureAuth.Scopes, []string{"https://monitor.azure.com/.default"}) || c.Extensions.AzureAuth.ManagedIdentity.ClientID != "${env:AZURE_CLIENT_ID}" {
		t.Errorf("it authenticates by %v with %+v", auth, c.Extensions.AzureAuth)
	}
	if _, has := worker["AZURE_CLIENT_ID"]; !has {
		t.Error("the worker has no identity to compare")
	}
	given := slices.Sorted(maps.Keys(collector))
	for _, reference := range regexp.MustCompile(`\$\{env:(\w+)\}`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(given, reference[1]) {
			t.Errorf("%s is not set", reference[1])
		}
	}
	if image, _ := all[1].At("image").(string); !regexp.MustCompile(`-contrib:\d+\.\d+\.\d+$`).MatchString(image) {
		t.Errorf("the image %s has no fixed version", image)
	}
	if !strings.Contains(text, "limit_mib: 400") || all[1].At("resources", "memory") != "0.5Gi" {
		t.Errorf("the limit of memory does not fit %v", all[1].At("resources"))
	}
}

// TestWithoutACollectorNothingIsSent, or with another one the worker sends there.
func TestWithoutACollectorNothingIsSent(t *testing.T) {
	t.Parallel()
	for want, others := range map[string]map[string]any{
		"": {"collectorImage": ""}, "http://collector:4318": {"otlpEndpoint": "http://collector:4318"},
	} {
		all := containers(t, others)
		if got := templates.Settings(t, all[0].At("env"))["OTEL_EXPORTER_OTLP_ENDPOINT"]; len(all) != 1 || got != want {
			t.Errorf("%v: %d containers, the worker sends to %q", others, len(all), got)
		}
	}
}

// TestTheCollectorDoesNotChangeTheScale: a replica has processors and memory in one of the
// proportions of the platform, and the worker's jobs alone decide how many run.
func TestTheCollectorDoesNotChangeTheScale(t *testing.T) {
	t.Parallel()
	for cpu, memory := range map[string]string{"0.25": "0.5Gi", "0.5": "1Gi", "1": "2Gi", "2": "4Gi"} {
		all := containers(t, map[string]any{"cpu": cpu})
		if all[0].At("resources", "memory") != memory || all[1].At("resources", "memory") != "0.5Gi" {
			t.Errorf("%s: %v and %v", cpu, all[0].At("resources"), all[1].At("resources"))
		}
	}
	app := templates.One(t, templates.Deploy(t, templates.Worker, nil), "Microsoft.App/containerApps")
	rules, _ := app.At("properties", "template", "scale", "rules").([]any)
	if len(rules) != 1 || app.At("properties", "template", "scale", "minReplicas") != int64(0) {
		t.Errorf("the scale is %v", app.At("properties", "template", "scale"))
	}
}
