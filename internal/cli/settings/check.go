package settings

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/apiclient"
)

// Check refuses an invalid value.
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
		return fmt.Errorf("token-store %q is invalid: use auto, system or file", value)
	case key == "auth" && !slices.Contains(AuthMethods, value):
		return fmt.Errorf("auth %q is invalid: use one of %s", value, strings.Join(AuthMethods, ", "))
	case key == "managed-identity-id" && uuid.Validate(value) != nil:
		return fmt.Errorf("managed-identity-id %q is not a client ID: give a GUID", value)
	}
	return nil
}
