//go:build race

package app_test

// The race detector makes everything five to ten times as long, and finds in the hundredth
// interleaving what it found in the first. It sees some of them; all are played without
// it.
const (
	seedsOfSources = 3 // of the test of data sources
	everyCut       = 5 // of the writes after which something is cut short
)
