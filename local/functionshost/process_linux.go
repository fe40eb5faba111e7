package functionshost

import (
	"os/exec"
	"syscall"
	"time"
)

// ownGroup keeps the terminal's Ctrl-C from reaching the handler before the host has finished what
// runs. As under the real host, a handler outlives a host that is killed, and has to end by itself.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// threadCPU is the CPU time of the calling thread.
func threadCPU() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var used syscall.Rusage
	if err := syscall.Getrusage(thread, &used); err != nil {
		panic(err) // the arguments are valid
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
