package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// stages are the folders of infra that are deployed, one after the other.
var stages = []string{"shared", "automation/functions", "automation/worker"}

// parameters are what a stage is given, and the source of the template, by lines.
func parameters(t *testing.T, stage string) ([]*bicep.Parameter, []string) {
	t.Helper()
	file := filepath.Join(root, "infra", filepath.FromSlash(stage), "deploy.bicep")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, found := bicep.Parse(file, string(source))
	if len(found) > 0 || len(parsed.Parameters) == 0 {
		t.Fatalf("%s: %d parameters, %v", file, len(parsed.Parameters), found)
	}
	return parsed.Parameters, strings.Split(string(source), "\n")
}

// parametersPage ends with what is written from the templates, below this line.
const (
	parametersPage = "docs/parameters.md"
	parametersMark = "<!-- What follows is written from the templates: UPDATE_GOLDEN=1 go test ./e2e -run TestParametersAreInDocuments -->\n"
)

// TestParametersAreInDocuments holds the page of parameters against the templates of the
// stages: their names, types, limits, defaults and descriptions.
func TestParametersAreInDocuments(t *testing.T) {
	t.Parallel()
	path := filepath.Join(root, filepath.FromSlash(parametersPage))
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	byHand, have, found := strings.Cut(string(page), parametersMark)
	if !found {
		t.Fatalf("%s has no line %s", parametersPage, parametersMark)
	}
	var want strings.Builder
	for _, stage := range stages {
		fmt.Fprintf(&want, "\n## infra/%s\n\n| parameter | type | default | |\n|---|---|---|---|\n", stage)
		all, source := parameters(t, stage)
		for _, p := range all {
			fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", p.Name.Text, limits(p, source), initial(p, source), described(t, p))
		}
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(byHand+parametersMark+want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want.String() {
		t.Errorf("%s is not as the templates have it: UPDATE_GOLDEN=1 writes it anew", parametersPage)
	}
}

func described(t *testing.T, p *bicep.Parameter) string {
	t.Helper()
	for _, d := range p.Decorators {
		if text, ok := bicep.Literal(d.Arguments[0]); ok && d.Name.Text == "description" {
			return strings.ReplaceAll(text, "|", `\|`)
		}
	}
	t.Errorf("the parameter %s has no description", p.Name.Text)
	return ""
}

// initial is the default as it is written; lists are on one line.
func initial(p *bicep.Parameter, source []string) string {
	if p.Default == nil {
		return "required"
	}
	_, text, _ := strings.Cut(source[p.Name.Line-1], " = ")
	for i := p.Name.Line; strings.HasSuffix(strings.TrimSpace(source[i-1]), "[") || i > p.Name.Line && !strings.HasPrefix(source[i-1], "]"); i++ {
		text += " " + strings.TrimSpace(source[i])
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

var (
	allowedValues = regexp.MustCompile(`(?s)@allowed\(\[(.*?)\]\)`)
	numericLimits = regexp.MustCompile(`@(min|max)(Value|Length)\((-?\d+)\)`)
)

// limits are the type with the values that are possible.
func limits(p *bicep.Parameter, source []string) string {
	first := p.Name.Line - 1
	for first > 0 && source[first-1] != "" {
		first--
	}
	above := strings.Join(source[first:p.Name.Line-1], "\n")
	text := p.Type.Text
	if m := allowedValues.FindStringSubmatch(above); m != nil {
		return text + ": `" + strings.Join(strings.Fields(m[1]), "`, `") + "`"
	}
	for _, m := range numericLimits.FindAllStringSubmatch(above, -1) {
		word := map[string]string{"min": "at least ", "max": "at most "}[m[1]] + m[3]
		if m[2] == "Length" {
			word += " long"
		}
		text += ", " + word
	}
	return text
}
