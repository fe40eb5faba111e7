package memory_test

import (
	"errors"
	"testing"

	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

func TestCloneSharesNoWrites(t *testing.T) {
	t.Parallel()
	key := func(id string) store.Key { return store.Key{PK: "p", ID: id, Type: "t"} }
	apply := func(s *memory.Store, w store.Write) store.Version {
		t.Helper()
		applied, err := s.Apply(t.Context(), store.Writes{w})
		if err != nil {
			t.Fatal(err)
		}
		return applied.Version(0)
	}
	text := func(s *memory.Store) (all string) {
		t.Helper()
		documents, err := s.Dump(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			all += d.ID + string(d.Doc) + " "
		}
		return all
	}
	first := memory.New(memory.Config{})
	one := apply(first, store.Create(key("1"), 1))
	gone := apply(first, store.Create(key("2"), 2))
	second := first.Clone()

	two := apply(second, store.Replace(key("1"), 11, one))
	apply(second, store.Create(key("0"), 0))
	apply(first, store.Delete(key("2"), gone.ETag))
	if got := text(first); got != "11 " {
		t.Errorf("the first has %q", got)
	}
	if got := text(second); got != "00 111 22 " {
		t.Errorf("the clone has %q", got)
	}
	if _, err := second.Apply(t.Context(), store.Writes{store.Replace(key("1"), 12, one)}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a version of before the clone: %v", err)
	}
	apply(second, store.Replace(key("1"), 12, two))
	if got := second.Versions() - first.Versions(); got != 3 {
		t.Errorf("the clone wrote %d versions more", got)
	}
}
