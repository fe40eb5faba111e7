package custom

import (
	"fmt"
	"syscall"
)

const prSetDumpable = 4 // PR_SET_DUMPABLE of linux/prctl.h

// Shield keeps functions from reading this process's environment and memory through
// /proc or a debugger: they run as the same user, and what they are not given they
// shall not fetch. A process of the superuser is not kept from it.
func Shield() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); errno != 0 {
		return fmt.Errorf("hide the worker's environment from custom functions: %w", errno)
	}
	return nil
}
