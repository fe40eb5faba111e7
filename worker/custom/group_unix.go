//go:build unix

package custom

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the process the leader of a group of its own, to which all that
// it starts belongs unless it takes itself out.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends all of a group. A group that has ended is no concern.
func killGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// reapGroup waits for the members of a group that was killed and whose parents are
// gone: in a container the worker becomes their parent and would keep them as zombies
// forever.
func reapGroup(leader int) {
	for {
		_, err := syscall.Wait4(-leader, nil, 0, nil)
		if err != nil && err != syscall.EINTR {
			return
		}
	}
}
