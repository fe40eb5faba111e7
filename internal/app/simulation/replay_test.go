package simulation

import (
	"regexp"
	"testing"
)

// What follows from a seed is the same each time, or a seed that failed could not be
// replayed. Only the ids that the app draws for itself differ, and with them the order
// of what the audit trail tells of one moment, and the order in which a process logs what
// two of its goroutines find at the same moment.
func TestSeedIsReplayedAsItWas(t *testing.T) {
	t.Parallel()
	drawn := regexp.MustCompile(`\b[a-z2-7]{16}\b|\b[0-9a-f]{12}\b|0x[0-9a-f]+`)
	audit := regexp.MustCompile(`(?m)^\s*audit-.*\n`)
	logged := regexp.MustCompile(`(?m)^\S+\s+process \d+ logs: .*\n`)
	for seed := range uint64(6) {
		seed += 1000
		var first string
		for range 2 {
			text, _ := simulate(t, seed, true)
			text = drawn.ReplaceAllString(logged.ReplaceAllString(audit.ReplaceAllString(text, ""), ""), "…")
			if first == "" {
				first = text
			}
			if text != first {
				t.Errorf("seed %d went two ways", seed)
			}
		}
	}
}
