package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// slow is a store whose Applies take until they are let go.
func slow(t *testing.T) (s *memory.Store, began chan struct{}, letGo func()) {
	t.Helper()
	began, gate := make(chan struct{}, 1000), make(chan struct{})
	letGo = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(letGo)
	return memory.New(memory.Config{Hook: func(_ context.Context, op memory.Operation) memory.Fault {
		if op.Kind == memory.KindWrite {
			began <- struct{}{}
			<-gate
		}
		return memory.Fault{}
	}}), began, letGo
}

func reserver(s store.Store) *Registrar { return &Registrar{sequence: newSequence(s, time.Now)} }

// extraOf creates an item beside the number.
func extraOf(name string) func(int) (store.Writes, error) {
	return func(id int) (store.Writes, error) {
		return store.Writes{store.Create(store.PipelineKey("r", name), store.PipelineRequest{Runbook: "r", Owner: name, Batch: id})}, nil
	}
}

// TestReservationsShareWrites has many callers wait while the first writes. They share the next writes, and each has a number
// and its own items.
func TestReservationsShareWrites(t *testing.T) {
	t.Parallel()
	const callers = 120
	s, began, letGo := slow(t)
	r := reserver(s)
	ids := make([]int, callers)
	var wait sync.WaitGroup
	reserve := func(i int) {
		wait.Go(func() {
			ids[i] = testenv.Must(r.ReserveBatch(t.Context(), store.BatchSummary{RunbookName: "r"}, extraOf(fmt.Sprint(i))))(t)
		})
	}
	reserve(0)
	<-began
	for i := 1; i < callers; i++ {
		reserve(i)
	}
	testenv.Eventually(t, "all others wait", func() bool {
		r.sequence.mu.Lock()
		defer r.sequence.mu.Unlock()
		return len(r.sequence.waiting) == callers-1
	})
	letGo()
	wait.Wait()
	for i, id := range ids {
		if got := testenv.Must(store.Read[store.PipelineRequest](t.Context(), s, store.PipelineKey("r", fmt.Sprint(i))))(t); got.Doc.Batch != id {
			t.Errorf("caller %d has number %d, and its item %d", i, id, got.Doc.Batch)
		}
		if got := testenv.Must(store.Read[store.BatchSummary](t.Context(), s, store.EntryKey(id)))(t); got.Doc.ID != id || !got.Doc.Creating {
			t.Errorf("summary %d is %+v", id, got.Doc)
		}
	}
	slices.Sort(ids)
	if ids[0] != 1 || ids[callers-1] != callers || len(slices.Compact(ids)) != callers {
		t.Errorf("the numbers are %v", ids)
	}
	if n := s.Counts(); n.Reads != 1+2*callers || n.Writes > 5 {
		t.Errorf("it took %d reads and %d writes", n.Reads-2*callers, n.Writes)
	}
}

// TestReservationsOfSeveralProcesses has two processes reserve at the same time. A caller whose item exists is refused, and the
// others are not.
func TestReservationsOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	processes := []*Registrar{reserver(s.Session(nil)), reserver(s.Session(nil))}
	var mu sync.Mutex
	var ids []int
	refused := 0
	var wait sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			id, err := processes[i%2].ReserveBatch(t.Context(), store.BatchSummary{RunbookName: "r"}, extraOf(fmt.Sprint(i/2))) // the same item in both
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				ids = append(ids, id)
			case errors.Is(err, store.ErrExists):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	wait.Wait()
	slices.Sort(ids)
	if len(ids) != 50 || refused != 50 || ids[0] != 1 || ids[49] != 50 || len(slices.Compact(ids)) != 50 {
		t.Errorf("%d were refused; the numbers are %v", refused, ids)
	}
}

// TestReservationThatIsGivenUp has one caller leave the queue, and one whose extra fails. Others get their numbers without a gap.
func TestReservationThatIsGivenUp(t *testing.T) {
	t.Parallel()
	s, began, letGo := slow(t)
	r := reserver(s)
	first := make(chan int, 1)
	go func() {
		id, _ := r.ReserveBatch(t.Context(), store.BatchSummary{}, extraOf("first"))
		first <- id
	}()
	<-began
	ctx, cancel := context.WithCancelCause(t.Context())
	gone, odd := errors.New("gone"), errors.New("odd")
	left, failed, last := make(chan error, 1), make(chan error, 1), make(chan int, 1)
	enqueued := func(n int) {
		testenv.Eventually(t, "the caller waits", func() bool { r.sequence.mu.Lock(); defer r.sequence.mu.Unlock(); return len(r.sequence.waiting) == n })
	}
	go func() {
		_, err := r.ReserveBatch(ctx, store.BatchSummary{}, func(int) (store.Writes, error) { t.Error("extra of a caller who left"); return nil, nil })
		left <- err
	}()
	enqueued(1)
	cancel(gone)
	if err := <-left; !errors.Is(err, gone) {
		t.Errorf("the caller who left: %v", err)
	}
	go func() {
		_, err := r.ReserveBatch(t.Context(), store.BatchSummary{}, func(int) (store.Writes, error) { return nil, odd })
		failed <- err
	}()
	enqueued(1)
	go func() {
		id, _ := r.ReserveBatch(t.Context(), store.BatchSummary{}, extraOf("last"))
		last <- id
	}()
	enqueued(2)
	letGo()
	if err := <-failed; !errors.Is(err, odd) {
		t.Errorf("the caller whose extra fails: %v", err)
	}
	if a, b := <-first, <-last; a != 1 || b != 2 {
		t.Errorf("the numbers are %d and %d", a, b)
	}
}
