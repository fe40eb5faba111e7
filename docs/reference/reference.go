// Package reference generates the reference pages of this directory from the code that they
// describe. A test of cmd/matoolkit, which has all commands, compares the pages.
package reference

//go:generate go test ../../cmd/matoolkit -count=1 -run ^TestReference$ -update

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
)

// Pages returns the reference pages by file name. Root is the directory of the module, commands
// the root command.
func Pages(root string, commands *cobra.Command) (map[string]string, error) {
	pages := map[string]string{}
	for name, read := range map[string]func(root string) (any, error){
		"api.md":              readAPI,
		"bicep-parameters.md": readParameters,
		"cli.md":              func(string) (any, error) { return readCommands(commands), nil },
		"fidelity.md":         readFidelity,
		"functions.md":        readFunctions,
		"limits.md":           readLimits,
		"metrics.md":          readMetrics,
		"performance.md":      readPerformance,
		"problem-codes.md":    readProblemCodes,
		"runbook.md":          readRunbook,
		"settings.md":         readSettings,
		"state-machine.md":    readMachines,
	} {
		data, err := read(root)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var page bytes.Buffer
		if err := templates.ExecuteTemplate(&page, name, data); err != nil {
			return nil, err
		}
		pages[name] = strings.TrimSpace(page.String()) + "\n"
	}
	return pages, nil
}

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"anchor":   strings.ToLower,
	"cell":     cell,
	"code":     code,
	"sentence": sentence,
	"title":    func(word string) string { return strings.ToUpper(word[:1]) + word[1:] },
}).Parse(pageTemplates))

// cell escapes text for a cell of a table.
func cell(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
}

// code is text in code font; nothing for none.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

// sentence is a comment's text as a sentence in a cell.
func sentence(text string) string {
	text = cell(text)
	if text == "" {
		return ""
	}
	if first, rest, _ := strings.Cut(text, " "); strings.ToLower(first) == first && !strings.ContainsAny(first, "./{}_0123456789") {
		text = strings.TrimSpace(strings.ToUpper(first[:1]) + first[1:] + " " + rest)
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// constant is a string constant of Go source with its comment.
type constant struct{ Name, Type, Value, Comment string }

// source is the Go source of one directory, without tests.
type source []*ast.File

func readSource(root, dir string) (source, error) {
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return nil, err
	}
	var files source
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if files == nil {
		return nil, fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	return files, nil
}

// constants are the string constants whose name passes, in the order of the files.
func (s source) constants(pass func(name string) bool) []constant {
	var all []constant
	for _, file := range s {
		for _, declaration := range file.Decls {
			block, ok := declaration.(*ast.GenDecl)
			if !ok || block.Tok != token.CONST {
				continue
			}
			for _, spec := range block.Specs {
				c := spec.(*ast.ValueSpec)
				if len(c.Values) != 1 || !pass(c.Names[0].Name) {
					continue
				}
				if value, ok := text(c.Values[0]); ok {
					found := constant{Name: c.Names[0].Name, Value: value, Comment: strings.TrimSpace(c.Comment.Text())}
					if kind, ok := c.Type.(*ast.Ident); ok {
						found.Type = kind.Name
					}
					all = append(all, found)
				}
			}
		}
	}
	return all
}

// literals are the values of the constants that are a string or a whole number, by their name.
func (s source) literals() map[string]string {
	values := map[string]string{}
	for _, file := range s {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				if value := literal(spec.Values[0], nil); value != "" {
					values[spec.Names[0].Name] = value
				}
			}
			return true
		})
	}
	return values
}

// calls passes on all calls of functions and methods by their name.
func (s source) calls(visit func(name string, arguments []ast.Expr)) {
	for _, file := range s {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				switch f := call.Fun.(type) {
				case *ast.Ident:
					visit(f.Name, call.Args)
				case *ast.SelectorExpr:
					visit(f.Sel.Name, call.Args)
				}
			}
			return true
		})
	}
}

// text returns the value of a string literal.
func text(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(literal.Value)
	return value, err == nil
}

// byValue sorts constants by their value.
func byValue(all []constant) []constant {
	slices.SortFunc(all, func(a, b constant) int { return strings.Compare(a.Value, b.Value) })
	return all
}
