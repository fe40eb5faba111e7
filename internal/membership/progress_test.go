package membership

import (
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/store"
)

// TestProgress checks that a request goes on behind the people it has added, and does not add people
// who were members when it was first received.
func TestProgress(t *testing.T) {
	t.Parallel()
	var people []Newcomer
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		people = append(people, Newcomer{Key: key})
	}
	p := newProgress(audit.Caller{Name: "ada", Key: "k"}, 1, store.Item[store.IdempotencyRecord]{}, people)
	keys := func() (keys []string) {
		for _, n := range p.remaining() {
			keys = append(keys, n.Key)
		}
		return keys
	}
	p.markPresent([]string{"b", "i"})
	if got := keys(); !slices.Equal(got, []string{"a", "c", "d", "e", "f", "g", "h", "j"}) {
		t.Errorf("at first: %v", got)
	}
	left := p.remaining()
	p.item.Doc = p.after(3, left[3:])
	if got := keys(); !slices.Equal(got, []string{"e", "f", "g", "h", "j"}) {
		t.Errorf("after a page of three: %v", got)
	}
	p.item.Doc = p.after(5, nil)
	if got := keys(); got != nil {
		t.Errorf("after all: %v", got)
	}
	var result api.AddResult
	if p.fill(&result); result.Added != 8 || !slices.Equal(result.Present, []string{"b", "i"}) {
		t.Errorf("result: %+v", result)
	}
}
