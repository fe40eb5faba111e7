package system

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/matoolkit/matoolkit/local/entra"
)

// copyFile is in the folder of the state of a tenant with copied people, and has its id and its secrets.
const copyFile = "copy.json"

// protectCopies draws the secrets of the tenants if one of them is, or was before, the copy of a real tenant: migrations bring its
// people into the others.
func (s *System) protectCopies() error {
	tenants := slices.Clone(s.config.Tenants)
	known := make([]bool, len(tenants))
	for i, n := range tenants {
		var err error
		if tenants[i], known[i], err = copyIn(s.config.DataDir, n); err != nil {
			return err
		}
		if s.config.Snapshots[n.Name] != nil {
			tenants[i].TenantID = n.TenantID
		}
	}
	s.copies = len(s.config.Snapshots) > 0 || slices.Contains(known, true)
	if !s.copies {
		return nil
	}
	for i := range tenants {
		if !known[i] {
			tenants[i].WorkerSecret, tenants[i].PeopleSecret = rand.Text(), rand.Text()
		}
	}
	s.config.Tenants = tenants
	return nil
}

// copyIn returns a tenant with its id and secrets if the state in the folder has copied people, else as it is.
func copyIn(dataDir string, n entra.Named) (_ entra.Named, found bool, _ error) {
	if dataDir == "" {
		return n, false, nil
	}
	file := filepath.Join(dataDir, stateOf(n), copyFile)
	body, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return n, false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &n)
	}
	if err != nil {
		return n, false, fmt.Errorf("%s: %w", file, err)
	}
	return n, true, nil
}

// keepCopy writes the id and the secrets of a tenant where its worker finds them; an empty folder keeps nothing.
func (s *System) keepCopy(folder string, n entra.Named) error {
	if folder == "" || !s.copies {
		return nil
	}
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(folder, copyFile), body)
}

// stateOf is the name of the folder of the state of a named tenant.
func stateOf(n entra.Named) string { return "tenant-" + n.Name }
