package applier

import (
	"encoding/json"
	"reflect"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// recallCache remembers runs, the members in a phase and batches, as this process last wrote or read them,
// which spares the reads of the next result. Another process may have written them since. So a
// recalled document only serves decisions that write it, which its ETag guards; the applier takes
// others again on the stored documents.
//
// The cache keeps documents as the engine uses them, which spares to decode them. Decisions share
// them: none changes a document that it has loaded. The cache is bounded in bytes: some seven
// thousand small runs with their members fit, so that a step costs the same in a large batch. It is
// safe for concurrent use.
type recallCache struct {
	mu    sync.Mutex
	docs  *simplelru.LRU[store.Key, recalledDoc]
	bytes int
}

type recalledDoc struct {
	doc  any // a *model.Run, a *model.Member or a *model.Batch
	etag string
	size int // of doc and the entry, in bytes
}

// The sizes of the cache and of the largest document that it keeps: a large one costs more to keep
// than to read.
const (
	remembered = 32 << 20
	memorable  = 48 << 10
	overhead   = 250 // of an entry, besides its document
)

func newRecallCache() *recallCache {
	c := &recallCache{}
	var err error
	c.docs, err = simplelru.NewLRU(remembered/overhead, func(_ store.Key, d recalledDoc) { c.bytes -= d.size })
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return c
}

func (c *recallCache) get(key store.Key) (recalledDoc, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.docs.Get(key)
}

func (c *recallCache) put(key store.Key, d recalledDoc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.docs.Remove(key)
	c.docs.Add(key, d)
	for c.bytes += d.size; c.bytes > remembered; {
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

// recall returns a document as this process last wrote or read it, and its ETag; nil if it is not
// remembered.
func recall[T any](c *recallCache, key store.Key) (doc *T, etag string) {
	d, _ := c.get(key)
	doc, _ = d.doc.(*T)
	return doc, d.etag
}

// remember keeps a document as it was just written or read. It does not keep a run or a batch that has ended
// and a member who is in no phase, which are not needed, and a document of a later version of this
// program.
func (c *recallCache) remember(key store.Key, doc any, version store.Version) {
	var needed bool
	size := overhead
	switch doc := doc.(type) {
	case *model.Run:
		needed = !doc.Status.Terminal()
		size += sizeOfRun(doc)
	case *model.Member:
		needed = doc.OpenPhase != 0
		size += sizeOfMember(doc)
	case *model.Batch:
		needed = !doc.Status.Terminal()
		size += sizeOfBatch(doc)
	default:
		return
	}
	if needed && version.Unknown == "" && size <= memorable {
		c.put(key, recalledDoc{doc: doc, etag: version.ETag, size: size})
		return
	}
	c.remove(key)
}

// What the parts of documents take in memory, besides their texts and payloads.
var (
	runSize       = int(reflect.TypeFor[model.Run]().Size())
	stepSize      = int(reflect.TypeFor[model.Step]().Size())
	abandonedSize = int(reflect.TypeFor[model.Abandoned]().Size())
	memberSize    = int(reflect.TypeFor[model.Member]().Size())
	batchSize     = int(reflect.TypeFor[model.Batch]().Size())
	phaseSize     = int(reflect.TypeFor[model.Phase]().Size())
	timeSize      = 24
	mapSize       = 48 + 8*40 // of up to eight values
)

func sizeOfRun(r *model.Run) int {
	size := runSize + len(r.Key) + len(r.PhaseName) + len(r.Runbook) + len(r.LastEvent) + len(r.Error) + 6*timeSize
	for _, values := range []map[string]json.RawMessage{r.Outputs, r.Variables, r.Secrets} {
		size += sizeOfMap(values)
	}
	for _, s := range r.Steps {
		size += stepSize + len(s.Params) + len(s.Result) + len(s.Job) + len(s.Error) + len(s.Function) + len(s.CacheID) + 2*timeSize
		for _, a := range s.Abandoned {
			size += abandonedSize + timeSize + len(a.JobID) + len(a.Result) + len(a.Error)
		}
	}
	return size
}

func sizeOfMember(m *model.Member) int {
	return memberSize + len(m.Key) + len(m.Hash) + len(m.Error) + 8*len(m.Queue) + 4*timeSize +
		sizeOfMap(m.Data) + sizeOfMap(m.WorkerData) + sizeOfOverrides(m.Overrides)
}

// sizeOfBatch is about what a batch takes. What only large batches have, such as members who join, is counted in general.
func sizeOfBatch(b *model.Batch) int {
	size := batchSize + len(b.Error) + 10*timeSize + 64*(len(b.Joining)+len(b.Moves))
	for _, p := range b.Phases {
		size += phaseSize + len(p.Name) + len(p.Reason) + 4*timeSize
	}
	return size
}

func sizeOfOverrides(overrides map[string]model.Override) (size int) {
	for name, o := range overrides {
		size += mapSize + timeSize + len(name) + len(o.Source) + len(o.By)
	}
	return size
}

func sizeOfMap(values map[string]json.RawMessage) int {
	if values == nil {
		return 0
	}
	return mapSize*(1+len(values)/8) + model.PayloadSize(values)
}
