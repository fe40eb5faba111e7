package cosmos

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

// grouped starts one write per function while the writer is held up, so that
// all of them end up in one group, and waits until they are answered.
func grouped(t *testing.T, st *store, writes ...func()) {
	t.Helper()
	held, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		st.writer.do(&job{alone: true, failed: func() {}, apply: func(*group) { close(held); <-release }})
	})
	<-held
	for i, write := range writes {
		wg.Go(write)
		for deadline := time.Now().Add(5 * time.Second); len(st.writer.jobs) <= i; {
			if time.Now().After(deadline) {
				t.Fatal("a write did not reach the writer")
			}
		}
	}
	close(release)
	wg.Wait()
}

func newStore(t *testing.T) (*store, *container) {
	t.Helper()
	server := testenv.Started(Start(t.Context(), Config{DataDir: t.TempDir()}))(t)
	d := testenv.Must(server.store.createDatabase("db"))(t)
	c := testenv.Must(server.store.createContainer(d, "things", []byte(`{"id":"things","partitionKey":{"paths":["/pk"]}}`)))(t)
	return server.store, c
}

func createOf(c *container, id string) write {
	return write{op: Create, c: c, pk: `["p"]`, id: id, body: fmt.Appendf(nil, `{"id":%q,"pk":"p"}`, id)}
}

func stored(t *testing.T, st *store, c *container, id string) bool {
	t.Helper()
	_, found, err := st.read(c, `["p"]`, id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestWritesOfOneGroupShareACommitAndNotTheirFailures(t *testing.T) {
	t.Parallel()
	st, c := newStore(t)
	st.write(createOf(c, "taken"))
	commits := st.writer.commits.Load()

	var before, failed, after outcome
	var batch, lostBatch []outcome
	var whole, lost bool
	grouped(t, st,
		func() { before = st.write(createOf(c, "before")) },
		func() { failed = st.write(createOf(c, "taken")) },
		func() { lostBatch, lost = st.batch([]write{createOf(c, "undone"), createOf(c, "before")}) },
		func() { batch, whole = st.batch([]write{createOf(c, "one"), createOf(c, "two")}) },
		func() { after = st.write(createOf(c, "after")) },
	)
	// One commit for the job that held the writer, one for the group.
	if n := st.writer.commits.Load() - commits; n != 2 {
		t.Errorf("%d commits, want 2", n)
	}
	if before.status != 201 || failed.status != 409 || after.status != 201 || !whole || lost {
		t.Errorf("statuses %d %d %d, batches %v %v", before.status, failed.status, after.status, whole, lost)
	}
	if lostBatch[0].status != 424 || lostBatch[1].status != 409 || batch[0].status != 201 || batch[1].status != 201 {
		t.Errorf("batch statuses %v %v", lostBatch, batch)
	}
	for id, want := range map[string]bool{"before": true, "after": true, "one": true, "two": true, "undone": false} {
		if got := stored(t, st, c, id); got != want {
			t.Errorf("%s stored: %v, want %v", id, got, want)
		}
	}
}

func TestFailedCommitIsReportedToEveryWriteOfTheGroup(t *testing.T) {
	t.Parallel()
	st, c := newStore(t)
	var single outcome
	var batch []outcome
	grouped(t, st,
		func() { single = st.write(createOf(c, "single")) },
		func() {
			st.writer.do(&job{failed: func() {}, apply: func(g *group) { g.abandon(errors.New("the disk is full")) }})
		},
		func() { batch, _ = st.batch([]write{createOf(c, "batched")}) },
	)
	if single.status != http.StatusServiceUnavailable || batch[0].status != http.StatusServiceUnavailable {
		t.Errorf("statuses %d and %d, want 503", single.status, batch[0].status)
	}
	if stored(t, st, c, "single") || stored(t, st, c, "batched") {
		t.Error("a write of the failed group is stored")
	}
	if o := st.write(createOf(c, "single")); o.status != http.StatusCreated {
		t.Errorf("the next write answered %d", o.status)
	}
}
