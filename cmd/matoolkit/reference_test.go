package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/matoolkit/matoolkit/docs/reference"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// TestReference compares the pages of docs/reference with the code that they describe.
func TestReference(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	pages := testenv.Must(reference.Pages(root, newRoot(command.Environment{}, func(string) string { return "" })))(t)
	for name, want := range pages {
		file := filepath.Join(root, "docs", "reference", name)
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("docs/reference/%s is not current (%v): run go generate ./docs/...", name, err)
		}
	}
}
