package blob

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// target is the account, a container or a blob, as a path names it.
type target struct{ container, blob string }

func (t target) path() string {
	switch {
	case t.container == "":
		return "/"
	case t.blob == "":
		return "/" + t.container
	}
	return "/" + t.container + "/" + t.blob
}

// operation is an entry of the API.
type operation struct {
	method, level string   // level: account, container or blob
	comp          string   // of the query
	parameters    []string // besides restype, comp and timeout
	headers       []string // that begin with x-ms-, besides those of every request; a trailing "-" is a prefix
	conditional   bool
	action        string
	serve         func(http.ResponseWriter, *http.Request, target) *refusal
}

// call is an operation on a target.
type call struct {
	operation
	target
}

// contentHeaders are the properties of a blob that a request may set.
var contentHeaders = []string{
	"x-ms-blob-content-type", "x-ms-blob-content-encoding", "x-ms-blob-content-language", "x-ms-blob-content-disposition",
	"x-ms-blob-cache-control", "x-ms-blob-content-md5",
}

func (s *Server) operations() []operation {
	const metadata = "x-ms-meta-"
	written := append([]string{metadata}, contentHeaders...)
	lists := []string{"prefix", "marker", "maxresults", "include"}
	return []operation{
		{method: http.MethodGet, level: "account", comp: "list", parameters: lists, action: ActionReadContainer, serve: s.listContainers},
		{method: http.MethodPut, level: "container", headers: []string{metadata}, action: ActionWriteContainer, serve: s.createContainer},
		{method: http.MethodGet, level: "container", action: ActionReadContainer, serve: s.getContainer},
		{method: http.MethodHead, level: "container", action: ActionReadContainer, serve: s.getContainer},
		{method: http.MethodDelete, level: "container", action: ActionDeleteContainer, serve: s.deleteContainer},
		{method: http.MethodGet, level: "container", comp: "list", parameters: append([]string{"delimiter"}, lists...), action: ActionRead, serve: s.listBlobs},
		{method: http.MethodPut, level: "blob", headers: append([]string{"x-ms-blob-type"}, written...), conditional: true, action: ActionWrite, serve: s.putBlob},
		{method: http.MethodPut, level: "blob", comp: "block", parameters: []string{"blockid"}, action: ActionWrite, serve: s.putBlock},
		{method: http.MethodPut, level: "blob", comp: "blocklist", headers: written, conditional: true, action: ActionWrite, serve: s.putBlockList},
		{method: http.MethodGet, level: "blob", comp: "blocklist", parameters: []string{"blocklisttype"}, action: ActionRead, serve: s.getBlockList},
		{method: http.MethodPut, level: "blob", comp: "metadata", headers: []string{metadata}, conditional: true, action: ActionWrite, serve: s.setMetadata},
		{method: http.MethodGet, level: "blob", headers: []string{"x-ms-range"}, conditional: true, action: ActionRead, serve: s.getBlob},
		{method: http.MethodHead, level: "blob", conditional: true, action: ActionRead, serve: s.getBlob},
		{method: http.MethodDelete, level: "blob", headers: []string{"x-ms-delete-snapshots"}, conditional: true, action: ActionDelete, serve: s.deleteBlob},
	}
}

// headersOfAll are the headers of every request.
var headersOfAll = []string{"x-ms-version", "x-ms-date", "x-ms-client-request-id", "x-ms-return-client-request-id"}

var (
	versionForm   = regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)
	containerForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

// oldestVersion is the first version of the API that takes tokens.
const oldestVersion = "2017-11-09"

// route finds the operation of a request and checks everything of it that does not depend on the state.
func (s *Server) route(r *http.Request) (call, *refusal) {
	t, refused := s.target(r)
	if refused != nil {
		return call{}, refused
	}
	version := r.Header.Get("x-ms-version")
	switch {
	case version == "":
		return call{}, missingHeader("x-ms-version")
	case !versionForm.MatchString(version) || version < oldestVersion:
		return call{}, invalidHeader("x-ms-version", version, "Use "+oldestVersion+" or later.")
	}
	level := "account"
	switch {
	case t.blob != "":
		level = "blob"
	case t.container != "":
		level = "container"
	}
	query := r.URL.Query()
	restype := query.Get("restype")
	if want := map[string]string{"container": "container"}[level]; restype != want {
		return call{}, invalidParameter("restype", restype, "Not supported here.")
	}
	all := s.operations()
	i := slices.IndexFunc(all, func(o operation) bool { return o.method == r.Method && o.level == level && o.comp == query.Get("comp") })
	if i < 0 {
		if slices.ContainsFunc(all, func(o operation) bool { return o.level == level && o.comp == query.Get("comp") }) {
			return call{}, &refusal{status: http.StatusMethodNotAllowed, code: "UnsupportedHttpVerb", message: "The resource doesn't support the specified HTTP verb " + r.Method + "."}
		}
		return call{}, invalidParameter("comp", query.Get("comp"), "Not supported here.")
	}
	o := all[i]
	for name, values := range query {
		switch {
		case name != "restype" && name != "comp" && name != "timeout" && !slices.Contains(o.parameters, name):
			return call{}, &refusal{
				status: http.StatusBadRequest, code: "UnsupportedQueryParameter", message: "One of the query parameters specified in the request URI is not supported here.",
				details: []detail{{"QueryParameterName", name}},
			}
		case len(values) > 1:
			return call{}, invalidParameter(name, values[1], "Given twice.")
		}
	}
	if refused := o.checkHeaders(r.Header); refused != nil {
		return call{}, refused
	}
	return call{o, t}, nil
}

// checkHeaders refuses headers that the operation does not take.
func (o operation) checkHeaders(headers http.Header) *refusal {
	for name := range headers {
		name = strings.ToLower(name)
		known := func(of string) bool { return name == of || strings.HasSuffix(of, "-") && strings.HasPrefix(name, of) }
		switch {
		case strings.HasPrefix(name, "x-ms-") && !slices.Contains(headersOfAll, name) && !slices.ContainsFunc(o.headers, known):
			return unsupportedHeader(name)
		case strings.HasPrefix(name, "if-") && !o.conditional:
			return &refusal{status: http.StatusBadRequest, code: "ConditionHeadersNotSupported", message: "Condition headers are not supported."}
		}
	}
	return nil
}

// target reads the path of a request. An escaped slash in the name of a blob is a slash.
func (s *Server) target(r *http.Request) (t target, refused *refusal) {
	invalidURI := func() (target, *refusal) {
		return target{}, &refusal{status: http.StatusBadRequest, code: "InvalidUri", message: "The requested URI does not represent any resource on the server."}
	}
	account, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if account != s.config.Account {
		return invalidURI()
	}
	t.container, rest, _ = strings.Cut(rest, "/")
	name, err := url.PathUnescape(rest)
	if err != nil || !utf8.ValidString(name) {
		return invalidURI()
	}
	t.blob = name
	outOfRange := func(what string) (target, *refusal) {
		return target{}, &refusal{status: http.StatusBadRequest, code: "OutOfRangeInput", message: "The specified resource name length is not within the permissible limits: " + what + "."}
	}
	switch {
	case t.container == "":
		return t, nil
	case len(t.container) < 3 || len(t.container) > 63:
		return outOfRange("the name of a container has 3 to 63 characters")
	case !containerForm.MatchString(t.container):
		return t, &refusal{status: http.StatusBadRequest, code: "InvalidResourceName", message: "The specified resource name contains invalid characters."}
	case len(utf16.Encode([]rune(t.blob))) > 1024:
		return outOfRange("the name of a blob has at most 1,024 characters")
	case strings.Count(t.blob, "/") >= 254:
		return outOfRange(fmt.Sprintf("the name of a blob has at most %d path segments", 254))
	}
	return t, nil
}
