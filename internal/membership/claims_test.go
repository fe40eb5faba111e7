package membership

import (
	"fmt"
	"slices"
	"testing"
)

// TestClaimsComputeEachIDOnce: the order of claims takes a number of digests that grows with
// the number of people, and not with the number of comparisons.
func TestClaimsComputeEachIDOnce(t *testing.T) {
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("p%04d", i)
	}
	one := testing.AllocsPerRun(3, func() { inClaimOrder(keys[:1]) })
	all := testing.AllocsPerRun(3, func() { inClaimOrder(keys) })
	if limit := one * float64(len(keys)); all > limit {
		t.Errorf("%d people take %.0f allocations, want at most %.0f", len(keys), all, limit)
	}
	sorted := inClaimOrder(keys)
	if slices.Sort(sorted); !slices.Equal(sorted, keys) {
		t.Error("the order of claims does not have the same people")
	}
}
