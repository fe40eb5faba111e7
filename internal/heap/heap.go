// Package heap trades memory for less garbage collection. It knows nothing of what the programs
// allocate.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// usual is the growth of the heap, in percent of the live heap, after which Go collects garbage.
const usual = 100

// SetFloor keeps Go from collecting garbage while the heap is smaller than floor bytes. A program
// that keeps little and allocates much then collects it much less often. Above the floor Go collects
// it as usual, when the heap has twice the bytes that are live. SetFloor is called once, at the
// start; where the variable GOGC is set, it does nothing.
func SetFloor(floor uint64) {
	if os.Getenv("GOGC") == "" {
		(&collection{floor: floor}).ended()
	}
}

// collection is garbage itself: its finalizer runs once after each collection.
type collection struct {
	floor uint64
	_     *byte // Go may never finalize an object without pointers
}

func (c *collection) ended() {
	sizes := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(sizes)
	live := sizes[0].Value.Uint64()
	debug.SetGCPercent(percent(live, live+sizes[1].Value.Uint64()+sizes[2].Value.Uint64(), c.floor))
	runtime.SetFinalizer(c, (*collection).ended)
}

// percent returns by how much the heap may grow above the live heap, in percent of base: of the live heap,
// with the stacks and the globals, as Go has it. Go takes a base of less than 4 MB for one of 4 MB.
func percent(live, base, floor uint64) int {
	if floor <= live {
		return usual
	}
	return max(usual, int((floor-live)*100/max(base, 4<<20)))
}
