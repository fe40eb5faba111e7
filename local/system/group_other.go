//go:build !unix

package system

import "os/exec"

// ownGroup does nothing where there are no process groups.
func ownGroup(*exec.Cmd) {}

// interruptGroup kills the process: processes that it has started go on.
func interruptGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended
