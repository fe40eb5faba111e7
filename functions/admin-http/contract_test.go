package adminhttp_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/apicontract"
)

type operation = apicontract.Operation

// contract holds the answers of an API to its document.
type contract struct {
	t          *testing.T
	api        string // where it is
	token      map[string]string
	document   *apicontract.Document
	operations []operation
	known      *known
	before     func(operation, *http.Request) // changes a request before it is sent; nil: nothing does
	after      func(*sent)                    // gets each answer; nil: nothing does

	mu   sync.Mutex
	seen map[string]map[int]int // by operation and status
}

// newContract reads the document from the API that it is about.
func newContract(t *testing.T, r *real) *contract {
	t.Helper()
	c := &contract{
		t: t, api: r.url, known: newKnown(), seen: map[string]map[int]int{},
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
	c.document, err = apicontract.Read(data)
	check(t, err)
	c.operations = c.document.Operations
	return c
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
	address := o.Path
	for name, value := range w.path {
		address = strings.ReplaceAll(address, "{"+name+"}", url.PathEscape(value))
	}
	full := c.api + "/api" + address
	if len(w.query) > 0 {
		full += "?" + w.query.Encode()
	}
	request, err := http.NewRequestWithContext(c.t.Context(), o.Method, full, strings.NewReader(w.body))
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
		return nil, fmt.Errorf("%s %s: %w", o.Method, full, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.Method, full, err)
	}
	s := &sent{o, request, w.body, response.StatusCode, response.Header, answer}
	c.mu.Lock()
	if c.seen[o.OperationID] == nil {
		c.seen[o.OperationID] = map[int]int{}
	}
	c.seen[o.OperationID][s.status]++
	c.mu.Unlock()
	if err := c.document.Check(o, apicontract.Answer{Status: s.status, Header: s.header, Body: s.answer}); err != nil {
		return s, fmt.Errorf("%w\n%s", err, s)
	}
	c.known.learn(s)
	if c.after != nil {
		c.after(s)
	}
	return s, nil
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
