package infra_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// azStandIn stands in for az and gh. It records the call and prints an id. Without EXISTS,
// lists are empty and the restored account does not exist.
const azStandIn = `#!/bin/sh
printf '%s|' "$(basename "$0")" "$@" | tr '\n' ' ' >>"$CALLS"
echo >>"$CALLS"
case "$EXISTS $*" in
*'length('*) echo "${EXISTS:-0}" ;;
' ad app list'*) ;;
' cosmosdb show'*'--output none') exit 1 ;;
'1 rest '*appRoleAssignedTo*) echo 'Permission being assigned already exists' >&2; exit 1 ;;
*) echo 00000000-0000-0000-0000-000000000001 ;;
esac
`

// TestScripts runs each script against a stand-in for az: where nothing exists yet, and where a
// first run has created everything.
func TestScripts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ arguments, creates string }{
		"register-api.sh":       {"contoso dev", "az|ad|app|create|"},
		"assign-role.sh":        {"api-id Reader object-id", ""},
		"register-worker.sh":    {"contoso dev User.Read.All Exchange.ManageAsApp", "roleManagement/directory/roleAssignments|--output|none|--body|"},
		"stage.sh":              {"create worker workerImage=image", ""},
		"worker-certificate.sh": {"contoso-dev-kv app-id tenant-id", ""},
		"github-environment.sh": {"contoso/matoolkit", "az|role|definition|create|"},
		"restore-cosmos.sh":     {"group contoso-dev 2026-11-20T21:30:00Z contoso-dev-cosmos-r1", "az|cosmosdb|restore|"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := exec.Command("scripts/" + name).CombinedOutput(); err == nil || !strings.HasPrefix(string(out), "Usage: "+name) {
				t.Errorf("without arguments: %v\n%s", err, out)
			}
			for _, exists := range []string{"", "1"} {
				calls := runScript(t, name, strings.Fields(c.arguments), exists)
				if strings.Contains(calls, "||") {
					t.Errorf("an argument is empty:\n%s", calls)
				}
				if c.creates != "" && strings.Contains(calls, c.creates) != (exists == "") {
					t.Errorf("exists %q; calls with %s:\n%s", exists, c.creates, calls)
				}
			}
		})
	}
	scripts, err := filepath.Glob("scripts/*.sh")
	if err != nil || len(scripts) != 8 {
		t.Errorf("%d scripts (%v): run each of them here", len(scripts), err)
	}
}

// runScript runs a script and returns the calls of az and gh, one a line.
func runScript(t *testing.T, name string, arguments []string, exists string) string {
	t.Helper()
	folder := t.TempDir()
	for _, program := range []string{"az", "gh"} {
		if err := os.WriteFile(filepath.Join(folder, program), []byte(azStandIn), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	calls := filepath.Join(folder, "calls")
	cmd := exec.Command("scripts/"+name, arguments...)
	cmd.Env = append(os.Environ(), "PATH="+folder+string(filepath.ListSeparator)+os.Getenv("PATH"), "CALLS="+calls, "EXISTS="+exists)
	for _, variable := range []string{
		"NAME", "ENVIRONMENT", "RESOURCE_GROUP", "LOCATION", "SUBSCRIPTION_ID", "TENANT_ID",
		"TARGET_TENANT_ID", "API_CLIENT_ID", "WORKER_APP_ID", "WORKER_ID",
	} {
		cmd.Env = append(cmd.Env, variable+"=value")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
