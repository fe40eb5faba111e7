package e2e_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/apicontract"
)

// answers compares every answer of the admin API that the tests get with the API's document. It takes
// the requests of http.DefaultTransport, with which the command line and the tests call the API.
type answers struct {
	document *apicontract.Document
	next     http.RoundTripper

	mu    sync.Mutex
	seen  map[string]int // by operation and status
	wrong []string       // the first of them
	count int            // of wrong ones
}

// watchAnswers has all answers of the API compared from now on.
func watchAnswers() (*answers, error) {
	data, err := os.ReadFile(filepath.Join(root, "functions", "admin-http", "openapi.yaml"))
	if err != nil {
		return nil, err
	}
	document, err := apicontract.Read(data)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport)
	a := &answers{document: document, next: transport.Clone(), seen: map[string]int{}}
	transport.RegisterProtocol("http", a) // a clone of the transport does not have it
	return a, nil
}

// RoundTrip implements http.RoundTripper.
func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := a.next.RoundTrip(r)
	path, ofAPI := strings.CutPrefix(r.URL.EscapedPath(), "/api")
	if err != nil || !ofAPI || ofHost(answer) {
		return answer, err
	}
	var body []byte
	if strings.Contains(answer.Header.Get("Content-Type"), "json") {
		body, err = io.ReadAll(answer.Body)
		answer.Body = &readAgain{bytes.NewReader(body), answer.Body, err}
		if err != nil { // a process was killed in the middle of it
			return answer, nil
		}
	}
	if answer.Header.Get("Content-Encoding") == "gzip" { // the transport leaves that to a caller who asks for it
		if unpacked, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, _ = io.ReadAll(unpacked) // what is missing is missing in the answer
		}
	}
	a.compare(r, path, apicontract.Answer{Status: answer.StatusCode, Header: answer.Header, Body: body})
	return answer, nil
}

// ofHost reports whether the Functions host gave the answer itself, because the handler is away.
func ofHost(answer *http.Response) bool {
	return answer.StatusCode >= http.StatusInternalServerError && answer.Header.Get("X-Trace-Id") == ""
}

// readAgain is a body that has been read, up to an error.
type readAgain struct {
	*bytes.Reader
	io.Closer
	err error
}

func (b *readAgain) Read(into []byte) (int, error) {
	n, err := b.Reader.Read(into)
	if errors.Is(err, io.EOF) && b.err != nil {
		err = b.err
	}
	return n, err
}

func (a *answers) compare(r *http.Request, path string, answer apicontract.Answer) {
	operation, known := a.document.Find(r.Method, path)
	var err error
	switch {
	case known && r.Method == http.MethodHead: // the document describes the answer with a body
	case known:
		err = a.document.Check(operation, answer)
	default:
		err = errors.New("the document has no such operation")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if known {
		a.seen[fmt.Sprintf("%s %d", operation.OperationID, answer.Status)]++
	}
	if err == nil {
		return
	}
	if a.count++; len(a.wrong) < 20 {
		a.wrong = append(a.wrong, fmt.Sprintf("%s %s: %d: %v\n%.2000s", r.Method, r.URL.RequestURI(), answer.Status, err, answer.Body))
	}
}

// report prints the answers that differ from the document, and returns whether there is none.
func (a *answers) report() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	total, operations := 0, map[string]bool{}
	for one, n := range a.seen {
		id, _, _ := strings.Cut(one, " ")
		total, operations[id] = total+n, true
	}
	fmt.Printf("compared %d answers of %d of %d operations with openapi.yaml\n", total, len(operations), len(a.document.Operations))
	if testing.Verbose() {
		for _, one := range slices.Sorted(maps.Keys(a.seen)) {
			fmt.Printf("  %6d %s\n", a.seen[one], one)
		}
	}
	if a.count > 0 {
		fmt.Printf("FAIL: %d answers are not as openapi.yaml says:\n%s\n", a.count, strings.Join(a.wrong, "\n"))
	}
	return a.count == 0
}
