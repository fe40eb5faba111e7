//go:build race

package app_test

// seedsOfSources are few: the race detector makes a seed ten times as long. All of them
// are run without it.
const seedsOfSources = 3
