package store

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// indexPolicy is what the container's items are indexed by: the paths that a query
// filters or sorts by, and no other. The infrastructure makes the container with the
// same file. A path that a query sorts by has to stand there by itself: by a wildcard,
// the service leaves out the items that do not have it.
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
