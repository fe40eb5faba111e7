package cosmos

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// indexingPolicy is the indexing policy of a container. This package keeps no such
// indexes. It refuses the queries that the service would refuse for lack of an index, and
// charges and counts a scan where the service would scan.
//
// As the public documentation has it: id and _ts are always indexed; ORDER BY is refused
// on a path that is not, and on several without a composite index; WHERE is not refused,
// but finds nothing by the index on such a path. ORDER BY leaves out the documents that do
// not have the path, unless a pattern of the policy names it by itself.
type indexingPolicy struct {
	Automatic        *bool
	IndexingMode     string
	IncludedPaths    []struct{ Path string }
	ExcludedPaths    []struct{ Path string }
	CompositeIndexes [][]struct{ Path, Order string }
}

// check refuses a policy that the service does.
func (p indexingPolicy) check() error {
	if mode := strings.ToLower(p.IndexingMode); mode != "" && mode != "consistent" && mode != "none" {
		return fmt.Errorf("the indexing mode %q is not supported: use consistent or none", p.IndexingMode)
	}
	root := len(p.IncludedPaths)+len(p.ExcludedPaths) == 0
	var seen []string
	for _, one := range slices.Concat(p.IncludedPaths, p.ExcludedPaths) {
		if !strings.HasPrefix(one.Path, "/") || !strings.HasSuffix(one.Path, "/?") && !strings.HasSuffix(one.Path, "/*") {
			return fmt.Errorf("the indexing path %q does not begin with / and end with /? or /*", one.Path)
		}
		if slices.Contains(seen, one.Path) {
			return fmt.Errorf("the indexing policy has the path %q twice", one.Path)
		}
		seen = append(seen, one.Path)
		root = root || one.Path == "/*"
	}
	if !root && p.indexed() {
		return errors.New("the indexing policy must include or exclude the root path /*")
	}
	for _, index := range p.CompositeIndexes {
		if len(index) < 2 {
			return errors.New("a composite index must have at least two paths")
		}
		for _, one := range index {
			if !strings.HasPrefix(one.Path, "/") || strings.HasSuffix(one.Path, "/?") || strings.HasSuffix(one.Path, "/*") {
				return fmt.Errorf("the path %q of a composite index does not begin with /, or ends with /? or /*", one.Path)
			}
			if order := strings.ToLower(one.Order); order != "" && order != "ascending" && order != "descending" {
				return fmt.Errorf("the order %q of a composite index is neither ascending nor descending", one.Order)
			}
		}
	}
	return nil
}

// indexed says whether anything is.
func (p indexingPolicy) indexed() bool {
	return !strings.EqualFold(p.IndexingMode, "none") && (p.Automatic == nil || *p.Automatic)
}

// sorts refuses an ORDER BY that the container's policy does not serve.
func (c *container) sorts(order []query.Order) error {
	if len(order) > 1 {
		if !c.policy.hasComposite(order) {
			return errors.New("no composite index serves the ORDER BY of several paths, in this order or reversed")
		}
		return nil
	}
	for _, by := range order {
		if path := "/" + strings.Join(by.Path, "/") + "/?"; !c.index.serves(path) {
			return fmt.Errorf("ORDER BY %s: the container's indexing policy excludes the path", path)
		}
	}
	return nil
}

// leavesOut says whether an ORDER BY gives only the documents that have its path.
func (c *container) leavesOut(order []query.Order) bool {
	if len(order) != 1 {
		return false
	}
	path := "/" + strings.Join(order[0].Path, "/") + "/?"
	return path != "/id/?" && path != "/_ts/?" && !c.index.names(path)
}

// lacks are the paths that WHERE looks at and the container's policy does not index.
func (c *container) lacks(q *query.Query) []string {
	return slices.DeleteFunc(q.Filters(), c.index.serves)
}

// hasComposite says whether an index has these paths in this order, or in
// exactly the reverse one.
func (p indexingPolicy) hasComposite(order []query.Order) bool {
	for _, index := range p.CompositeIndexes {
		if !p.indexed() || len(index) != len(order) {
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
