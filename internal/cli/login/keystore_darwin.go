package login

import (
	"context"
	"errors"
	"path/filepath"
)

func (t target) sealedFile() string { return filepath.Join(t.home, "tokens.sealed") }

const noKeyStore = "The Keychain is not available"

// checkKeyStore returns why the Keychain cannot be used; nil if it can.
func checkKeyStore() error { return checkKeyring() }

// newStoredCredential keeps tokens in a file that a key in the Keychain encrypts. azidentity's own cache
// needs a program that is built on a Mac with cgo, and the Keychain has no room for the tokens.
func newStoredCredential(t target, a account) (credential, error) {
	return newMSALCredential(t, a, sealedFile(t.sealedFile()), t.sealedFile())
}

// emptyKeyStore deletes the file and its key.
func (c *Opener) emptyKeyStore(ctx context.Context) error {
	home, err := c.Home()
	if err != nil {
		return err
	}
	path := target{home: home}.sealedFile()
	return errors.Join(sealedFile(path).Delete(ctx), removeFile(path+".sync"))
}
