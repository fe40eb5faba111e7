package csvfile

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/loopback"
)

// Contract of Get Blob: learn.microsoft.com/rest/api/storageservices/get-blob. Bearer
// tokens are understood from version 2017-11-09 on, and refused without the header.
const (
	storageScope   = "https://storage.azure.com/.default"
	storageVersion = "2021-12-02"
)

// blobHosts are the ends of the host names of Blob Storage, in Azure, in the clouds of
// the US government and of China, and in DNS zones of an account's own.
var blobHosts = []string{".blob.core.windows.net", ".blob.core.usgovcloudapi.net", ".blob.core.chinacloudapi.cn", ".blob.storage.azure.net"}

// download is a source that is asked for over HTTP.
type download struct {
	url      *url.URL
	columns  []string // that the header should name
	identity bool     // it is asked for as this program
	pipeline runtime.Pipeline
}

func newDownload(u *url.URL, columns []string, client *http.Client, credential azcore.TokenCredential) *download {
	d := &download{url: u, columns: columns}
	var options runtime.PipelineOptions
	if blob(u) && !u.Query().Has("sig") && credential != nil {
		d.identity = true
		options.PerRetry = []policy.Policy{runtime.NewBearerTokenPolicy(credential, []string{storageScope}, nil)}
	}
	careful := *client
	careful.CheckRedirect = d.redirect
	d.pipeline = runtime.NewPipeline("matoolkit", "1", options, &policy.ClientOptions{
		Transport: &careful,
		Telemetry: policy.TelemetryOptions{Disabled: true},
		// A server that asks for a longer wait gets it with the next query.
		Retry: policy.RetryOptions{MaxRetryDelay: 10 * time.Second},
	})
	return d
}

func blob(u *url.URL) bool {
	for _, end := range blobHosts {
		if u.Scheme == "https" && strings.HasSuffix(strings.ToLower(u.Hostname()), end) {
			return true
		}
	}
	return false
}

const maxRedirects = 5

// redirect follows only what loses nothing: a token stays with the host that it was
// made for, and nothing goes on over a connection that others can read. A redirect
// that is not followed is an answer like any other.
func (d *download) redirect(r *http.Request, via []*http.Request) error {
	if d.identity || len(via) > maxRedirects || r.URL.Scheme != "https" && !loopback.Is(r.URL.Hostname()) {
		return http.ErrUseLastResponse
	}
	r.Header.Del("Referer") // it has the query, and so the signature, of the URL before
	return nil
}

// Query asks for the file. The retries of the pipeline end with the answer: a body
// that breaks off is not asked for again.
func (d *download) Query(ctx context.Context) (datasource.Rows, error) {
	ctx, cancel := context.WithCancel(ctx)
	rows, err := d.ask(ctx, cancel)
	if err != nil {
		cancel()
		return nil, err
	}
	return rows, nil
}

func (d *download) ask(ctx context.Context, cancel func()) (datasource.Rows, error) {
	req, err := runtime.NewRequest(ctx, http.MethodGet, d.url.String())
	if err != nil {
		return nil, err
	}
	runtime.SkipBodyDownload(req)
	h := req.Raw().Header
	h.Set("Accept", "text/csv, */*;q=0.5")
	h.Set("Accept-Encoding", "identity") // or the length would be that of another text
	if blob(d.url) {
		h.Set("x-ms-version", storageVersion)
	}
	resp, err := d.pipeline.Do(req)
	var quoting *url.Error
	if errors.As(err, &quoting) {
		err = quoting.Err // it has the whole URL in its text
	}
	if err != nil {
		return nil, datasource.Away(fmt.Errorf("request the file: %w", err))
	}
	if err := d.check(resp); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return begin(ctx, resp.Body, d.columns, cancel, func() error { return nil })
}

// check refuses an answer that is not a whole CSV file.
func (d *download) check(resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return d.status(resp)
	}
	if t, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); t == "text/html" {
		return errors.New("the server returned a web page, not a file; the URL may lead to a sign-in page")
	}
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return fmt.Errorf("the file is stored with the encoding %q; store it without one", short(e))
	}
	if resp.ProtoMajor == 1 && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 {
		return errors.New("the server sends no Content-Length, so a truncated file cannot be detected")
	}
	return nil
}

// status is the error of an answer that is not 200. It shows only the code of the
// server's answer.
func (d *download) status(resp *http.Response) error {
	what := fmt.Sprintf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	if code := storageCode(resp); code != "" {
		what += ", " + code
	}
	err := errors.New(what)
	if advice := d.advice(resp.StatusCode); advice != "" {
		err = fmt.Errorf("%s: %s", what, advice)
	}
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
		return datasource.AwayAs(resp, err)
	}
	return err
}

// advice says what to check after an answer with this status; it may be empty.
func (d *download) advice(status int) string {
	switch {
	case status >= 300 && status < 400 && d.identity:
		return "a request with the handler's identity does not follow redirects; give the URL of the blob itself"
	case status >= 300 && status < 400:
		return "the redirect leads to a URL without https, or to too many redirects; give the URL of the file itself"
	case status == http.StatusNotFound && blob(d.url):
		return "check the names of the account, container and blob (case-sensitive); a private container gives the same answer to an anonymous request"
	case status == http.StatusNotFound:
		return "check the path of the URL"
	case status == http.StatusTooManyRequests || status >= 500:
		return "the server may be busy; the next query tries again"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return d.adviceOnAccess()
	}
	return ""
}

// adviceOnAccess says what to check after an answer that refuses access.
func (d *download) adviceOnAccess() string {
	switch {
	case d.identity:
		return "check that the handler's identity has the role Storage Blob Data Reader on the container, and that the account's firewall admits it"
	case d.url.Query().Has("sig"):
		return "check that the shared access signature in the URL has not expired and permits reading (sp=r), and that the account's firewall admits the handler"
	case blob(d.url):
		return "the URL has no shared access signature (sig=), and the handler has no identity"
	}
	return "the server requires authentication; the URL must contain it"
}

var codeForm = regexp.MustCompile(`^[A-Za-z]{1,80}$`)

// storageCode is the error code of Storage: of the header, or of the XML body.
func storageCode(resp *http.Response) string {
	var body struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
	}
	// A body that is none, or is cut off at the limit, has no code.
	_ = xml.NewDecoder(io.LimitReader(resp.Body, 64_000)).Decode(&body)
	if code := cmp.Or(resp.Header.Get("x-ms-error-code"), strings.TrimSpace(body.Code)); codeForm.MatchString(code) {
		return code
	}
	return ""
}

// short is at most the first 60 bytes of s, of which the rest says no more.
func short(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
