package functionshost

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

// TestExchangesAreRecorded: whole answers of the handler are, with bodies in JSON as they were sent. An answer reaches
// the caller before its end is there. Answers of the host itself, and those that end early, are left out.
func TestExchangesAreRecorded(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, `{"packed":true}`)
	_ = z.Close()
	more, folder := make(chan struct{}), t.TempDir()
	s := web(t, Config{Exchanges: folder}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/slow":
			_, _ = io.WriteString(w, `{"first":`)
			w.(http.Flusher).Flush()
			<-more
			_, _ = io.WriteString(w, `1}`)
		case "/api/packed":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		case "/api/large":
			_, _ = w.Write(bytes.Repeat([]byte("1"), maxExchangeBody+1))
		case "/api/broken":
			_, _ = io.WriteString(w, `{"half":`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/api/page":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<p>")
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	get := func(method, path string, begun func(io.Reader)) {
		t.Helper()
		response := testenv.Must(client.Do(testenv.Must(http.NewRequestWithContext(t.Context(), method, s.URL()+path, nil))(t)))(t)
		defer response.Body.Close()
		if begun != nil {
			begun(response.Body)
		}
		_, _ = io.Copy(io.Discard, response.Body) // one breaks off
	}
	get("GET", "/api/slow?x=a%2Fb", func(body io.Reader) {
		begin := make([]byte, len(`{"first":`))
		if _, err := io.ReadFull(body, begin); err != nil {
			t.Error(err)
		}
		close(more)
	})
	for _, path := range []string{"packed", "large", "broken", "page", "none"} {
		get("GET", "/api/"+path, nil)
	}
	get("TRACE", "/api/none", nil) // of no function
	get("HEAD", "/api/packed", nil)

	var got []string
	testenv.Eventually(t, "six exchanges", func() bool {
		for _, x := range testenv.Must(TakeExchanges(folder))(t) {
			body := string(x.Body)
			switch {
			case x.Cut:
				body = "cut"
			case x.Header.Get("Content-Encoding") == "gzip" && body != "":
				body = string(testenv.Must(io.ReadAll(testenv.Must(gzip.NewReader(strings.NewReader(body)))(t)))(t))
			}
			got = append(got, strings.Join([]string{x.Method, x.URI, http.StatusText(x.Status), body}, " "))
		}
		return len(got) >= 6
	})
	slices.Sort(got)
	want := []string{
		"GET /api/large OK cut", "GET /api/none No Content ", "GET /api/packed OK " + `{"packed":true}`, "GET /api/page OK ",
		"GET /api/slow?x=a%2Fb OK " + `{"first":1}`, "HEAD /api/packed OK ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}
