package cosmos

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// route is the resource of a request's path. The resource type and link are
// also part of the request's signature.
type route struct {
	resourceType                  string
	link                          string
	database, container, document string
	one                           bool // one resource, not a feed
	byRID                         bool // the path has resource ids in the place of names
}

// unsupportedResources are the resources of the service that this account does not have.
var unsupportedResources = map[string]string{
	"addresses":            "direct mode is",
	"clientencryptionkeys": "client encryption keys are",
	"conflicts":            "conflicts are",
	"offers":               "offers (throughput) are",
	"permissions":          "permissions are",
	"sprocs":               "stored procedures are",
	"triggers":             "triggers are",
	"udfs":                 "user-defined functions are",
	"users":                "users are",
}

var errPath = errors.New("unknown path: use /, /dbs, /dbs/{id}, /dbs/{id}/colls, /dbs/{id}/colls/{id}, …/docs, …/docs/{id} or …/pkranges")

func parseRoute(escapedPath string) (route, error) {
	trimmed := strings.Trim(escapedPath, "/")
	if trimmed == "" {
		return route{}, nil
	}
	var segments [6]string
	n := 0
	for part := range strings.SplitSeq(trimmed, "/") {
		if n == len(segments) {
			return route{}, errPath
		}
		segment, err := url.PathUnescape(part)
		if err != nil || segment == "" {
			return route{}, errPath
		}
		segments[n] = segment
		n++
	}
	for i := 0; i < n; i += 2 {
		if what := unsupportedResources[segments[i]]; what != "" {
			return route{}, errors.New(what + " not supported")
		}
	}
	if segments[0] != "dbs" || n > 2 && segments[2] != "colls" || n > 4 && segments[4] != "docs" && segments[4] != "pkranges" {
		return route{}, errPath
	}
	at := route{database: segments[1], container: segments[3], document: segments[5], one: n%2 == 0}
	at.resourceType = segments[(n-1)/2*2]
	linked := n
	if !at.one {
		linked--
	}
	at.link = strings.Join(segments[:linked], "/")
	if at.resourceType == "pkranges" && at.one {
		return route{}, errPath
	}
	return at, nil
}

// ServeHTTP answers one request of the Cosmos REST API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header["Content-Type"] = jsonContent
	if activity := r.Header["X-Ms-Activity-Id"]; activity != nil {
		header["X-Ms-Activity-Id"] = activity
	} else {
		header["X-Ms-Activity-Id"] = []string{newActivityID()}
	}
	if r.URL.Path == faultsPath {
		s.serveFaults(w, r)
		return
	}
	at, err := parseRoute(r.URL.EscapedPath())
	if err != nil {
		respondFailure(w, failure(http.StatusBadRequest, err.Error()))
		return
	}
	if at == (route{}) { // the service's answer about the account has no activity id
		delete(header, "X-Ms-Activity-Id")
	}
	s.store.catalog.resolve(&at)
	if err := s.authorize(r, at); err != nil {
		respondFailure(w, failure(http.StatusUnauthorized, err.Error()))
		return
	}
	if owner := at.owner(); owner != "" {
		header["X-Ms-Alt-Content-Path"] = []string{owner}
	}
	if at.byRID && at.document != "" {
		respondFailure(w, failure(http.StatusBadRequest, "the resource id of an item is not supported in a path: use the id of the item"))
		return
	}
	if at.resourceType == "docs" {
		s.serveItems(w, r, at)
		return
	}
	s.serveMetadata(w, r, at)
}

// owner is the path by names of the resource that has the one of the route.
func (at route) owner() string {
	switch at.resourceType {
	case "colls":
		return "dbs/" + url.PathEscape(at.database)
	case "docs", "pkranges":
		return "dbs/" + url.PathEscape(at.database) + "/colls/" + url.PathEscape(at.container)
	}
	return ""
}

var jsonContent = []string{"application/json"}

// respondFailure writes an error in the service's form.
func respondFailure(w http.ResponseWriter, o outcome) {
	body := append(make([]byte, 0, 128), `{"code":`...)
	body = document.AppendString(body, codeOf(o.status))
	body = append(body, `,"message":`...)
	body = document.AppendString(body, o.message)
	if o.info != "" { // some clients ask for a plan only if they see one here
		body = append(body, `,"additionalErrorInfo":`...)
		body = document.AppendString(body, o.info)
	}
	body = append(body, '}')
	if o.sub != 0 {
		w.Header()["X-Ms-Substatus"] = []string{itoa(o.sub)}
	}
	setCharge(w, o.charge)
	w.WriteHeader(o.status)
	w.Write(body)
}

func codeOf(status int) string {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return "RequestEntityTooLarge"
	case http.StatusTooManyRequests:
		return "TooManyRequests"
	case http.StatusPreconditionFailed:
		return "PreconditionFailed"
	case 449:
		return "RetryWith"
	}
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}
