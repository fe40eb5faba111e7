package console_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/matoolkit/matoolkit/console"
)

func compressed(text string) *fstest.MapFile {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return &fstest.MapFile{Data: out.Bytes()}
}

func files() fstest.MapFS {
	return fstest.MapFS{"index.html.gz": compressed("<page>"), "licences.txt.gz": compressed("MIT"), "assets/main-AB12.js.gz": compressed("script()"), "assets/main-CD34.css.gz": compressed("style")}
}

func get(t *testing.T, h http.Handler, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestEachAddressShowsThePageAndAssetsAreKept(t *testing.T) {
	t.Parallel()
	h := console.Handler(files(), "https://login.example/t")
	const forever, asked = "public, max-age=31536000, immutable", "no-cache"
	for _, c := range []struct {
		path, body, kind, cache string
		status                  int
	}{
		{"/api/console/", "<page>", "text/html; charset=utf-8", asked, 200},
		{"/api/console/waves/7/people/214", "<page>", "text/html; charset=utf-8", asked, 200},
		{"/api/console/assets/main-AB12.js", "script()", "text/javascript; charset=utf-8", forever, 200},
		{"/api/console/assets/main-CD34.css", "style", "text/css; charset=utf-8", forever, 200},
		{"/api/console/licences.txt", "MIT", "text/plain; charset=utf-8", asked, 200},
		{"/api/console/assets/main-OLD.js", "the console has no file main-OLD.js\n", "text/plain; charset=utf-8", "no-store", 404},
		{"/api/console/assets/../index.html", "the console has no file index.html\n", "text/plain; charset=utf-8", "no-store", 404},
	} {
		r := get(t, h, "GET", c.path)
		body, _ := io.ReadAll(r.Body)
		if r.StatusCode != c.status || string(body) != c.body || r.Header.Get("Content-Type") != c.kind || r.Header.Get("Cache-Control") != c.cache {
			t.Errorf("%s: %d %q %v", c.path, r.StatusCode, body, r.Header)
		}
	}
	if r := get(t, h, "GET", "/api/console"); r.StatusCode != http.StatusPermanentRedirect || r.Header.Get("Location") != console.Prefix {
		t.Errorf("without a slash: %d %v", r.StatusCode, r.Header)
	}
	if r := get(t, h, "POST", "/api/console/"); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", r.StatusCode)
	}
	if r := get(t, h, "HEAD", "/api/console/"); r.StatusCode != http.StatusOK || r.Header.Get("Content-Length") != "6" {
		t.Errorf("HEAD: %d %v", r.StatusCode, r.Header)
	}
}

func TestABrowserGetsTheFilesCompressed(t *testing.T) {
	t.Parallel()
	r := get(t, console.Handler(files(), ""), "GET", "/api/console/assets/main-AB12.js", "Accept-Encoding", "gzip, br")
	if r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Vary") != "Accept-Encoding" {
		t.Fatalf("%v", r.Header)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(z); string(body) != "script()" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
}

func TestThePageConnectsToItsOriginAndTheAuthorityOnly(t *testing.T) {
	t.Parallel()
	for authority, want := range map[string]string{
		"https://login.microsoftonline.com/t": "connect-src 'self' https://login.microsoftonline.com;",
		"https://127.0.0.1:7072/t":            "connect-src 'self' https://127.0.0.1:7072 http://127.0.0.1:7072;",
		"":                                    "connect-src 'self';",
	} {
		policy := get(t, console.Handler(files(), authority), "GET", "/api/console/").Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, want) || !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%q: %s", authority, policy)
		}
	}
}

func TestAHandlerBuiltWithoutTheConsoleSaysSo(t *testing.T) {
	t.Parallel()
	r := get(t, console.Handler(fstest.MapFS{}, ""), "GET", "/api/console/waves")
	if body, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusNotFound || !strings.Contains(string(body), "make build") {
		t.Errorf("%d %s", r.StatusCode, body)
	}
}
