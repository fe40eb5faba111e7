package app_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

// TestLostRacesAreRetriedWithPausesUntilTheContextEnds: each use case that reads, decides and
// writes loses every race. It makes pauses that grow, and ends with its context.
func TestLostRacesAreRetriedWithPausesUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	bad := message.Delivery{ID: "bad", Type: message.TypeBatchInit, Body: []byte("no JSON"), EnqueuedAt: epoch}
	useCases := map[string]func(context.Context, *world, api.Batch) error{
		"publish": func(ctx context.Context, w *world, _ api.Batch) error {
			return errorOf(w.app.PublishRunbook(ctx, ada, "", []byte(mover+"\n# another version\n"), api.PublishOptions{}))
		},
		"deactivate": func(ctx context.Context, w *world, _ api.Batch) error {
			return errorOf(w.app.Deactivate(ctx, ada, "move", 1, ""))
		},
		"set automation": func(ctx context.Context, w *world, _ api.Batch) error {
			return errorOf(w.app.SetAutomation(ctx, ada, "found", false))
		},
		"confirm additions": func(ctx context.Context, w *world, _ api.Batch) error {
			return errorOf(w.app.ConfirmAdditions(ctx, ada, "found", "0123456789abcdef", ""))
		},
		"create a batch": func(ctx context.Context, w *world, _ api.Batch) error {
			return errorOf(w.app.CreateBatch(ctx, ada, "move", []byte("Upn,Name,Start\nnew@x,New,\n")))
		},
		"add members": func(ctx context.Context, w *world, b api.Batch) error {
			return errorOf(w.app.AddMembers(ctx, ada, b.ID, []byte("Upn,Name,Start\nnew@x,New,\n")))
		},
		"remove a member": func(ctx context.Context, w *world, b api.Batch) error {
			return errorOf(w.app.RemoveMember(ctx, ada, b.ID, 1, ""))
		},
		"read members": func(ctx context.Context, w *world, b api.Batch) error {
			return errorOf(w.app.Members(ctx, ada, b.ID, api.ListOptions{}))
		},
		"discard": func(ctx context.Context, w *world, _ api.Batch) error {
			return errorOf(w.app.Discard(ctx, ada, w.listUnprocessable(api.ListOptions{})[0].ID, ""))
		},
		"replay": func(ctx context.Context, w *world, _ api.Batch) error {
			return errorOf(w.app.Replay(ctx, ada, w.listUnprocessable(api.ListOptions{})[0].ID, ""))
		},
	}
	for name, call := range useCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, inMemory)
				w.publish(mover)
				w.publish(found(twoPhases, ""))
				b := w.batch("move", people(3))
				w.deliver(bad)
				ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
				defer cancel()
				writes := 0
				end := w.disturb(func(_ context.Context, op memory.Operation) memory.Fault {
					if op.Kind != memory.KindWrite {
						return memory.Fault{}
					}
					if writes++; writes > 100 {
						cancel()
					}
					return memory.Conflict
				})
				began := time.Now()
				err := call(ctx, w, b)
				end()
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute || writes < 15 || writes > 60 {
					t.Errorf("%d writes in %s: %v", writes, took, err)
				}
			})
		})
	}
}

// TestFailedAttemptIsCountedOnce: an attempt that failed with a conflict of its own is counted
// once and delivered again. Its count is no lost race.
func TestFailedAttemptIsCountedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inMemory)
	b := w.ready()
	defer w.disturb(func(_ context.Context, op memory.Operation) memory.Fault {
		if op.Partition == store.BatchPartition(b.ID) {
			return memory.Fault{Before: store.ErrExists}
		}
		return memory.Fault{}
	})()
	m := message.Delivery{ID: "m", Type: message.TypeBatchInit, Body: fmt.Appendf(nil, `{"BatchId":%d,"RunbookName":"move","RunbookVersion":1}`, b.ID), DeliveryCount: 1}
	if err := w.app.HandleEvent(w.ctx, m); !errors.Is(err, store.ErrExists) {
		t.Errorf("the first delivery: %v", err)
	}
	if messages := w.listUnprocessable(api.ListOptions{}); len(messages) != 0 {
		t.Errorf("one attempt failed, and the message is stored as unprocessable: %+v", messages)
	}
}
