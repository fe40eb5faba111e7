//go:build !race

package app_test

const (
	seedsOfSources = 40 // of the test of data sources
	everyCut       = 1  // of the writes after which something is cut short: all
)
