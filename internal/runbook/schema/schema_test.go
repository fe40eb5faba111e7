package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/runbook/schema"
	"github.com/matoolkit/matoolkit/internal/runbook/starter"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

func compiled(t *testing.T, functions []signature.Function) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(schema.Document(functions))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("runbook.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("runbook.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance converts YAML as editors do before they validate it.
func instance(n *yaml.Node) any {
	switch n.Kind {
	case yaml.DocumentNode:
		return instance(n.Content[0])
	case yaml.AliasNode:
		return instance(n.Alias)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = instance(item)
		}
		return list
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = instance(n.Content[i+1])
		}
		return m
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		if _, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return json.Number(n.Value)
		}
	case "!!bool":
		return n.Value == "true"
	case "!!null":
		return nil
	}
	return n.Value
}

// faults are the places where a schema finds a fault in a runbook, as lint writes them.
func faults(t *testing.T, s *jsonschema.Schema, text []byte) (places []string, readable bool) {
	t.Helper()
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 || aliasOfItself(&root) {
		return nil, false
	}
	err := s.Validate(instance(&root))
	var wrong *jsonschema.ValidationError
	if errors.As(err, &wrong) {
		var collect func(e *jsonschema.ValidationError)
		collect = func(e *jsonschema.ValidationError) {
			if len(e.Causes) == 0 {
				places = append(places, path(e.InstanceLocation))
			}
			for _, c := range e.Causes {
				collect(c)
			}
		}
		collect(wrong)
	} else if err != nil {
		t.Fatal(err)
	}
	return places, true
}

func aliasOfItself(n *yaml.Node) bool {
	var depth func(n *yaml.Node, left int) bool
	depth = func(n *yaml.Node, left int) bool {
		if left == 0 {
			return true
		}
		if n.Kind == yaml.AliasNode {
			return depth(n.Alias, left-1)
		}
		return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return depth(c, left-1) })
	}
	return depth(n, 60)
}

var number = regexp.MustCompile(`^[0-9]+$`)

func path(location []string) string {
	text := ""
	for _, step := range location {
		switch {
		case number.MatchString(step):
			text += "[" + step + "]"
		case text == "":
			text = step
		default:
			text += "." + step
		}
	}
	return text
}

// inside reports whether a place is another, is in it, or holds it.
func inside(a, b string) bool {
	return a == b || a == "" || b == "" || strings.HasPrefix(a, b+".") || strings.HasPrefix(a, b+"[") || strings.HasPrefix(b, a+".") || strings.HasPrefix(b, a+"[")
}

// beyond are the codes of errors that no schema of one value can find: they need the text, another
// part of the runbook, or a list of all time zones. With texts, only findings with one of them.
var beyond = map[string][]string{
	runbook.CodeAliasLimit: nil, runbook.CodeAmbiguousNumber: nil, runbook.CodeBadEncoding: nil, runbook.CodeBadTemplate: nil,
	runbook.CodeDepthLimit: nil, runbook.CodeDuplicateColumn: nil, runbook.CodeDuplicateKey: nil, runbook.CodeDuplicatePhase: nil, runbook.CodeDuplicateStep: nil,
	runbook.CodeEmpty: nil, runbook.CodeFilterType: nil, runbook.CodeWorkerCase: nil, runbook.CodeCurlyQuotes: nil, runbook.CodeIndent: nil, runbook.CodeInitMemberData: nil, runbook.CodeItemSource: nil, runbook.CodeListInText: nil, runbook.CodeMultipleDocs: nil,
	runbook.CodeNoPhaseBefore: nil, runbook.CodeOnCompleteData: nil, runbook.CodeOnCompleteOutput: nil, runbook.CodePhaseVariable: nil,
	runbook.CodeSecretPlace: nil, runbook.CodeShadowedColumn: nil, runbook.CodeSyntax: nil, runbook.CodeTab: nil, runbook.CodeTooLarge: nil, runbook.CodeTooMany: nil,
	runbook.CodeBadValue:        {"cover the whole week", "is not a column", "is a multi-valued column", "is shorter than", "is longer than"},
	runbook.CodeReservedName:    {"the source of the items is shown"},
	runbook.CodeBadOffset:       {"is longer than 3650d"},
	runbook.CodeBadDuration:     {"is longer than 3650d"},
	runbook.CodeUnquoted:        {".params."},
	runbook.CodeCache:           {"has no variable", "differs in each batch", "is longer than expires"},
	runbook.CodeDetached:        {"is behind the detached step", "is a secret output"},
	runbook.CodeUnknownRollback: nil, runbook.CodeUnknownSpecial: nil, runbook.CodeUnresolvable: nil, runbook.CodeBadTimeZone: nil,
}

// The schema accepts what the parser accepts, and finds each error that a schema can find, where
// the parser finds it.
func TestSchemaFindsWhatTheParserFinds(t *testing.T) {
	t.Parallel()
	s := compiled(t, nil)
	files, err := filepath.Glob("../testdata/diagnostics/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatal(len(files), err)
	}
	checked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, found := runbook.Parse(text)
		places, readable := faults(t, s, text)
		if !readable {
			continue
		}
		for _, d := range found {
			texts, isBeyond := beyond[d.Code]
			if d.Severity != runbook.SeverityError || isBeyond && (texts == nil || slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(d.String(), s) })) {
				continue
			}
			checked++
			if !slices.ContainsFunc(places, func(p string) bool { return inside(p, d.Path) }) {
				t.Errorf("%s: the schema does not find %s", filepath.Base(file), d)
			}
		}
		for _, p := range places {
			if !slices.ContainsFunc(found, func(d runbook.Diagnostic) bool { return d.Severity == runbook.SeverityError && inside(p, d.Path) }) {
				t.Errorf("%s: the schema finds a fault in %q, the parser does not", filepath.Base(file), p)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d errors were compared", checked)
	}
}

// runbooks are all runbooks of the repository that have no errors.
func runbooks(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, pattern := range []string{"../../../examples/*/*.yaml", "../../../internal/simulate/testdata/*/runbook.yaml", "../testdata/*.yaml", "../../../e2e/testdata/*.yaml", "../testdata/diagnostics/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if rb, _ := runbook.Parse(text); rb != nil {
				all[file] = text
			}
		}
	}
	for _, name := range starter.Templates() {
		for _, source := range starter.Sources() {
			text, _, err := starter.Write(starter.Options{Template: name, Source: starter.Source(source), Name: name, File: "made.yaml", Schema: "runbook.schema.json"})
			if err != nil {
				t.Fatal(err)
			}
			all[name+" of "+source] = text
		}
	}
	if len(all) < 20 {
		t.Fatalf("%d runbooks", len(all))
	}
	return all
}

func TestSchemaAcceptsRunbooksWithoutErrors(t *testing.T) {
	t.Parallel()
	s := compiled(t, nil)
	for file, text := range runbooks(t) {
		if places, readable := faults(t, s, text); !readable || len(places) > 0 {
			t.Errorf("%s: %t %q", file, readable, places)
		}
	}
}

// With functions, the schema refuses the calls that lint warns of, and no others.
func TestSchemaOfCallsFindsWhatLintFinds(t *testing.T) {
	t.Parallel()
	functions := catalog.Signatures(catalog.Standard())
	s := compiled(t, functions)
	const calls = `name: calls
data_source: {type: csv, primary_key: Upn}
phases:
  - name: move
    offset: T-0
    steps:
`
	texts := runbooks(t)
	for i, step := range []string{
		`function: Set-EntraUserEnabled, params: {UserId: "{{Id}}", Enabled: true}`,
		`function: set-entrauserENABLED, params: {userid: "{{Id}}", ENABLED: "True"}`,
		`function: Set-EntraUserEnabled, params: {UserId: "{{Id}}", Enabled: perhaps}`,
		`function: Set-EntraUserEnabled, params: {UserId: "{{Id}}"}`,
		`function: Set-EntraUserEnabled, params: {UserId: abc, Enabled: true}`,
		`function: Set-EntraUserEnabled, params: {UserId: "", Enabled: true}`,
		`function: Set-EntraUserEnabled`,
		`function: Set-EntraUserEnabld, params: {UserId: "{{Id}}", Enabled: true}`,
		`function: "{{Which}}", params: {Any: 1}`,
		`function: Send-AdminAlert, params: {Subject: 17}`,
		`function: Send-AdminAlert, params: {Subject: [1]}`,
		`function: Test-EntraAttributeMatch, params: {UserId: "{{Id}}", AttributeName: x, ExpectedValue: [a, "{{B}}"]}`,
		`function: Test-ExchangeAttributeMatch, params: {Identity: a, AttributeName: x, RecipientType: mailbox}`,
		`function: Test-ExchangeAttributeMatch, params: {Identity: a, AttributeName: x, RecipientType: Letterbox}`,
		`function: Set-EntraUserUPN, params: {UserId: "{{Id}}", NewUserPrincipalName: ada}`,
		`function: Set-EntraUserUPN, params: {UserId: "{{Id}}", NewUserPrincipalName: ada@fabrikam.com}`,
	} {
		texts[fmt.Sprint(i)] = []byte(calls + "      - {name: s, worker_id: w, " + step + "}\n")
	}
	for name, text := range texts {
		rb, diagnostics := runbook.Parse(text)
		if rb == nil {
			t.Fatal(name, diagnostics)
		}
		var want []string
		for _, d := range lint.Check(text, rb, lint.Catalogs{Standard: functions}) {
			if d.AlwaysFails && d.Code != "unknown-result-field" {
				want = append(want, d.Path)
			}
		}
		got, _ := faults(t, s, text)
		for _, p := range got {
			if !slices.ContainsFunc(want, func(w string) bool { return inside(p, w) }) {
				t.Errorf("%s: the schema finds a fault in %q, lint finds %q", name, p, want)
			}
		}
		for _, w := range want {
			if !slices.ContainsFunc(got, func(p string) bool { return inside(p, w) }) {
				t.Errorf("%s: the schema does not find %q", name, w)
			}
		}
	}
}

// The parser knows only fields that the format describes; each has a form, a description, and a
// place in the schema.
func TestSchemaHasEveryField(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(schema.Document(nil))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Definitions map[string]struct {
			Properties map[string]struct{ Description string }
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for i, o := range runbook.Format() {
		if i > 0 && !strings.Contains(string(text), `"#/definitions/`+o.Key()+`"`) {
			t.Errorf("no field has the form %s", o.Name)
		}
		for _, f := range o.Fields {
			if len(f.Form) == 0 || document.Definitions[o.Key()].Properties[f.Name].Description != f.Doc || f.Doc == "" {
				t.Errorf("%s.%s has no form, no description or no place in the schema", o.Name, f.Name)
			}
		}
	}
}
