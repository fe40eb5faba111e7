package cosmos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// run is a write of a run of a worker.
func run(c *container, op Operation, id string, at int) write {
	return write{op: op, c: c, pk: `["p"]`, id: id, body: fmt.Appendf(nil, `{"id":%q,"pk":"p","type":"run","at":%d}`, id, at)}
}

// byTime reads all runs in the order of their times, by the entries of an index.
func byTime(t *testing.T, st *store, c *container) (ids []string) {
	t.Helper()
	q := testenv.Must(query.Parse(`SELECT * FROM c WHERE c.type = 'run' ORDER BY c.at`, nil))(t)
	how, ok := st.sorted(q, `["p"]`, continuation{})
	if !ok || how.lookup == nil {
		t.Error("there is no index")
		return nil
	}
	last := 0.0
	err := st.scan(context.Background(), c, how, func(_, id string, doc []byte) bool {
		at := q.SortKeys(doc)[0].Num
		if at < last {
			t.Errorf("%s at %v comes after one at %v", id, at, last)
		}
		last = at
		ids = append(ids, id)
		return true
	})
	if err != nil {
		t.Error(err)
	}
	return ids
}

func learnTimes(t *testing.T, st *store) {
	t.Helper()
	q := testenv.Must(query.Parse(`SELECT * FROM c WHERE c.type = 'run' ORDER BY c.at`, nil))(t)
	if err := st.learn(q, learnScanned, 1); err != nil {
		t.Fatal(err)
	}
}

// TestQueriesSeeMovesThatAreGathered: a query by an index has each document once and in its order, while
// others move.
func TestQueriesSeeMovesThatAreGathered(t *testing.T) {
	t.Parallel()
	st, c := newStore(t)
	learnTimes(t, st)
	const runs = 30
	for i := range runs {
		st.write(run(c, Create, fmt.Sprint(i), i))
	}
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for n := range 150 {
				if o := st.write(run(c, Replace, fmt.Sprint(n*7%runs), n*(w+3)%100)); !o.ok() {
					t.Errorf("%d %s", o.status, o.message)
				}
			}
		})
	}
	for range 100 {
		seen := map[string]bool{}
		for _, id := range byTime(t, st, c) {
			seen[id] = true
		}
		if len(seen) != runs {
			t.Fatalf("a query has %d documents, want %d", len(seen), runs)
		}
	}
	writers.Wait()
	wantPlaces(t, st)
}

// TestManyMovesAreWritten: the moves that are gathered are bounded.
func TestManyMovesAreWritten(t *testing.T) {
	t.Parallel()
	st, c := newStore(t)
	learnTimes(t, st)
	lookup := st.lookups.Load().all[0]
	st.writer.do(&job{failed: func() {}, apply: func(g *group) {
		for i := range maxMoves {
			key := itemKey{container: -1, pk: "q", id: fmt.Sprint(i)}
			g.moved = append(g.moved, moved{lookup, key, move{to: &entry{equal: []byte{1}, sorted: []byte{}, item: int64(i)}}})
		}
	}})
	for i := range 3 {
		st.write(run(c, Create, fmt.Sprint(i), i))
	}
	var entries, left int
	st.writer.do(&job{failed: func() {}, apply: func(g *group) { left = g.writer.moves.n }})
	if err := st.reads.QueryRow(`SELECT count(*) FROM entries`).Scan(&entries); err != nil {
		t.Fatal(err)
	}
	if left > maxMoves || left+entries != maxMoves+3 {
		t.Errorf("%d moves are left and %d entries written", left, entries)
	}
}

// TestACrashLosesMoves: a database that was not closed has no indexes, and the queries that need them
// learn them again. One that was closed has them.
func TestACrashLosesMoves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := testenv.Must(Start(t.Context(), Config{DataDir: dir}))(t)
	d := testenv.Must(server.store.createDatabase("db"))(t)
	c := testenv.Must(server.store.createContainer(d, "things", []byte(`{"id":"things","partitionKey":{"paths":["/pk"]}}`)))(t)
	learnTimes(t, server.store)
	for i := range 20 {
		server.store.write(run(c, Create, fmt.Sprint(i), 20-i))
	}
	crashed := t.TempDir()
	for _, name := range []string{"cosmos.db", "cosmos.db-wal"} {
		if err := os.WriteFile(filepath.Join(crashed, name), testenv.Must(os.ReadFile(filepath.Join(dir, name)))(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dir     string
		lookups int
	}{{dir, 1}, {crashed, 0}, {crashed, 1}} {
		server := testenv.Must(Start(t.Context(), Config{DataDir: tt.dir}))(t)
		st := server.store
		if n := len(st.lookups.Load().all); n != tt.lookups {
			t.Errorf("%d indexes, want %d", n, tt.lookups)
		}
		learnTimes(t, st)
		if ids := byTime(t, st, st.catalog.container("db", "things")); len(ids) != 20 || ids[0] != "19" {
			t.Errorf("documents %v", ids)
		}
		wantPlaces(t, st)
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
