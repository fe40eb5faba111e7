package catalog_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// marker is where the part of the page begins that is the catalogue's.
const marker = "<!-- What follows is written from the catalogue: UPDATE_GOLDEN=1 go test ./worker/catalog -->\n"

func TestReferenceIsTheCatalogue(t *testing.T) {
	t.Parallel()
	const path = "../../docs/functions.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	byHand, have, found := strings.Cut(string(page), marker)
	if !found {
		t.Fatalf("%s has no line %s", path, marker)
	}
	var want strings.Builder
	for _, f := range catalog.Standard() {
		describe(&want, f)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(byHand+marker+want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want.String() {
		t.Errorf("%s is not as the catalogue has it: UPDATE_GOLDEN=1 writes it anew", path)
	}
}

func describe(w *strings.Builder, f catalog.Function) {
	fmt.Fprintf(w, "\n## %s\n\n%s\n\n| parameter | type | |\n| --- | --- | --- |\n", f.Name, f.Description)
	for _, p := range f.Params {
		name := p.Name
		if p.Required {
			name += ", required"
		}
		if p.Secret {
			name += ", secret"
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", name, strings.ReplaceAll(string(p.Type), "|", ", "), p.Description)
	}
	if len(f.Result) == 0 {
		fmt.Fprintf(w, "\n**Answers** true.\n")
	} else {
		fmt.Fprintf(w, "\n**Answers** an object:\n\n| field | |\n| --- | --- |\n")
		for _, field := range f.Result {
			fmt.Fprintf(w, "| %s | %s |\n", field.Name, field.Description)
		}
	}
	fmt.Fprintf(w, "\n**Needs** %s.\n\n**Repeated**: %s\n", strings.Join(f.Permissions, "; "), f.Repeated)
}

func TestEveryFunctionIsDescribed(t *testing.T) {
	t.Parallel()
	for _, f := range catalog.Standard() {
		if f.Description == "" || f.Repeated == "" || len(f.Permissions) == 0 {
			t.Errorf("%s lacks a description, what happens when it is repeated, or the permissions it needs", f.Name)
		}
		for _, p := range f.Params {
			if !strings.HasSuffix(p.Description, ".") {
				t.Errorf("%s: parameter %s is not described by a sentence", f.Name, p.Name)
			}
		}
	}
}
