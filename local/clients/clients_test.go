package clients_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/clients"
)

// files are the files of the cases by client and service.
var files = map[string]map[string]string{
	"go":     {"servicebus": "go/servicebus.go", "cosmos": "go/cosmos.go", "blob": "go/blob.go"},
	"js":     {"servicebus": "js/servicebus.mjs", "cosmos": "js/cosmos.mjs", "blob": "js/blob.mjs"},
	"python": {"servicebus": "python/servicebus_cases.py", "cosmos": "python/cosmos_cases.py", "blob": "python/blob_cases.py"},
	"java":   {"servicebus": "java/src/main/java/ServiceBusCases.java", "cosmos": "java/src/main/java/CosmosCases.java", "blob": "java/src/main/java/BlobCases.java"},
}

// TestProgramsHaveAllCases reads the programs: the toolchains may be missing.
func TestProgramsHaveAllCases(t *testing.T) {
	t.Parallel()
	cases, err := clients.ReadCases(".")
	if err != nil {
		t.Fatal(err)
	}
	for client, services := range files {
		for _, c := range cases {
			file, ok := services[c.Service]
			if !ok {
				t.Fatalf("%s: no such service", c.ID())
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found := regexp.MustCompile(`['"\s]` + regexp.QuoteMeta(c.Name) + `['"]?[:,)]`).Match(text)
			if without := c.Without[client] != ""; found == without {
				t.Errorf("%s: implemented in %s: %v; excused in cases.json: %v", c.ID(), file, found, without)
			}
		}
	}
}

// TestNoRegistryInLockFile keeps the addresses of package registries out: npm then uses the
// configured registry.
func TestNoRegistryInLockFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("js/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), `"resolved"`) {
		t.Error(`package-lock.json has "resolved": make it with npm install --omit-lockfile-registry-resolved`)
	}
}
