//go:build !unix

package custom

import (
	"os"
	"os/exec"
)

// Where there are no process groups, only the process itself is ended: workers run
// on Linux.
func ownGroup(*exec.Cmd) {}

func killGroup(leader int) {
	if p, err := os.FindProcess(leader); err == nil {
		_ = p.Kill()
	}
}

func reapGroup(int) {}
