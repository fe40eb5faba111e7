package testenv

import (
	"testing"
	"time"
)

// waitTime is longer than anything takes that a test waits for.
const waitTime = 20 * time.Second

// Eventually waits until done, and fails the test if that takes too long.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitTime); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, waitTime)
		}
	}
}
