package csvfile_test

import (
	"context"
	"crypto/tls"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/csvfile"
	"github.com/matoolkit/matoolkit/internal/datasource/datasourcetest"
)

func open(t *testing.T, spec datasource.Spec) datasource.Source {
	t.Helper()
	s, err := csvfile.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// write makes a file of the content.
func write(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "people.csv")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// all reads a source to its end, or to the error.
func all(t *testing.T, s datasource.Source) (columns, rows []string, err error) {
	t.Helper()
	result, err := s.Query(t.Context())
	if err != nil {
		return nil, nil, err
	}
	defer result.Close()
	for {
		values, err := result.Next(t.Context())
		if err == io.EOF {
			return result.Columns(), rows, nil
		}
		if err != nil {
			return result.Columns(), rows, err
		}
		b, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, string(b))
	}
}

// wants expects s to fail with an error that says each of the words, in Query or
// later.
func wants(t *testing.T, s datasource.Source, words ...string) {
	t.Helper()
	_, rows, err := all(t, s)
	if err == nil {
		t.Fatalf("it was read: %s", rows)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q says nothing of %q", err, w)
		}
	}
}

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

func encode(t *testing.T, columns []string, rows [][]string) string {
	t.Helper()
	var b strings.Builder
	w := csv.NewWriter(&b)
	if err := w.WriteAll(append([][]string{columns}, rows...)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// stall sends the beginning of a file and then nothing, until the reader has gone.
func stall(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, "Id\na\nb\n")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		datasourcetest.Run(t, datasourcetest.Kind{
			Table: func(t *testing.T, columns []string, rows [][]string) datasource.Source {
				return open(t, datasource.Spec{Connection: write(t, encode(t, columns, rows))})
			},
			Endless: func(t *testing.T) datasource.Source {
				// As long as a reader could not read in time.
				name := write(t, "Id\na\n")
				f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				chunk := []byte(strings.Repeat("somebody@contoso.com\n", 50_000))
				for range 40 {
					if _, err := f.Write(chunk); err != nil {
						t.Fatal(err)
					}
				}
				return open(t, datasource.Spec{Connection: name})
			},
		})
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		datasourcetest.Run(t, datasourcetest.Kind{
			Table: func(t *testing.T, columns []string, rows [][]string) datasource.Source {
				content := encode(t, columns, rows)
				return open(t, datasource.Spec{Connection: serve(t, func(w http.ResponseWriter, _ *http.Request) {
					fmt.Fprint(w, content)
				})})
			},
			Endless: func(t *testing.T) datasource.Source {
				return open(t, datasource.Spec{Connection: serve(t, stall)})
			},
		})
	})
	t.Run("blob", func(t *testing.T) {
		t.Parallel()
		blob := func(t *testing.T, h http.HandlerFunc) datasource.Source {
			return open(t, datasource.Spec{
				Connection: "https://account.blob.core.windows.net/lists/people.csv",
				Credential: &identity{}, HTTPClient: storage(t, h),
			})
		}
		datasourcetest.Run(t, datasourcetest.Kind{
			Table: func(t *testing.T, columns []string, rows [][]string) datasource.Source {
				content := encode(t, columns, rows)
				return blob(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, content) })
			},
			Endless: func(t *testing.T) datasource.Source { return blob(t, stall) },
		})
	})
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

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content string
		columns, rows []string
	}{
		{"a byte order mark, CRLF, no line end at the end", "\xef\xbb\xbfId,Mail\r\n1,a@x\r\n2,b@x", []string{"Id", "Mail"}, []string{`["1","a@x"]`, `["2","b@x"]`}},
		{"quotation marks and line ends in fields", "Id,Text\n1,\"a, \"\"b\"\"\nc\"\n", []string{"Id", "Text"}, []string{`["1","a, \"b\"\nc"]`}},
		{"everything stays text", "Id,N,B\n007,1.50,true\n", []string{"Id", "N", "B"}, []string{`["007","1.50","true"]`}},
		{"rows without any value are passed over", "Id,Mail\n,\n1,a\n\n,\n", []string{"Id", "Mail"}, []string{`["1","a"]`}},
		{"a header and nothing more", "Id,Mail", []string{"Id", "Mail"}, nil},
		{"one column", "Id\n1\n", []string{"Id"}, []string{`["1"]`}},
		{"a file in another order", "Mail,Id\na,1\n", []string{"Mail", "Id"}, []string{`["a","1"]`}},
		{"a file shorter than a byte order mark", "I", []string{"I"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := write(t, tt.content)
			for _, connection := range []string{name, "file://" + name, "file://localhost" + name} {
				columns, rows, err := all(t, open(t, datasource.Spec{Connection: connection}))
				if err != nil || !slices.Equal(columns, tt.columns) || !slices.Equal(rows, tt.rows) {
					t.Errorf("%s: %q, %q, %v", connection, columns, rows, err)
				}
			}
		})
	}
}

func TestTextIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content string
		says          []string
	}{
		{"empty", "", []string{"empty"}},
		{"only a byte order mark", "\xef\xbb\xbf", []string{"empty"}},
		{"UTF-16", "\xff\xfeI\x00d\x00", []string{"UTF-16", "CSV UTF-8"}},
		{"UTF-16 big-endian", "\xfe\xff\x00I", []string{"UTF-16"}},
		{"UTF-16 without a mark", "I\x00d\x00\n\x00", []string{"control character"}},
		{"a workbook", "PK\x03\x04rest", []string{"workbook"}},
		{"an old workbook", "\xd0\xcf\x11\xe0rest", []string{"workbook"}},
		{"compressed", "\x1f\x8b\x08\x00rest", []string{"compressed"}},
		{"another encoding", "Id,Name\n1,Andr\xe9\n", []string{"line 2, column 3", "UTF-8"}},
		{"another encoding in the header", "Id,Gr\xf6\xdfe\n", []string{"line 1, column 4", "UTF-8"}},
		{"semicolons", "Id;Mail\n1;a\n", []string{"semicolons"}},
		{"a control character", "Id\na\x07\n", []string{"line 2, column 1", "U+0007"}},
		{"NUL", "Id\na\x00\n", []string{"U+0000"}},
		{"a control character in the header", "Id,A\x01\n", []string{"line 1", "control"}},
		{"a line end in the header", "Id,\"A\nB\"\n", []string{"line 1", "column 2"}},
		{"too few fields", "Id,Mail\n1,a\n2\n", []string{"line 3", "1 field where the header has 2"}},
		{"too many fields", "Id,Mail\n1,\"a\nb\",c\n", []string{"line 2", "3 fields"}},
		{"a quotation mark within a field", "Id,Mail\n1,a\"b\n", []string{"line 2, column 4", "inside a field"}},
		{"a quotation mark that ends nothing", "Id,Mail\n1,\"a\"b\n", []string{"line 2", "not followed by a comma"}},
		{"cut off in a quoted field", "Id,Mail\n1,\"a", []string{"line 2", "quotation mark"}},
		{"cut off in a quoted field, after a line end", "Id,Mail\n1,\"a\nb\n", []string{"line 2", "not closed", "complete"}},
		{"cut off in a row", "Id,Mail\n1,a\n2", []string{"line 3", "1 field"}},
		{"a quotation mark that swallows the file", "Id\na\n\"" + strings.Repeat("0123456789\n", 300_000), []string{"line 2", "more than 1048576 bytes", "not closed"}},
		{"a header without an end", strings.Repeat("0123456789", 300_000), []string{"the header", "more than 1048576 bytes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wants(t, open(t, datasource.Spec{Connection: write(t, tt.content)}), tt.says...)
		})
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.csv")
	for _, tt := range []struct{ connection, says string }{
		{missing, "does not exist"},
		{"file://" + missing, "does not exist"},
		{dir, "a folder"},
		{os.DevNull, "not a regular file"},
	} {
		_, _, err := all(t, open(t, datasource.Spec{Connection: tt.connection}))
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), tt.connection) {
			t.Errorf("%s: %v", tt.connection, err)
		}
		if tt.says == "does not exist" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v is not fs.ErrNotExist", tt.connection, err)
		}
	}

	name := write(t, "Id\n1\n")
	working, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(working, name)
	if err != nil {
		t.Fatal(err)
	}
	if _, rows, err := all(t, open(t, datasource.Spec{Connection: relative, Query: "is not looked at"})); err != nil || len(rows) != 1 {
		t.Errorf("a relative path: %s, %v", rows, err)
	}
}

// A file that grows, shrinks or is written anew under the reader is not a result.
func TestFileThatChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(string) error{
		"longer":      func(name string) error { return os.WriteFile(name, []byte("Id\n1\n2\n3\n"), 0o600) },
		"cut off":     func(name string) error { return os.Truncate(name, 5) },
		"written new": func(name string) error { return os.Chtimes(name, time.Time{}, time.Unix(1, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := write(t, "Id\n1\n2\n")
			rows, err := open(t, datasource.Spec{Connection: file}).Query(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			if err := change(file); err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = rows.Next(t.Context())
			}
			if !strings.Contains(err.Error(), "changed") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestConnectionIsRefused(t *testing.T) {
	t.Parallel()
	for connection, says := range map[string]string{
		"":                                   "no file",
		"file:people.csv":                    "absolute path",
		"file://server/people.csv":           "absolute path",
		"file:///people.csv?x=hidden":        "absolute path",
		"http://contoso.com/hidden.csv":      "https",
		"http://10.0.0.1/hidden.csv":         "https",
		"https:///hidden.csv":                "without a host",
		"ftp://contoso.com/hidden.csv":       "ftp",
		"https://u:hidden%zz@contoso.com/":   "not a URL",
		"sqlserver://u:hidden@h?database=db": "sqlserver",
	} {
		_, err := csvfile.Open(datasource.Spec{Connection: connection})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", connection, err)
		}
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
		wants(t, open(t, datasource.Spec{Connection: "https://contoso.com/a", HTTPClient: client}), "302", "not https")
	})
	t.Run("without an end", func(t *testing.T) {
		t.Parallel()
		client, _ := server(t, "https://contoso.com/a")
		wants(t, open(t, datasource.Spec{Connection: "https://contoso.com/a", HTTPClient: client}), "302", "ever more")
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
		{"sign in", other, answer(401, "Content-Type", "text/plain", "hidden"), []string{"401 Unauthorized: the server wants to know"}},
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
		rows, err := s.Query(query)
		if err != nil {
			t.Fatal(err)
		}
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

// A blob that nobody signs for may be public; when it is not, that is said.
func TestNobodySigns(t *testing.T) {
	t.Parallel()
	wants(t, open(t, datasource.Spec{
		Connection: "https://account.blob.core.windows.net/c/b",
		HTTPClient: storage(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }),
	}), "401", "no shared access signature", "no identity")
}

// Whatever a file holds, it is refused or gives what encoding/csv reads in it, as
// valid JSON.
func FuzzFile(f *testing.F) {
	for _, content := range []string{"Id,Mail\n1,a\n", "\xef\xbb\xbfId\r\n\"a\"\"\n\"\r\n", "Id\n\xff\n", "Id,\n,\n", "Id\n\"a", "\"a\nb\",c\n1,2\n\n3,4"} {
		f.Add(content)
	}
	name := filepath.Join(f.TempDir(), "people.csv")
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		columns, rows, err := all(t, open(t, datasource.Spec{Connection: name}))
		if err != nil {
			return
		}
		want, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(content, "\xef\xbb\xbf"))).ReadAll()
		if err != nil || !slices.Equal(columns, want[0]) {
			t.Fatalf("%q: columns %q, want %q, %v", content, columns, want, err)
		}
		want = slices.DeleteFunc(want[1:], func(row []string) bool { return strings.Join(row, "") == "" })
		if len(rows) != len(want) {
			t.Fatalf("%q: rows %q, want %q", content, rows, want)
		}
		for i, row := range rows {
			var got []string
			if err := json.Unmarshal([]byte(row), &got); err != nil || !slices.Equal(got, want[i]) {
				t.Errorf("%q: row %s, want %q, %v", content, row, want[i], err)
			}
		}
	})
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
			} else if !strings.Contains(err.Error(), "broke off") && !strings.Contains(err.Error(), "where the file ends") {
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

// nobody is why there is no connection. The pipeline does not try again after it.
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
