package memory_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Driver {
		var fault atomic.Pointer[memory.Fault]
		s := memory.New(memory.Config{Hook: func(context.Context, memory.Operation) memory.Fault {
			if f := fault.Load(); f != nil {
				return *f
			}
			return memory.Fault{}
		}})
		inject := func(f memory.Fault) func(*testing.T) func() {
			return func(*testing.T) func() {
				fault.Store(&f)
				return func() { fault.Store(nil) }
			}
		}
		return storetest.Driver{
			Store: s, Unavailable: inject(memory.Unavailable), LoseAnswer: inject(memory.AnswerLost),
			Full: inject(memory.Fault{Before: fmt.Errorf("%w: a fault of the test", store.ErrFull)}),
		}
	})
}
