package app

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/store"
)

// runCache remembers runs as this process last wrote them, to spare the read that
// the next result would begin with. Another process may have written since, so
// what is recalled is only ever the ground of a write that the ETag guards: a
// decision that would write nothing is taken again on what the store has.
type runCache = *lru.Cache[store.Key, store.Item[engine.Run]]

// remembered is how many runs are kept, each of at most memorable bytes of
// payload: 32 MB at the very most, and in practice a few.
const (
	remembered = 2048
	memorable  = 16 << 10
)

func newRunCache() runCache {
	cache, err := lru.New[store.Key, store.Item[engine.Run]](remembered)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return cache
}

// recallRun gives a run, and whether it comes from memory.
func (a *App) recallRun(ctx context.Context, key store.Key) (run store.Item[engine.Run], recalled bool, err error) {
	if run, ok := a.runs.Get(key); ok {
		return run, true, nil
	}
	run, err = store.Read[engine.Run](ctx, a.store, key)
	return run, false, err
}

// remember keeps a run as it was just written or read. One that has ended is not
// needed, and one that carries much costs more to keep than to read.
func (a *App) remember(key store.Key, run *engine.Run, etag string) {
	if run.Status.Terminal() || run.Payload() > memorable {
		a.runs.Remove(key)
		return
	}
	a.runs.Add(key, store.Item[engine.Run]{ID: key.ID, PK: key.PK, Type: key.Type, Doc: *run, ETag: etag})
}
