package adminhttp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/api"
)

// manyBatches has a list that is worth compressing.
type manyBatches struct{ fakeBatches }

func (manyBatches) Batches(context.Context, api.ListOptions) (p api.Page[api.Batch], err error) {
	for i := range 200 {
		p.Items = append(p.Items, api.Batch{ID: i + 1, RunbookName: "moves", Status: "active"})
	}
	return p, nil
}

func TestLargeAnswersAreCompressedForCallersWhoAcceptIt(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	cases := r.useCases()
	cases.Batches = manyBatches{fakeBatches{r}}
	api := adminhttp.New(adminhttp.Config{UseCases: cases, Verifier: tokens{}})
	ask := func(method, path, accept string) *httptest.ResponseRecorder {
		request := httptest.NewRequest(method, path, nil)
		request.Header.Set("Authorization", "Bearer reader")
		if accept != "" {
			request.Header.Set("Accept-Encoding", accept)
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, request)
		if w.Code != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		return w
	}
	plain := ask("GET", "/api/batches", "")
	if got := plain.Header().Get("Content-Encoding"); got != "" || plain.Body.Len() < 10_000 {
		t.Fatalf("without Accept-Encoding: %q, %d bytes", got, plain.Body.Len())
	}
	packed := ask("GET", "/api/batches", "gzip, zstd")
	if got := packed.Header().Get("Content-Encoding"); got != "gzip" || !strings.Contains(packed.Header().Get("Vary"), "Accept-Encoding") || packed.Body.Len() > plain.Body.Len()/10 {
		t.Errorf("%q, Vary %q, %d bytes of %d", got, packed.Header().Get("Vary"), packed.Body.Len(), plain.Body.Len())
	}
	unpacked, err := gzip.NewReader(packed.Body)
	check(t, err)
	body, err := io.ReadAll(unpacked)
	check(t, err)
	if !bytes.Equal(body, plain.Body.Bytes()) {
		t.Error("the compressed answer is another one")
	}
	if w := ask("GET", "/api/me", "gzip"); w.Header().Get("Content-Encoding") != "" {
		t.Error("a short answer is compressed")
	}
	if w := ask("HEAD", "/api/batches", "gzip"); w.Header().Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("HEAD: %v", w.Header())
	}
}
