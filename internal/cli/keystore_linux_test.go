package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/local/entra"
)

// Without a key store, here because there is no folder for it, the sign-in is kept in a
// file, and the command says so.
func TestSigningInWithoutAKeyStore(t *testing.T) {
	t.Parallel()
	s := newSystem(t, entra.DefaultAdminUPN)
	m := s.machine()
	m.env["XDG_CACHE_HOME"] = m.file("no-folder", "")
	m.env["MATOOLKIT_TOKEN_STORE"] = "system"
	if _, told, status := m.run("auth", "login"); status != exit.NotSignedIn || !strings.Contains(told, "key store of the system is not available") || !strings.Contains(told, "--token-store file") {
		t.Errorf("with system: ended with %d: %s", status, told)
	}
	m.env["MATOOLKIT_TOKEN_STORE"] = "auto"
	if _, told, status := m.run("auth", "login"); status != 0 || !strings.Contains(told, "This machine has no key store. The sign-in is kept in home/tokens.json, which only you can read.") {
		t.Fatalf("with auto: ended with %d: %s", status, told)
	}
	if info, err := os.Stat(filepath.Join(m.env["MATOOLKIT_HOME"], "tokens.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, told, status := m.run("runbook", "list"); status != 0 {
		t.Errorf("the next command ended with %d: %s", status, told)
	}
	out, _, status := m.run("auth", "status")
	if status != 0 || !strings.Contains(out, "device-code") || !strings.Contains(out, "Admin") || !strings.Contains(out, "file") {
		t.Errorf("auth status ended with %d: %s", status, out)
	}
}
