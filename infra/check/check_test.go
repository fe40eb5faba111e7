package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// directory holds a file of Bicep.
func directory(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.bicep"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

const right = "// A file.\n@description('d')\nparam a string\n\n@description('d')\noutput b string = a\n"

func TestExitStatus(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arguments []string
		status    int
		out, err  string
	}{
		"nothing found":        {[]string{directory(t, right)}, 0, "0 findings: 1 files", ""},
		"something found":      {[]string{directory(t, "var a = 1\n")}, 1, "main.bicep:1:5: unused: variable a is not used", ""},
		"no such directory":    {[]string{filepath.Join(t.TempDir(), "none")}, 2, "", "none"},
		"nothing to check":     {[]string{t.TempDir()}, 2, "", "holds no .bicep file"},
		"two directories":      {[]string{"a", "b"}, 2, "", "one directory"},
		"no such option":       {[]string{"-what"}, 2, "", "-what"},
		"help":                 {[]string{"--help"}, 0, "", "exit status"},
		"declarations":         {[]string{"-declarations", directory(t, right)}, 0, `"outputs": [`, ""},
		"writing, but of what": {[]string{"-write"}, 2, "", "-azmcp"},
		"azmcp is not there":   {[]string{"-azmcp", "/none/azmcp", directory(t, right+account)}, 2, "", "ask azmcp for Microsoft.Storage/storageAccounts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, problems bytes.Buffer
			if status := run(t.Context(), tc.arguments, &out, &problems); status != tc.status {
				t.Errorf("status %d, not %d", status, tc.status)
			}
			if !strings.Contains(out.String(), tc.out) || !strings.Contains(problems.String(), tc.err) {
				t.Errorf("said %q and %q", out.String(), problems.String())
			}
		})
	}
}

const account = "\nresource account 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {\n  name: a\n}\n\n@description('d')\noutput id string = account.id\n"

// answer has the forms that azmcp answers with.
const answer = `{"results": {"BicepSchemaResult": [
	{"$type": "Resource", "name": "Provider/things@2024-01-01", "writableScopes": "ResourceGroup", "bodyType": {"$type": "Object", "name": "Provider/things", "properties": [
		{"name": "name", "type": "string", "flags": "Required, DeployTimeConstant", "modifiers": "minLength: 1, maxLength: 5, pattern: ^[a-z]{1,5}$", "description": "of somebody"},
		{"name": "apiVersion", "type": "2024-01-01", "flags": "ReadOnly"},
		{"name": "kind", "type": "One | Two | string"},
		{"name": "kinds", "type": "One | Two[]"},
		{"name": "policy", "type": "Policy"},
		{"name": "state", "type": "State", "flags": "ReadOnly"}
	]}},
	{"$type": "DiscriminatedObject", "name": "Policy", "discriminator": "type", "baseProperties": [{"name": "days", "type": "int"}], "elements": [
		{"$type": "Object", "name": "PeriodicPolicy", "properties": [{"name": "type", "type": "Periodic", "flags": "Required"}]}
	]},
	{"$type": "Object", "name": "State", "properties": [{"name": "deep", "type": "Deep[]"}]},
	{"$type": "Object", "name": "Deep", "properties": [{"name": "deeper", "type": "any"}]},
	{"$type": "Object", "name": "Unused", "properties": [], "additionalPropertiesType": "string"}
]}}`

// The snapshot keeps the facts, and no sentences.
func TestSnapshotOfWhatAzmcpSays(t *testing.T) {
	t.Parallel()
	snapshot, err := snapshotOf([]byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	reachable(snapshot)
	got, err := json.Marshal(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	var same, want any
	if err := json.Unmarshal(got, &same); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"type": "Provider/things", "apiVersion": "2024-01-01", "scopes": "ResourceGroup", "types": {
		"Provider/things": {"properties": {
			"name": "string; required; constant; minLength: 1; maxLength: 5; pattern: ^[a-z]{1,5}$",
			"apiVersion": "'2024-01-01'; readOnly", "kind": "'One' | 'Two' | string", "kinds": "('One' | 'Two')[]", "policy": "Policy", "state": "State; readOnly"}},
		"Policy": {"properties": {"days": "int"}, "discriminator": "type", "variants": {"Periodic": {"properties": {"type": "'Periodic'; required"}}}},
		"State": {"properties": {"deep": "object[]"}}}}`), &want); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(same)
	b, _ := json.Marshal(want)
	if !bytes.Equal(a, b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
	if _, err := snapshotOf([]byte("fail: an exception")); err == nil {
		t.Error("an answer that is none is taken")
	}
	if _, err := snapshotOf([]byte("{}")); err == nil {
		t.Error("an answer without a resource is taken")
	}
}

// The embedded types are those that the infrastructure uses, and what a person wrote
// down says so.
func TestSnapshotHoldsWhatIsUsed(t *testing.T) {
	t.Parallel()
	report, err := check("..")
	if err != nil {
		t.Fatal(err)
	}
	have, err := snapshots("../bicep/types")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, reference := range report.ResourceTypes() {
		resource, _, _ := strings.Cut(reference, "@")
		used[resource] = true
	}
	for resource, snapshot := range have {
		if !used[resource] {
			t.Errorf("%s is not used: make infra-types, or remove %s", resource, fileOf(resource))
		}
		if snapshot.Source != "" && !strings.Contains(snapshot.Source, "by hand") {
			t.Errorf("%s: its source is %q", resource, snapshot.Source)
		}
		var again bicep.Snapshot
		text := written(snapshot)
		if err := json.Unmarshal(text, &again); err != nil || !bytes.Equal(written(&again), text) {
			t.Errorf("%s is not written the same again: %v", resource, err)
		}
	}
}
