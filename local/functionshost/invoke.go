package functionshost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

const hostVersion = "4.1044.0.0"

// maxReply is the most of a reply that is read, in bytes.
const maxReply = 1 << 20

// chunk is the size of the chunks of an envelope, in bytes.
const chunk = 1024

// killAfter is how long after functionTimeout the host kills the handler.
const killAfter = 2 * time.Second

// Invoke posts payload, a whole {"Data":…,"Metadata":…} envelope, to a function as
// its trigger would, and judges the reply as the host does: nil is a success. It
// is for tests of what a handler makes of a payload.
func (s *Server) Invoke(ctx context.Context, function string, payload []byte) error {
	return s.invoke(ctx, function, payload, "")
}

// invoke runs one invocation, in the trace of a traceparent, or in a new one.
func (s *Server) invoke(ctx context.Context, function string, payload []byte, trace string) error {
	_, err := s.call(ctx, function, payload, trace)
	return err
}

// call runs one invocation. One that outlives functionTimeout fails and takes the handler's
// process, with all its other invocations, down with it. A reply that is empty or null is none:
// the host waits for functionTimeout.
func (s *Server) call(ctx context.Context, function string, payload []byte, trace string) (*reply, error) {
	p, err := s.supervisor.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer s.supervisor.release(p)
	burn(s.burnt)
	limit := time.Duration(s.app.host.FunctionTimeout)
	limited, cancel := context.WithTimeoutCause(ctx, limit, errFunctionTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodPost, p.url+"/"+function, &chunked{payload})
	if err != nil {
		return nil, err
	}
	request.ContentLength = -1
	request.Header = http.Header{
		"Content-Type":                   jsonType,
		"User-Agent":                     userAgent,
		"X-Azure-Functions-Hostversion":  version,
		"X-Azure-Functions-Invocationid": {uuid.NewString()},
	}
	if s.app.host.TelemetryMode != "" {
		request.Header["Traceparent"] = []string{traceparent(trace)}
	}
	var result *reply
	response, err := p.client.Do(request)
	switch {
	case err == nil:
		if result, err = s.judge(response); errors.Is(err, errNoReply) {
			<-limited.Done()
		}
	case limited.Err() == nil:
		p.awaitEnd(limited)
	}
	if errors.Is(context.Cause(limited), errFunctionTimeout) && (err != nil || result == nil) {
		s.log.Error("an invocation exceeded functionTimeout; restarting the handler", "function", function, "functionTimeout", limit)
		if wait(ctx, killAfter) {
			s.supervisor.restartHandler(ctx)
		}
		return nil, errFunctionTimeout
	}
	return result, err
}

// chunked reads a payload in pieces of the size of a chunk: the transport sends each as one.
type chunked struct{ left []byte }

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), chunk)], c.left)
	c.left = c.left[n:]
	return n, nil
}

var (
	jsonType  = []string{"application/json; charset=utf-8"}
	userAgent = []string{"Azure-Functions-Host/" + hostVersion}
	version   = []string{hostVersion}

	errFunctionTimeout = errors.New("the invocation exceeded functionTimeout")
	errNoReply         = errors.New("the reply is empty or null")
)

// reply is the handler's reply to an invocation.
type reply struct {
	Outputs     map[string]json.RawMessage
	Logs        []string
	ReturnValue json.RawMessage
}

// judge reads the reply; only 2xx with a JSON object under a JSON content type is
// a success.
func (s *Server) judge(response *http.Response) (*reply, error) {
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return nil, fmt.Errorf("read the reply: %w", err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, fmt.Errorf("the handler answered %s", response.Status)
	}
	if len(bytes.TrimSpace(body)) == 0 || bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return nil, errNoReply
	}
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return nil, fmt.Errorf("the reply's content type is %q, not JSON", response.Header.Get("Content-Type"))
	}
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("the reply is not the envelope: %w", err)
	}
	for _, line := range r.Logs {
		s.lines.forward(stdout, line)
	}
	return &r, nil
}
