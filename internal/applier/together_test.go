package applier_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// recorded is a store that notes the writes to the batch and can fail before an operation.
type recorded struct {
	store.Store
	written []store.Writes
	apply   func(context.Context, store.Writes) error // before each write; nil: none fails
	page    error                                     // of each read of a page
	shards  int                                       // reads of shards
	batches int                                       // reads of the batch
}

func (r *recorded) Apply(ctx context.Context, w store.Writes) (store.Applied, error) {
	if r.apply != nil {
		if err := r.apply(ctx, w); err != nil {
			return nil, err
		}
	}
	applied, err := r.Store.Apply(ctx, w)
	if err == nil && w[0].Key.PK == theBatch.PK {
		r.written = append(r.written, w)
	}
	return applied, err
}

func (r *recorded) ReadDocument(ctx context.Context, key store.Key) (store.Document, error) {
	switch key {
	case store.ShardKey(1, 1, 1):
		r.shards++
	case store.BatchKey(1):
		r.batches++
	}
	return r.Store.ReadDocument(ctx, key)
}

func (r *recorded) MembersOfPage(ctx context.Context, batch, page int, status model.MemberStatus) ([]store.Item[model.Member], error) {
	if r.page != nil {
		return nil, r.page
	}
	return r.Store.MembersOfPage(ctx, batch, page, status)
}

// has reports whether a write has an operation on a document.
func has(w store.Writes, key store.Key) bool {
	return slices.ContainsFunc(w, func(op store.Write) bool { return op.Key == key })
}

var (
	theBatch = store.BatchKey(1)
	theShard = store.ShardKey(1, 1, 1)
	theRun   = store.RunKey(1, 1, 1)
)

// due is a batch whose only phase can begin, with a process whose store is recorded.
func due(t *testing.T, members int) (*world, *recorded, *applier.Applier) {
	t.Helper()
	w, err := newWorld(t.Context(), members, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorded{Store: w.store}
	return w, r, process(r, w.sender, time.Now)
}

func (w *world) jobs(t *testing.T) int {
	t.Helper()
	jobs, err := w.broker.Messages(message.TopicWorkerJobs, message.WorkerSubscription("w1"))
	if err != nil {
		t.Fatal(err)
	}
	return len(jobs)
}

// A phase begins in the same write as its first page, which nobody can have made before. A full page and its batch fit
// into one write.
func TestAPhaseBeginsWithItsFirstPage(t *testing.T) {
	t.Parallel()
	w, r, a := due(t, model.PageSize)
	if err := a.Decide(t.Context(), 1, model.PhaseDue{Phase: 1}); err != nil {
		t.Fatal(err)
	}
	if first := r.written[0]; !has(first, theBatch) || !has(first, theRun) || !has(first, theShard) {
		t.Errorf("the first write has %d operations, of %d writes", len(first), len(r.written))
	}
	if len(r.written) != 2 || !has(r.written[1], theShard) || !has(r.written[1], theBatch) {
		t.Errorf("after the page %d writes, the first %v", len(r.written)-1, r.written[1])
	}
	if r.shards != 0 || w.jobs(t) != model.PageSize {
		t.Errorf("%d reads of the shard, %d jobs", r.shards, w.jobs(t))
	}
	if r.batches != 1 {
		t.Errorf("the batch was read %d times", r.batches)
	}
}

// A page that does not fit into one write with its batch gets a write of its own.
func TestAPageThatIsTooLargeFollowsItsBatch(t *testing.T) {
	t.Parallel()
	w, r, a := due(t, 3)
	r.apply = func(_ context.Context, writes store.Writes) error {
		if has(writes, theBatch) && has(writes, theRun) {
			return store.ErrTooLarge
		}
		return nil
	}
	if err := a.Decide(t.Context(), 1, model.PhaseDue{Phase: 1}); err != nil {
		t.Fatal(err)
	}
	if !has(r.written[0], theBatch) || !has(r.written[1], theRun) || w.jobs(t) != 3 {
		t.Errorf("%d writes, %d jobs", len(r.written), w.jobs(t))
	}
}

// What follows from a change of the batch and cannot be decided leaves the change as it is: the message comes again for
// the rest.
func TestAPageThatCannotBeReadLeavesItsPhaseBegun(t *testing.T) {
	t.Parallel()
	w, r, a := due(t, 3)
	r.page = store.ErrUnavailable
	if err := a.Decide(t.Context(), 1, model.PhaseDue{Phase: 1}); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	b, err := store.Read[model.Batch](t.Context(), w.store, theBatch)
	if err != nil || b.Doc.Phases[0].Status != model.PhaseDispatched || w.jobs(t) != 0 {
		t.Fatalf("the phase is %+v, %d jobs, %v", b.Doc.Phases, w.jobs(t), err)
	}
	r.page = nil
	if err := a.Decide(t.Context(), 1, model.PhaseDue{Phase: 1}); err != nil || w.jobs(t) != 3 {
		t.Errorf("%v, %d jobs", err, w.jobs(t))
	}
}

// Another process begins the phase at the same moment: its page is found by the second look, and the jobs are those of
// that page.
func TestAPhaseThatAnotherProcessBeginsMeanwhile(t *testing.T) {
	t.Parallel()
	w, r, a := due(t, 3)
	other := process(w.store, w.sender, time.Now)
	r.apply = func(ctx context.Context, writes store.Writes) error {
		r.apply = nil
		return other.Decide(ctx, 1, model.PhaseDue{Phase: 1})
	}
	if err := a.Decide(t.Context(), 1, model.PhaseDue{Phase: 1}); err != nil {
		t.Fatal(err)
	}
	if w.jobs(t) != 3 || slices.ContainsFunc(r.written, func(w store.Writes) bool { return has(w, theRun) }) {
		t.Errorf("%d jobs, %d writes", w.jobs(t), len(r.written))
	}
}

// A preview decides the command only, and nothing that would follow from it.
func TestAPreviewDecidesOnlyTheCommand(t *testing.T) {
	t.Parallel()
	_, r, a := due(t, 3)
	decisions, err := a.Preview(t.Context(), 1, applier.On(model.PhaseDue{Phase: 1}))
	if err != nil || len(decisions) != 1 || len(r.written) != 0 {
		t.Errorf("%d decisions, %d writes, %v", len(decisions), len(r.written), err)
	}
}
