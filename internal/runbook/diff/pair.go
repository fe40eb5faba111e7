package diff

import (
	"fmt"
	"slices"
)

// paired is an item of two lists, or of one of them.
type paired[T any] struct {
	name     string
	from, to T
	kind     Kind // Added or Removed: of one list only; Moved; empty where it stands where it stood
	// For a moved item: "first", or the item before it, then and now.
	wasAfter, isAfter string
}

// pair finds the items of a list in a newer one, by name, in the order of the newer
// list; a removed item keeps its place. As few items as possible count as moved. Each
// list has each name once.
func pair[T any](from, to []T, name func(T) string) []paired[T] {
	place := map[string]int{} // in the older list
	for i, item := range from {
		place[name(item)] = i
	}
	newer := map[string]bool{}
	var common []int // the older places of those in both, in the newer order
	for _, item := range to {
		newer[name(item)] = true
		if i, ok := place[name(item)]; ok {
			common = append(common, i)
		}
	}
	stays := map[int]bool{}
	for _, i := range increasing(common) {
		stays[i] = true
	}

	var all []paired[T]
	next := 0 // of the older list: those before it are dealt with
	removed := func(until int) {
		for ; next < until; next++ {
			if n := name(from[next]); !newer[n] {
				all = append(all, paired[T]{name: n, from: from[next], kind: Removed})
			}
		}
	}
	for i, item := range to {
		p := paired[T]{name: name(item), to: item}
		old, ok := place[p.name]
		switch {
		case !ok:
			p.kind = Added
		case stays[old]:
			removed(old)
			p.from = from[old]
		default:
			p.from, p.kind = from[old], Moved
			p.wasAfter, p.isAfter = after(from, old, name), after(to, i, name)
		}
		all = append(all, p)
	}
	removed(len(from))
	return all
}

func after[T any](list []T, i int, name func(T) string) string {
	if i == 0 {
		return "first"
	}
	return fmt.Sprintf("after %q", name(list[i-1]))
}

// increasing is the longest part of a list whose numbers only increase.
func increasing(numbers []int) []int {
	var ends []int // by length: the place of the least number that such a part ends with
	before := make([]int, len(numbers))
	for i, n := range numbers {
		length, _ := slices.BinarySearchFunc(ends, n, func(end, n int) int { return numbers[end] - n })
		before[i] = -1
		if length > 0 {
			before[i] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, i)
		}
		ends[length] = i
	}
	if len(ends) == 0 {
		return nil
	}
	var part []int
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		part = append(part, numbers[i])
	}
	slices.Reverse(part)
	return part
}
