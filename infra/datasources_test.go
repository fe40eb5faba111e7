package infra_test

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// TestDeploymentListsDataSources checks that the app gets the settings of data sources, and
// their names as the ones that runbooks may name: no others, such as the collector's headers.
func TestDeploymentListsDataSources(t *testing.T) {
	t.Parallel()
	given := map[string]any{
		"name": "matoolkit", "environmentName": "prod", "privateNetwork": true, "otlpEndpoint": "https://collector.example.com", "otlpHeadersSecretName": "otlp-headers",
		"entraTenantIds": []any{"7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01"}, "extraSettings": map[string]any{"API_REQUESTS_PER_SECOND": "7"},
	}
	settings := func(secrets, plain map[string]any) map[string]any {
		t.Helper()
		given["dataSourceSecrets"], given["dataSourceSettings"] = secrets, plain
		var found map[string]any
		visit(t, filepath.Join("automation", "functions", "deploy.bicep"), given, func(v bicep.Values, r *bicep.Resource) {
			if r.Type == "Microsoft.Web/sites" {
				for _, name := range []string{"dataSources", "extraSettings", "secretSettings"} {
					if _, known := v.Given[name]; !known {
						t.Errorf("%s of the app cannot be evaluated", name)
					}
				}
				// The names of other resources are not known before a deployment.
				v.Given = maps.Clone(v.Given)
				for _, p := range v.File.Parameters {
					if _, known := v.Given[p.Name.Text]; !known {
						v.Given[p.Name.Text] = "of a resource"
					}
				}
				found, _ = must(t, v, &bicep.Reference{Name: bicep.Name{Text: "settings"}}).(map[string]any)
			}
		})
		if len(found) == 0 {
			t.Fatal("the app has no settings")
		}
		return found
	}

	got := settings(map[string]any{"MOVES_SQL": "moves-sql"}, map[string]any{"WAREHOUSE": "0123456789abcdef"})
	if got["DATA_SOURCES"] != "MOVES_SQL,WAREHOUSE" || got["WAREHOUSE"] != "0123456789abcdef" || got["MOVES_SQL"] == nil || got["API_REQUESTS_PER_SECOND"] != "7" || got["OTEL_EXPORTER_OTLP_HEADERS"] == nil {
		t.Errorf("the settings are %v", got)
	}
	if got := settings(map[string]any{}, map[string]any{}); got["DATA_SOURCES"] != nil {
		t.Errorf("without data sources, DATA_SOURCES is %v", got["DATA_SOURCES"])
	}
}
