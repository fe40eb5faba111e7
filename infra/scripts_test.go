package infra_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/templates"
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
		"console-addresses.sh":  {"console-id https://contoso.example/ https://localhost:7071", ""},
		"register-worker.sh":    {"contoso dev User.Read.All Exchange.ManageAsApp", "roleManagement/directory/roleAssignments|--output|none|--body|"},
		"register-people.sh":    {"contoso dev User.Read.All Sites.Selected", "az|ad|app|create|"},
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
	if err != nil || len(scripts) != 11 { // with compile.sh, which has its own test
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

// TestCompileFailsOnWarnings runs compile.sh with stand-ins for the compiler. Bicep writes what it
// finds to stderr, and exits with 0 if there are only warnings.
func TestCompileFailsOnWarnings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		compiler string
		fails    bool
	}{
		"clean":        {`echo '{}'`, false},
		"information":  {`echo '/infra/main.bicep(3,7) : Info simplify-json-null: A hint.' >&2`, false},
		"a notice":     {`echo 'WARNING: A new Bicep release is available: v9.9.9.' >&2`, false},
		"warning":      {`echo '/infra/main.bicep(3,7) : Warning BCP036: The property "x" expected a value of type "int".' >&2`, true},
		"lint warning": {`[ "$1" != lint ] || echo '/infra/main.bicep(3,7) : Warning no-unused-params: Parameter "x" is never used.'`, true},
		"module":       {`case "$*" in *worker*) echo 'WARNING: /infra/a.bicep(3,7) : Warning BCP081: No types.' >&2 ;; esac`, true},
		"error":        {`echo '/infra/main.bicep(3,7) : Error BCP057: The name "x" does not exist.' >&2; exit 1`, true},
		"crash":        {`exit 139`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range [][]string{{}, {"bicep"}} {
				folder := t.TempDir()
				calls := filepath.Join(folder, "calls")
				for _, program := range []string{"az", "bicep"} {
					text := "#!/bin/sh\necho \"$(basename \"$0\") $*\" >>\"$CALLS\"\n[ \"$1\" != bicep ] || shift\n" + c.compiler + "\n"
					if err := os.WriteFile(filepath.Join(folder, program), []byte(text), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.Command("scripts/compile.sh", command...)
				cmd.Env = append(os.Environ(), "PATH="+folder+string(filepath.ListSeparator)+os.Getenv("PATH"), "CALLS="+calls)
				out, err := cmd.CombinedOutput()
				if (err != nil) != c.fails || strings.Contains(c.compiler, "(3,7)") && !strings.Contains(string(out), "(3,7)") {
					t.Errorf("%v\n%s", err, out)
				}
				text, err := os.ReadFile(calls)
				if err != nil {
					t.Fatal(err)
				}
				for _, template := range append([]string{templates.Main}, templates.Stages...) {
					want := "bicep lint scripts/../" + strings.TrimPrefix(template, "infra/")
					if len(command) == 0 {
						want = strings.Replace("az "+want, "scripts", "--file scripts", 1)
					}
					if !strings.Contains(string(text), want) {
						t.Errorf("no call of %s:\n%s", want, text)
					}
				}
			}
		})
	}
}

// TestLinterRules: each rule of the compiler is an error or is listed here with its reason.
func TestLinterRules(t *testing.T) {
	t.Parallel()
	off := map[string]bool{
		"no-module-name":            true, // the names of deployments are part of the templates
		"use-resource-id-functions": true, // Bicep leaves it off for its false positives
		"use-user-defined-types":    true, // infra/bicep does not read types of parameters
	}
	var config struct {
		Analyzers struct {
			Core struct {
				Enabled bool
				Rules   map[string]struct{ Level string }
			}
		}
	}
	data, err := os.ReadFile("bicepconfig.json")
	if err == nil {
		err = json.Unmarshal(data, &config)
	}
	if err != nil || !config.Analyzers.Core.Enabled || len(config.Analyzers.Core.Rules) < 40 {
		t.Fatalf("%v, %+v", err, config)
	}
	for code, rule := range config.Analyzers.Core.Rules {
		if want := map[bool]string{true: "off", false: "error"}[off[code]]; rule.Level != want {
			t.Errorf("%s is %s, want %s", code, rule.Level, want)
		}
	}
}
