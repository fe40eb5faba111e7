package cosmos

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestTheWriterRemembersWhatIsStored: after random groups of writes, of which some are refused, each
// item that the writer remembers is the stored one.
func TestTheWriterRemembersWhatIsStored(t *testing.T) {
	t.Parallel()
	st, c := newStore(t)
	random := rand.New(rand.NewPCG(1, 2))
	any := func() write {
		id, n := fmt.Sprint(random.IntN(6)), random.IntN(1000)
		w := write{op: []Operation{Create, Replace, Upsert, Delete}[random.IntN(4)], c: c, pk: `["p"]`, id: id}
		if w.op != Delete {
			w.body = fmt.Appendf(nil, `{"id":%q,"pk":"p","n":%d}`, id, n)
		}
		if random.IntN(8) == 0 {
			w.ifMatch = etagOf(1)
		}
		return w
	}
	remembered := 0
	for range 200 {
		var all []func()
		for range 1 + random.IntN(4) {
			if random.IntN(2) == 0 {
				w := any()
				all = append(all, func() { st.write(w) })
				continue
			}
			batch := []write{any(), any()}
			all = append(all, func() { st.batch(batch) })
		}
		if random.IntN(10) == 0 {
			all = append(all, func() {
				st.writer.do(&job{failed: func() {}, apply: func(g *group) { g.abandon(errors.New("the disk is full")) }})
			})
		}
		grouped(t, st, all...)
		for _, key := range st.writer.recent.items.Keys() {
			it, _ := st.writer.recent.items.Peek(key)
			var is item
			err := st.writer.db.QueryRow(statementText[selectItem], key.container, key.pk, key.id).Scan(&is.seq, &is.version, &is.ts, &is.body)
			if errors.Is(err, sql.ErrNoRows) || is.seq != it.seq || is.version != it.version || is.ts != it.ts || !bytes.Equal(is.body, it.body) {
				t.Fatalf("%s is remembered as %+v and stored as %+v (%v)", key.id, it, is, err)
			}
			remembered++
		}
	}
	if remembered == 0 {
		t.Error("nothing was remembered")
	}
}

// TestTheWriterRemembersWithinABound: the bytes of all remembered items are counted, also of those that
// are replaced and removed.
func TestTheWriterRemembersWithinABound(t *testing.T) {
	t.Parallel()
	r := newRecentItems()
	one := func(id, size int) map[itemKey]item {
		return map[itemKey]item{{id: fmt.Sprint(id)}: {body: make([]byte, size)}}
	}
	for id := range 2000 {
		r.keep(one(id, 20_000))
		r.keep(one(id, 10_000))
	}
	r.keep(one(1, maxRecentItem+1))
	bytes := 0
	for _, it := range r.items.Values() {
		bytes += recentEntry + len(it.body)
	}
	if r.bytes != bytes || bytes > maxRecent || bytes < maxRecent/2 {
		t.Errorf("%d bytes are counted and %d remembered", r.bytes, bytes)
	}
	r.forget(one(1999, 0))
	if _, ok := r.items.Peek(itemKey{id: "1999"}); ok {
		t.Error("a forgotten item is remembered")
	}
}
