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

// keyStore returns the key store of the system: the kernel's keyring on Linux, DPAPI on
// Windows.
func keyStore() (azidentity.Cache, error) { return cache.New(&cache.Options{Name: cacheName}) }

// checkKeyStore returns why the key store cannot be used; nil if it can.
func checkKeyStore() error {
	_, err := keyStore()
	return err
}

// newStoredCredential keeps tokens in the key store.
func newStoredCredential(t target, a account) (credential, error) {
	keys, err := keyStore()
	if err != nil {
		return nil, err
	}
	return newSystemCredential(t, a, keys)
}

// emptyKeyStore deletes the files of azidentity, which are encrypted with a key in the kernel's
// keyring or by DPAPI. azidentity cannot delete them; the paths are those of azidentity (azidentity/cache, cache_linux.go and
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
