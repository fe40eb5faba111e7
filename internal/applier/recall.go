package applier

import (
	"encoding/json"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// recallCache remembers runs, and the members in a phase, as this process last wrote or read them,
// which spares the reads of the next result. Another process may have written them since. So a
// recalled document only serves decisions that write it, which its ETag guards; the applier takes
// others again on the stored documents.
//
// The cache is bounded in bytes and keeps documents as JSON, which takes a third of their room in
// use: some ten thousand small runs with their members fit, so that a step costs the same in a
// large batch. It is safe for concurrent use.
type recallCache struct {
	mu    sync.Mutex
	docs  *simplelru.LRU[store.Key, encodedDoc]
	bytes int
}

type encodedDoc struct {
	body []byte
	etag string
}

// The sizes of the cache and of the largest document that it keeps: a large one costs more to keep
// than to read.
const (
	remembered = 32 << 20
	memorable  = 24 << 10
	overhead   = 200 // of an entry, besides its body
)

func newRecallCache() *recallCache {
	c := &recallCache{}
	var err error
	c.docs, err = simplelru.NewLRU(remembered/overhead, func(_ store.Key, d encodedDoc) { c.bytes -= len(d.body) + overhead })
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return c
}

func (c *recallCache) get(key store.Key) (encodedDoc, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.docs.Get(key)
}

func (c *recallCache) put(key store.Key, d encodedDoc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.docs.Remove(key)
	c.docs.Add(key, d)
	for c.bytes += len(d.body) + overhead; c.bytes > remembered; {
		c.docs.RemoveOldest()
	}
}

func (c *recallCache) remove(keys ...store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		c.docs.Remove(key)
	}
}

// recall returns a document as this process last wrote or read it.
func recall[T any](c *recallCache, key store.Key) (item store.Item[T], ok bool) {
	d, ok := c.get(key)
	if !ok {
		return item, false
	}
	item = store.Item[T]{Key: key, Version: store.Version{ETag: d.etag}}
	return item, json.Unmarshal(d.body, &item.Doc) == nil
}

// remember keeps a document as it was just written or read. It does not keep a run that has ended
// and a member who is in no phase, which are not needed, and a document of a later version of this
// program.
func (c *recallCache) remember(key store.Key, doc any, version store.Version) {
	needed := false
	switch doc := doc.(type) {
	case *model.Run:
		needed = !doc.Status.Terminal()
	case *model.Member:
		needed = doc.OpenPhase != 0
	default:
		return
	}
	if needed && version.Unknown == "" {
		if body, err := json.Marshal(doc); err == nil && len(body) <= memorable {
			c.put(key, encodedDoc{body: body, etag: version.ETag})
			return
		}
	}
	c.remove(key)
}
