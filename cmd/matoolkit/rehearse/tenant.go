package rehearse

import (
	"fmt"
	"os"

	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// ReadTenant opens a copy of a tenant: the folder of a snapshot, or a file in the form of a seed. identityFile has the private
// keys of an encrypted snapshot, and can be empty.
func ReadTenant(name, path, identityFile string) (Tenant, error) {
	named, err := entra.NamedTenants(name)
	if err != nil {
		return Tenant{}, err
	}
	t := Tenant{Name: name, ID: named[0].TenantID}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if t.Snapshot, err = snapshot.Open(path, identityFile); err != nil {
			return t, err
		}
		if m := t.Snapshot.Manifest(); !m.Redacted {
			t.ID = m.TenantID
		}
		return t, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	if t.Seed, err = tenant.ParseSeed(text); err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}
