// Package collector is an OpenTelemetry collector on one machine, for tests: it takes
// traces, metrics and log records over OTLP/HTTP with protobuf and keeps them to be looked at.
//
// It refuses what it does not understand: another path, another encoding, a message
// that does not decode.
package collector

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Span is one span with the attributes of its process's resource.
type Span struct {
	*tracepb.Span
	Resource map[string]string
}

// Attributes of the span as text.
func (s Span) Attributes() map[string]string { return plain(s.Span.Attributes) }

// Record is one log record with the attributes of its process's resource.
type Record struct {
	*logspb.LogRecord
	Resource map[string]string
}

// Attributes of the record as text.
func (r Record) Attributes() map[string]string { return plain(r.LogRecord.Attributes) }

// Server receives telemetry until Close. It is safe for concurrent use.
type Server struct {
	http *http.Server
	url  string

	mu       sync.Mutex
	spans    []Span
	metrics  []*metricspb.ResourceMetrics
	records  []Record
	text     bytes.Buffer // everything that came, as JSON
	headers  []http.Header
	statuses []int // to answer with, before 200
	more     chan struct{}
}

// Start serves on a free port of the loopback address.
func Start() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{url: "http://" + listener.Addr().String(), more: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		var data tracepb.TracesData
		s.take(w, r, &data, func() { s.keepSpans(&data) })
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		var data metricspb.MetricsData
		s.take(w, r, &data, func() { s.metrics = append(s.metrics, data.GetResourceMetrics()...) })
	})
	mux.HandleFunc("POST /v1/logs", func(w http.ResponseWriter, r *http.Request) {
		var data logspb.LogsData
		s.take(w, r, &data, func() { s.keepRecords(&data) })
	})
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(listener) }() // ends with Close
	return s, nil
}

// URL is the value of OTEL_EXPORTER_OTLP_ENDPOINT.
func (s *Server) URL() string { return s.url }

// Close ends the server.
func (s *Server) Close() { _ = s.http.Close() }

// Refuse answers the next requests with these statuses.
func (s *Server) Refuse(statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses = append(s.statuses, statuses...)
}

// Spans are those that have come.
func (s *Server) Spans() []Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Span(nil), s.spans...)
}

// Metrics are those that have come, each as often as it came.
func (s *Server) Metrics() []*metricspb.ResourceMetrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*metricspb.ResourceMetrics(nil), s.metrics...)
}

// Records are those that have come.
func (s *Server) Records() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Record(nil), s.records...)
}

// Headers are those of all requests.
func (s *Server) Headers() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]http.Header(nil), s.headers...)
}

// Text is everything that has come, to be searched.
func (s *Server) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Await waits until enough says yes of the spans that have come.
func (s *Server) Await(ctx context.Context, enough func([]Span) bool) error {
	for {
		s.mu.Lock()
		more := s.more
		s.mu.Unlock()
		if enough(s.Spans()) {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("collector: none of %d spans matches: %w", len(s.Spans()), ctx.Err())
		}
	}
}

// limit of a message, in bytes.
const limit = 16 << 20

func (s *Server) take(w http.ResponseWriter, r *http.Request, into proto.Message, keep func()) {
	if err := decode(r, into); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headers = append(s.headers, r.Header.Clone())
	if len(s.statuses) > 0 {
		w.WriteHeader(s.statuses[0])
		s.statuses = s.statuses[1:]
		return
	}
	s.text.WriteString(protojson.Format(into))
	keep()
	close(s.more)
	s.more = make(chan struct{})
	w.Header().Set("Content-Type", "application/x-protobuf") // an answer without fields is empty
}

func decode(r *http.Request, into proto.Message) error {
	if t := r.Header.Get("Content-Type"); t != "application/x-protobuf" {
		return fmt.Errorf("content type %q is not application/x-protobuf", t)
	}
	body := io.Reader(r.Body)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "":
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = unzipped
	default:
		return fmt.Errorf("content encoding %q", encoding)
	}
	raw, err := io.ReadAll(io.LimitReader(body, limit))
	if err != nil {
		return err
	}
	return proto.Unmarshal(raw, into)
}

func (s *Server) keepSpans(data *tracepb.TracesData) {
	for _, of := range data.GetResourceSpans() {
		resource := plain(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.spans = append(s.spans, Span{Span: span, Resource: resource})
			}
		}
	}
}

func (s *Server) keepRecords(data *logspb.LogsData) {
	for _, of := range data.GetResourceLogs() {
		resource := plain(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeLogs() {
			for _, record := range scope.GetLogRecords() {
				s.records = append(s.records, Record{LogRecord: record, Resource: resource})
			}
		}
	}
}

func plain(attributes []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range attributes {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			all[a.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			all[a.GetKey()] = fmt.Sprint(v.IntValue)
		case *commonpb.AnyValue_BoolValue:
			all[a.GetKey()] = fmt.Sprint(v.BoolValue)
		default:
			all[a.GetKey()] = a.GetValue().String()
		}
	}
	return all
}
