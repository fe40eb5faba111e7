package infra_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// What of azure.yaml can be held to something without azd: the scripts name targets of
// make, parameters and variables, which have to be there. A variable is one of azd's own,
// an output of infra/main.bicep, or what the head of the file has the reader set.

var (
	azdOwn        = []string{"AZURE_RESOURCE_GROUP", "AZURE_ENV_NAME", "AZURE_LOCATION", "AZURE_PRINCIPAL_ID"}
	azdSet        = regexp.MustCompile(`\bazd env set ([A-Z_]+)`)
	azdVariable   = regexp.MustCompile(`\$\{?([A-Za-z_]\w*)`)
	azdAssignment = regexp.MustCompile(`(?m)^\s*(\w+)=`)
	azdParameter  = regexp.MustCompile(`\s(\w+)="\$`)
	makeTarget    = regexp.MustCompile(`(?m)^([a-z][\w-]*):`)
)

// azdFaults are the ways in which the text of azure.yaml does not fit the rest.
func azdFaults(t *testing.T, text string) []string {
	t.Helper()
	var project struct {
		Name  string
		Infra struct{ Provider, Path, Module string }
		Hooks map[string]struct{ Shell, Run string }
	}
	strict := yaml.NewDecoder(strings.NewReader(text))
	strict.KnownFields(true)
	if err := strict.Decode(&project); err != nil {
		return []string{err.Error()}
	}
	template := filepath.Join("..", project.Infra.Path, project.Infra.Module)
	parameters, err := os.ReadFile(template + ".parameters.json")
	if err != nil {
		return []string{err.Error()}
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}

	known := slices.Clone(azdOwn)
	for _, set := range azdSet.FindAllStringSubmatch(text, -1) {
		known = append(known, set[1])
	}
	var faults []string
	for _, v := range azdVariable.FindAllStringSubmatch(string(bytes.ReplaceAll(parameters, []byte(`"$schema"`), nil)), -1) {
		if !slices.Contains(known, v[1]) {
			faults = append(faults, fmt.Sprintf("%s.parameters.json reads %s, which nobody is told to set", template, v[1]))
		}
	}
	for _, o := range parsed(t, template+".bicep").Outputs {
		known = append(known, o.Text)
	}
	for name, hook := range project.Hooks {
		known := slices.Clone(known)
		for _, a := range azdAssignment.FindAllStringSubmatch(hook.Run, -1) {
			known = append(known, a[1])
		}
		for _, v := range azdVariable.FindAllStringSubmatch(hook.Run, -1) {
			if !slices.Contains(known, v[1]) {
				faults = append(faults, fmt.Sprintf("%s reads %s, which nobody sets", name, v[1]))
			}
		}
		for _, target := range regexp.MustCompile(`\bmake (\S+)`).FindAllStringSubmatch(hook.Run, -1) {
			if !slices.ContainsFunc(makeTarget.FindAllSubmatch(makefile, -1), func(m [][]byte) bool { return string(m[1]) == target[1] }) {
				faults = append(faults, fmt.Sprintf("%s: make has no target %s", name, target[1]))
			}
		}
		for _, zip := range regexp.MustCompile(`bin/package/(\S+)_amd64\.zip`).FindAllStringSubmatch(hook.Run, -1) {
			if !strings.Contains(string(makefile), "-out bin/package/"+zip[1]+"_$$arch.zip") {
				faults = append(faults, fmt.Sprintf("%s: make package does not write %s", name, zip[0]))
			}
		}
		for _, deployment := range regexp.MustCompile(`--template-file (\S+)((?:[^\n]*\\\n)*[^\n]*)`).FindAllStringSubmatch(hook.Run, -1) {
			file := parsed(t, filepath.Join("..", deployment[1]))
			given := map[string]bool{}
			for _, p := range azdParameter.FindAllStringSubmatch(strings.ReplaceAll(deployment[2], `:+`, " "), -1) {
				given[p[1]] = true
				if !slices.ContainsFunc(file.Parameters, func(one *bicep.Parameter) bool { return one.Text == p[1] }) {
					faults = append(faults, fmt.Sprintf("%s: %s has no parameter %s", name, deployment[1], p[1]))
				}
			}
			for _, p := range file.Parameters {
				if p.Default == nil && !given[p.Text] {
					faults = append(faults, fmt.Sprintf("%s: %s needs the parameter %s", name, deployment[1], p.Text))
				}
			}
		}
	}
	return faults
}

func TestAzdFits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../azure.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range azdFaults(t, string(text)) {
		t.Error("azure.yaml: " + fault)
	}
	for _, bad := range []struct{ of, with, says string }{
		{"hooks:", "hoops:", "hoops"},
		{"module: main", "module: mine", "mine.parameters.json"},
		{"azd env set TARGET_APP_ID", "azd env set TARGET_APP", "reads TARGET_APP_ID"},
		{`"$FUNCTION_APP_NAME"`, `"$FUNCTIONS_APP"`, "reads FUNCTIONS_APP"},
		{"run: make package", "run: make packages", "no target packages"},
		{"matoolkit-handler_linux", "matoolkit_linux", "does not write bin/package/matoolkit_linux_amd64.zip"},
		{`workerImage="$image"`, `image="$image"`, "no parameter image"},
		{`targetTenantId="$TARGET_TENANT_ID" `, "", "needs the parameter targetTenantId"},
		{"worker/deploy.bicep", "worker/app.bicep", "needs the parameter containerEnvironmentName"},
	} {
		broken := strings.Replace(string(text), bad.of, bad.with, 1)
		if faults := azdFaults(t, broken); !strings.Contains(strings.Join(faults, "\n"), bad.says) {
			t.Errorf("%q instead of %q: %q does not say %q", bad.with, bad.of, faults, bad.says)
		}
	}
}
