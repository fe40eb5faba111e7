//go:build !race

package app_test

// seedsOfSources is how many seeds of the data source test are run.
const seedsOfSources = 40
