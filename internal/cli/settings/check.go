package settings

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/apiclient"
)

// Check refuses a value that cannot be meant, so that a mistake shows when it
// is made.
func Check(key, value string) error {
	switch {
	case value == "":
		return nil
	case key == "api-url":
		_, err := apiclient.New(apiclient.Config{BaseURL: value})
		return err
	case key == "authority":
		if u, err := url.Parse(value); err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("authority %q is not an https address", value)
		}
	case key == "token-store" && value != StoreAuto && value != StoreSystem && value != StoreFile:
		return fmt.Errorf("token-store %q is none of auto, system and file", value)
	case key == "auth" && !slices.Contains(AuthMethods, value):
		return fmt.Errorf("auth %q is none of %s", value, strings.Join(AuthMethods, ", "))
	case key == "managed-identity-id" && uuid.Validate(value) != nil:
		return fmt.Errorf("managed-identity-id %q is not a client ID, which is a GUID", value)
	}
	return nil
}
