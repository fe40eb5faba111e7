package databricks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/loopback"
)

// link leads to a chunk in the storage of the workspace. The address grants access to
// the chunk for at most 15 minutes, so it is a secret, as are the headers. The expiry in
// the answer is by another clock, so the storage's refusal decides.
type link struct {
	Index   int               `json:"chunk_index"`
	Offset  *int64            `json:"row_offset"`
	Rows    *int64            `json:"row_count"`
	Address string            `json:"external_link"`
	Headers map[string]string `json:"http_headers"` // to be sent with the request
}

// check compares the link with the manifest's chunk.
func (l link) check(offset, rows int64) error {
	if l.Offset != nil && *l.Offset != offset || l.Rows != nil && *l.Rows != rows {
		return errors.New("its link describes other rows than the result")
	}
	return nil
}

// fetch begins to read a chunk. The request carries no token: the storage refuses it,
// and it would be shown to another service.
func (c *client) fetch(ctx context.Context, l link) (*lines, error) {
	u, err := url.Parse(l.Address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(c.local && u.Scheme == "http" && loopback.Is(u.Hostname())) {
		return nil, errors.New("its link is not a trusted address")
	}
	req, err := runtime.NewRequest(ctx, http.MethodGet, l.Address)
	if err != nil {
		return nil, errors.New("its link is not an address")
	}
	for name, value := range l.Headers {
		req.Raw().Header.Set(name, value)
	}
	runtime.SkipBodyDownload(req)
	resp, err := c.storage.Do(req)
	if err != nil {
		return nil, interruption{error: c.unreachableError(ctx, "the storage of the workspace", err)}
	}
	if resp.StatusCode != http.StatusOK {
		runtime.Drain(resp)
		err := errors.New(c.clean(fmt.Sprintf("the storage of the workspace answered %d %s", resp.StatusCode, resp.Header.Get("x-ms-error-code"))))
		if busy(resp.StatusCode) {
			err = datasource.AwayAs(resp, err)
		}
		return nil, interruption{
			error: err,
			// Azure answers an expired link with 403; the API documents no status for it.
			link: resp.StatusCode < 500,
		}
	}
	return &lines{body: resp.Body, json: json.NewDecoder(resp.Body)}, nil
}

// lines reads the rows of a chunk, which is one JSON array of arrays.
type lines struct {
	body  io.ReadCloser
	json  *json.Decoder
	begun bool
}

var (
	errShort = errors.New("it has fewer rows than it should")
	errLong  = errors.New("it has more rows than it should")
)

// next is the next row. There has to be one.
func (l *lines) next() ([]*string, error) {
	if err := l.begin(); err != nil {
		return nil, err
	}
	if !l.json.More() {
		if _, err := l.json.Token(); err != nil {
			return nil, broken(err)
		}
		return nil, errShort
	}
	var raw json.RawMessage
	if err := l.json.Decode(&raw); err != nil {
		return nil, broken(err)
	}
	// Decoding JSON would replace invalid UTF-8, and two people could become one.
	if !utf8.Valid(raw) {
		return nil, errors.New("it contains text that is not UTF-8")
	}
	var row []*string
	if err := json.Unmarshal(raw, &row); err != nil || row == nil {
		return nil, errors.New("one of its rows is not a list of strings")
	}
	return row, nil
}

// end reads to the end of the chunk, where there have to be no more rows.
func (l *lines) end() error {
	if err := l.begin(); err != nil {
		return err
	}
	if l.json.More() {
		return errLong
	}
	if _, err := l.json.Token(); err != nil {
		return broken(err)
	}
	if _, err := l.json.Token(); err == nil {
		return errors.New("data follows its last row")
	} else if err != io.EOF {
		return broken(err)
	}
	return nil
}

func (l *lines) begin() error {
	if l.begun {
		return nil
	}
	t, err := l.json.Token()
	if err != nil {
		return broken(err)
	}
	if t != json.Delim('[') {
		return errors.New("it is not a list of rows")
	}
	l.begun = true
	return nil
}

// interruption is an error of the way to a chunk, which another attempt may cure. It
// says nothing of the chunk.
type interruption struct {
	error
	link bool // the link is refused: it takes another one
}

func (i interruption) Unwrap() error { return i.error }

// broken is the error of a body that ends too early or is not JSON.
func broken(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON, at byte %d", syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return interruption{error: errors.New("it is truncated")}
	}
	return interruption{error: fmt.Errorf("it ended early: %w", err)}
}
