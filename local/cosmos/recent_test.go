package cosmos

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// TestTheWriterRemembersWhatIsStored: after random groups of writes, of which some are refused, each
// item that the writer remembers is the stored one, those written last are on their list, and each lookup has the places of the stored items.
// A second lookup comes amid the writes.
func TestTheWriterRemembersWhatIsStored(t *testing.T) {
	t.Parallel()
	st, c := newStore(t)
	random := rand.New(rand.NewPCG(1, 2))
	any := func() write {
		id, n := fmt.Sprint(random.IntN(6)), random.IntN(1000)
		w := write{op: []Operation{Create, Replace, Upsert, Delete}[random.IntN(4)], c: c, pk: `["p"]`, id: id}
		if w.op != Delete {
			w.body = fmt.Appendf(nil, `{"id":%q,"pk":"p","n":%d,"type":"t%d","at":%d}`, id, n, n%2, n%3)
		}
		if random.IntN(8) == 0 {
			w.ifMatch = etagOf(1)
		}
		return w
	}
	remembered := 0
	learn := func(text string) {
		if err := st.learn(testenv.Must(query.Parse(text, nil))(t), learnScanned, 1); err != nil {
			t.Fatal(err)
		}
	}
	learn(`SELECT * FROM c WHERE c.type = 't1' ORDER BY c.at`)
	listed := 0
	for round := range 200 {
		if err := st.learnNewest(c, `["p"]`); err != nil {
			t.Fatal(err)
		}
		if round == 100 {
			learn(`SELECT * FROM c WHERE c.n = 5`)
		}
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
		if random.IntN(3) == 0 {
			wantPlaces(t, st)
		}
		listed += wantNewest(t, st, c)
	}
	if remembered == 0 || listed == 0 {
		t.Error("nothing was remembered")
	}
}

// wantNewest fails unless the list of a partition, where there is one, has the stored items that were
// written last. It returns how many these are.
func wantNewest(t *testing.T, st *store, c *container) int {
	t.Helper()
	items, _ := st.writer.newest.list(partition{c.number, `["p"]`})
	for i, it := range items {
		id, is := "", item{}
		err := st.writes.QueryRow(`SELECT id, seq, version, ts, body FROM items WHERE container = ? AND pk = ? ORDER BY ts DESC, version DESC LIMIT 1 OFFSET ?`,
			c.number, `["p"]`, i).Scan(&id, &is.seq, &is.version, &is.ts, &is.body)
		if err != nil || id != it.id || is.seq != it.seq || is.version != it.version || is.ts != it.ts || !bytes.Equal(is.body, it.body) {
			t.Fatalf("item %d of the list is %s %+v, stored is %s %+v (%v)", i, it.id, it.item, id, is, err)
		}
	}
	return len(items)
}

// wantPlaces fails unless the lookups have exactly the places of the stored items, once they are settled.
func wantPlaces(t *testing.T, st *store) {
	t.Helper()
	if err := st.writer.settle(st.lookups.Load().all, nil); err != nil || st.writer.moves.n != 0 {
		t.Fatalf("%d moves are left, %v", st.writer.moves.n, err)
	}
	read := func(text string, row func(*sql.Rows) error) {
		rows, err := st.writes.Query(text)
		for err == nil && rows.Next() {
			err = row(rows)
		}
		if err := errors.Join(err, rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	var want, got []string
	read(`SELECT id, seq, body FROM items`, func(rows *sql.Rows) error {
		var id string
		var it item
		if err := rows.Scan(&id, &it.seq, &it.body); err != nil {
			return err
		}
		for i, e := range st.lookups.Load().entries(it.body, it.seq) {
			if e != nil {
				want = append(want, fmt.Sprintf("%d %s %d %x %x", i+1, id, it.seq, e.equal, e.sorted))
			}
		}
		return nil
	})
	read(`SELECT lookup, id, item, equal, sorted FROM entries`, func(rows *sql.Rows) error {
		var lookup, item int64
		var id string
		var equal, sorted []byte
		err := rows.Scan(&lookup, &id, &item, &equal, &sorted)
		got = append(got, fmt.Sprintf("%d %s %d %x %x", lookup, id, item, equal, sorted))
		return err
	})
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Fatalf("the lookups have\n%q, want\n%q", got, want)
	}
}

// TestTheWriterRemembersWithinABound: the bytes of all remembered items are counted, also of those that
// are replaced and removed.
func TestTheWriterRemembersWithinABound(t *testing.T) {
	t.Parallel()
	r := newRecentItems()
	one := func(id, size int) map[itemKey]item {
		return map[itemKey]item{{id: fmt.Sprint(id)}: {body: make([]byte, size), places: []*entry{nil, {equal: make([]byte, size)}}}}
	}
	for id := range 2000 {
		r.keep(one(id, 20_000))
		r.keep(one(id, 10_000))
	}
	r.keep(one(1, maxRecentItem+1))
	bytes := 0
	for _, it := range r.items.Values() {
		bytes += it.size()
	}
	if r.bytes != bytes || bytes > maxRecent || bytes < maxRecent/2 {
		t.Errorf("%d bytes are counted and %d remembered", r.bytes, bytes)
	}
	r.forget(one(1999, 0))
	if _, ok := r.items.Peek(itemKey{id: "1999"}); ok {
		t.Error("a forgotten item is remembered")
	}
}
