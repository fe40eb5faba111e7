package simulation

import (
	"math"
	"strings"
	"testing"
)

// What follows from a seed is the same each time, or a seed that failed could not be
// replayed.
func TestSeedIsReplayedAsItWas(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		seed += 1000
		first, _ := simulateWith(t, seed, overProtocols(seed), true, math.MaxInt)
		again, _ := simulateWith(t, seed, overProtocols(seed), true, math.MaxInt)
		if first == again {
			continue
		}
		was, is := strings.Split(first, "\n"), strings.Split(again, "\n")
		at := 0
		for at < min(len(was), len(is))-1 && was[at] == is[at] {
			at++
		}
		t.Errorf("seed %d went two ways, first in line %d:\n%s\n%s", seed, at+1, was[at], is[at])
	}
}
