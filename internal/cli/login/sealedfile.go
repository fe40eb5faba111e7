package login

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/zalando/go-keyring"

	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

// keyName and keyAccount name the key of the sealed file in the key store of the system.
const (
	keyName    = "matoolkit"
	keyAccount = "key of the sign-in"
)

// sealedFile is a file that a key in the key store of the system encrypts. It is storage for MSAL's
// token cache, which locks it. The tokens themselves are too large for some key stores.
type sealedFile string

// checkKeyring returns why the key store of the system cannot be used; nil if it can.
func checkKeyring() error {
	_, err := keyring.Get(keyName, keyAccount)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// Read returns nothing where there is no file or no key for it: a new sign-in replaces it.
func (f sealedFile) Read(context.Context) ([]byte, error) {
	sealed, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := keyring.Get(keyName, keyAccount)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of the sign-in in the key store: %w", err)
	}
	box, err := newBox(text)
	if err != nil || len(sealed) < box.NonceSize() {
		return nil, nil
	}
	plain, err := box.Open(nil, sealed[:box.NonceSize()], sealed[box.NonceSize():], nil)
	if err != nil { // of another key
		return nil, nil
	}
	return plain, nil
}

// Write makes a key if there is none.
func (f sealedFile) Write(_ context.Context, plain []byte) error {
	text, err := keyring.Get(keyName, keyAccount)
	box, invalid := newBox(text)
	if errors.Is(err, keyring.ErrNotFound) || err == nil && invalid != nil {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails
		text = base64.StdEncoding.EncodeToString(key)
		if err = keyring.Set(keyName, keyAccount, text); err == nil {
			box, err = newBox(text)
		}
	}
	if err != nil {
		return fmt.Errorf("keep the key of the sign-in in the key store: %w", err)
	}
	nonce := make([]byte, box.NonceSize())
	_, _ = rand.Read(nonce)
	return settings.ReplaceFile(string(f), box.Seal(nonce, nonce, plain, nil))
}

// Delete deletes the file and its key.
func (f sealedFile) Delete(context.Context) error {
	err := keyring.Delete(keyName, keyAccount)
	if errors.Is(err, keyring.ErrNotFound) {
		err = nil
	}
	return errors.Join(err, removeFile(string(f)))
}

func newBox(text string) (cipher.AEAD, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
