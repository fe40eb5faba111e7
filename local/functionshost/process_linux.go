package functionshost

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps the terminal's Ctrl-C from reaching the handler before the host has finished what
// runs. As under the real host, a handler outlives a host that is killed, and has to end by itself.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
