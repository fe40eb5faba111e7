package applier

import (
	"fmt"
	"testing"

	"github.com/matoolkit/matoolkit/internal/store"
)

func TestRunCacheForgetsTheOldestBeyondItsBytes(t *testing.T) {
	t.Parallel()
	c := newRunCache()
	const size = 64 << 10
	key := func(i int) store.Key { return store.Key{PK: "p", ID: fmt.Sprint(i)} }
	const fit = remembered / (size + overhead)
	for i := range fit + 5 {
		c.put(key(i), encodedRun{body: make([]byte, size), version: store.Version{ETag: fmt.Sprint(i)}})
		c.put(key(i), encodedRun{body: make([]byte, size), version: store.Version{ETag: fmt.Sprint(i, "again")}}) // takes the place of the first
	}
	for i := range fit + 5 {
		r, ok := c.get(key(i))
		if want := i >= 5; ok != want || ok && r.version.ETag != fmt.Sprint(i, "again") {
			t.Fatalf("run %d of %d: remembered %t as %q", i, fit+5, ok, r.version.ETag)
		}
	}
	for i := range fit + 5 {
		c.remove(key(i))
	}
	if c.bytes != 0 || c.runs.Len() != 0 {
		t.Fatalf("empty, it counts %d bytes in %d runs", c.bytes, c.runs.Len())
	}
}
