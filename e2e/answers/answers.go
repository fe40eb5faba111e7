// Package answers compares every answer of the admin API that end-to-end tests cause with the API's document: those to
// the command line, to browsers and to the tests' own requests. The hosts of all local systems that the tests start
// record the answers.
package answers

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
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/apicontract"
	"github.com/matoolkit/matoolkit/local/functionshost"
)

// Compare runs tests and returns their exit status, which is that of a failure also where an answer differs from
// the document. root is the repository's folder; temporary is where the answers are until they are compared.
func Compare(m *testing.M, root, temporary string) int {
	c, err := newComparison(root, temporary)
	if err != nil {
		fmt.Fprintln(os.Stderr, "answers:", err)
		return 1
	}
	defer os.RemoveAll(c.folder)
	ended, compared := make(chan struct{}), make(chan error)
	go func() { compared <- c.follow(ended) }()
	status := m.Run()
	close(ended)
	if err := <-compared; err != nil {
		fmt.Fprintln(os.Stderr, "answers:", err)
		return max(status, 1)
	}
	if !c.report(os.Stdout) {
		return max(status, 1)
	}
	return status
}

type comparison struct {
	document *apicontract.Document
	folder   string
	seen     map[string]int // by operation and status
	wrong    []string       // the first of them
	count    int            // of wrong ones
}

// newComparison has the local systems that start from now on record their answers.
func newComparison(root, temporary string) (*comparison, error) {
	data, err := os.ReadFile(filepath.Join(root, "functions", "admin-http", "openapi.yaml"))
	if err != nil {
		return nil, err
	}
	document, err := apicontract.Read(data)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(temporary, "answers-")
	if err != nil {
		return nil, err
	}
	return &comparison{document: document, folder: folder, seen: map[string]int{}}, os.Setenv(functionshost.ExchangesVariable, folder)
}

// follow compares the recorded answers until the tests have ended, so that the folder stays small.
func (c *comparison) follow(ended <-chan struct{}) error {
	for last := false; ; {
		all, err := functionshost.TakeExchanges(c.folder)
		if err != nil {
			return err
		}
		for _, x := range all {
			c.compare(x)
		}
		if last {
			return nil
		}
		select {
		case <-ended:
			last = true
		case <-time.After(time.Second):
		}
	}
}

func (c *comparison) compare(x functionshost.Exchange) {
	path, _, _ := strings.Cut(strings.TrimPrefix(x.URI, "/api"), "?")
	operation, known := c.document.Find(x.Method, path)
	if !known && (path == "/console" || strings.HasPrefix(path, "/console/")) { // a file of the console
		return
	}
	answer := apicontract.Answer{Status: x.Status, Header: x.Header, Body: x.Body}
	var err error
	switch {
	case !known:
		err = errors.New("the document has no such operation")
	case x.Method == http.MethodHead: // the document describes the answer with a body
	case x.Cut:
		err = fmt.Errorf("the body is larger than %d bytes, and was not compared", len(x.Body))
	default:
		if answer.Body, err = unpacked(x); err == nil {
			err = c.document.Check(operation, answer)
		}
	}
	if known {
		c.seen[fmt.Sprintf("%s %d", operation.OperationID, x.Status)]++
	}
	if err == nil {
		return
	}
	if c.count++; len(c.wrong) < 20 {
		c.wrong = append(c.wrong, fmt.Sprintf("%s %s: %d: %v\n%.2000s", x.Method, x.URI, x.Status, err, answer.Body))
	}
}

func unpacked(x functionshost.Exchange) ([]byte, error) {
	if x.Header.Get("Content-Encoding") != "gzip" || len(x.Body) == 0 {
		return x.Body, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(x.Body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// report prints the answers that differ from the document, and returns whether there is none.
func (c *comparison) report(to io.Writer) bool {
	total, operations := 0, map[string]bool{}
	for one, n := range c.seen {
		id, _, _ := strings.Cut(one, " ")
		total, operations[id] = total+n, true
	}
	fmt.Fprintf(to, "compared %d answers of %d of %d operations with openapi.yaml\n", total, len(operations), len(c.document.Operations))
	if testing.Verbose() {
		for _, one := range slices.Sorted(maps.Keys(c.seen)) {
			fmt.Fprintf(to, "  %6d %s\n", c.seen[one], one)
		}
	}
	if c.count > 0 {
		fmt.Fprintf(to, "FAIL: %d answers are not as openapi.yaml says:\n%s\n", c.count, strings.Join(c.wrong, "\n"))
	}
	return c.count == 0
}
