package system

import (
	"os/exec"
	"syscall"
)

// tieToParent ends the process when the program that started it dies.
func tieToParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
