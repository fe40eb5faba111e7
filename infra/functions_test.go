package infra_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/templates"
)

func TestSpecificationAShareWithCustomFunctionsIsMountedWhereTheWorkerLooksForThem(t *testing.T) {
	t.Parallel()
	body := func(others map[string]any) string {
		t.Helper()
		text, err := json.Marshal(templates.One(t, templates.Deploy(t, templates.Worker, others), "Microsoft.App/containerApps").Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	with := body(map[string]any{"functionsStorageName": "functions"})
	for _, want := range []string{
		`{"name":"CUSTOM_FUNCTIONS_DIR","value":"/functions"}`,
		`"volumeMounts":[{"mountPath":"/functions","volumeName":"functions"}]`,
		`"volumes":[{"mountOptions":"dir_mode=0755,file_mode=0755","name":"functions","storageName":"functions","storageType":"AzureFile"}]`,
	} {
		if !strings.Contains(with, want) {
			t.Errorf("%s is missing in %s", want, with)
		}
	}
	if without := body(nil); strings.Contains(without, "CUSTOM_FUNCTIONS_DIR") || !strings.Contains(without, `"volumes":[]`) {
		t.Errorf("without a share: %s", without)
	}
}
