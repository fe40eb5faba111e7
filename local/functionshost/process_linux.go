package functionshost

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the handler when the host's process is gone,
// however it went.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
