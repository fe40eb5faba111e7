//go:build !linux

package system

import "os/exec"

// tieToParent can only be done on Linux: elsewhere a process outlives a parent
// that is killed.
func tieToParent(*exec.Cmd) {}
