package e2e_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/matoolkit/matoolkit/"

// TestWhoMayImportWhom holds the rules of docs/architecture.md: arrows point inward, what
// runs in Azure knows nothing of the local system, and what is large or dangerous to have
// twice is imported in one place.
func TestWhoMayImportWhom(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-f", `{{.ImportPath}}|{{join .Imports " "}}|{{join .Deps " "}}`, "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	imports, deps := map[string][]string{}, map[string][]string{}
	for line := range strings.Lines(string(out)) {
		parts := strings.Split(strings.TrimSpace(line), "|")
		name := strings.TrimPrefix(parts[0], modulePath)
		imports[name], deps[name] = strings.Fields(parts[1]), strings.Fields(parts[2])
	}
	for _, name := range []string{"handler", "worker", "worker/graph", "internal/app", "internal/store", "cmd/matoolkit"} {
		if len(imports[name]) == 0 {
			t.Fatalf("%s is not among the %d packages", name, len(imports))
		}
	}

	// What a program holds, whoever brings it in.
	for program, never := range map[string][]string{
		"handler": {
			"local/", "cmd/", "infra", "internal/cli", "internal/apiclient", "worker/graph", "worker/exchange", "worker/dispatch", "worker/signin",
			"github.com/microsoftgraph/", "github.com/spf13/cobra",
		},
		"worker": {
			"local/", "cmd/", "infra", "functions/", "internal/app", "internal/store", "internal/engine", "internal/datasource",
			"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos", "github.com/gin-gonic/", "modernc.org/sqlite",
		},
		"cmd/matoolkit":      {"worker/graph", "github.com/microsoftgraph/"},
		"internal/cli":       {"internal/app", "internal/store", "internal/bus", "internal/engine", "functions/", "local/"},
		"internal/apiclient": {"internal/app", "internal/store", "internal/bus", "internal/engine", "functions/", "local/"},
		"internal/app":       {"functions/", "local/", "worker", "github.com/gin-gonic/", "github.com/Azure/azure-sdk-for-go/sdk/azidentity"},
	} {
		for _, dep := range deps[program] {
			if slices.ContainsFunc(never, func(prefix string) bool { return under(dep, prefix) }) {
				t.Errorf("%s holds %s", program, dep)
			}
		}
	}

	// What decides knows itself and YAML; it asks neither a clock of its own, nor chance, nor
	// the world.
	pure := []string{"internal/api", "internal/engine", "internal/runbook", "internal/schedule", "internal/storable", "internal/humanize"}
	for _, name := range pure {
		for _, dep := range deps[name] {
			root, _, _ := strings.Cut(dep, "/")
			if strings.Contains(root, ".") && dep != "gopkg.in/yaml.v3" && !slices.Contains(pure, strings.TrimPrefix(dep, modulePath)) {
				t.Errorf("%s holds %s", name, dep)
			}
		}
		for _, outside := range []string{"os", "net", "net/http", "io/fs", "log", "log/slog", "crypto/rand", "math/rand", "math/rand/v2"} {
			if slices.Contains(imports[name], outside) {
				t.Errorf("%s imports %s", name, outside)
			}
		}
	}

	// Adapters do not know each other, nor who uses them. The store's documents are the
	// engine's state.
	adapters := []string{"internal/store", "internal/bus", "internal/datasource/"}
	for name, all := range imports {
		for _, adapter := range adapters {
			if !under(name, adapter) {
				continue
			}
			for _, imported := range all {
				for _, other := range append(slices.Clone(adapters), "internal/app", "internal/engine", "functions/") {
					if other != adapter && under(imported, other) && !(adapter == "internal/store" && other == "internal/engine") {
						t.Errorf("%s imports %s", name, imported)
					}
				}
			}
		}
	}

	// Who alone may import something.
	for only, importers := range map[string][]string{
		"github.com/microsoftgraph/":                                        {"worker/graph"},
		"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos":               {"internal/store"},
		"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus":      {"internal/bus/servicebus", "local/"},
		"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azsecrets": {"internal/secret/vault", "worker/signin"},
		"github.com/gin-gonic/gin":                                          {"functions/admin-http"},
		"github.com/golang-jwt/jwt":                                         {"internal/signin", "internal/cli/login", "local/"},
		"internal/store":                                                    {"handler", "internal/app", "local/rehearsal", "local/system"},
		"internal/bus":                                                      {"cmd/matoolkit", "handler", "internal/app", "internal/bus/", "local/rehearsal", "worker", "worker/"},
		"internal/bus/servicebus":                                           {"cmd/matoolkit", "handler", "worker"},
		"internal/bus/memory":                                               {},
		"internal/engine":                                                   {"functions/admin-http", "internal/app", "internal/cli", "internal/store", "local/rehearsal"},
		"local/":                                                            {"cmd/matoolkit", "infra/pack", "local/"},
		"handler":                                                           {}, "cmd/": {}, "e2e": {},
	} {
		for name, all := range imports {
			for _, imported := range all {
				if under(imported, only) && !slices.ContainsFunc(importers, func(allowed string) bool {
					return name == allowed || strings.HasSuffix(allowed, "/") && strings.HasPrefix(name, allowed)
				}) {
					t.Errorf("%s imports %s, which is for %v", name, imported, importers)
				}
			}
		}
	}
}

// under tells whether a package is one of those that a prefix names: of this module by
// their folders, others by their whole path.
func under(path, prefix string) bool {
	path = strings.TrimPrefix(path, modulePath)
	whole := strings.TrimSuffix(prefix, "/")
	return path == whole || strings.HasPrefix(path, whole+"/")
}
