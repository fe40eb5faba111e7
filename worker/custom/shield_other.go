//go:build !linux

package custom

// Shield does nothing here: workers run on Linux.
func Shield() error { return nil }
