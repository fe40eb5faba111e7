package rehearse_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// A new function needs an entry that says what the local tenants leave out.
func TestEachFunctionIsInTheTableOfWhatIsNotModelled(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, f := range catalog.Standard() {
		found := false
		for _, entry := range tenant.NotModelled() {
			for _, pattern := range entry.Functions {
				if pattern != "*" && (tenant.Unmodelled{Functions: []string{pattern}}).Touches(f.Name) {
					found, used[pattern] = true, true
				}
			}
		}
		if !found {
			t.Errorf("local/tenant/notmodelled.json has no entry for %s", f.Name)
		}
	}
	for _, entry := range tenant.NotModelled() {
		for _, pattern := range entry.Functions {
			if pattern != "*" && !used[pattern] {
				t.Errorf("no function is named %s", pattern)
			}
		}
	}
}
