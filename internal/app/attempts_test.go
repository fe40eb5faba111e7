package app_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// killer is a message in whose processing the process ends, each time: the store's
// answer to the first request about batch 66 never comes.
func (w *world) killer() message.Delivery {
	return message.Delivery{ID: "killer", Type: message.TypeRetryCheck, Body: []byte(`{"BatchId":66,"StepExecutionId":10000001000,"Count":1}`), EnqueuedAt: epoch}
}

// dying runs a process that ends as soon as a message about batch 66 is processed.
func (w *world) dying(process func(context.Context)) {
	w.t.Helper()
	ctx, kill := context.WithCancel(w.ctx)
	defer kill()
	remove := w.cosmos.Inject(cosmos.Fault{Latency: time.Minute, Match: func(r cosmos.Request) bool {
		if !about(r, 66) {
			return false
		}
		kill()
		return true
	}})
	defer remove()
	process(ctx)
}

// handleAndKill processes a message in a process that dies of killer.
func (w *world) handleAndKill(m message.Delivery) (err error) {
	w.t.Helper()
	w.dying(func(ctx context.Context) { err = w.app.HandleEvent(ctx, m) })
	return err
}

func about(r cosmos.Request, batch int) bool {
	return strings.Contains(r.PartitionKey, fmt.Sprintf("%q", store.BatchPartition(batch))) || r.PartitionKey == store.BatchPartition(batch)
}

// ready makes a batch whose init any number of messages may ask for.
func (w *world) ready() api.Batch {
	w.t.Helper()
	w.publish(mover)
	return w.batch("move", people(1))
}

func (w *world) attempts() int {
	w.t.Helper()
	found := must(storetest.All[struct{}](w.ctx, w.store, store.PartitionUnprocessable, "attempts"))(w.t)
	return len(found)
}

// TestDeliveriesSayNothingOfAMessage: a handler that is away costs a message its
// deliveries. What the handler has never judged it processes, however many those are.
func TestDeliveriesSayNothingOfAMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.ready()
	body := fmt.Appendf(nil, `{"BatchId":%d,"RunbookName":"move","RunbookVersion":1}`, b.ID)
	for _, deliveries := range []int{1, 3, 4, 10, 11, 1999, 2000} {
		w.deliver(message.Delivery{ID: fmt.Sprint("m-", deliveries), Type: message.TypeBatchInit, Body: body, DeliveryCount: deliveries})
	}
	if open, left := w.listUnprocessable(api.ListOptions{}), w.attempts(); len(open) != 0 || left != 0 {
		t.Errorf("kept %+v, and %d counts of attempts are left", open, left)
	}
}

// TestAMessageThatEndsTheProcessIsKept: three deliveries without an outcome are
// tolerated, each further one counts against the message.
func TestAMessageThatEndsTheProcessIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, azure)
	m := w.killer()
	for delivery := 1; delivery <= 8; delivery++ {
		m.DeliveryCount = delivery
		if err := w.handleAndKill(m); err == nil || len(w.listUnprocessable(api.ListOptions{})) != 0 {
			t.Fatalf("delivery %d: %v, kept %+v", delivery, err, w.listUnprocessable(api.ListOptions{}))
		}
	}
	m.DeliveryCount = 9
	noError(t, w.handleAndKill(m))
	messages := w.listUnprocessable(api.ListOptions{})
	if len(messages) != 1 || !strings.Contains(messages[0].Reason, "all 5 attempts failed; last error: the handler ended") {
		t.Fatalf("%+v", messages)
	}
	if left := w.attempts(); left != 0 {
		t.Errorf("%d counts of attempts are left", left)
	}
	// A replay has attempts of its own.
	must(w.app.Replay(w.ctx, ada, messages[0].ID, "the handler is mended"))(t)
	m.ID, m.DeliveryCount = "replay-"+messages[0].ID+"-1", 4
	if err := w.handleAndKill(m); err == nil || len(w.listUnprocessable(api.ListOptions{})) != 0 {
		t.Errorf("the replay was kept at its first attempt: %v", err)
	}
}

// TestBystandersAreNotBlamed: of all messages that were in hand at each end of the
// process only the one that brings it about is kept.
func TestBystandersAreNotBlamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, azure)
	b := w.ready()
	waiting := map[string]message.Delivery{"killer": w.killer()}
	for i := range 20 {
		id := fmt.Sprint("bystander-", i)
		waiting[id] = message.Delivery{ID: id, Type: message.TypeBatchInit, Body: fmt.Appendf(nil, `{"BatchId":%d,"RunbookName":"move","RunbookVersion":1}`, b.ID)}
	}
	for delivery := 4; len(waiting) > 0; delivery++ {
		if delivery > 20 {
			t.Fatalf("after %d deliveries there are still %d messages", delivery, len(waiting))
		}
		a := app.New(w.config()) // another process
		var mu sync.Mutex
		var done []string
		w.dying(func(ctx context.Context) {
			var all sync.WaitGroup
			for id, m := range waiting {
				m.DeliveryCount = delivery
				all.Go(func() {
					if a.HandleEvent(ctx, m) == nil {
						mu.Lock()
						defer mu.Unlock()
						done = append(done, id)
					}
				})
			}
			all.Wait()
		})
		for _, id := range done {
			delete(waiting, id)
		}
	}
	if messages := w.listUnprocessable(api.ListOptions{}); len(messages) != 1 || messages[0].MessageID != "killer" {
		t.Errorf("%+v", messages)
	}
}

// TestAnOutageIsNoAttempt: a message that waits for the store is not charged for it.
func TestAnOutageIsNoAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, inMemory)
		b := w.ready()
		m := message.Delivery{ID: "m", Type: message.TypeBatchInit, Body: fmt.Appendf(nil, `{"BatchId":%d,"RunbookName":"move","RunbookVersion":1}`, b.ID), DeliveryCount: 7}
		for range 7 {
			end := w.disturb(func(_ context.Context, op memory.Operation) memory.Fault {
				if op.Partition == store.BatchPartition(b.ID) {
					return memory.Unavailable
				}
				return memory.Fault{}
			})
			w.deliver(m) // it is put back
			end()
		}
		w.deliver(m)
		if open, left := w.listUnprocessable(api.ListOptions{}), w.attempts(); len(open) != 0 || left != 0 {
			t.Errorf("kept %+v, and %d counts of attempts are left", open, left)
		}
	})
}

// TestAnOutageWithoutARequeueIsNoAttempt: while the broker is away, a suspect message can neither
// send what follows from it nor be requeued. The attempt that was counted before is taken back.
func TestAnOutageWithoutARequeueIsNoAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, inMemory)
		b := w.ready()
		must(w.app.Advance(w.ctx, ada, b.ID, "init"))(t)
		process, broker := w.process(0)
		broker.shut.Store(true)
		m := message.Delivery{ID: "m", Type: message.TypeBatchInit, Body: fmt.Appendf(nil, `{"BatchId":%d,"RunbookName":"move","RunbookVersion":1}`, b.ID), DeliveryCount: 4}
		for range 7 {
			if err := process.HandleEvent(w.ctx, m); !errors.Is(err, bus.ErrUnavailable) {
				t.Fatalf("delivery %d: %v", m.DeliveryCount, err)
			}
			m.DeliveryCount++
		}
		broker.shut.Store(false)
		noError(t, process.HandleEvent(w.ctx, m))
		if open, left := w.listUnprocessable(api.ListOptions{}), w.attempts(); len(open) != 0 || left != 0 {
			t.Errorf("kept %+v, and %d counts of attempts are left", open, left)
		}
	})
}
