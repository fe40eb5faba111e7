package e2e_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/e2e/pages"
)

var (
	testIn     = regexp.MustCompile(`^(Test\w+) in (\S+)$`)
	inWorkflow = regexp.MustCompile(`^\.github/workflows/[\w-]+\.yml$`)
	assigned   = regexp.MustCompile(`\b([A-Z_]+)=\S+`)
)

// runElsewhere holds a block that is run by others to its mark: each of its commands is
// run by one of those that are named.
func runElsewhere(all []pages.Command, named string) error {
	var run []string
	for name := range strings.SplitSeq(named, ",") {
		commands, err := runOf(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		run = append(run, commands...)
	}
	for _, c := range all {
		if !slices.Contains(run, anyValue(c.String())) {
			return fmt.Errorf("%s: none of them runs %s: a test's comment would have it in quotes, a workflow would have it for a step", c.Where, c)
		}
	}
	return nil
}

// runOf is what a test's comment quotes, or what a workflow's steps run, with any value.
func runOf(name string) (commands []string, err error) {
	if m := testIn.FindStringSubmatch(name); m != nil {
		comment, err := commentOf(m[1], filepath.Join(root, filepath.FromSlash(m[2])))
		for _, quoted := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(comment, -1) {
			commands = append(commands, anyValue(quoted[1]))
		}
		return commands, err
	}
	if !inWorkflow.MatchString(name) {
		return nil, fmt.Errorf("what runs it is neither a test, TestDemo in e2e, nor a workflow, .github/workflows/ci.yml: %q", name)
	}
	body, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	for _, step := range regexp.MustCompile(`(?m)^ *- run: (.+)$`).FindAllStringSubmatch(string(body), -1) {
		commands = append(commands, anyValue(step[1]))
	}
	return commands, err
}

// anyValue is a command without the values of its variables, and on one line.
func anyValue(command string) string {
	return assigned.ReplaceAllString(strings.Join(strings.Fields(command), " "), "$1=")
}

// commentOf is the comment of a test.
func commentOf(test, folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == test {
				return f.Doc.Text(), nil
			}
		}
	}
	return "", fmt.Errorf("there is no test %s in %s", test, folder)
}
