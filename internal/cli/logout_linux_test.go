package cli_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files of the key store are deleted as well, also if the account is unknown.
func TestLogoutEmptiesTheKeyStore(t *testing.T) {
	t.Parallel()
	for _, account := range []string{`{"store":"system","username":"ada"}`, "cut o"} {
		p := newPerson(t)
		p.env["XDG_CACHE_HOME"] = filepath.Join(p.dir, "cache")
		dir := filepath.Join(p.dir, "cache", ".IdentityService")
		check(t, os.MkdirAll(dir, 0o700))
		check(t, os.MkdirAll(p.env["MATOOLKIT_HOME"], 0o700))
		p.file("home/signin.json", account)
		for _, name := range []string{"matoolkit-cli", "matoolkit-cli.cae", "another"} {
			p.file("cache/.IdentityService/"+name, "x")
		}
		if _, err, status := p.run("auth", "logout"); status != 0 || !strings.Contains(err, "Signed out") {
			t.Errorf("status %d: %s", status, err)
		}
		left, err := os.ReadDir(dir)
		check(t, err)
		if len(left) != 1 || left[0].Name() != "another" {
			t.Errorf("left: %v", left)
		}
		if _, err := os.Stat(filepath.Join(p.env["MATOOLKIT_HOME"], "signin.json")); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
}
