package adminhttp_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// maxID is the largest number that JSON readers of all languages keep exact.
const maxID = 1<<53 - 1

// node is an object of the document.
type node = map[string]any

func rawDocument(t *testing.T) node {
	t.Helper()
	src, err := os.ReadFile("openapi.yaml")
	check(t, err)
	var d node
	check(t, yaml.Unmarshal(src, &d))
	return d
}

// operations calls do with each operation of the document.
func (d rawDoc) operations(do func(where string, o node)) {
	for path, item := range d.document["paths"].(node) {
		for method, o := range item.(node) {
			do(strings.ToUpper(method)+" "+path, o.(node))
		}
	}
}

// rawDoc follows the references of a document.
type rawDoc struct {
	t        *testing.T
	document node
}

func (d rawDoc) resolve(n node) node {
	d.t.Helper()
	ref, ok := n["$ref"].(string)
	if !ok {
		return n
	}
	at := any(d.document)
	for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		at = at.(node)[name]
	}
	return d.resolve(at.(node))
}

// schemas calls do with each schema below n, with the name of the property or parameter that it is of.
func (d rawDoc) schemas(where, name string, n node, seen map[string]bool, do func(where, name string, schema node)) {
	if ref, ok := n["$ref"].(string); ok {
		if seen[ref] {
			return
		}
		seen[ref] = true
		where = ref
	}
	n = d.resolve(n)
	do(where, name, n)
	if properties, ok := n["properties"].(node); ok {
		for property, schema := range properties {
			d.schemas(where+" "+property, property, schema.(node), seen, do)
		}
	}
	for _, below := range []string{"items", "additionalProperties"} {
		if schema, ok := n[below].(node); ok {
			d.schemas(where, name, schema, seen, do)
		}
	}
	for _, several := range []string{"allOf", "oneOf", "anyOf"} {
		list, _ := n[several].([]any)
		for _, schema := range list {
			d.schemas(where, name, schema.(node), seen, do)
		}
	}
}

// content calls do with each schema of a request body or an answer.
func (d rawDoc) content(where string, body node, do func(where, name string, schema node)) {
	media, _ := d.resolve(body)["content"].(node)
	for _, of := range media {
		d.schemas(where, "", of.(node)["schema"].(node), map[string]bool{}, do)
	}
}

func hasType(schema node, name string) bool {
	if list, ok := schema["type"].([]any); ok {
		return slices.Contains(list, any(name))
	}
	return schema["type"] == name
}

func TestDocumentTagsEachOperation(t *testing.T) {
	t.Parallel()
	d := rawDoc{t, rawDocument(t)}
	described, used := map[string]bool{}, map[string]bool{}
	for _, tag := range d.document["tags"].([]any) {
		described[tag.(node)["name"].(string)] = strings.HasSuffix(fmt.Sprint(tag.(node)["description"]), ".")
	}
	d.operations(func(where string, o node) {
		tags, _ := o["tags"].([]any)
		if len(tags) != 1 || !described[tags[0].(string)] {
			t.Errorf("%s has the tags %v; one of %v is expected", where, tags, slices.Sorted(maps.Keys(described)))
			return
		}
		used[tags[0].(string)] = true
	})
	for tag := range described {
		if !used[tag] {
			t.Errorf("the tag %s is not used", tag)
		}
	}
}

func TestDocumentHasTheTraceIDInEachAnswer(t *testing.T) {
	t.Parallel()
	d := rawDoc{t, rawDocument(t)}
	d.operations(func(where string, o node) {
		for status, response := range o["responses"].(node) {
			headers, _ := d.resolve(response.(node))["headers"].(node)
			if trace, _ := headers["X-Trace-Id"].(node); trace["$ref"] != "#/components/headers/TraceId" {
				t.Errorf("%s: the answer %s has no header X-Trace-Id: {$ref: \"#/components/headers/TraceId\"}", where, status)
			}
		}
	})
}

// A client may meet fields of a later minor version: no answer forbids them. A request with them is
// refused.
func TestDocumentLeavesAnswersOpenAndRequestsClosed(t *testing.T) {
	t.Parallel()
	d := rawDoc{t, rawDocument(t)}
	free := func(where, _ string, s node) {
		if hasType(s, "object") && s["properties"] == nil && s["additionalProperties"] == nil {
			t.Errorf("%s: an object without properties needs additionalProperties: true", where)
		}
	}
	d.operations(func(where string, o node) {
		for _, response := range o["responses"].(node) {
			d.content(where, response.(node), func(where, name string, s node) {
				free(where, name, s)
				if s["additionalProperties"] == false {
					t.Errorf("%s: an answer forbids additional properties", where)
				}
			})
		}
		body, ok := o["requestBody"].(node)
		if !ok {
			return
		}
		d.content(where, body, free)
		for _, of := range d.resolve(body)["content"].(node) {
			if s := d.resolve(of.(node)["schema"].(node)); hasType(s, "object") && s["additionalProperties"] != false {
				t.Errorf("%s: the body does not forbid additional properties", where)
			}
		}
	})
}

func TestDocumentLimitsIDs(t *testing.T) {
	t.Parallel()
	d := rawDoc{t, rawDocument(t)}
	limited := func(where, name string, s node) {
		if !hasType(s, "integer") || name != "id" && !strings.HasSuffix(name, "Id") {
			return
		}
		if maximum, ok := s["maximum"].(int); !ok || maximum > maxID {
			t.Errorf("%s: the id has no maximum up to %d", where, maxID)
		}
	}
	d.operations(func(where string, o node) {
		parameters, _ := o["parameters"].([]any)
		for _, p := range parameters {
			parameter := d.resolve(p.(node))
			limited(where, parameter["name"].(string), d.resolve(parameter["schema"].(node)))
		}
		for _, response := range o["responses"].(node) {
			d.content(where, response.(node), limited)
		}
		if body, ok := o["requestBody"].(node); ok {
			d.content(where, body, limited)
		}
	})
}

// What info.description promises of deprecated operations.
func TestDocumentHasTheHeadersOfDeprecatedOperations(t *testing.T) {
	t.Parallel()
	d := rawDoc{t, rawDocument(t)}
	d.operations(func(where string, o node) {
		if o["deprecated"] != true {
			return
		}
		for status, response := range o["responses"].(node) {
			headers, _ := d.resolve(response.(node))["headers"].(node)
			if headers["Deprecation"] == nil || headers["Sunset"] == nil {
				t.Errorf("%s is deprecated; the answer %s has no headers Deprecation and Sunset", where, status)
			}
		}
	})
	if version := d.document["info"].(node)["version"].(string); strings.Count(version, ".") != 1 {
		t.Errorf("the version %q is not major.minor", version)
	}
}

// A field without a value is absent. The answers of the tour are held to that.
func TestDocumentHasNoNull(t *testing.T) {
	t.Parallel()
	d := rawDoc{t, rawDocument(t)}
	d.operations(func(where string, o node) {
		for _, response := range o["responses"].(node) {
			d.content(where, response.(node), func(where, name string, s node) {
				if hasType(s, "null") || s["nullable"] == true {
					t.Errorf("%s: %s can be null", where, name)
				}
			})
		}
	})
}

// The words that the API defines have one spelling (decision 65). Sorts and includes name fields; topics
// and roles are names of Service Bus and Entra ID.
func TestDocumentSpellsItsWordsInSnakeCase(t *testing.T) {
	t.Parallel()
	d := rawDoc{t, rawDocument(t)}
	word := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	held := 0
	spelled := func(where, name string, s node) {
		if slices.Contains([]string{"sort", "include", "topic", "roles"}, name) {
			return
		}
		values, _ := s["enum"].([]any)
		for _, value := range values {
			if text, ok := value.(string); ok {
				held++
				if !word.MatchString(text) {
					t.Errorf("%s: %s can be %q, which is not in snake_case", where, name, text)
				}
			}
		}
	}
	d.operations(func(where string, o node) {
		parameters, _ := o["parameters"].([]any)
		for _, p := range parameters {
			parameter := d.resolve(p.(node))
			d.schemas(where, parameter["name"].(string), parameter["schema"].(node), map[string]bool{}, spelled)
		}
		for _, response := range o["responses"].(node) {
			d.content(where, response.(node), spelled)
		}
		if body, ok := o["requestBody"].(node); ok {
			d.content(where, body, spelled)
		}
	})
	if held < 100 {
		t.Errorf("only %d words were found", held)
	}
}
