package cosmos

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// A write changes an index only where its document gets another place there, and a refused batch
// changes none.
func TestWritesChangeIndexesOnlyWhereDocumentsMove(t *testing.T) {
	t.Parallel()
	st, c := newStore(t)
	with := func(op Operation, id, members string) write {
		return write{op: op, c: c, pk: `["p"]`, id: id, body: fmt.Appendf(nil, `{"id":%q,"pk":"p"%s}`, id, members)}
	}
	st.write(with(Create, "a", `,"type":"run","worker":"w","at":"1"`))
	learned := testenv.Must(query.Parse(`SELECT * FROM c WHERE c.type = 'run' AND c.worker = 'w' ORDER BY c.at`, nil))(t)
	if err := st.learn(learned, learnScanned, 1); err != nil {
		t.Fatal(err)
	}
	changes := func() (n int) {
		if err := st.writes.QueryRow(`SELECT total_changes()`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	entries := func() (n int) {
		if err := st.writes.QueryRow(`SELECT count(*) FROM entries`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	settle := func() {
		if err := st.writer.settle(st.lookups.Load().all, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		about            string
		write            write
		changes, entries int
	}{
		{"a member without the paths", with(Create, "m", `,"type":"member"`), 1, 1},
		{"another run", with(Create, "b", `,"type":"run","worker":"w","at":"2"`), 2, 2},
		{"the same place", with(Replace, "a", `,"type":"run","n":5,"worker":"w","at":"1"`), 1, 2},
		{"a later time", with(Upsert, "a", `,"type":"run","worker":"w","at":"3"`), 3, 2},
		{"another worker", with(Replace, "a", `,"type":"run","worker":"x","at":"3"`), 3, 2},
		{"no worker", with(Replace, "a", `,"type":"run"`), 2, 1},
		{"a worker again", with(Replace, "a", `,"worker":"w","type":"run"`), 2, 2},
		{"a worker that is no text", with(Replace, "a", `,"worker":null,"type":"run"`), 2, 1},
		{"deleted", with(Delete, "b", ``), 2, 0},
	} {
		before := changes()
		if o := st.write(tt.write); !o.ok() {
			t.Fatalf("%s: %d %s", tt.about, o.status, o.message)
		}
		settle()
		if got, n := changes()-before, entries(); got != tt.changes || n != tt.entries {
			t.Errorf("%s: %d changes and %d entries, want %d and %d", tt.about, got, n, tt.changes, tt.entries)
		}
	}
	before := changes()
	for _, w := range []write{with(Replace, "a", `,"worker":"w","type":"run","at":"1"`), with(Replace, "a", `,"worker":"w","type":"run","at":"2"`), with(Replace, "a", ``)} {
		st.write(w)
	}
	if settle(); changes()-before != 3 || entries() != 0 {
		t.Errorf("moves to and fro: %d changes and %d entries, want those of 3 documents", changes()-before, entries())
	}
	refused, ok := st.batch([]write{with(Create, "c", `,"type":"run","worker":"w"`), with(Create, "m", ``)})
	if settle(); ok || refused[0].status != http.StatusFailedDependency || refused[1].status != http.StatusConflict || entries() != 0 || stored(t, st, c, "c") {
		t.Errorf("a refused batch has %v, left %d entries", refused, entries())
	}
	st.write(with(Create, "d", `,"type":"run","worker":"w"`))
	settle()
	st.write(with(Create, "e", `,"type":"run","worker":"w"`))
	err := st.deleteContainer(c)
	if settle(); err != nil || entries() != 0 {
		t.Errorf("%d entries of a deleted container, %v", entries(), err)
	}
}
