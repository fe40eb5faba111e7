package cosmos

import (
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// indexTree is an indexing policy as a document is walked by it: the longer pattern wins,
// and /? over /* of the same length.
type indexTree struct {
	children map[string]*indexTree // by name; the elements of a list are at []
	value    verdict               // of /?: what is here, where it is no object and no list
	below    verdict               // of /*: what is here and below
}

// verdict says whether a pattern includes or excludes; most places have none.
type verdict int8

const (
	included verdict = 1
	excluded verdict = -1
)

func (p indexingPolicy) tree() *indexTree {
	root := &indexTree{}
	if !p.indexed() {
		return root
	}
	if len(p.IncludedPaths)+len(p.ExcludedPaths) == 0 {
		root.below = included
	}
	for _, one := range p.IncludedPaths {
		root.add(one.Path, included)
	}
	for _, one := range p.ExcludedPaths {
		root.add(one.Path, excluded)
	}
	return root
}

func (t *indexTree) add(pattern string, v verdict) {
	steps := strings.Split(pattern[1:], "/")
	last := len(steps) - 1
	for _, step := range steps[:last] {
		step = strings.Trim(step, `"`)
		next := t.children[step]
		if next == nil {
			if next = (&indexTree{}); t.children == nil {
				t.children = map[string]*indexTree{}
			}
			t.children[step] = next
		}
		t = next
	}
	if steps[last] == "?" {
		t.value = v
	} else {
		t.below = v
	}
}

// serves says whether a path of a value, as query.Filters has it, is in the index.
func (t *indexTree) serves(path string) bool {
	if path == "/id/?" || path == "/_ts/?" {
		return t.below != 0 // where anything is indexed, these are
	}
	var below verdict
	for step := range strings.SplitSeq(path[1:], "/") {
		if t.below != 0 {
			below = t.below
		}
		if step == "?" && t.value != 0 {
			below = t.value
		}
		if t = t.children[step]; t == nil {
			break
		}
	}
	return below == included
}

// names reports whether a pattern matches the path of a value itself and not only of a parent.
func (t *indexTree) names(path string) bool {
	steps := strings.Split(path[1:], "/")
	for _, step := range steps[:len(steps)-1] {
		if t = t.children[step]; t == nil {
			return false
		}
	}
	return t.value == included
}

// values counts the values of a document that the policy has in its index. below is the
// verdict for a path that no pattern matches.
func (t *indexTree) values(text []byte, below verdict) int {
	value := below
	if t != nil {
		if t.below != 0 {
			below, value = t.below, t.below
		}
		if t.value != 0 {
			value = t.value
		}
		if below != included && value != included && len(t.children) == 0 {
			return 0
		}
	} else if below != included {
		return 0
	}
	n := 0
	switch text[0] {
	case '{':
		document.EachNamed(text, func(name, value []byte) bool {
			n += t.child(name).values(value, below)
			return true
		})
	case '[':
		elements := t.child([]byte("[]"))
		document.EachElement(text, func(e []byte) { n += elements.values(e, below) })
	default:
		if value == included {
			n = 1
		}
	}
	return n
}

func (t *indexTree) child(name []byte) *indexTree {
	if t == nil {
		return nil
	}
	return t.children[string(name)]
}
