package catalog_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

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
