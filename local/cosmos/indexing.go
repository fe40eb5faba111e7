package cosmos

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// indexingPolicy is the part of a container's policy that decides whether a
// query is served at all. There are no such indexes here; the service has
// them, and a query that it refuses must fail here too.
type indexingPolicy struct {
	IncludedPaths    []struct{ Path string }
	ExcludedPaths    []struct{ Path string }
	CompositeIndexes [][]struct{ Path, Order string }
}

func (c *container) indexing() (indexingPolicy, error) {
	var definition struct{ IndexingPolicy indexingPolicy }
	err := json.Unmarshal(c.definition, &definition)
	return definition.IndexingPolicy, err
}

// indexes refuses an ORDER BY that the container's policy does not serve.
func (c *container) indexes(order []query.Order) error {
	if len(order) == 0 {
		return nil
	}
	policy, err := c.indexing()
	if err != nil {
		return err
	}
	if len(order) > 1 {
		if !policy.hasComposite(order) {
			return errors.New("ORDER BY with several paths needs a composite index that the container does not have")
		}
		return nil
	}
	if policy.excludes(order[0].Path) {
		return fmt.Errorf("ORDER BY /%s: the container's indexing policy excludes the path", strings.Join(order[0].Path, "/"))
	}
	return nil
}

// hasComposite says whether an index has these paths in this order, or in
// exactly the reverse one.
func (p indexingPolicy) hasComposite(order []query.Order) bool {
	for _, index := range p.CompositeIndexes {
		if len(index) != len(order) {
			continue
		}
		same, reversed := true, true
		for i, by := range order {
			on := index[i].Path == "/"+strings.Join(by.Path, "/")
			descending := strings.EqualFold(index[i].Order, "descending")
			same = same && on && descending == by.Descending
			reversed = reversed && on && descending != by.Descending
		}
		if same || reversed {
			return true
		}
	}
	return false
}

// excludes says whether a path is excluded: the longer pattern wins, and an
// exact one (/?) over a subtree (/*) of the same length. Without a policy
// everything is included.
func (p indexingPolicy) excludes(path []string) bool {
	included, excluded := -1, -1
	for _, pattern := range p.IncludedPaths {
		included = max(included, precision(pattern.Path, path))
	}
	for _, pattern := range p.ExcludedPaths {
		excluded = max(excluded, precision(pattern.Path, path))
	}
	return excluded > included
}

// precision is how closely a pattern such as /a/b/* or /a/b/? fits a path, or
// -1 when it does not.
func precision(pattern string, path []string) int {
	steps := strings.Split(strings.Trim(pattern, "/"), "/")
	last := len(steps) - 1
	if len(path) < last || steps[last] == "?" && len(path) != last {
		return -1
	}
	for i, step := range steps[:last] {
		if strings.Trim(step, `"`) != path[i] {
			return -1
		}
	}
	if steps[last] == "?" {
		return 2*last + 1
	}
	return 2 * last
}
