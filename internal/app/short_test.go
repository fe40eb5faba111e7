package app_test

import "testing"

// cutStep is the distance between the writes after which a test kills the process: 1, so that
// it kills the process after each of them, and more with -short.
func cutStep() int {
	if testing.Short() {
		return 10
	}
	return 1
}
