package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestPercent: the heap grows to the floor, and above it to twice the live heap.
func TestPercent(t *testing.T) {
	t.Parallel()
	const floor = 80 << 20
	for _, c := range []struct {
		live, base uint64
		want       int
	}{
		{0, 0, 2000}, // 4 MB grow to 80 MB
		{16 << 20, 16 << 20, 400},
		{16 << 20, 32 << 20, 200},
		{40 << 20, 40 << 20, 100},
		{60 << 20, 60 << 20, 100},
		{floor, floor, 100},
		{300 << 20, 300 << 20, 100},
	} {
		if got := percent(c.live, c.base, floor); got != c.want {
			t.Errorf("%d MB are live, %d MB with stacks: %d %%, want %d", c.live>>20, c.base>>20, got, c.want)
		}
	}
}

var kept []byte

// TestFloorFollowsTheHeap: each collection sets the growth anew, down to Go's own once more is live
// than half of the floor.
func TestFloorFollowsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	SetFloor(64 << 20)
	t.Cleanup(func() { debug.SetGCPercent(usual) })
	if p := growth(); p < 300 {
		t.Errorf("a small heap grows by %d %%", p)
	}
	kept = make([]byte, 64<<20)
	awaitGrowth(t, func(percent int) bool { return percent == usual })
	kept = nil
	awaitGrowth(t, func(percent int) bool { return percent > 300 })
}

// awaitGrowth collects garbage until the growth is as it has to be.
func awaitGrowth(t *testing.T, done func(percent int) bool) {
	t.Helper()
	for range 1000 {
		if done(growth()) {
			return
		}
		runtime.GC()
		runtime.Gosched()
	}
	t.Errorf("the heap grows by %d %%", growth())
}

func growth() int {
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(percent)
	return int(percent[0].Value.Uint64())
}
