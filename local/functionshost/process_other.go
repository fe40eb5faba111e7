//go:build !linux

package functionshost

import "os/exec"

// dieWithParent has no counterpart here: a host that is killed leaves its handler
// behind, idle and on a loopback port.
func dieWithParent(*exec.Cmd) {}
