package login

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

// Forget deletes the sign-in that is kept on this machine, with its tokens, and returns
// the name of the account, which is empty if it cannot be read. Errors: fs.ErrNotExist if
// none is kept.
func (c *Opener) Forget(ctx context.Context) (who string, err error) {
	home, err := c.Home()
	if err != nil {
		return "", err
	}
	t := target{home: home}
	a, err := t.readAccount()
	if errors.Is(err, fs.ErrNotExist) {
		return "", cmp.Or(removeFile(t.tokenFile()), err)
	}
	if err != nil {
		return "", fmt.Errorf("read the sign-in: %w", err)
	}
	if a.Store != settings.StoreFile { // also if it cannot be parsed
		if err := c.emptyKeyStore(ctx); err != nil {
			return "", fmt.Errorf("delete the tokens in the key store of the system: %w", err)
		}
	}
	// The account is deleted last, so that a logout that ends half-way can be repeated.
	for _, path := range []string{t.tokenFile(), t.accountFile()} {
		if err := removeFile(path); err != nil {
			return "", fmt.Errorf("delete the sign-in: %w", err)
		}
	}
	return a.Username, nil
}

// readAccount is the sign-in that was left. Errors: fs.ErrNotExist where there is none; an
// account without anything in it where it cannot be read.
func (t target) readAccount() (account, error) {
	data, err := os.ReadFile(t.accountFile())
	if err != nil {
		return account{}, err
	}
	var a account
	if json.Unmarshal(data, &a) != nil {
		return account{}, nil
	}
	return a, nil
}

// removeFile removes a file if it exists.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
