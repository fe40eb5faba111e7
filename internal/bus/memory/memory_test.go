package memory_test

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus/bustest"
	"github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	bustest.Run(t, func(t *testing.T) bustest.Namespace {
		t.Helper()
		clock := testenv.NewClock()
		b := testenv.Must(memory.New(memory.Config{Now: clock.Now}))(t)
		return bustest.Namespace{
			Client: b.Client(nil), Now: clock.Now, Quiet: 20 * time.Millisecond,
			Advance: func(d time.Duration) { clock.Advance(d); b.Tick() },
		}
	})
}
