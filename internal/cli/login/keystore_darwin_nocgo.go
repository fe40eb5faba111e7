//go:build darwin && !cgo

package login

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// A program that was built on another system, as the released programs are, cannot use the
// Keychain: Apple's libraries are linked on a Mac only. The text replaces "This machine has no
// key store".

const noKeyStore = "This build of matoolkit cannot use the Keychain: build it on a Mac with cgo"

// keyStore fails: azidentity/cache does not even compile without the Keychain.
func keyStore() (azidentity.Cache, error) {
	return azidentity.Cache{}, errors.New("this build of matoolkit cannot use the Keychain; build it on a Mac, with cgo")
}

// emptyKeyStore deletes the entries of another build of matoolkit in the Keychain with the tool
// of macOS (see keystore_darwin.go for the names).
func (c *Opener) emptyKeyStore(ctx context.Context) error {
	const notThere = 44 // errSecItemNotFound, of which an exit status holds eight bits
	var failures []error
	for _, name := range []string{cacheName, cacheName + ".cae"} {
		out, err := exec.CommandContext(ctx, "/usr/bin/security", "delete-generic-password", "-s", name, "-a", "MSALCache").CombinedOutput()
		if ended := new(exec.ExitError); err != nil && !(errors.As(err, &ended) && ended.ExitCode() == notThere) {
			failures = append(failures, fmt.Errorf("delete %s from the Keychain: %w: %s", name, err, out))
		}
	}
	return errors.Join(failures...)
}
