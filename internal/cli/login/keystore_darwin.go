//go:build cgo

package login

import (
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity/cache"
	"github.com/AzureAD/microsoft-authentication-extensions-for-go/cache/accessor"
)

const noKeyStore = "This machine has no key store"

// keyStore is where the system keeps secrets: the Keychain.
func keyStore() (azidentity.Cache, error) { return cache.New(&cache.Options{Name: cacheName}) }

// emptyKeyStore takes out of the Keychain what azidentity has put there. azidentity has
// no way of its own; the names are those that it gives (azidentity/cache, cache_darwin.go).
func (c *Opener) emptyKeyStore(ctx context.Context) error {
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
