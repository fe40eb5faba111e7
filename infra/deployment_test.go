package infra_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/e2e/pages"
	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// The stages, by the folder that each is in, as docs/deployment.md calls them.
var stages = map[string]string{"shared": "shared", "functions": "automation/functions", "worker": "automation/worker"}

// What has a name that nobody else in the world can have.
var worldWide = []string{
	"Microsoft.ContainerRegistry/registries", "Microsoft.DocumentDB/databaseAccounts", "Microsoft.KeyVault/vaults",
	"Microsoft.ServiceBus/namespaces", "Microsoft.Storage/storageAccounts", "Microsoft.Web/sites",
}

// guide is docs/deployment.md, with its text as it stands.
func guide(t *testing.T) (pages.Page, string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "deployment.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := pages.Parse("docs/deployment.md", string(text))
	if err != nil {
		t.Fatal(err)
	}
	return page, string(text)
}

// TestGuideHasTheNames holds the table of names in the guide to what the templates make.
func TestGuideHasTheNames(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for stage, folder := range stages {
		public, private := made(t, folder, false), made(t, folder, true)
		for name, kind := range private {
			by := stage
			if _, both := public[name]; !both {
				by += ", private mode"
			}
			if slices.Contains(worldWide, kind) {
				by += " | yes"
			} else {
				by += " |"
			}
			want[name] = by
		}
		for name := range public {
			if _, both := private[name]; !both {
				t.Errorf("%s is made in the public mode only, which the table cannot say", name)
			}
		}
	}
	if len(want) < 30 {
		t.Fatalf("only %d names are made: %v", len(want), want)
	}
	_, text := guide(t)
	got := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\|[^|`]*\\| `([^`]+)` \\| ([a-z, ]+ \\|(?: yes)?) \\|$").FindAllStringSubmatch(text, -1) {
		if _, twice := got[row[1]]; twice {
			t.Errorf("%s is in the table twice", row[1])
		}
		got[row[1]] = row[2]
	}
	for name := range maps.Keys(union(got, want)) {
		if got[name] != want[name] {
			t.Errorf("%s: the guide has %q, the templates %q", name, got[name], want[name])
		}
	}
}

func union(maps ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range maps {
		for key, value := range m {
			all[key] = value
		}
	}
	return all
}

// TestGuideNamesWhatTheTemplatesHave holds parameters, outputs, limits and resource
// providers in the guide to the templates.
func TestGuideNamesWhatTheTemplatesHave(t *testing.T) {
	t.Parallel()
	page, _ := guide(t)
	known := map[string]bool{}
	providers := map[string]bool{}
	for _, folder := range stages {
		file := parsed(t, filepath.Join(folder, "deploy.bicep"))
		for _, p := range file.Parameters {
			known[p.Text] = true
		}
		for _, o := range file.Outputs {
			known[o.Text] = true
		}
	}
	for _, name := range []string{"shared", "automation/functions", "automation/worker", "automation/alerts"} {
		files, err := filepath.Glob(filepath.Join(name, "*.bicep"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, r := range parsed(t, file).Resources {
				provider, _, _ := strings.Cut(r.Type, "/")
				providers[provider] = true
			}
		}
	}
	delete(providers, "Microsoft.Authorization") // is there in every subscription

	// In running text: what is written like a parameter is one, or an output.
	for _, code := range regexp.MustCompile("`([a-z]+[A-Z]\\w*)(?:=[^`]*)?`").FindAllStringSubmatch(page.Prose, -1) {
		if !known[code[1]] {
			t.Errorf("the guide names `%s`, which is no parameter or output of a stage", code[1])
		}
	}

	given := map[string]map[string]bool{} // by folder, what the commands give
	var registered []string
	for _, b := range page.Blocks {
		for _, m := range regexp.MustCompile(`\bMicrosoft\.\w+\b`).FindAllString(b.Text, -1) {
			if strings.Contains(b.Text, "az provider register") {
				registered = append(registered, m)
			}
		}
		for _, m := range regexp.MustCompile(`(?m)\bstage (?:what-if|create|"\$1") \S+ ([a-z][a-z/]*)(.*)$`).FindAllStringSubmatch(b.Text, -1) {
			if given[m[1]] == nil {
				given[m[1]] = map[string]bool{"name": true}
			}
			for _, p := range regexp.MustCompile(` "?(\w+)=`).FindAllStringSubmatch(m[2], -1) {
				given[m[1]][p[1]] = true
			}
		}
		for _, m := range regexp.MustCompile(`--name (\w+) --query properties\.outputs\.(\w+)\.value`).FindAllStringSubmatch(b.Text, -1) {
			file := parsed(t, filepath.Join(stages[m[1]], "deploy.bicep"))
			if !slices.ContainsFunc(file.Outputs, func(o *bicep.Output) bool { return o.Text == m[2] }) {
				t.Errorf("%s: %s has no output %s", b.Where(), m[1], m[2])
			}
		}
		for _, m := range regexp.MustCompile(`"(\w+)=\[`).FindAllStringSubmatch(b.Text, -1) {
			if !known[m[1]] {
				t.Errorf("%s: %s is no parameter", b.Where(), m[1])
			}
		}
	}
	slices.Sort(registered)
	if want := slices.Sorted(maps.Keys(providers)); !slices.Equal(registered, want) {
		t.Errorf("the guide registers %q, the templates use %q", registered, want)
	}
	for _, folder := range stages {
		file := parsed(t, filepath.Join(folder, "deploy.bicep"))
		for name := range given[folder] {
			if !slices.ContainsFunc(file.Parameters, func(p *bicep.Parameter) bool { return p.Text == name }) {
				t.Errorf("the guide deploys %s with %s, which is no parameter of it", folder, name)
			}
		}
		for _, environment := range []string{"dev", "prod"} {
			written := parameterFile(t, filepath.Join(folder, "deploy.parameters."+environment+".json"))
			for _, p := range file.Parameters {
				if p.Default == nil && !given[folder][p.Text] && !written[p.Text] {
					t.Errorf("%s needs %s: neither the guide's commands nor the file for %s give it", folder, p.Text, environment)
				}
			}
		}
	}
	limits := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\d+ to \\d+) ").FindAllStringSubmatch(page.Prose, -1) {
		limits[m[1]] = m[2]
	}
	for _, p := range parsed(t, "automation/worker/deploy.bicep").Parameters {
		if want, told := limits[p.Text], slices.Contains([]string{"name", "environmentName", "workerId"}, p.Text); told && want != length(p) {
			t.Errorf("%s: the guide has %q, the template %s", p.Text, want, length(p))
		}
	}
}

// length is what the decorators of a parameter allow, as 2 to 11.
func length(p *bicep.Parameter) string {
	limit := map[string]int64{}
	for _, d := range p.Decorators {
		if n, is := first(d.Arguments).(*bicep.Integer); is {
			limit[d.Text] = n.Value
		}
	}
	return fmt.Sprintf("%d to %d", limit["minLength"], limit["maxLength"])
}

func first(all []bicep.Expression) bicep.Expression {
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// TestGuideHasTheVariablesOfTheWorkflows holds the guide's variables of GitHub to those
// that the workflows read.
func TestGuideHasTheVariablesOfTheWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../.github/workflows/deploy-*.yml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%q, %v", files, err)
	}
	read := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\bvars\.([A-Z_]+)`).FindAllStringSubmatch(string(text), -1) {
			read[m[1]] = filepath.Base(file)
		}
	}
	_, text := guide(t)
	_, section, _ := strings.Cut(text, "\n## By GitHub\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for name, file := range read {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("%s reads the variable %s, of which the guide does not tell", file, name)
		}
	}
	for _, m := range regexp.MustCompile("set_variable ([A-Z_]+)|`([A-Z]+_[A-Z_]+)`").FindAllStringSubmatch(section, -1) {
		if name := m[1] + m[2]; read[name] == "" {
			t.Errorf("the guide has the variable %s, which no workflow reads", name)
		}
	}
}

// TestGuideGivesTheWorkerItsPermissions holds what the guide consents to, to what the worker's
// functions need: all of it, and nothing that no function needs.
func TestGuideGivesTheWorkerItsPermissions(t *testing.T) {
	t.Parallel()
	page, _ := guide(t)
	var given []string
	for _, b := range page.Blocks {
		text := strings.ReplaceAll(b.Text, "\\\n", " ")
		for _, m := range regexp.MustCompile(`(?m)^permissions 0000000\S+ (.*)$`).FindAllStringSubmatch(text, -1) {
			given = append(given, strings.Fields(m[1])...)
		}
	}
	needed := map[string]bool{}
	for _, f := range catalog.Standard() {
		for _, p := range f.Permissions {
			if strings.HasPrefix(p, "directory role ") {
				p = "role=31392ffb-586c-42d1-9346-e59415a2cc4e # " + strings.TrimPrefix(p, "directory role ")
				if !slices.ContainsFunc(page.Blocks, func(b pages.Block) bool { return strings.Contains(b.Text, p+"\n") }) {
					t.Errorf("%s needs the role of %q", f.Name, p)
				}
				continue
			}
			needed[p] = true
			if !slices.Contains(given, p) && !slices.Contains(given, strings.Replace(p, ".Read.", ".ReadWrite.", 1)) {
				t.Errorf("%s needs %s, which the guide does not give", f.Name, p)
			}
		}
	}
	for _, p := range given {
		if !needed[p] {
			t.Errorf("the guide gives %s, which no function needs", p)
		}
	}
}

func parsed(t *testing.T, path string) *bicep.File {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, found := bicep.Parse(path, string(source))
	if len(found) > 0 {
		t.Fatalf("%s: %v", path, found)
	}
	return file
}

func parameterFile(t *testing.T, path string) map[string]bool {
	t.Helper()
	var content struct {
		Parameters map[string]json.RawMessage `json:"parameters"`
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	names := map[string]bool{}
	for name := range content.Parameters {
		names[name] = true
	}
	return names
}

// made are the names of the resources that a stage makes, with the type of each.
func made(t *testing.T, folder string, private bool) map[string]string {
	t.Helper()
	names := map[string]string{}
	makes(t, filepath.Join(folder, "deploy.bicep"), map[string]any{
		"name": "matoolkit", "environmentName": "prod", "workerId": "worker-01", "workerImage": "image", "privateNetwork": private,
	}, names)
	return names
}

// makes adds the names of what a file makes, and of what its modules do: not of what is
// part of another resource or says something about one.
func makes(t *testing.T, path string, given map[string]any, names map[string]string) {
	t.Helper()
	file := parsed(t, path)
	for _, r := range file.Resources {
		if r.Existing || r.Body.Property("parent") != nil || r.Body.Property("scope") != nil || strings.Count(r.Type, "/") > 1 {
			continue
		}
		for _, v := range rounds(t, file, given, r.Loop, r.Condition) {
			names[fmt.Sprint(must(t, v, r.Body.Value("name")))] = r.Type
		}
	}
	for _, m := range file.Modules {
		for _, v := range rounds(t, file, given, m.Loop, m.Condition) {
			inner := map[string]any{}
			if params, is := m.Body.Value("params").(*bicep.Object); is {
				for _, p := range params.Properties {
					value, err := v.Of(p.Value)
					if err != nil {
						value = "what only Azure knows" // and no name may be made of
					}
					inner[p.Text] = value
				}
			}
			makes(t, filepath.Join(filepath.Dir(path), m.Source), inner, names)
		}
	}
}

// rounds are the values with which a resource or module is made: none where its condition
// says so, and in a loop one for each item.
func rounds(t *testing.T, file *bicep.File, given map[string]any, loop *bicep.Loop, condition bicep.Expression) []bicep.Values {
	t.Helper()
	values := bicep.Values{File: file, FS: os.DirFS("."), Given: given}
	all := []bicep.Values{values}
	if loop != nil {
		items, is := must(t, values, loop.List).([]any)
		if !is {
			t.Fatalf("%s: a loop goes through what is no list", file.Path)
		}
		all = nil
		for i, item := range items {
			inner := maps.Clone(given)
			inner[loop.Item.Text] = item
			if loop.Index.Text != "" {
				inner[loop.Index.Text] = int64(i)
			}
			all = append(all, bicep.Values{File: file, FS: values.FS, Given: inner})
		}
	}
	return slices.DeleteFunc(all, func(v bicep.Values) bool { return condition != nil && must(t, v, condition) != true })
}

func must(t *testing.T, v bicep.Values, e bicep.Expression) any {
	t.Helper()
	value, err := v.Of(e)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
