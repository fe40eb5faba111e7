// Package apicontract compares answers of the admin API with its OpenAPI document, for tests: status,
// headers, content type and every field. It is stricter than a client may be: an answer has no field
// that the document lacks, and an optional field is absent if it has no value.
//
// It knows the document and HTTP, and nothing of what the API does.
package apicontract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// Operation is one method of one path of the document.
type Operation struct {
	*openapi3.Operation
	Method, Path string // such as GET /batches/{id}
}

// Answer is an answer of the API. Body is not compressed.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Document is the document of an API. It is safe for concurrent use.
type Document struct {
	*openapi3.T
	Operations []Operation // by their ids

	compiler *jsonschema.Compiler
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema
}

const documentURL = "https://matoolkit.invalid/openapi.json"

// Read reads a document in JSON or YAML.
func Read(data []byte) (*Document, error) {
	parsed, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return nil, err
	}
	d := &Document{T: parsed, schemas: map[string]*jsonschema.Schema{}, compiler: jsonschema.NewCompiler()}
	for path, item := range parsed.Paths.Map() {
		for method, o := range item.Operations() {
			d.Operations = append(d.Operations, Operation{o, method, path})
		}
	}
	slices.SortFunc(d.Operations, func(a, b Operation) int { return strings.Compare(a.OperationID, b.OperationID) })
	raw, err := rawDocument(data)
	if err != nil {
		return nil, err
	}
	closed(raw)
	withoutEmpty(raw)
	d.compiler.AssertFormat()
	d.compiler.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: checkTime})
	return d, d.compiler.AddResource(documentURL, raw)
}

// rawDocument reads the document as the schema compiler takes it.
func rawDocument(data []byte) (any, error) {
	var node any
	if err := yaml.Unmarshal(data, &node); err != nil { // JSON is YAML
		return nil, err
	}
	asJSON, err := json.Marshal(node)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
}

// closed forbids additional properties in every object that has properties: an answer
// may not have undescribed fields.
func closed(node any) {
	switch n := node.(type) {
	case map[string]any:
		if _, object := n["properties"].(map[string]any); object && n["type"] == "object" && n["additionalProperties"] == nil {
			n["additionalProperties"] = false
		}
		for _, child := range n {
			closed(child)
		}
	case []any:
		for _, child := range n {
			closed(child)
		}
	}
}

// withoutEmpty forbids empty values in the optional fields of a described type: they are absent.
func withoutEmpty(node any) {
	switch n := node.(type) {
	case map[string]any:
		properties, _ := n["properties"].(map[string]any)
		required, _ := n["required"].([]any)
		for name, of := range properties {
			if field, ok := of.(map[string]any); ok && !slices.Contains(required, any(name)) && (field["type"] != nil || field["$ref"] != nil) {
				field["not"] = map[string]any{"enum": []any{nil, "", false, json.Number("0"), []any{}, map[string]any{}}}
			}
		}
		for _, child := range n {
			withoutEmpty(child)
		}
	case []any:
		for _, child := range n {
			withoutEmpty(child)
		}
	}
}

var answeredTime = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$`)

// checkTime refuses a time that is not in UTC with milliseconds.
func checkTime(value any) error {
	if text, ok := value.(string); ok && !answeredTime.MatchString(text) {
		return fmt.Errorf("the time %q is not in UTC with milliseconds", text)
	}
	return nil
}

// Find returns the operation of a request: path is its escaped path below the server's. HEAD is served
// where GET is. A path is preferred that has the words themselves over one with parameters.
func (d *Document) Find(method, path string) (Operation, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var found Operation
	for _, o := range d.Operations {
		if o.Method == method && matches(o.Path, path) && (found.Operation == nil || strings.Count(o.Path, "{") < strings.Count(found.Path, "{")) {
			found = o
		}
	}
	return found, found.Operation != nil
}

// matches reports whether a path fits a template such as /batches/{id}.
func matches(template, path string) bool {
	wanted, given := strings.Split(template, "/"), strings.Split(path, "/")
	return len(wanted) == len(given) && !slices.ContainsFunc(wanted, func(w string) bool {
		g := given[0]
		given = given[1:]
		return w != g && (!strings.HasPrefix(w, "{") || g == "")
	})
}

// Check compares an answer of an operation with the document.
func (d *Document) Check(o Operation, a Answer) error {
	described := o.Responses.Status(a.Status)
	if a.Status >= 500 && a.Status != http.StatusServiceUnavailable && a.Status != http.StatusInsufficientStorage || described == nil {
		return fmt.Errorf("the status %d is not described", a.Status)
	}
	if err := checkHeaders(described.Value.Headers, a.Header); err != nil {
		return err
	}
	if a.Status == http.StatusNotModified {
		if len(a.Body) > 0 || a.Header.Get("ETag") == "" {
			return fmt.Errorf("304 has the ETag %q and a body of %d bytes", a.Header.Get("ETag"), len(a.Body))
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil || described.Value.Content[media] == nil {
		return fmt.Errorf("the content type %q is not described", a.Header.Get("Content-Type"))
	}
	if !strings.HasSuffix(media, "json") {
		return nil
	}
	schema, err := d.schema(o, a.Status, media)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body))
	if err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		return err
	}
	if media == "application/problem+json" {
		return checkProblem(a)
	}
	return nil
}

func checkHeaders(described openapi3.Headers, given http.Header) error {
	for name, header := range described {
		if header.Value.Required && given.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	for _, name := range []string{"Location", "ETag", "Retry-After", "WWW-Authenticate", "Idempotency-Replayed", "Content-Disposition"} {
		if given.Get(name) != "" && described[name] == nil {
			return fmt.Errorf("the header %s is not described", name)
		}
	}
	if after := given.Get("Retry-After"); after != "" {
		if n, err := strconv.Atoi(after); err != nil || n < 1 {
			return fmt.Errorf("Retry-After is %q", after)
		}
	}
	return nil
}

// checkProblem checks what a schema cannot say of a problem document.
func checkProblem(a Answer) error {
	var p struct {
		Status                 int
		Title, Detail, TraceID string
	}
	if err := json.Unmarshal(a.Body, &p); err != nil {
		return err
	}
	if p.Status != a.Status || p.Title != http.StatusText(a.Status) || p.Detail == "" || p.TraceID == "" || p.TraceID != a.Header.Get("X-Trace-Id") {
		return fmt.Errorf("the problem document is %+v", p)
	}
	for _, inside := range []string{"127.0.0.1", "http://", "https://", "AccountKey", "SharedAccessKey", "goroutine", ".go:"} {
		if strings.Contains(string(a.Body), inside) {
			return fmt.Errorf("the problem document tells of the inside: %s", inside)
		}
	}
	return nil
}

// schema is the one that an answer is described by.
func (d *Document) schema(o Operation, status int, media string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	response := "/paths/" + pointer(o.Path) + "/" + strings.ToLower(o.Method) + "/responses/" + strconv.Itoa(status)
	if ref := o.Responses.Status(status).Ref; ref != "" {
		response = strings.TrimPrefix(ref, "#")
	}
	at := documentURL + "#" + response + "/content/" + pointer(media) + "/schema"
	if d.schemas[at] == nil {
		schema, err := d.compiler.Compile(at)
		if err != nil {
			return nil, err
		}
		d.schemas[at] = schema
	}
	return d.schemas[at], nil
}

// pointer escapes a name for a JSON pointer in a fragment.
func pointer(name string) string {
	name = strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	return (&url.URL{Fragment: name}).EscapedFragment()
}
