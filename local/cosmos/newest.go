package cosmos

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// newestItems remembers, for partitions that were asked for their newest items, the items that were
// written last. The service answers ORDER BY c._ts DESC with a TOP from an index. An index here would
// change with each write; this list is in memory and changes with each commit.
//
// A query that has read a large partition begins the list, after a restart too. The writer keeps it:
// it has each write before the write is answered.
type newestItems struct {
	mu sync.Mutex
	of *simplelru.LRU[partition, *newest]
}

type partition struct {
	container int64
	pk        string
}

const (
	maxNewest      = 64        // items of a partition
	maxNewestBytes = 512 << 10 // of their bodies
	maxPartitions  = 32
)

// newest are the items of one partition that were written last, the oldest first.
type newest struct {
	items []newestItem
	bytes int
	rest  written // all other items were written then or before
}

type newestItem struct {
	id string
	item
}

// written is when an item was written. Writes of one second are in the order of their versions.
type written struct{ ts, version int64 }

func (it item) written() written { return written{it.ts, it.version} }

func (w written) compare(other written) int {
	return cmp.Or(cmp.Compare(w.ts, other.ts), cmp.Compare(w.version, other.version))
}

func newNewestItems() *newestItems {
	of, err := simplelru.NewLRU[partition, *newest](maxPartitions, nil)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return &newestItems{of: of}
}

// keep notes the items that a transaction left behind; one without a body is gone.
func (n *newestItems) keep(changed map[itemKey]item) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of.Len() == 0 {
		return
	}
	for key, it := range changed {
		in := partition{key.container, key.pk}
		list, ok := n.of.Peek(in)
		if !ok {
			continue
		}
		if list.put(key.id, it); it.body == nil && len(list.items) < maxNewest/2 {
			n.of.Remove(in) // the next query finds out which others are the newest now
		}
	}
}

// forget removes the lists of partitions whose content is not known.
func (n *newestItems) forget(changed map[itemKey]item) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key := range changed {
		n.of.Remove(partition{key.container, key.pk})
	}
}

// list returns the items of a partition that were written last, the newest first, and whether
// there is a list.
func (n *newestItems) list(in partition) ([]newestItem, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list, ok := n.of.Get(in)
	if !ok {
		return nil, false
	}
	items := slices.Clone(list.items)
	slices.Reverse(items)
	return items, true
}

func (n *newestItems) begin(in partition, list *newest) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of.Add(in, list)
}

// put notes an item that was written or, without a body, deleted.
func (l *newest) put(id string, it item) {
	if i := slices.IndexFunc(l.items, func(have newestItem) bool { return have.id == id }); i >= 0 {
		l.bytes -= len(l.items[i].body)
		l.items = slices.Delete(l.items, i, i+1)
	}
	if it.body == nil || it.written().compare(l.rest) <= 0 { // a clock that was set back
		return
	}
	at := len(l.items)
	for at > 0 && l.items[at-1].written().compare(it.written()) > 0 {
		at--
	}
	it.places, it.of = nil, nil
	l.items = slices.Insert(l.items, at, newestItem{id, it})
	for l.bytes += len(it.body); len(l.items) > maxNewest || l.bytes > maxNewestBytes; {
		l.rest = l.items[0].written()
		l.bytes -= len(l.items[0].body)
		l.items = slices.Delete(l.items, 0, 1)
	}
}

// newestFirst says how many items a query asks for that is ORDER BY c._ts DESC with TOP or LIMIT, in
// one partition and from its beginning.
func newestFirst(q *query.Query, pk string, from continuation) (n int, ok bool) {
	order := q.Order()
	skip, take := q.Window()
	ok = pk != "" && from.PK == "" && take >= 0 && skip+take <= maxNewest &&
		len(order) == 1 && order[0].Descending && slices.Equal(order[0].Path, []string{"_ts"})
	return skip + take, ok
}

// newest answers a query of newestFirst from the items that are remembered. It reports false where
// these are too few, or give more than a page. Where not all items of one second are asked
// for, it does not give the same ones as a scan: the service does not say which it gives either.
func (st *store) newest(q *query.Query, c *container, pk string, p *page, n int) bool {
	items, ok := st.writer.newest.list(partition{c.number, pk})
	if !ok {
		return false
	}
	type row struct {
		newestItem
		doc []byte
	}
	var rows []row
	scanned := 0
	for _, it := range items {
		if len(rows) == n {
			break
		}
		scanned++
		it.container = c
		if doc := it.append(nil); p.selects(q, pk, doc) {
			rows = append(rows, row{it, doc})
		}
	}
	if len(rows) < n || n > p.limit {
		return false
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(b.ts, a.ts), cmp.Compare(a.id, b.id)) })
	skip, _ := q.Window()
	for _, row := range rows[skip:] {
		if p.full() {
			p.rows, p.count = nil, 0
			return false
		}
		p.add(q, row.doc)
	}
	p.scanned, p.kept = scanned, len(rows)
	return true
}

// learnNewest begins the list of a partition, unless it has one.
func (st *store) learnNewest(c *container, pk string) error {
	in := partition{c.number, pk}
	if _, ok := st.writer.newest.list(in); ok {
		return nil
	}
	return st.change(func(g *group) (func(), error) {
		list := &newest{}
		rows, err := g.tx.Query(`SELECT id, seq, version, ts, body FROM (
			SELECT seq AS one FROM items WHERE container = ? AND pk = ? ORDER BY ts DESC, version DESC LIMIT ?) CROSS JOIN items ON seq = one`,
			c.number, pk, maxNewest+1)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			id, it := "", item{}
			if err := rows.Scan(&id, &it.seq, &it.version, &it.ts, &it.body); err != nil {
				return nil, errors.Join(err, rows.Close())
			}
			list.put(id, it)
		}
		return func() { st.writer.newest.begin(in, list) }, rows.Err()
	})
}
