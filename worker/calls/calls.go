// Package calls describes the requests that a worker may make of a tenant: paths,
// query options and bodies of Microsoft Graph, cmdlets and parameters of Exchange
// Online. Tests of what makes requests hold every one of them to it, and the functions that
// make any request make no others unless the worker's settings allow them.
//
// The description comes from Microsoft's documentation, not from the code that
// makes the requests. It is strict: an undescribed request is a fault. The package
// knows no SDK and no tenant.
package calls

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:embed calls.yaml
var text []byte

// Graph is one request of Graph.
type Graph struct {
	Request string            // method and path, whose segments in braces are anything
	Page    string            // of Graph's reference
	Query   map[string]any    // options by name: nil or "" for any value, a list for those of $select, else how the value begins, or "a|b"
	Body    map[string]any    // nil: no body
	Only    string            // the functions that make it, with " or " between them; empty: all may
	Guarded map[string]string // likewise for a request whose body has this property
}

// Cmdlet is one command of Exchange Online.
type Cmdlet struct {
	Cmdlet     string
	Only       string // as of Graph
	Parameters map[string]any
}

// description is calls.yaml.
var description struct {
	Graph    []Graph
	Exchange []Cmdlet
}

func init() {
	if err := yaml.Unmarshal(text, &description); err != nil {
		panic("calls.yaml: " + err.Error()) // part of the program
	}
}

// Only names the functions that alone make a request with this body, or run a cmdlet, by the name that Check gives it; nil:
// all may. A function whose read keeps it from a wrong write is the only one that writes so, and one that returns less than
// its read answers is the only one that reads so.
func Only(name string, body []byte) []string {
	only := ""
	for _, g := range description.Graph {
		if g.Request != name {
			continue
		}
		only = g.Only
		var has map[string]any
		_ = json.Unmarshal(body, &has) // Check refuses another body
		for property, functions := range g.Guarded {
			if _, guarded := has[property]; guarded {
				only = functions
			}
		}
	}
	for _, x := range description.Exchange {
		if x.Cmdlet == name {
			only = x.Only
		}
	}
	if only == "" {
		return nil
	}
	return strings.Split(only, " or ")
}

// Described lists the requests of Graph. The caller must not change it.
func Described() []Graph { return description.Graph }

// Names are all requests and cmdlets, by the names that Check gives them.
func Names() []string {
	var names []string
	for _, g := range description.Graph {
		names = append(names, g.Request)
	}
	for _, x := range description.Exchange {
		names = append(names, x.Cmdlet)
	}
	return names
}

// Check returns the name of a request with this complete body, or an error that
// lists the differences from the description.
func Check(r *http.Request, body []byte) (name string, err error) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		return "", fmt.Errorf("%s %s: no bearer token", r.Method, r.URL.Path)
	}
	if strings.HasPrefix(r.URL.Path, "/adminapi/") {
		name, err = checkCommand(r, body)
	} else if name, err = CheckGraph(r.Method, r.URL, body); err == nil && len(body) > 0 {
		err = checkType(r)
	}
	if err != nil {
		return name, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
	}
	return name, nil
}

// CheckGraph returns the name of a request of Graph with this complete body, or an error that lists the
// differences from the description.
func CheckGraph(method string, target *url.URL, body []byte) (string, error) {
	i := slices.IndexFunc(description.Graph, func(g Graph) bool { return SameRequest(g.Request, method, target.Path) })
	if i < 0 {
		return "", fmt.Errorf("is not described")
	}
	g := description.Graph[i]
	options, err := url.ParseQuery(target.RawQuery)
	if err != nil {
		return g.Request, fmt.Errorf("the query cannot be read: %w", err) // Graph may read more in it than this program
	}
	if err := checkQuery(g.Query, options); err != nil {
		return g.Request, err
	}
	if g.Body == nil {
		if len(body) > 0 {
			return g.Request, fmt.Errorf("has a body")
		}
		return g.Request, nil
	}
	return g.Request, checkBody(g.Body, body)
}

// SameRequest tells whether a request has the method and the path of a description, such as
// GET /v1.0/users/{id}. It does not compare the query.
func SameRequest(described, method, path string) bool {
	m, template, _ := strings.Cut(described, " ")
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	if m != method || len(want) != len(have) {
		return false
	}
	for i := range want {
		if want[i] != have[i] && !(strings.HasPrefix(want[i], "{") && isKey(have[i])) {
			return false
		}
	}
	return true
}

// isKey tells whether a segment can be the id or name of an object. Others lead to a function, an action, a type, a count
// or a reference, which are other requests.
func isKey(segment string) bool {
	lower := strings.ToLower(segment)
	qualified := strings.HasPrefix(lower, "microsoft.graph.") || strings.HasPrefix(lower, "graph.") // graph is the alias
	return segment != "" && lower != "delta" && !strings.HasPrefix(segment, "$") && !strings.Contains(segment, "(") &&
		(!qualified || strings.Contains(segment, "@")) // of no type or function, but of a person's address
}

func checkQuery(options map[string]any, given url.Values) error {
	for name, values := range given {
		value, ok := lookUp(options, name)
		switch {
		case !ok:
			return fmt.Errorf("query option %s is not described", name)
		case len(values) > 1:
			return fmt.Errorf("query option %s is given %d times", name, len(values))
		}
		switch v := value.(type) {
		case []any:
			for _, property := range strings.Split(given.Get(name), ",") {
				if !slices.Contains(v, any(property)) && !slices.Contains(v, any("*")) {
					return fmt.Errorf("%s: %s is not described", name, property)
				}
			}
		case string:
			begins := func(start string) bool { return strings.HasPrefix(given.Get(name), start) }
			if !slices.ContainsFunc(strings.Split(v, "|"), begins) {
				return fmt.Errorf("%s does not begin with %q", name, v)
			}
		}
	}
	for name := range options {
		if required, ok := strings.CutSuffix(name, "!"); ok && !given.Has(required) {
			return fmt.Errorf("query option %s is missing", required)
		}
	}
	return nil
}

func checkType(r *http.Request) error {
	if t, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); t != "application/json" {
		return fmt.Errorf("Content-Type is %q", t)
	}
	return nil
}

func checkBody(described map[string]any, body []byte) error {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	return check("body", described, value)
}

// commandHeaders are the headers of every command.
var commandHeaders = map[string]*regexp.Regexp{
	"X-Anchormailbox":   regexp.MustCompile(`^(APP:SystemMailbox\{bb558c35-97f1-4cb9-8ff7-d53741dc928c\}@|UPN:).+$`),
	"X-Responseformat":  regexp.MustCompile(`^json$`),
	"Prefer":            regexp.MustCompile(`^odata\.maxpagesize=\d+$`),
	"Client-Request-Id": regexp.MustCompile(`^[0-9a-f-]{36}$`),
	"Accept-Encoding":   regexp.MustCompile(`^identity$`),
}

var commandPath = regexp.MustCompile(`^/adminapi/beta/[^/]+/InvokeCommand$`)

func checkCommand(r *http.Request, body []byte) (string, error) {
	_, next := r.URL.Query()["$skiptoken"] // of a further page of the output
	if r.Method != http.MethodPost || !commandPath.MatchString(r.URL.Path) || r.URL.RawQuery != "" && !next {
		return "", fmt.Errorf("is not described")
	}
	for name, pattern := range commandHeaders {
		if !pattern.MatchString(r.Header.Get(name)) {
			return "", fmt.Errorf("header %s is %q", name, r.Header.Get(name))
		}
	}
	var command struct{ CmdletInput struct{ CmdletName string } }
	if err := json.Unmarshal(body, &command); err != nil {
		return "", err
	}
	name := command.CmdletInput.CmdletName
	i := slices.IndexFunc(description.Exchange, func(x Cmdlet) bool { return x.Cmdlet == name })
	if i < 0 {
		return "", fmt.Errorf("cmdlet %q is not described", name)
	}
	if r.Header.Get("X-CmdletName") != name {
		return name, fmt.Errorf("header X-CmdletName is %q", r.Header.Get("X-CmdletName"))
	}
	if err := checkType(r); err != nil {
		return name, err
	}
	return name, checkBody(map[string]any{
		"CmdletInput!": map[string]any{"CmdletName!": "string", "Parameters!": description.Exchange[i].Parameters},
	}, body)
}

// CheckCmdlet compares a command with the description. Names are as they are described.
func CheckCmdlet(cmdlet string, parameters map[string]any) error {
	i := slices.IndexFunc(description.Exchange, func(x Cmdlet) bool { return x.Cmdlet == cmdlet })
	if i < 0 {
		return fmt.Errorf("is not described")
	}
	return check("Parameters", description.Exchange[i].Parameters, parameters)
}

func lookUp(described map[string]any, name string) (any, bool) {
	for _, key := range []string{name, name + "!"} {
		if value, ok := described[key]; ok {
			return value, true
		}
	}
	return nil, false
}

var guid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// check compares a JSON value with its description. Only what is described with a ? may be null:
// Graph clears the property then, and Exchange Online refuses the command.
func check(at string, described, value any) error {
	switch d := described.(type) {
	case map[string]any:
		return checkObject(at, d, value)
	case []any:
		list, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%s is not a list", at)
		}
		for i, item := range list {
			if err := check(fmt.Sprintf("%s[%d]", at, i), d[0], item); err != nil {
				return err
			}
		}
		return nil
	case string:
		return checkScalar(at, d, value)
	}
	return fmt.Errorf("%s is described by a %T", at, described)
}

func checkObject(at string, described map[string]any, value any) error {
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is not an object", at)
	}
	for name, v := range object {
		d, known := lookUp(described, name)
		if !known {
			return fmt.Errorf("%s.%s is not described", at, name)
		}
		if err := check(at+"."+name, d, v); err != nil {
			return err
		}
	}
	for name := range described {
		if required, is := strings.CutSuffix(name, "!"); is && object[required] == nil {
			return fmt.Errorf("%s.%s is missing", at, required)
		}
	}
	return nil
}

func checkScalar(at, described string, value any) error {
	described, nullable := strings.CutSuffix(described, "?")
	ok := nullable && value == nil
	switch v := value.(type) {
	case bool:
		ok = described == "boolean"
	case float64:
		ok = described == "number" || described == "byte" && v >= 0 && v <= 255 && v == float64(byte(v))
	case json.Number: // of the parameters of a job
		_, err := strconv.ParseUint(v.String(), 10, 8)
		ok = described == "number" || described == "byte" && err == nil
	case string:
		switch {
		case described == "string":
			ok = true
		case described == "guid":
			ok = guid.MatchString(v)
		case strings.Contains(described, "|"):
			ok = v != "" && slices.Contains(strings.Split(described, "|"), v)
		}
	}
	if !ok {
		return fmt.Errorf("%s is not %s", at, described)
	}
	return nil
}
