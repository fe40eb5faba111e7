package custom_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/worker/custom"
)

// Every manifest is either accepted as the function that it describes, or refused
// with the place of each fault.
func FuzzManifest(f *testing.F) {
	for _, seed := range []string{
		head + "command: [do.sh]\n", head + "script: do.ps1\n", "a: &a [*a]\n", "? {a: b}\n: c\n", "name: !!binary x\n",
		head + "timeout: 1h\nparams:\n  - {name: A, type: guid, required: true, description: x}\nresult: []\nenvironment: [A]\ncommand: [do.sh, '-x']\n",
		"--- \n...\n", "\"\\xff\"", "name: \"\\0\"\n", "<<: *x\n", strings.Repeat("[", 200),
	} {
		f.Add(seed)
	}
	place := regexp.MustCompile(`^do\.yaml:[0-9]+:[0-9]+: \S`)
	f.Fuzz(func(t *testing.T, manifest string) {
		if len(manifest) > 10_000 {
			return
		}
		d := directory{t.TempDir()}
		for name, content := range map[string]string{"do.yaml": manifest, "do.sh": "", "do.ps1": ""} {
			mode := os.FileMode(0o644)
			if name == "do.sh" {
				mode = 0o755
			}
			if err := os.WriteFile(filepath.Join(d.path, name), []byte(content), mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(d.path, 0o755); err != nil {
			t.Fatal(err)
		}
		set, err := custom.Load(custom.Config{Dir: d.path})
		if err == nil {
			if fs := set.Functions(); len(fs) != 1 || fs[0].Name == "" || fs[0].Description == "" || fs[0].Run == nil {
				t.Fatalf("accepted as %+v", fs)
			}
			return
		}
		if !place.MatchString(err.Error()) {
			t.Fatalf("an error without a place: %v", err)
		}
	})
}
