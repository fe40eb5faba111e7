package apiclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/matoolkit/matoolkit/internal/report"
)

// reportTime is how long the report of the largest batch may take.
const reportTime = time.Hour

// Report writes a report on a batch to w as it comes. What there is of one that was
// broken off is not the whole; it is not asked for again, as w has had a part of it.
// An error of w is given as it is.
func (c *Client) Report(ctx context.Context, id int, format report.Format, w io.Writer) error {
	k := get(batchPath(id, "report")...)
	k.query = url.Values{"format": {string(format)}}
	k.within = reportTime
	media, _, _ := mime.ParseMediaType(format.Media())
	k.into = &stream{media: media, to: w}
	_, _, err := c.do(ctx, k)
	return err
}

// stream is where an answer goes as it comes, if it is of that media type.
type stream struct {
	media string
	to    io.Writer
}

// errBrokenOff is that an answer ended before its end.
var errBrokenOff = errors.New("the connection was interrupted")

// pass passes an answer on.
func (c *Client) pass(answer *http.Response, s *stream) error {
	if media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); media != s.media {
		return &Error{Status: answer.StatusCode, Code: CodeNotTheAPI, Detail: c.base.String() + " answered, but not as the admin API does"}
	}
	body := &remembering{r: answer.Body}
	_, err := io.Copy(s.to, body)
	if body.err == nil || errors.Is(body.err, context.Canceled) {
		return err
	}
	return &Error{Code: CodeUnreachable, Detail: "the answer of " + c.base.String() + " is incomplete", Cause: fmt.Errorf("%w (%w)", errBrokenOff, body.err)}
}

// remembering distinguishes the errors of a reader from those of the writer in a copy.
type remembering struct {
	r   io.Reader
	err error
}

func (m *remembering) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = err
	}
	return n, err
}
