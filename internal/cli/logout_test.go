package cli_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/entra"
)

func TestLogoutForgetsTheSignIn(t *testing.T) {
	t.Parallel()
	p := newSystem(t, entra.DefaultAdminUPN).signedIn()
	if _, err, status := p.run("runbook", "list"); status != 0 {
		t.Fatal(err)
	}
	if out, err, status := p.run("auth", "logout"); status != 0 || out != "" || err != "Signed out "+entra.DefaultAdminUPN+".\n" {
		t.Errorf("status %d: %s%s", status, out, err)
	}
	for _, name := range []string{"signin.json", "tokens.json"} {
		if _, err := os.Stat(filepath.Join(p.env["MATOOLKIT_HOME"], name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err, status := p.run("runbook", "list"); status != 3 || !strings.Contains(err, "you are not signed in") {
		t.Errorf("status %d: %s", status, err)
	}
	if out, err, status := p.run("auth", "logout"); status != 0 || out != "" || err != "You were not signed in.\n" {
		t.Errorf("a second time: status %d: %s%s", status, out, err)
	}
	if _, err, status := p.run("auth", "login"); status != 0 {
		t.Errorf("a new sign-in: %s", err)
	}
}
