package infra_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// The stages, by the folder that each is in.
var stages = map[string]string{"shared": "shared", "functions": "automation/functions", "worker": "automation/worker"}

func union(maps ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range maps {
		for key, value := range m {
			all[key] = value
		}
	}
	return all
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
