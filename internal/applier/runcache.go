package applier

import (
	"encoding/json"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// runCache remembers runs as this process last wrote or read them, which spares the first read of
// the next result. Another process may have written a run since. So a recalled run only serves
// decisions that write it, which its ETag guards; the applier takes others again on the stored run.
//
// The cache is bounded in bytes and keeps runs as JSON, which takes a third of their room in use:
// some ten thousand small runs fit, so that a step costs the same in a large batch. It is safe for
// concurrent use.
type runCache struct {
	mu    sync.Mutex
	runs  *simplelru.LRU[store.Key, encodedRun]
	bytes int
}

type encodedRun struct {
	body    []byte
	version store.Version
}

// The sizes of the cache and of the largest run that it keeps: a large run costs more to keep than
// to read.
const (
	remembered = 24 << 20
	memorable  = 16 << 10
	overhead   = 200 // of an entry, besides its body
)

func newRunCache() *runCache {
	c := &runCache{}
	var err error
	c.runs, err = simplelru.NewLRU(remembered/overhead, func(_ store.Key, r encodedRun) { c.bytes -= len(r.body) + overhead })
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return c
}

func (c *runCache) get(key store.Key) (encodedRun, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs.Get(key)
}

func (c *runCache) put(key store.Key, r encodedRun) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs.Remove(key)
	c.runs.Add(key, r)
	for c.bytes += len(r.body) + overhead; c.bytes > remembered; {
		c.runs.RemoveOldest()
	}
}

func (c *runCache) remove(key store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs.Remove(key)
}

// recallRun returns a run as this process last wrote or read it.
func (a *Applier) recallRun(key store.Key) (run store.Item[model.Run], ok bool) {
	r, ok := a.runs.get(key)
	if !ok {
		return run, false
	}
	run = store.Item[model.Run]{Key: key, Version: r.version}
	return run, json.Unmarshal(r.body, &run.Doc) == nil
}

// rememberRun keeps a run as it was just written. A run that has ended is not needed.
func (a *Applier) rememberRun(key store.Key, run *model.Run, version store.Version) {
	if run.Status.Terminal() || run.Payload() > memorable {
		a.runs.remove(key)
		return
	}
	body, err := json.Marshal(run)
	if err != nil { // the store would not have taken it
		a.runs.remove(key)
		return
	}
	a.runs.put(key, encodedRun{body: body, version: version})
}

// forgetRuns removes the runs among some documents, so that the next decision reads them.
func (a *Applier) forgetRuns(keys []store.Key) {
	for _, key := range keys {
		a.runs.remove(key)
	}
}
