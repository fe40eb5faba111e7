package engine_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/matoolkit/matoolkit/internal/engine/enginetest"
)

// declared returns the transitions of enginetest as newSystem records them, such as
// "step: pending --> dispatched". A random batch records its first status; other items begin
// with theirs.
func declared() map[string]bool {
	all := map[string]bool{}
	for _, machine := range enginetest.Machines() {
		for _, t := range machine.Transitions {
			switch {
			case t.From != "":
				all[machine.Name+": "+t.From+" --> "+t.To] = true
			case machine.Name == "batch":
				all["batch: [*] --> "+t.To] = true
			}
		}
	}
	return all
}

func TestEveryBatchEndsWhateverComes(t *testing.T) {
	t.Parallel()
	runbooks := allVersions(t)
	known := declared()
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		s := newSystem(runbooks, random.IntN, t.Fatalf)
		s.pure = random.IntN(3) == 0 // which takes ten times as long
		s.live()
		for transition := range s.passed {
			if !known[transition] {
				t.Fatalf("enginetest.Machines lacks %s", transition)
			}
		}
	})
}

// TestEveryTransitionHappens drives batches of a fixed seed until they have passed through all
// transitions of enginetest.Machines.
func TestEveryTransitionHappens(t *testing.T) {
	t.Parallel()
	runbooks := allVersions(t)
	random := rand.New(rand.NewPCG(1, 2))
	missing := declared()
	for lives := 0; len(missing) > 0 && lives < 5000; lives++ {
		s := newSystem(runbooks, random.IntN, t.Fatalf)
		s.live()
		maps.DeleteFunc(missing, func(transition string, _ bool) bool { return s.passed[transition] })
	}
	for transition := range missing {
		t.Errorf("enginetest.Machines has %s, which does not happen", transition)
	}
}
