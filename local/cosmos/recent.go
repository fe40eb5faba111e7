package cosmos

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// recentItems remembers items that the writer wrote last. Most items are written several times
// within moments: a write of one that is remembered reads nothing from the database, to compare its
// ETag and to move its entries, whose places are remembered with it. Only the writer's goroutine uses it, and only the writer changes items.
//
// An item whose transaction was rolled back is not remembered.
type recentItems struct {
	items *simplelru.LRU[itemKey, item]
	bytes int
}

type itemKey struct {
	container int64
	pk, id    string
}

func (w write) key() itemKey { return itemKey{w.c.number, w.pk, w.id} }

// The sizes of all remembered items, and of the largest one.
const (
	maxRecent     = 8 << 20
	maxRecentItem = 64 << 10
	recentEntry   = 300 // of an item, besides its body and its places
	recentPlace   = 60  // besides its values
)

// size returns about how many bytes an item takes that is remembered.
func (it item) size() int {
	size := recentEntry + len(it.body)
	for _, e := range it.places {
		if e != nil {
			size += recentPlace + len(e.equal) + len(e.sorted)
		}
	}
	return size
}

func newRecentItems() *recentItems {
	r := &recentItems{}
	var err error
	r.items, err = simplelru.NewLRU(maxRecent/recentEntry, func(_ itemKey, it item) { r.bytes -= it.size() })
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return r
}

// keep remembers the items that a transaction left behind; one without a body is gone.
func (r *recentItems) keep(changed map[itemKey]item) {
	for key, it := range changed {
		r.items.Remove(key)
		if it.body == nil || len(it.body) > maxRecentItem {
			continue
		}
		r.items.Add(key, it)
		for r.bytes += it.size(); r.bytes > maxRecent; {
			r.items.RemoveOldest()
		}
	}
}

// forget removes items whose content is not known.
func (r *recentItems) forget(changed map[itemKey]item) {
	for key := range changed {
		r.items.Remove(key)
	}
}
