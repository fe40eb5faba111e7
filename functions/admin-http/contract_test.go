package adminhttp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// operation is one method of one address, as the document has it.
type operation struct {
	*openapi3.Operation
	method, path string
}

// contract holds the answers of an API to its document.
type contract struct {
	t          *testing.T
	api        string // where it is
	token      map[string]string
	document   *openapi3.T
	operations []operation
	compiler   *jsonschema.Compiler
	known      *known
	before     func(operation, *http.Request) // changes a request before it is sent; nil: nothing does
	after      func(*sent)                    // gets each answer; nil: nothing does

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema
	seen    map[string]map[int]int // by operation and status
}

const documentURL = "https://matoolkit.invalid/openapi.json"

// newContract reads the document from the API that it is about.
func newContract(t *testing.T, r *real) *contract {
	t.Helper()
	c := &contract{
		t: t, api: r.url, known: newKnown(), schemas: map[string]*jsonschema.Schema{}, seen: map[string]map[int]int{},
		token: map[string]string{"admin": r.token(automationID), "reader": r.token(reportsID), "stranger": r.token(strangerID), "forged": "not.a.token", "none": ""},
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/api/openapi.json", nil)
	check(t, err)
	request.Header.Set("Authorization", "Bearer "+c.token["reader"])
	answer, err := http.DefaultClient.Do(request)
	check(t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	check(t, err)
	c.document, err = openapi3.NewLoader().LoadFromData(data)
	check(t, err)
	for path, item := range c.document.Paths.Map() {
		for method, o := range item.Operations() {
			c.operations = append(c.operations, operation{o, method, path})
		}
	}
	slices.SortFunc(c.operations, func(a, b operation) int { return strings.Compare(a.OperationID, b.OperationID) })
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	check(t, err)
	closed(parsed)
	withoutEmpty(parsed)
	c.compiler = jsonschema.NewCompiler()
	c.compiler.AssertFormat()
	c.compiler.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: checkTime})
	check(t, c.compiler.AddResource(documentURL, parsed))
	return c
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

// sent is a request and its answer.
type sent struct {
	operation operation
	request   *http.Request
	body      string
	status    int
	header    http.Header
	answer    []byte
}

func (s *sent) String() string {
	text := fmt.Sprintf("%s: %s %s", s.operation.OperationID, s.request.Method, s.request.URL.RequestURI())
	for _, name := range slices.Sorted(maps.Keys(s.request.Header)) {
		if name != "Authorization" {
			text += fmt.Sprintf("\n%s: %s", name, s.request.Header.Get(name))
		}
	}
	if s.body != "" {
		text += fmt.Sprintf("\n%.2000q", s.body)
	}
	return fmt.Sprintf("%s\nanswered %d %v\n%.3000s", text, s.status, s.header, s.answer)
}

// wanted holds the parts of a request of an operation.
type wanted struct {
	caller string // a key of token
	path   map[string]string
	query  url.Values
	header map[string]string
	media  string
	body   string
}

// send sends a request and validates its answer.
func (c *contract) send(o operation, w wanted) (*sent, error) {
	address := o.path
	for name, value := range w.path {
		address = strings.ReplaceAll(address, "{"+name+"}", url.PathEscape(value))
	}
	full := c.api + "/api" + address
	if len(w.query) > 0 {
		full += "?" + w.query.Encode()
	}
	request, err := http.NewRequestWithContext(c.t.Context(), o.method, full, strings.NewReader(w.body))
	if err != nil {
		return nil, err
	}
	for name, value := range w.header {
		request.Header.Set(name, value)
	}
	if w.media != "" {
		request.Header.Set("Content-Type", w.media)
	}
	if token := c.token[w.caller]; token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if c.before != nil {
		c.before(o, request)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.method, full, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.method, full, err)
	}
	s := &sent{o, request, w.body, response.StatusCode, response.Header, answer}
	c.mu.Lock()
	if c.seen[o.OperationID] == nil {
		c.seen[o.OperationID] = map[int]int{}
	}
	c.seen[o.OperationID][s.status]++
	c.mu.Unlock()
	if err := c.hold(s); err != nil {
		return s, fmt.Errorf("%w\n%s", err, s)
	}
	c.known.learn(s)
	if c.after != nil {
		c.after(s)
	}
	return s, nil
}

// hold compares an answer with the document.
func (c *contract) hold(s *sent) error {
	described := s.operation.Responses.Status(s.status)
	if s.status >= 500 && s.status != http.StatusServiceUnavailable || described == nil {
		return fmt.Errorf("the status %d is not described", s.status)
	}
	for name, header := range described.Value.Headers {
		if header.Value.Required && s.header.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	for _, name := range []string{"Location", "ETag", "Retry-After", "WWW-Authenticate", "Idempotency-Replayed", "Content-Disposition"} {
		if s.header.Get(name) != "" && described.Value.Headers[name] == nil {
			return fmt.Errorf("the header %s is not described", name)
		}
	}
	if after := s.header.Get("Retry-After"); after != "" {
		if n, err := strconv.Atoi(after); err != nil || n < 1 {
			return fmt.Errorf("Retry-After is %q", after)
		}
	}
	if s.status == http.StatusNotModified {
		if len(s.answer) > 0 || s.header.Get("ETag") == "" {
			return fmt.Errorf("304 has the ETag %q and a body of %d bytes", s.header.Get("ETag"), len(s.answer))
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(s.header.Get("Content-Type"))
	if err != nil || described.Value.Content[media] == nil {
		return fmt.Errorf("the content type %q is not described", s.header.Get("Content-Type"))
	}
	if !strings.HasSuffix(media, "json") {
		return nil
	}
	schema, err := c.schema(s.operation, s.status, media)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.answer))
	if err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		return err
	}
	if media == "application/problem+json" {
		return checkProblem(s)
	}
	return nil
}

// checkProblem checks what a schema cannot say of a problem document.
func checkProblem(s *sent) error {
	var p struct {
		Status                 int
		Title, Detail, TraceID string
	}
	if err := json.Unmarshal(s.answer, &p); err != nil {
		return err
	}
	if p.Status != s.status || p.Title != http.StatusText(s.status) || p.Detail == "" || p.TraceID == "" || p.TraceID != s.header.Get("X-Trace-Id") {
		return fmt.Errorf("the problem document is %+v", p)
	}
	for _, inside := range []string{"127.0.0.1", "http://", "https://", "AccountKey", "SharedAccessKey", "goroutine", ".go:"} {
		if strings.Contains(string(s.answer), inside) {
			return fmt.Errorf("the problem document tells of the inside: %s", inside)
		}
	}
	return nil
}

// schema is the one that an answer is described by.
func (c *contract) schema(o operation, status int, media string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	response := "/paths/" + pointer(o.path) + "/" + strings.ToLower(o.method) + "/responses/" + strconv.Itoa(status)
	if ref := o.Responses.Status(status).Ref; ref != "" {
		response = strings.TrimPrefix(ref, "#")
	}
	at := documentURL + "#" + response + "/content/" + pointer(media) + "/schema"
	if c.schemas[at] == nil {
		schema, err := c.compiler.Compile(at)
		if err != nil {
			return nil, err
		}
		c.schemas[at] = schema
	}
	return c.schemas[at], nil
}

// pointer escapes a name for a JSON pointer in a fragment.
func pointer(name string) string {
	name = strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	return (&url.URL{Fragment: name}).EscapedFragment()
}

// summary tells how often each operation gave which status, and fails the test for an
// operation that never succeeded.
func (c *contract) summary() {
	c.t.Helper()
	total := 0
	var lines []string
	for _, o := range c.operations {
		var parts []string
		succeeded := false
		for _, status := range slices.Sorted(maps.Keys(c.seen[o.OperationID])) {
			n := c.seen[o.OperationID][status]
			total += n
			succeeded = succeeded || status < 300
			parts = append(parts, fmt.Sprintf("%d×%d", n, status))
		}
		if !succeeded {
			c.t.Errorf("%s never succeeded", o.OperationID)
		}
		lines = append(lines, o.OperationID+": "+strings.Join(parts, " "))
	}
	c.t.Logf("%d requests\n%s", total, strings.Join(lines, "\n"))
}
