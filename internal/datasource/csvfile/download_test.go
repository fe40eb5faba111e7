package csvfile_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// identity is a credential whose token is "for-storage". It notes the scopes asked for.
type identity struct {
	mu     sync.Mutex
	scopes []string
}

func (i *identity) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.scopes = append(i.scopes, o.Scopes...)
	return azcore.AccessToken{Token: "for-storage", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// storage is a server that every https host name leads to.
func storage(t *testing.T, h http.HandlerFunc) *http.Client {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	transport := s.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: transport.TLSClientConfig.RootCAs, ServerName: "example.com", MinVersion: tls.VersionTLS12}
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/people.csv"
}

// stall sends the beginning of a file and then nothing, until the reader has gone.
func stall(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, "Id\na\nb\n")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// Also a reader who gives up alone is not kept waiting.
func TestNextIsGivenUp(t *testing.T) {
	t.Parallel()
	rows, err := open(t, datasource.Spec{Connection: serve(t, stall)}).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for range 3 {
		if _, err = rows.Next(ctx); err != nil {
			break
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if _, err := rows.Next(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("and then %v", err)
	}
}

// Only a blob that nothing else signs for is asked for as this program.
func TestIdentity(t *testing.T) {
	t.Parallel()
	const blob = "https://account.blob.core.windows.net/lists/people.csv"
	tests := []struct {
		name, url            string
		credential           bool
		token, versionHeader bool
	}{
		{"a blob", blob, true, true, true},
		{"a blob of the US government", "https://account.blob.core.usgovcloudapi.net/c/b", true, true, true},
		{"a blob in China", "https://account.blob.core.chinacloudapi.cn/c/b", true, true, true},
		{"a blob of an account with a DNS zone", "https://account.z12.blob.storage.azure.net/c/b", true, true, true},
		{"a blob with a signature", blob + "?sv=2021-12-02&sp=r&sig=abc%2Fdef%3D", true, false, true},
		{"a blob, and no identity", blob, false, false, true},
		{"another server", "https://contoso.com/people.csv", true, false, false},
		{"a server that looks like one", "https://account.blob.core.windows.net.contoso.com/people.csv", true, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan *http.Request, 1)
			spec := datasource.Spec{Connection: tt.url, HTTPClient: storage(t, func(w http.ResponseWriter, r *http.Request) {
				asked <- r
				fmt.Fprint(w, "Id\n1\n")
			})}
			who := &identity{}
			if tt.credential {
				spec.Credential = who
			}
			if _, rows, err := all(t, open(t, spec)); err != nil || len(rows) != 1 {
				t.Fatalf("%q, %v", rows, err)
			}
			r := <-asked
			token, version := "", ""
			if tt.token {
				token = "Bearer for-storage"
				if !slices.Equal(who.scopes, []string{"https://storage.azure.com/.default"}) {
					t.Errorf("scopes %q", who.scopes)
				}
			}
			if tt.versionHeader {
				version = "2021-12-02"
			}
			if got := r.Header.Get("Authorization"); got != token {
				t.Errorf("Authorization %q, want %q", got, token)
			}
			if got := r.Header.Get("x-ms-version"); got != version {
				t.Errorf("x-ms-version %q, want %q", got, version)
			}
			if want, _ := url.Parse(tt.url); r.Host != want.Host || r.URL.RawQuery != want.RawQuery {
				t.Errorf("asked %s for %s", r.Host, r.URL)
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	// Each server leads to the location, and notes who came on there.
	server := func(t *testing.T, location string) (*http.Client, chan *http.Request) {
		came := make(chan *http.Request, 10)
		return storage(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Host == "elsewhere.example.com" && r.URL.Path == "/people.csv" {
				came <- r
				fmt.Fprint(w, "Id\n1\n")
				return
			}
			http.Redirect(w, r, location, http.StatusFound)
		}), came
	}
	const elsewhere = "https://elsewhere.example.com/people.csv"

	t.Run("is followed without what the first URL says", func(t *testing.T) {
		t.Parallel()
		client, came := server(t, elsewhere)
		s := open(t, datasource.Spec{Connection: "https://u:pass@contoso.com/a?sig=secret", Credential: &identity{}, HTTPClient: client})
		if _, rows, err := all(t, s); err != nil || len(rows) != 1 {
			t.Fatalf("%q, %v", rows, err)
		}
		if r := <-came; r.Header.Get("Referer") != "" || r.Header.Get("Authorization") != "" || r.URL.RawQuery != "" {
			t.Errorf("it came with %v for %s", r.Header, r.URL)
		}
	})
	t.Run("a token does not go on", func(t *testing.T) {
		t.Parallel()
		for _, location := range []string{elsewhere, "https://account.blob.core.windows.net/other"} {
			client, came := server(t, location)
			s := open(t, datasource.Spec{Connection: "https://account.blob.core.windows.net/c/b", Credential: &identity{}, HTTPClient: client})
			wants(t, s, "302", "redirect", "identity")
			if len(came) > 0 {
				t.Errorf("it came with %v", (<-came).Header)
			}
		}
	})
	t.Run("to http is not followed", func(t *testing.T) {
		t.Parallel()
		client, _ := server(t, "http://contoso.com/people.csv")
		wants(t, open(t, datasource.Spec{Connection: "https://contoso.com/a", HTTPClient: client}), "302", "without https")
	})
	t.Run("without an end", func(t *testing.T) {
		t.Parallel()
		client, _ := server(t, "https://contoso.com/a")
		wants(t, open(t, datasource.Spec{Connection: "https://contoso.com/a", HTTPClient: client}), "302", "too many redirects")
	})
}

func TestAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	answer := func(status int, header, value, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.Header().Set("retry-after-ms", "1")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	const (
		blob   = "https://account.blob.core.windows.net/c/b"
		signed = blob + "?sig=hidden"
		other  = "https://contoso.com/people.csv"
		xml    = "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>%s</Code><Message>hidden</Message></Error>"
	)
	tests := []struct {
		name, url string
		h         http.HandlerFunc
		says      []string
	}{
		{"not allowed as this program", blob, answer(403, "Content-Type", "application/xml", fmt.Sprintf(xml, "AuthorizationPermissionMismatch")), []string{"403 Forbidden, AuthorizationPermissionMismatch", "Storage Blob Data Reader"}},
		{"not allowed with a signature", signed, answer(403, "Content-Type", "application/xml", fmt.Sprintf(xml, "AuthenticationFailed")), []string{"403 Forbidden, AuthenticationFailed", "expired"}},
		{"the code in the header", signed, answer(404, "x-ms-error-code", "ContainerNotFound", ""), []string{"404 Not Found, ContainerNotFound", "account, container and blob"}},
		{"no anonymous access", signed, answer(409, "x-ms-error-code", "PublicAccessNotPermitted", ""), []string{"409 Conflict, PublicAccessNotPermitted"}},
		{"what is no code", signed, answer(403, "x-ms-error-code", "hidden words", fmt.Sprintf(xml, "a hidden word")), []string{"403 Forbidden: "}},
		{"another server", other, answer(404, "Content-Type", "text/html", "<p>hidden"), []string{"404 Not Found: check the path"}},
		{"sign in", other, answer(401, "Content-Type", "text/plain", "hidden"), []string{"401 Unauthorized: the server requires authentication"}},
		{"a part", other, answer(206, "Content-Range", "bytes 0-3/100", "Id\n1"), []string{"206 Partial Content"}},
		{"nothing", other, answer(204, "Content-Type", "text/csv", ""), []string{"204 No Content"}},
		{"busy for longer than one waits", other, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
		}, []string{"429 Too Many Requests", "next query"}},
		{"busy", other, answer(503, "Content-Type", "text/plain", "hidden"), []string{"503 Service Unavailable", "next query"}},
		{"a web page", other, answer(200, "Content-Type", "text/html; charset=utf-8", "<html>"), []string{"web page"}},
		{"compressed", other, answer(200, "Content-Encoding", "gzip", "\x1f\x8b"), []string{`"gzip"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, datasource.Spec{Connection: tt.url, Credential: &identity{}, HTTPClient: storage(t, tt.h)})
			wants(t, s, tt.says...)
			if _, _, err := all(t, s); strings.Contains(err.Error(), "hidden") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestBusyServerIsAskedAgain(t *testing.T) {
	t.Parallel()
	tries := make(chan int, 4)
	s := open(t, datasource.Spec{Connection: serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries <- 0; len(tries) < 3 {
			w.Header().Set("retry-after-ms", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "Id\n1\n")
	})})
	if _, rows, err := all(t, s); err != nil || len(rows) != 1 || len(tries) != 3 {
		t.Errorf("%q, %v after %d tries", rows, err, len(tries))
	}
}

// leaving is a server that ends its answer in good order when the reader leaves.
type leaving struct{}

func (leaving) RoundTrip(r *http.Request) (*http.Response, error) {
	ends, body := io.Pipe()
	go func() {
		_, _ = io.WriteString(body, "Id\n1\n")
		<-r.Context().Done()
		_ = body.Close()
	}()
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, TransferEncoding: []string{"chunked"},
		Header: http.Header{}, Body: ends, Request: r,
	}, nil
}

func TestEndAfterTheReaderLeftIsNone(t *testing.T) {
	t.Parallel()
	s := open(t, datasource.Spec{Connection: "https://contoso.com/people.csv", HTTPClient: &http.Client{Transport: leaving{}}})
	for _, which := range []string{"query", "next"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		query, next := ctx, t.Context()
		if which == "next" {
			query, next = next, query
		}
		rows := testenv.Must(s.Query(query))(t)
		defer rows.Close()
		if _, err := rows.Next(next); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err := rows.Next(next); !errors.Is(err, context.Canceled) {
			t.Errorf("the context of %s: %v", which, err)
		}
	}
}

// A blob without a signature may be public; if it is not, the error says so.
func TestNobodySigns(t *testing.T) {
	t.Parallel()
	wants(t, open(t, datasource.Spec{
		Connection: "https://account.blob.core.windows.net/c/b",
		HTTPClient: storage(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }),
	}), "401", "no shared access signature", "no identity")
}

// However a body ends early, its rows are not a result.
func TestBodyThatEndsEarly(t *testing.T) {
	t.Parallel()
	// raw answers with these bytes and hangs up.
	raw := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(c, answer)
			_ = c.Close()
		}
	}
	const csv = "Id\n1\n2\n"
	for name, answer := range map[string]string{
		"shorter than announced":        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + csv,
		"within the header":             "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nI",
		"no last chunk":                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n" + csv + "\r\n",
		"within a chunk":                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + csv,
		"nobody knows how long it is":   "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + csv,
		"HTTP/1.0 without an end, also": "HTTP/1.0 200 OK\r\n\r\n" + csv,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, rows, err := all(t, open(t, datasource.Spec{Connection: serve(t, raw(answer))}))
			if err == nil {
				t.Errorf("it was taken for the whole: %q", rows)
			} else if !strings.Contains(err.Error(), "ends early") && !strings.Contains(err.Error(), "no Content-Length") {
				t.Errorf("%v", err)
			}
		})
	}
	for cut := range len(csv) {
		for _, answer := range []string{
			fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(csv), csv[:cut]),
			fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", len(csv), csv[:cut]),
		} {
			if _, rows, err := all(t, open(t, datasource.Spec{Connection: serve(t, raw(answer))})); err == nil {
				t.Errorf("%q was taken for the whole: %q", answer, rows)
			}
		}
	}
	whole := open(t, datasource.Spec{Connection: serve(t, raw("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"+csv))})
	if _, rows, err := all(t, whole); err != nil || len(rows) != 2 {
		t.Errorf("the whole: %q, %v", rows, err)
	}
}

// nobody is the error of a connection that no server accepts. The pipeline does not retry it.
type nobody struct{}

func (nobody) Error() string { return "nobody listens" }
func (nobody) NonRetriable() {}

// A server that cannot be reached is an error without the URL.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, nobody{}
	}}}
	s := open(t, datasource.Spec{Connection: "https://contoso.com/people.csv?sig=hidden", HTTPClient: client})
	if _, err := s.Query(t.Context()); !errors.Is(err, nobody{}) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("%v", err)
	}
}
