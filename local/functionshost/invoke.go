package functionshost

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
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

// Invoke posts payload, a whole {"Data":…,"Metadata":…} envelope, to a function as
// its trigger would, and judges the reply as the host does: nil is a success. It
// is for tests of what a handler makes of a payload.
func (s *Server) Invoke(ctx context.Context, function string, payload []byte) error {
	return s.invoke(ctx, function, payload)
}

// invoke runs one invocation. One that outlives functionTimeout fails and takes
// the handler's process, with all its other invocations, down with it.
func (s *Server) invoke(ctx context.Context, function string, payload []byte) error {
	p, err := s.supervisor.acquire(ctx)
	if err != nil {
		return err
	}
	defer s.supervisor.release(p)
	limit := time.Duration(s.app.host.FunctionTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errFunctionTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/"+function, bytes.NewReader(payload))
	if err != nil {
		return err
	}
	request.ContentLength = -1 // the host sends its envelopes chunked
	request.GetBody = nil      // and never twice
	request.Header = http.Header{
		"Content-Type":                   jsonType,
		"User-Agent":                     userAgent,
		"X-Azure-Functions-Hostversion":  version,
		"X-Azure-Functions-Invocationid": {uuid.NewString()},
	}
	if s.app.host.TelemetryMode != "" {
		request.Header["Traceparent"] = []string{traceparent()}
	}
	response, err := p.client.Do(request)
	switch {
	case err == nil:
		err = s.judge(response)
	case ctx.Err() == nil:
		p.awaitEnd(ctx)
	}
	if errors.Is(context.Cause(ctx), errFunctionTimeout) {
		s.log.Error("an invocation exceeded functionTimeout; restarting the handler", "function", function, "functionTimeout", limit)
		p.kill()
		return errFunctionTimeout
	}
	return err
}

var (
	jsonType  = []string{"application/json; charset=utf-8"}
	userAgent = []string{"Azure-Functions-Host/" + hostVersion}
	version   = []string{hostVersion}

	errFunctionTimeout = errors.New("the invocation exceeded functionTimeout")
)

// judge reads the reply; only 2xx with a JSON object under a JSON content type is
// a success.
func (s *Server) judge(response *http.Response) error {
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return fmt.Errorf("read the reply: %w", err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("the handler answered %s", response.Status)
	}
	if len(bytes.TrimSpace(body)) == 0 || bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return errors.New("the reply is empty or null: the Azure host would wait until functionTimeout")
	}
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return fmt.Errorf("the reply's content type is %q, not JSON", response.Header.Get("Content-Type"))
	}
	var reply struct {
		Outputs     map[string]json.RawMessage
		Logs        []string
		ReturnValue json.RawMessage
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return fmt.Errorf("the reply is not the envelope: %w", err)
	}
	for _, line := range reply.Logs {
		s.lines.forward(stdout, line)
	}
	return nil
}

func traceparent() string {
	var id [24]byte
	_, _ = rand.Read(id[:]) // never fails
	var text [55]byte
	copy(text[:], "00-")
	hex.Encode(text[3:], id[:16])
	text[35] = '-'
	hex.Encode(text[36:], id[16:])
	copy(text[52:], "-01")
	return string(text[:])
}
