//go:build unix

package system

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock keeps a second process from writing the same state. It ends with the process,
// however that ends.
func lock(dir string) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another process uses the state in %s: stop it, or choose another --data-dir (%w)", dir, err)
	}
	return f.Close, nil
}
