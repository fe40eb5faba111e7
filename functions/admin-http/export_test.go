package adminhttp

import (
	"maps"
	"slices"
)

// ActionNames are the names of all actions, in order.
func ActionNames() []string { return slices.Sorted(maps.Keys(actions)) }
