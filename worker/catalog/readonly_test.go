package catalog_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// A function that only reads says so to people and to programs.
func TestReadOnlyFunctionsAreDeclared(t *testing.T) {
	t.Parallel()
	readOnly := 0
	for _, f := range catalog.Standard() {
		if reads := strings.HasPrefix(f.Repeated, "Reads only."); f.ReadOnly != reads || f.ReadOnly != (strings.HasPrefix(f.Name, "Test-") || strings.HasPrefix(f.Name, "Get-")) {
			t.Errorf("%s: read-only %v, redelivery: %s", f.Name, f.ReadOnly, f.Repeated)
		}
		if f.Signature().ReadOnly != f.ReadOnly || catalog.FromSignature(f.Signature()).ReadOnly != f.ReadOnly {
			t.Errorf("%s: its signature has another declaration", f.Name)
		}
		if f.ReadOnly {
			readOnly++
		}
	}
	if readOnly == 0 {
		t.Error("no function is read-only")
	}
}
