package rehearse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/matoolkit/matoolkit/local/entra"
)

// ReadTenant reads a tenant from a file in the form of a seed.
func ReadTenant(name, path string) (Tenant, error) {
	named, err := entra.NamedTenants(name)
	if err != nil {
		return Tenant{}, err
	}
	t := Tenant{Name: name, ID: named[0].TenantID}
	text, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t.Seed); err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return t, fmt.Errorf("%s: more than one JSON value", path)
	}
	return t, nil
}
