package functionshost

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the handler when the host's process is gone,
// however it went. A group of its own keeps the terminal's Ctrl-C from reaching
// the handler before the host has finished what runs.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
