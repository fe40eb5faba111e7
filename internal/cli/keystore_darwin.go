package cli

import (
	"context"
	"errors"

	"github.com/AzureAD/microsoft-authentication-extensions-for-go/cache/accessor"
)

// emptyKeyStore takes out of the Keychain what azidentity has put there. azidentity has
// no way of its own; the names are those that it gives (azidentity/cache, cache_darwin.go).
func (c *console) emptyKeyStore(ctx context.Context) error {
	var failures []error
	for _, name := range []string{cacheName, cacheName + ".cae"} {
		item, err := accessor.New(name, accessor.WithAccount("MSALCache"))
		if err == nil {
			err = item.Delete(ctx)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}
