package applier

import (
	"fmt"
	"testing"

	"github.com/matoolkit/matoolkit/internal/store"
)

func TestRecallCacheForgetsTheOldestBeyondItsBytes(t *testing.T) {
	t.Parallel()
	c := newRecallCache()
	const size = 64 << 10
	key := func(i int) store.Key { return store.Key{PK: "p", ID: fmt.Sprint(i)} }
	const fit = remembered / size
	for i := range fit + 5 {
		c.put(key(i), recalledDoc{size: size, etag: fmt.Sprint(i)})
		c.put(key(i), recalledDoc{size: size, etag: fmt.Sprint(i, "again")}) // takes the place of the first
	}
	for i := range fit + 5 {
		d, ok := c.get(key(i))
		if want := i >= 5; ok != want || ok && d.etag != fmt.Sprint(i, "again") {
			t.Fatalf("document %d of %d: remembered %t as %q", i, fit+5, ok, d.etag)
		}
	}
	for i := range fit + 5 {
		c.remove(key(i))
	}
	if c.bytes != 0 || c.docs.Len() != 0 {
		t.Fatalf("empty, it counts %d bytes in %d documents", c.bytes, c.docs.Len())
	}
}
