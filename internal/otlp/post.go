package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// The exporters of the SDK link gRPC and, through it, what keeps the linker from
// leaving unused methods out: a third of the worker's size. What they do beyond
// encoding is this file.

const (
	timeout = 10 * time.Second // of one request, OpenTelemetry's default
	tries   = 4                // of one export
	delay   = 250 * time.Millisecond
	patient = 5 * time.Second // the longest delay that a collector is granted
)

// poster posts to one address of a collector.
type poster struct {
	client  *http.Client
	url     string
	headers http.Header
}

func newPoster(client *http.Client, url string, headers http.Header) *poster {
	own := http.Client{Timeout: timeout}
	if client != nil {
		own.Transport = client.Transport
	}
	// A redirect means a wrong setting; the headers are for the configured collector
	// only.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &poster{client: &own, url: url, headers: headers}
}

// post sends a message. A collector that asks for it, or does not answer, is tried
// again a few times; beyond that the message is lost.
func (p *poster) post(ctx context.Context, m proto.Message) error {
	raw, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	zip := gzip.NewWriter(&body)
	_, _ = zip.Write(raw) // to memory, as is what Close writes
	_ = zip.Close()
	for n := 1; ; n++ {
		wait, err := p.once(ctx, body.Bytes())
		if err == nil || wait == 0 || n == tries {
			return err
		}
		timer := time.NewTimer(min(max(wait, backoff(n)), patient))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, ctx.Err())
		}
	}
}

func backoff(n int) time.Duration {
	d := delay << (n - 1)
	return d + rand.N(d/2)
}

// once makes one request. Where another could help it tells after how long at least.
func (p *poster) once(ctx context.Context, body []byte) (again time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header = p.headers.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Content-Encoding", "gzip")
	response, err := p.client.Do(request)
	if err != nil {
		return time.Nanosecond, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection can be used again
	if response.StatusCode/100 == 2 {
		return 0, nil
	}
	err = fmt.Errorf("%s answered %s", p.url, response.Status)
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return max(time.Duration(min(seconds, 60))*time.Second, time.Nanosecond), err
	}
	return 0, err
}

// headers reads name=value pairs. The error does not repeat them: they hold keys.
func headers(list string) (http.Header, error) {
	all := http.Header{}
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		name = strings.TrimSpace(name)
		if !found || err != nil || name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(value, "\r\n") {
			return nil, errors.New(EnvHeaders + " is not a list of name=value with commas between them")
		}
		all.Add(textproto.CanonicalMIMEHeaderKey(name), value)
	}
	return all, nil
}

// spans is an otlptrace.Client.
type spans struct{ *poster }

func (*spans) Start(context.Context) error { return nil }
func (*spans) Stop(context.Context) error  { return nil }

// UploadTraces sends spans. A TracesData has the fields of the request that OTLP
// defines for it, and no service.
func (s *spans) UploadTraces(ctx context.Context, all []*tracepb.ResourceSpans) error {
	return s.post(ctx, &tracepb.TracesData{ResourceSpans: all})
}
