package login

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/zalando/go-keyring"
)

// The key store is that of go-keyring in memory: a Mac has another one.
//
//nolint:paralleltest // the provider belongs to the process
func TestSpecificationTokensAreSealedWithAKeyOfTheKeyStore(t *testing.T) {
	keyring.MockInit()
	file := sealedFile(filepath.Join(t.TempDir(), "home", "tokens.sealed"))
	read := func() string {
		t.Helper()
		plain, err := file.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(plain)
	}
	write := func(text string) {
		t.Helper()
		if err := file.Write(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkKeyring(); err != nil || read() != "" {
		t.Errorf("before the first sign-in: %q, %v", read(), err)
	}
	write("a refresh token")
	write("the next token")
	stored, err := os.ReadFile(string(file))
	if err != nil || bytes.Contains(stored, []byte("token")) || read() != "the next token" {
		t.Errorf("%q is stored and %q read, %v", stored, read(), err)
	}
	if info, err := os.Stat(string(file)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	if err := keyring.Set(keyName, keyAccount, "no key"); err != nil || read() != "" {
		t.Errorf("with a broken key: %q, %v", read(), err)
	}
	write("again")
	if err := keyring.Delete(keyName, keyAccount); err != nil || read() != "" {
		t.Errorf("without the key: %q, %v", read(), err)
	}
	write("anew")
	if got := read(); got != "anew" {
		t.Errorf("after a new sign-in: %q", got)
	}
	for range 2 {
		if err := file.Delete(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := keyring.Get(keyName, keyAccount); !errors.Is(err, keyring.ErrNotFound) || read() != "" {
		t.Errorf("after a logout: %v, %q", err, read())
	}

	locked := errors.New("the key store is locked")
	keyring.MockInitWithError(locked)
	defer keyring.MockInit()
	if err := checkKeyring(); !errors.Is(err, locked) {
		t.Errorf("a locked key store: %v", err)
	}
	if err := file.Write(t.Context(), []byte("token")); !errors.Is(err, locked) {
		t.Errorf("a write with a locked key store: %v", err)
	}
	if _, err := os.Stat(string(file)); err == nil {
		t.Error("a file was written without a key")
	}
}
