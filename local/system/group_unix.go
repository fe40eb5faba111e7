//go:build unix

package system

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the process the leader of a process group of its own.
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// interruptGroup interrupts all processes of the group, as Ctrl-C does. The go command removes its
// temporary files then.
func interruptGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) } // they may have ended
