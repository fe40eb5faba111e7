package cosmos

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// indexPolicy lists the paths that a query filters or sorts by, and no other. The
// infrastructure creates the container with the same file. A path that a query sorts by must
// be listed itself: with a wildcard the service leaves out the items that do not have it.
//
//go:embed index-policy.json
var indexPolicy []byte

func indexing() (*azcosmos.IndexingPolicy, error) {
	policy := &azcosmos.IndexingPolicy{}
	if err := json.Unmarshal(indexPolicy, policy); err != nil {
		return nil, fmt.Errorf("store: index-policy.json: %w", err)
	}
	return policy, nil
}

// same reports whether a container has all that a policy has, in any order; the service adds
// paths of its own to those that are excluded.
func same(has, wanted *azcosmos.IndexingPolicy) bool {
	if has == nil || has.IndexingMode != wanted.IndexingMode || len(has.IncludedPaths) != len(wanted.IncludedPaths) {
		return false
	}
	for _, path := range wanted.IncludedPaths {
		if !slices.Contains(has.IncludedPaths, path) {
			return false
		}
	}
	for _, path := range wanted.ExcludedPaths {
		if !slices.Contains(has.ExcludedPaths, path) {
			return false
		}
	}
	return true
}
