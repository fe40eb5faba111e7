package apicontract_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/apicontract"
)

func read(t *testing.T) *apicontract.Document {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "functions", "admin-http", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := apicontract.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOperationOfARequest(t *testing.T) {
	t.Parallel()
	d := read(t)
	for request, want := range map[string]string{
		"GET /batches":                    "listBatches",
		"HEAD /batches/7":                 "getBatch",
		"GET /batches/7/members/ada%2Fx":  "getMember",
		"POST /batches/7/steps/5/skip":    "skipStep",
		"POST /batches/7/skip":            "skipFailed",
		"GET /messages/audit":             "listMessageAudit",
		"GET /messages/unprocessed/audit": "getMessage",
		"DELETE /batches":                 "",
		"GET /batches/":                   "",
		"GET /batches/7/none":             "",
	} {
		method, path, _ := strings.Cut(request, " ")
		o, ok := d.Find(method, path)
		switch {
		case ok && o.OperationID != want:
			t.Errorf("%s is %s, want %q", request, o.OperationID, want)
		case !ok && want != "":
			t.Errorf("%s is no operation, want %s", request, want)
		}
	}
}

func TestAnswersAreComparedWithTheDocument(t *testing.T) {
	t.Parallel()
	d := read(t)
	const me = `{"name":"ada","kind":"user","tenantId":"t","objectId":"o","roles":[],"permissions":["read"]}`
	const problem = `{"type":"about:blank","title":"Not Found","status":404,"detail":"no batch","error":"not_found","traceId":"t1"}`
	for name, tt := range map[string]struct {
		request, media, body, want string
		status                     int
		header                     http.Header
	}{
		"as described":           {request: "GET /me", body: me},
		"a problem":              {request: "GET /batches/7", status: 404, media: "application/problem+json", body: problem},
		"unchanged":              {request: "GET /batches/7", status: 304, header: http.Header{"Etag": {`W/"m"`}}},
		"an unknown field":       {request: "GET /me", body: strings.Replace(me, `"kind"`, `"more":1,"kind"`, 1), want: "more"},
		"a missing field":        {request: "GET /me", body: strings.Replace(me, `"roles":[],`, "", 1), want: "roles"},
		"an unknown word":        {request: "GET /me", body: strings.Replace(me, `"user"`, `"person"`, 1), want: "kind"},
		"an empty option":        {request: "GET /batches/7/tasks/x", body: `{"id":"x","batchId":7,"action":"retry","status":"running","selection":{"phase":""},"requested":{"by":"ada","at":"2026-03-01T09:00:00.000Z"},"total":1,"finished":0,"refusedCount":0,"refused":[]}`, want: "phase"},
		"a time without millis":  {request: "GET /batches/7/tasks/x", body: `{"id":"x","batchId":7,"action":"retry","status":"running","selection":{},"requested":{"by":"ada","at":"2026-03-01T09:00:00Z"},"total":1,"finished":0,"refusedCount":0,"refused":[]}`, want: "milliseconds"},
		"no JSON":                {request: "GET /me", body: `<html>`, want: "invalid character"},
		"another media type":     {request: "GET /me", media: "text/html", body: me, want: "content type"},
		"a status":               {request: "GET /me", status: 418, body: me, want: "418"},
		"an internal error":      {request: "GET /me", status: 500, media: "application/problem+json", body: problem, want: "500"},
		"a header":               {request: "GET /me", header: http.Header{"Location": {"/api/x"}}, body: me, want: "Location"},
		"a time to wait":         {request: "GET /me", status: 429, media: "application/problem+json", header: http.Header{"Retry-After": {"soon"}}, body: problem, want: "Retry-After"},
		"another trace id":       {request: "GET /batches/7", status: 404, media: "application/problem+json", body: strings.Replace(problem, "t1", "t2", 1), want: "problem document"},
		"an address of the host": {request: "GET /batches/7", status: 404, media: "application/problem+json", body: strings.Replace(problem, "no batch", "127.0.0.1 is away", 1), want: "inside"},
	} {
		method, path, _ := strings.Cut(tt.request, " ")
		o, ok := d.Find(method, path)
		if !ok {
			t.Fatalf("%s is no operation", tt.request)
		}
		a := apicontract.Answer{Status: tt.status, Header: tt.header.Clone(), Body: []byte(tt.body)}
		if a.Status == 0 {
			a.Status = http.StatusOK
		}
		if a.Header == nil {
			a.Header = http.Header{}
		}
		a.Header.Set("X-Trace-Id", "t1")
		if tt.media == "" {
			tt.media = "application/json; charset=utf-8"
		}
		a.Header.Set("Content-Type", tt.media)
		switch err := d.Check(o, a); {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && err == nil:
			t.Errorf("%s: no error", name)
		case tt.want != "" && !strings.Contains(err.Error(), tt.want):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
