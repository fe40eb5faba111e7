package engine_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawing reads the transitions that docs/state-machine.md draws, each as
// "step: pending --> dispatched". A diagram follows the heading that names what
// it is of.
func drawing(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/state-machine.md")
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string]bool{}
	kind, inside := "", false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			kind = strings.ToLower(strings.TrimPrefix(line, "## "))
		case line == "```mermaid":
			inside = true
		case line == "```":
			inside = false
		case inside && strings.Contains(line, "-->"):
			transition, _, _ := strings.Cut(line, " : ")
			drawn[kind+": "+strings.TrimSpace(transition)] = true
		}
	}
	if len(drawn) < 20 {
		t.Fatalf("%d transitions are drawn", len(drawn))
	}
	return drawn
}

// Only of a batch is it seen where it begins; what has ended stays as it is, and
// is drawn only to be seen.
func begins(transition string) bool {
	return !strings.HasPrefix(transition, "batch:") && strings.Contains(transition, "[*] -->") || ends(transition)
}

func ends(transition string) bool { return strings.HasSuffix(transition, "--> [*]") }

func TestEveryBatchEndsWhateverComes(t *testing.T) {
	t.Parallel()
	runbooks := allVersions(t)
	drawn := drawing(t)
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		s := newSystem(runbooks, random.IntN, t.Fatalf)
		s.pure = random.IntN(3) == 0 // which takes ten times as long
		s.live()
		for transition := range s.passed {
			if !drawn[transition] && !ends(transition) {
				t.Fatalf("docs/state-machine.md does not draw %s", transition)
			}
		}
	})
}

// The same systems, from a fixed seed, pass through everything that is drawn.
func TestDrawingShowsExactlyWhatHappens(t *testing.T) {
	t.Parallel()
	runbooks := allVersions(t)
	random := rand.New(rand.NewPCG(1, 2))
	missing := drawing(t)
	maps.DeleteFunc(missing, func(transition string, _ bool) bool { return begins(transition) })
	for lives := 0; len(missing) > 0 && lives < 5000; lives++ {
		s := newSystem(runbooks, random.IntN, t.Fatalf)
		s.live()
		maps.DeleteFunc(missing, func(transition string, _ bool) bool { return s.passed[transition] })
	}
	for transition := range missing {
		t.Errorf("docs/state-machine.md draws %s, which does not happen", transition)
	}
}
