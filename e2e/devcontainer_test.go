package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDevcontainer reads what a container to develop in is made of: it has the Go of
// go.mod, and what it runs when it is made is there to be run.
func TestDevcontainer(t *testing.T) {
	t.Parallel()
	var container struct {
		Features map[string]map[string]any `json:"features"`
		Created  string                    `json:"postCreateCommand"`
	}
	if err := json.Unmarshal([]byte(readRepositoryFile(t, ".devcontainer/devcontainer.json")), &container); err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readRepositoryFile(t, "go.mod"))
	for name, options := range container.Features {
		if strings.Contains(name, "/go:") && options["version"] != wanted[1] {
			t.Errorf("it has Go %v, go.mod wants %s", options["version"], wanted[1])
		}
	}
	if len(container.Features) < 4 {
		t.Errorf("only %d features", len(container.Features))
	}
	script, err := os.Stat(filepath.Join(root, filepath.FromSlash(container.Created)))
	if err != nil || script.Mode().Perm()&0o111 != 0o111 {
		t.Errorf("%s: %v, or it cannot be run", container.Created, err)
	}
}
