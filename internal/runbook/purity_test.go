package runbook_test

import (
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The pure packages decide and compute. They import the standard library, yaml.v3
// and each other, and of the standard library nothing that does I/O.
func TestPurePackagesImportNothingElse(t *testing.T) {
	t.Parallel()
	const module = "github.com/matoolkit/matoolkit/internal/"
	pure := []string{"runbook", "engine", "schedule", "storable", "humanize"}
	impure := []string{"os", "io/ioutil", "net", "syscall", "database", "log", "math/rand", "crypto/rand", "plugin", "testing", "unsafe"}
	for _, name := range pure {
		dir := filepath.Join("..", name)
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			file := filepath.Join(dir, entry.Name())
			if filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			for _, spec := range parsed.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				first, _, _ := strings.Cut(path, "/")
				switch {
				case path == "gopkg.in/yaml.v3":
				case strings.HasPrefix(path, module) && slices.Contains(pure, strings.TrimPrefix(path, module)):
				case strings.Contains(first, "."):
					t.Errorf("%s imports %s, which is neither standard, yaml.v3 nor pure", file, path)
				case slices.Contains(impure, path) || slices.Contains(impure, first):
					t.Errorf("%s imports %s, which a pure package has no use for", file, path)
				}
			}
		}
	}
}
