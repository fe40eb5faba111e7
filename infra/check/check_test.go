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

// The snapshot keeps the facts, and no sentences.
func TestSnapshotOfWhatAzmcpSays(t *testing.T) {
	t.Parallel()
	answer, err := os.ReadFile("testdata/answer.json")
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := snapshotOf(answer)
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

// A program that answers as azmcp does: the snapshot is written, compared, and found to
// differ once it is changed.
func TestSnapshotIsComparedWithAzmcp(t *testing.T) {
	t.Parallel()
	dir := directory(t, "resource thing 'Provider/things@2024-01-01' = {\n  name: 'a'\n}\n")
	azmcp, types := "testdata/azmcp", filepath.Join(dir, "bicep", "types")
	if err := os.MkdirAll(types, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(types, "Provider_things.json")
	try := func(want string, arguments ...string) {
		t.Helper()
		var out, problems bytes.Buffer
		run(t.Context(), append([]string{"-azmcp", azmcp}, append(arguments, dir)...), &out, &problems)
		if !strings.Contains(out.String(), want) {
			t.Errorf("said %q and %q, not %q", out.String(), problems.String(), want)
		}
	}
	try("Provider/things is used, and not in the snapshot")
	try("1 types of azmcp are in", "-write")
	try("0 of 1 types differ from azmcp")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte("maxLength: 5"), []byte("maxLength: 6"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	try("it is not what azmcp says of Provider/things")
	if err := os.WriteFile(filepath.Join(dir, "main.bicep"), []byte(right), 0o600); err != nil {
		t.Fatal(err)
	}
	try("no longer used: Provider/things", "-write")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("what is not used stays: %v", err)
	}
}
