package architecture_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/matoolkit/matoolkit/"

// TestImportDirections compares the imports of all packages, without those of tests, with
// the tables of imports.md. A row that permits an unused import fails as well, so
// that the tables describe the program.
func TestImportDirections(t *testing.T) {
	t.Parallel()
	imports := readImports(t)
	if len(imports) < 60 || !slices.Contains(imports["handler"], "internal/app") {
		t.Fatalf("only %d packages were found", len(imports))
	}
	layers := readTable(t, "layer", 3)
	layerOf := func(name string) (layer, entry string) {
		for _, row := range layers {
			if entry := matching(row[1], name); entry != "" {
				if layer != "" {
					t.Errorf("%s is in two layers", name)
				}
				return row[0], entry
			}
		}
		return "", ""
	}
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		layer, entry := layerOf(name)
		if layer == "" {
			t.Errorf("%s is in no layer of imports.md", name)
			continue
		}
		used[layer+" has "+entry] = true
		var permitted []string
		for _, row := range layers {
			if row[0] == layer {
				permitted = split(row[2])
			}
		}
		for _, imported := range imports[name] {
			if isExternal(imported) || strings.HasSuffix(entry, "/*") && within(entry, imported) {
				continue
			}
			target, _ := layerOf(imported)
			i := slices.IndexFunc(permitted, func(p string) bool { return p == target || within(p, imported) })
			if i < 0 {
				t.Errorf("%s (%s) imports %s (%s), which imports.md does not permit", name, layer, imported, target)
				continue
			}
			used[layer+" imports "+permitted[i]] = true
		}
	}
	for _, row := range layers {
		for _, entry := range split(row[1]) {
			if !used[row[0]+" has "+entry] {
				t.Errorf("imports.md lists %s under %s: there is no such package", entry, row[0])
			}
		}
		for _, p := range split(row[2]) {
			if !used[row[0]+" imports "+p] {
				t.Errorf("imports.md lets %s import %s: no package does", row[0], p)
			}
		}
	}
}

// TestImportsOfModules compares who imports certain modules with imports.md.
func TestImportsOfModules(t *testing.T) {
	t.Parallel()
	imports := readImports(t)
	for _, row := range readTable(t, "module", 2) {
		only := strings.TrimSuffix(strings.Trim(row[0], "`"), "/")
		for _, importer := range split(row[1]) {
			found := false
			for name, all := range imports {
				found = found || within(importer, name) && slices.ContainsFunc(all, func(i string) bool { return i == only || strings.HasPrefix(i, only+"/") })
			}
			if !found {
				t.Errorf("imports.md lists %s for %s, which it does not import", importer, only)
			}
		}
		for name, all := range imports {
			for _, imported := range all {
				if (imported == only || strings.HasPrefix(imported, only+"/")) && matching(row[1], name) == "" {
					t.Errorf("%s imports %s, which is for %s", name, imported, row[1])
				}
			}
		}
	}
}

// TestPurePackages checks that what decides, and what describes, imports nothing that acts.
func TestPurePackages(t *testing.T) {
	t.Parallel()
	imports := readImports(t)
	pure := []string{"internal/humanize", "internal/storable"}
	for _, row := range readTable(t, "layer", 3) {
		if row[0] == "contracts" || row[0] == "core" {
			pure = append(pure, split(row[1])...)
		}
	}
	isPure := func(name string) bool {
		return slices.ContainsFunc(pure, func(entry string) bool { return within(entry, name) })
	}
	for _, name := range []string{"internal/api", "internal/engine", "internal/engine/runstate", "internal/model", "internal/runbook", "internal/runbook/template", "internal/schedule"} {
		if len(imports[name]) == 0 || !isPure(name) {
			t.Errorf("%s is not among the pure packages", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if !isPure(name) {
			continue
		}
		for _, imported := range imports[name] {
			first, _, _ := strings.Cut(imported, "/")
			switch {
			case imported == "gopkg.in/yaml.v3", strings.HasPrefix(imported, "internal/"):
			case name == "internal/runbook/condition" && strings.HasPrefix(imported, "github.com/expr-lang/expr"):
			case isExternal(imported) && strings.Contains(first, "."):
				t.Errorf("%s imports %s, which is neither standard nor yaml.v3", name, imported)
			case slices.Contains([]string{"os", "net", "syscall", "database", "log", "plugin", "unsafe"}, first),
				slices.Contains([]string{"crypto/rand", "io/fs", "math/rand", "math/rand/v2"}, imported):
				t.Errorf("%s imports %s, which a pure package must not", name, imported)
			}
		}
	}
}

// TestPrograms checks what the programs hold, directly or by other packages of this module.
func TestPrograms(t *testing.T) {
	t.Parallel()
	imports := readImports(t)
	for program, never := range map[string][]string{
		"handler": {
			"local/*", "cmd/*", "infra/*", "internal/cli/*", "internal/apiclient", "worker/graph", "worker/exchange/*", "worker/dispatch", "worker/signin",
			"github.com/microsoftgraph/*", "github.com/spf13/cobra",
		},
		"worker": {
			"local/*", "cmd/*", "infra/*", "functions/*", "internal/app/*", "internal/store/*", "internal/engine/*", "internal/model", "internal/datasource/*",
			"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos", "github.com/gin-gonic/gin", "modernc.org/sqlite",
		},
		"internal/cli":       {"internal/app/*", "internal/store/*", "internal/bus/*", "internal/engine/*", "internal/model", "functions/*", "local/*"},
		"internal/apiclient": {"internal/app/*", "internal/store/*", "internal/bus/*", "internal/engine/*", "internal/model", "functions/*", "local/*"},
		"internal/app":       {"functions/*", "local/*", "worker/*", "github.com/gin-gonic/gin", "github.com/Azure/azure-sdk-for-go/sdk/azidentity", "github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"},
		"internal/store":     {"github.com/Azure/*", "local/*"},
	} {
		if len(imports[program]) == 0 {
			t.Errorf("there is no package %s", program)
		}
		held := map[string]bool{}
		todo := []string{program}
		for len(todo) > 0 {
			next := todo[0]
			todo = todo[1:]
			for _, imported := range imports[next] {
				if !held[imported] {
					held[imported] = true
					todo = append(todo, imported)
				}
			}
		}
		for _, imported := range slices.Sorted(maps.Keys(held)) {
			for _, p := range never {
				if within(p, imported) {
					t.Errorf("%s holds %s", program, imported)
				}
			}
		}
	}
}

// TestOnlyTheCosmosDriverHasSQL checks that no other package of what runs in Azure has the
// text of a query of Cosmos DB.
func TestOnlyTheCosmosDriverHasSQL(t *testing.T) {
	t.Parallel()
	query := regexp.MustCompile(`"[^"]*\bFROM c\b`)
	found := 0
	for _, dir := range []string{"cmd", "functions", "handler", "internal", "local/system"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if query.Match(text) {
				if found++; !strings.Contains(filepath.ToSlash(path), "internal/store/cosmos/") {
					t.Errorf("%s has a query of Cosmos DB", path)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no query was found: the test looks for the wrong text")
	}
}

// readImports gives the imports of each package with Go files that are no tests; packages
// of this module by their folders.
func readImports(t *testing.T) map[string][]string {
	t.Helper()
	root := filepath.Join("..", "..")
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); file != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules") {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil && file != root {
				return fs.SkipDir // another module
			}
			return nil
		}
		if filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		name := filepath.ToSlash(folder)
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports[name] = append(imports[name], strings.TrimPrefix(imported, module))
		}
		slices.Sort(imports[name])
		imports[name] = slices.Compact(imports[name])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}

// readTable gives the rows of the table of imports.md whose first heading is this.
func readTable(t *testing.T, heading string, columns int) [][]string {
	t.Helper()
	text, err := os.ReadFile("imports.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "\n| "+heading+" |")
	if !found {
		t.Fatalf("imports.md has no table of each %s", heading)
	}
	var rows [][]string
	for i, line := range strings.Split(after, "\n") {
		if i < 2 { // the headings and the line below them
			continue
		}
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != columns {
			t.Fatalf("not %d columns: %s", columns, line)
		}
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		rows = append(rows, cells)
	}
	return rows
}

var word = regexp.MustCompile("[^,`]+")

// split gives the names in a cell.
func split(cell string) []string {
	var names []string
	for _, name := range word.FindAllString(cell, -1) {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// matching gives the name in a cell that a package comes under; empty for none.
func matching(cell, name string) string {
	for _, entry := range split(cell) {
		if within(entry, name) {
			return entry
		}
	}
	return ""
}

// within reports whether a package comes under a name: x, or x/* for all below it too.
func within(entry, name string) bool {
	folder, all := strings.CutSuffix(entry, "/*")
	return name == folder || all && strings.HasPrefix(name, folder+"/")
}

// isExternal reports whether an import is of the standard library or another module. No
// folder of this module has the name of a package of the standard library.
func isExternal(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	_, err := os.Stat(filepath.Join("..", "..", first))
	return err != nil
}
