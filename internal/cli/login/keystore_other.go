//go:build !darwin

package login

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity/cache"
)

const noKeyStore = "This machine has no key store"

// keyStore is where the system keeps secrets: the kernel's keyring on Linux, DPAPI on
// Windows.
func keyStore() (azidentity.Cache, error) { return cache.New(&cache.Options{Name: cacheName}) }

// emptyKeyStore removes what azidentity keeps by the system's key store: files that are
// encrypted with a key in the kernel's keyring or by DPAPI. azidentity has no way of its
// own; the places are those that it chooses (azidentity/cache, cache_linux.go and
// cache_windows.go).
func (c *Opener) emptyKeyStore(context.Context) error {
	dir := c.Getenv("XDG_CACHE_HOME")
	if runtime.GOOS == "windows" {
		dir = c.Getenv("LOCALAPPDATA")
	}
	if dir == "" {
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			return err
		}
	}
	var failures []error
	for _, name := range []string{cacheName, cacheName + ".cae"} { // azidentity has one for each kind of token
		failures = append(failures, removeFile(filepath.Join(dir, ".IdentityService", name)))
	}
	return errors.Join(failures...)
}
