package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	azblobs "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/blob"
	"github.com/matoolkit/matoolkit/local/entra"
)

// as is the token of an application of the directory.
type as struct {
	directory *entra.Server
	scope     string // empty means what the client asks for
}

func (a as) GetToken(_ context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	scope := options.Scopes[0]
	if a.scope != "" {
		scope = a.scope
	}
	token, err := a.directory.IssueAppToken(entra.DefaultWorkerClientID, scope)
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, err
}

type fixture struct {
	directory *entra.Server
	account   *blob.Server
}

func start(t *testing.T, config blob.Config) fixture {
	t.Helper()
	c := entra.DefaultConfig()
	c.Addr = "127.0.0.1:0"
	f := fixture{directory: testenv.Started(entra.Start(t.Context(), c))(t)}
	f.account = testenv.Must(f.open(t, config))(t)
	t.Cleanup(func() {
		if err := errors.Join(f.account.Close(), f.account.Close()); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f fixture) open(t *testing.T, config blob.Config) (*blob.Server, error) {
	t.Helper()
	config.Certificate = testenv.Must(f.directory.ServerCertificate())(t)
	config.Authority, config.TenantID, config.VerifyToken = f.directory.URL(), entra.DefaultTenantID, f.directory.VerifyToken
	return blob.Start(t.Context(), config)
}

func (f fixture) options() azcore.ClientOptions {
	return azcore.ClientOptions{Transport: f.directory.HTTPClient(), Retry: policy.RetryOptions{MaxRetries: -1}}
}

func (f fixture) service(t *testing.T) *azblob.Client {
	t.Helper()
	return testenv.Must(azblob.NewClient(f.account.URL(), as{f.directory, ""}, &azblob.ClientOptions{ClientOptions: f.options()}))(t)
}

// container creates a container and returns its client.
func (f fixture) container(t *testing.T) *container.Client {
	t.Helper()
	c := f.service(t).ServiceClient().NewContainerClient("artifacts")
	testenv.Must(c.Create(t.Context(), nil))(t)
	return c
}

func text(t *testing.T, b *azblobs.Client, o *azblobs.DownloadStreamOptions) string {
	t.Helper()
	got := testenv.Must(b.DownloadStream(t.Context(), o))(t)
	return string(testenv.Must(io.ReadAll(got.Body))(t))
}

// refused checks the status and the code of an error.
func refused(t *testing.T, what string, err error, status int, code bloberror.Code) {
	t.Helper()
	var got *azcore.ResponseError
	if !errors.As(err, &got) || got.StatusCode != status || got.ErrorCode != string(code) {
		t.Errorf("%s: got %v, want %d %s", what, err, status, code)
	}
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	f := start(t, blob.Config{})
	c := f.container(t)
	b := c.NewBlockBlobClient("a/../b %2F/ü")
	put := testenv.Must(b.UploadBuffer(t.Context(), []byte("0123456789"), &blockblob.UploadBufferOptions{
		HTTPHeaders: &azblobs.HTTPHeaders{BlobContentType: to.Ptr("text/plain"), BlobContentEncoding: to.Ptr("x"), BlobCacheControl: to.Ptr("no-store")},
		Metadata:    map[string]*string{"Fingerprint": to.Ptr("f1"), "generation": to.Ptr("7")},
	}))(t)
	got := testenv.Must(b.GetProperties(t.Context(), nil))(t)
	if *got.ETag != *put.ETag || *got.ContentLength != 10 || *got.ContentType != "text/plain" || *got.ContentEncoding != "x" || *got.CacheControl != "no-store" ||
		*got.Metadata["Fingerprint"] != "f1" || *got.Metadata["Generation"] != "7" || *got.BlobType != azblobs.BlobTypeBlockBlob {
		t.Errorf("properties: %+v", got)
	}
	for _, c := range []struct {
		offset, count int64
		want          string
	}{{0, 0, "0123456789"}, {3, 2, "34"}, {8, 0, "89"}, {8, 100, "89"}} {
		if got := text(t, b.BlobClient(), &azblobs.DownloadStreamOptions{Range: azblobs.HTTPRange{Offset: c.offset, Count: c.count}}); got != c.want {
			t.Errorf("range %d, %d: got %q, want %q", c.offset, c.count, got, c.want)
		}
	}
	_, err := b.DownloadStream(t.Context(), &azblobs.DownloadStreamOptions{Range: azblobs.HTTPRange{Offset: 10}})
	refused(t, "a range after the end", err, 416, bloberror.InvalidRange)
	testenv.Must(b.SetMetadata(t.Context(), map[string]*string{"other": to.Ptr("x")}, nil))(t)
	if got := testenv.Must(b.GetProperties(t.Context(), nil))(t); len(got.Metadata) != 1 || *got.ETag == *put.ETag || *got.ContentLength != 10 {
		t.Errorf("new metadata: %v, ETag %v", got.Metadata, *got.ETag)
	}
	empty := c.NewBlockBlobClient("empty")
	testenv.Must(empty.UploadBuffer(t.Context(), nil, nil))(t)
	if got := text(t, empty.BlobClient(), nil); got != "" {
		t.Errorf("an empty blob: %q", got)
	}
	testenv.Must(b.Delete(t.Context(), nil))(t)
	_, err = b.GetProperties(t.Context(), nil)
	refused(t, "HEAD of a deleted blob", err, 404, bloberror.BlobNotFound)
	_, err = b.DownloadStream(t.Context(), nil)
	refused(t, "GET of a deleted blob", err, 404, bloberror.BlobNotFound)
	_, err = b.Delete(t.Context(), nil)
	refused(t, "a second deletion", err, 404, bloberror.BlobNotFound)
	testenv.Must(c.Delete(t.Context(), nil))(t)
	_, err = empty.GetProperties(t.Context(), nil)
	refused(t, "HEAD in a deleted container", err, 404, bloberror.ContainerNotFound)
	_, err = empty.UploadBuffer(t.Context(), nil, nil)
	refused(t, "PUT into a deleted container", err, 404, bloberror.ContainerNotFound)
}

// Uploads in blocks are read back, also after a start with the same state.
func TestBlocksAndDurability(t *testing.T) {
	t.Parallel()
	config := blob.Config{DataDir: t.TempDir()}
	f := start(t, config)
	c := f.container(t)
	content := []byte(strings.Repeat("0123456789abcdef", 200_000)) // 3.2 MB
	streamed := testenv.Must(c.NewBlockBlobClient("streamed").UploadStream(t.Context(), bytes.NewReader(content), &blockblob.UploadStreamOptions{
		BlockSize: 1 << 20, Concurrency: 4, Metadata: map[string]*string{"a": to.Ptr("b")},
	}))(t)
	testenv.Must(c.NewBlockBlobClient("gone").UploadBuffer(t.Context(), []byte("x"), nil))(t)
	testenv.Must(c.NewBlockBlobClient("gone").Delete(t.Context(), nil))(t)
	b := c.NewBlockBlobClient("blocks")
	ids := []string{"MDAx", "MDAy", "MDAz"}
	stage := func(id, content string) {
		t.Helper()
		testenv.Must(b.StageBlock(t.Context(), id, readSeeker(content), nil))(t)
	}
	stage(ids[0], "one")
	stage(ids[1], "two")
	testenv.Must(b.CommitBlockList(t.Context(), ids[:2], nil))(t)
	if got := text(t, b.BlobClient(), nil); got != "onetwo" {
		t.Errorf("committed: %q", got)
	}
	stage(ids[2], "three")
	stage(ids[0], "ONE")
	list := testenv.Must(b.GetBlockList(t.Context(), blockblob.BlockListTypeAll, nil))(t)
	if len(list.CommittedBlocks) != 2 || len(list.UncommittedBlocks) != 2 || *list.CommittedBlocks[1].Name != ids[1] || *list.UncommittedBlocks[1].Size != 5 {
		t.Errorf("block list: %+v", list.BlockList)
	}
	testenv.Must(b.CommitBlockList(t.Context(), []string{ids[2], ids[1], ids[0]}, nil))(t)
	if got := text(t, b.BlobClient(), nil); got != "threetwoONE" {
		t.Errorf("mixed: %q", got)
	}
	_, err := b.StageBlock(t.Context(), "MDAwMQ==", readSeeker("x"), nil)
	refused(t, "a block id of another length", err, 400, bloberror.InvalidBlobOrBlock)
	_, err = b.CommitBlockList(t.Context(), []string{"MDA5"}, nil)
	refused(t, "an unknown block", err, 400, bloberror.InvalidBlockList)
	_, err = b.CommitBlockList(t.Context(), ids, &blockblob.CommitBlockListOptions{AccessConditions: ifNew()})
	refused(t, "blocks for a blob that exists", err, 409, bloberror.BlobAlreadyExists)

	again := fixture{f.directory, testenv.Started(f.open(t, config))(t)}
	c = again.service(t).ServiceClient().NewContainerClient("artifacts")
	if got := text(t, c.NewBlobClient("streamed"), nil); got != string(content) {
		t.Errorf("%d bytes after a restart, want %d", len(got), len(content))
	}
	got := testenv.Must(c.NewBlobClient("streamed").GetProperties(t.Context(), nil))(t)
	if *got.ETag != *streamed.ETag || *got.Metadata["A"] != "b" || !got.LastModified.Equal(*streamed.LastModified) {
		t.Errorf("after a restart: %+v, want ETag %s", got, *streamed.ETag)
	}
	b = c.NewBlockBlobClient("blocks")
	testenv.Must(b.CommitBlockList(t.Context(), []string{ids[0], ids[2]}, nil))(t)
	if got := text(t, b.BlobClient(), nil); got != "ONEthree" {
		t.Errorf("committed blocks after a restart: %q", got)
	}
	_, err = c.NewBlobClient("gone").GetProperties(t.Context(), nil)
	refused(t, "a deleted blob after a restart", err, 404, bloberror.BlobNotFound)
}

func readSeeker(text string) io.ReadSeekCloser { return closer{strings.NewReader(text)} }

type closer struct{ *strings.Reader }

func (closer) Close() error { return nil }

func ifNew() *azblobs.AccessConditions {
	return &azblobs.AccessConditions{ModifiedAccessConditions: &azblobs.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	f := start(t, blob.Config{})
	c := f.container(t)
	testenv.Must(c.NewBlockBlobClient("there").UploadBuffer(t.Context(), []byte("x"), nil))(t)
	at := testenv.Must(c.NewBlobClient("there").GetProperties(t.Context(), nil))(t)
	same, other, before, after := at.ETag, to.Ptr(azcore.ETag(`"0x1"`)), to.Ptr(at.LastModified.Add(-time.Hour)), to.Ptr(at.LastModified.Add(time.Hour))
	type when = azblobs.ModifiedAccessConditions
	const put, read, del = "put", "read", "delete"
	for _, c := range []struct {
		do, name string
		when     when
		status   int // 0: success
		code     bloberror.Code
	}{
		{put, "there", when{IfNoneMatch: to.Ptr(azcore.ETagAny)}, 409, bloberror.BlobAlreadyExists},
		{put, "there", when{IfMatch: other}, 412, bloberror.ConditionNotMet},
		{put, "there", when{IfNoneMatch: same}, 412, bloberror.ConditionNotMet},
		{put, "there", when{IfModifiedSince: after}, 412, bloberror.ConditionNotMet},
		{put, "there", when{IfUnmodifiedSince: before}, 412, bloberror.ConditionNotMet},
		{put, "there", when{IfMatch: same, IfNoneMatch: other}, 400, "MultipleConditionHeadersNotSupported"},
		{put, "none", when{IfMatch: same}, 412, bloberror.ConditionNotMet},
		{put, "none", when{IfMatch: to.Ptr(azcore.ETagAny)}, 412, bloberror.ConditionNotMet},
		{read, "there", when{IfMatch: same}, 0, ""},
		{read, "there", when{IfMatch: other}, 412, bloberror.ConditionNotMet},
		{read, "there", when{IfNoneMatch: other}, 0, ""},
		{read, "there", when{IfNoneMatch: same}, 304, bloberror.ConditionNotMet},
		{read, "there", when{IfModifiedSince: after}, 304, bloberror.ConditionNotMet},
		{read, "there", when{IfModifiedSince: before, IfNoneMatch: same}, 0, ""},
		{read, "there", when{IfUnmodifiedSince: before}, 412, bloberror.ConditionNotMet},
		{read, "there", when{IfNoneMatch: to.Ptr(azcore.ETagAny)}, 400, "UnsatisfiableCondition"},
		{read, "none", when{IfMatch: same}, 412, bloberror.ConditionNotMet},
		{read, "none", when{IfNoneMatch: same}, 404, bloberror.BlobNotFound},
		{del, "there", when{IfMatch: other}, 412, bloberror.ConditionNotMet},
		{del, "none", when{IfMatch: same}, 404, bloberror.BlobNotFound},
	} {
		client := f.service(t).ServiceClient().NewContainerClient("artifacts").NewBlockBlobClient(c.name)
		on := &azblobs.AccessConditions{ModifiedAccessConditions: &c.when}
		var err error
		switch c.do {
		case put:
			_, err = client.Upload(t.Context(), readSeeker("new"), &blockblob.UploadOptions{AccessConditions: on})
		case read:
			var got azblobs.DownloadStreamResponse
			got, err = client.DownloadStream(t.Context(), &azblobs.DownloadStreamOptions{AccessConditions: on})
			if c.status == http.StatusNotModified { // no error for azblob
				if got.ErrorCode == nil || *got.ErrorCode != string(c.code) {
					t.Errorf("read with %+v: %v", c.when, got.ErrorCode)
				}
				continue
			}
		case del:
			_, err = client.Delete(t.Context(), &azblobs.DeleteOptions{AccessConditions: on})
		}
		what := fmt.Sprintf("%s %s with %+v", c.do, c.name, c.when)
		if c.status != 0 {
			refused(t, what, err, c.status, c.code)
		} else if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	// The ETag of a reading is that of one write, and the second with it loses.
	there := c.NewBlockBlobClient("there")
	on := &azblobs.AccessConditions{ModifiedAccessConditions: &when{IfMatch: same}}
	testenv.Must(there.Upload(t.Context(), readSeeker("first"), &blockblob.UploadOptions{AccessConditions: on}))(t)
	_, err := there.Upload(t.Context(), readSeeker("second"), &blockblob.UploadOptions{AccessConditions: on})
	refused(t, "a second write", err, 412, bloberror.ConditionNotMet)
	if got := text(t, there.BlobClient(), nil); got != "first" {
		t.Errorf("the winner is %q", got)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	f := start(t, blob.Config{PageSize: 3})
	c := f.container(t)
	for _, name := range []string{"a/1", "a/2", "a/b/1", "a/b/2", "a.x", "b", "control\x01&<", "ü"} {
		testenv.Must(c.NewBlockBlobClient(name).UploadBuffer(t.Context(), []byte(name), &blockblob.UploadBufferOptions{Metadata: map[string]*string{"n": to.Ptr("v")}}))(t)
	}
	for prefix, want := range map[string][]string{
		"": {"a.x", "a/1", "a/2", "a/b/1", "a/b/2", "b", "control\x01&<", "ü"}, "a/": {"a/1", "a/2", "a/b/1", "a/b/2"}, "none": nil,
	} {
		var got []string
		pages := 0
		for pager := c.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix, Include: container.ListBlobsInclude{Metadata: true}}); pager.More(); pages++ {
			page := testenv.Must(pager.NextPage(t.Context()))(t)
			for _, b := range page.Segment.BlobItems {
				got = append(got, *b.Name)
				if *b.Metadata["n"] != "v" || *b.Properties.ContentLength != int64(len(*b.Name)) || *b.Properties.ETag == "" {
					t.Errorf("%s: %+v", *b.Name, b.Properties)
				}
			}
		}
		if !slices.Equal(got, want) || pages != max(1, (len(want)+2)/3) {
			t.Errorf("prefix %q: %q on %d pages, want %q", prefix, got, pages, want)
		}
	}
	got := map[string]bool{}
	for pager := c.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Prefix: to.Ptr("a"), MaxResults: to.Ptr[int32](1)}); pager.More(); {
		page := testenv.Must(pager.NextPage(t.Context()))(t)
		for _, b := range page.Segment.BlobItems {
			got[*b.Name] = false
		}
		for _, p := range page.Segment.BlobPrefixes {
			got[*p.Name] = true
		}
	}
	if want := map[string]bool{"a.x": false, "a/": true}; !maps.Equal(got, want) {
		t.Errorf("by delimiter: %v, want %v", got, want)
	}
	for _, name := range []string{"zzz", "another"} {
		testenv.Must(f.service(t).CreateContainer(t.Context(), name, nil))(t)
	}
	var containers []string
	for pager := f.service(t).NewListContainersPager(nil); pager.More(); {
		for _, c := range testenv.Must(pager.NextPage(t.Context()))(t).ContainerItems {
			containers = append(containers, *c.Name)
		}
	}
	if !slices.Equal(containers, []string{"another", "artifacts", "zzz"}) {
		t.Errorf("containers: %v", containers)
	}
	_, err := f.service(t).CreateContainer(t.Context(), "zzz", nil)
	refused(t, "a second container", err, 409, bloberror.ContainerAlreadyExists)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	f := start(t, blob.Config{MaxBody: 1000})
	f.container(t)
	token := "Bearer " + testenv.Must(f.directory.IssueAppToken(entra.DefaultWorkerClientID, blob.Audience+"/.default"))(t)
	for _, c := range []struct {
		request string
		headers string
		body    int
		status  int
		code    string
	}{
		{"GET /artifacts/a", "x-ms-version:", 0, 400, "MissingRequiredHeader"},
		{"GET /artifacts/a", "x-ms-version: 2016-01-01", 0, 400, "InvalidHeaderValue"},
		{"GET /artifacts/a", "Authorization:", 0, 401, "NoAuthenticationInformation"},
		{"GET /artifacts/a", "Authorization: Bearer x", 0, 401, "InvalidAuthenticationInfo"},
		{"GET /artifacts/a", "Authorization: Basic x", 0, 400, "InvalidAuthenticationInfo"},
		{"GET /artifacts/a", "Authorization: SharedKey local:x", 0, 403, "KeyBasedAuthenticationNotPermitted"},
		{"GET /artifacts/a?sig=x", "", 0, 403, "KeyBasedAuthenticationNotPermitted"},
		{"GET /artifacts/a?snapshot=x", "", 0, 400, "UnsupportedQueryParameter"},
		{"GET /artifacts/a?comp=tags", "", 0, 400, "InvalidQueryParameterValue"},
		{"PUT /artifacts/a?comp=lease", "", 0, 400, "InvalidQueryParameterValue"},
		{"POST /artifacts/a", "", 0, 405, "UnsupportedHttpVerb"},
		{"PUT /artifacts/a", "", 1, 400, "MissingRequiredHeader"},
		{"PUT /artifacts/a", "x-ms-blob-type: PageBlob", 1, 400, "InvalidHeaderValue"},
		{"PUT /artifacts/a", "x-ms-blob-type: BlockBlob|x-ms-tags: a=b", 1, 400, "UnsupportedHeader"},
		{"PUT /artifacts/a", "x-ms-blob-type: BlockBlob|x-ms-meta-a-b: x", 1, 400, "InvalidMetadata"},
		{"PUT /artifacts/a", "x-ms-blob-type: BlockBlob|x-ms-meta-a: " + strings.Repeat("x", 8193), 1, 400, "MetadataTooLarge"},
		{"PUT /artifacts/a", "x-ms-blob-type: BlockBlob|Content-MD5: " + strings.Repeat("A", 22) + "==", 1, 400, "Md5Mismatch"},
		{"PUT /artifacts/a", "x-ms-blob-type: BlockBlob", 1001, 413, "RequestBodyTooLarge"},
		{"PUT /artifacts/a?comp=block&blockid=%21", "", 1, 400, "InvalidQueryParameterValue"},
		{"PUT /artifacts/a?comp=block&blockid=MDAx", "If-Match: x", 1, 400, "ConditionHeadersNotSupported"},
		{"PUT /artifacts/a?comp=blocklist", "", 1, 400, "InvalidXmlDocument"},
		{"PUT /artifacts/a?comp=metadata", "", 0, 404, "BlobNotFound"},
		{"GET /artifacts/" + strings.Repeat("x", 1025), "", 0, 400, "OutOfRangeInput"},
		{"GET /artifacts/" + strings.Repeat("x/", 255), "", 0, 400, "OutOfRangeInput"},
		{"PUT /ar?restype=container", "", 0, 400, "OutOfRangeInput"},
		{"PUT /arti--facts?restype=container", "", 0, 400, "InvalidResourceName"},
		{"GET /artifacts?restype=container&comp=list&include=versions", "", 0, 400, "InvalidQueryParameterValue"},
		{"GET /artifacts?restype=container&comp=list&maxresults=0", "", 0, 400, "OutOfRangeQueryParameterValue"},
		{"GET /artifacts?restype=container&comp=list&marker=x", "", 0, 400, "InvalidQueryParameterValue"},
		{"GET /artifacts?comp=list", "", 0, 400, "InvalidQueryParameterValue"},
		{"GET /other-container/a", "", 0, 404, "ContainerNotFound"},
	} {
		t.Run(c.code+" "+c.request[:min(60, len(c.request))], func(t *testing.T) {
			t.Parallel()
			method, path, _ := strings.Cut(c.request, " ")
			r := testenv.Must(http.NewRequestWithContext(t.Context(), method, f.account.URL()+path, strings.NewReader(strings.Repeat("x", c.body))))(t)
			r.Header.Set("Authorization", token)
			r.Header.Set("x-ms-version", "2026-02-06")
			for _, header := range strings.Split(c.headers, "|") {
				if name, value, _ := strings.Cut(header, ":"); strings.TrimSpace(value) != "" {
					r.Header.Set(name, strings.TrimSpace(value))
				} else {
					r.Header.Del(name)
				}
			}
			response, err := f.directory.HTTPClient().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body := string(testenv.Must(io.ReadAll(response.Body))(t))
			if response.StatusCode != c.status || response.Header.Get("x-ms-error-code") != c.code || !strings.Contains(body, "<Code>"+c.code+"</Code>") {
				t.Errorf("%d %s\n%s", response.StatusCode, response.Header.Get("x-ms-error-code"), body)
			}
		})
	}
}

func TestRolesAndFaults(t *testing.T) {
	t.Parallel()
	f := start(t, blob.Config{Allowed: func(_, action string) bool { return action != blob.ActionDelete }})
	c := f.container(t)
	b := c.NewBlockBlobClient("a")
	testenv.Must(b.UploadBuffer(t.Context(), []byte("x"), nil))(t)
	_, err := b.Delete(t.Context(), nil)
	refused(t, "no role", err, 403, bloberror.AuthorizationPermissionMismatch)
	f.account.Fail(blob.Fault{Method: "PUT", Path: "/artifacts/a", Count: 1, Status: 503, Code: "ServerBusy", RetryAfter: "1"})
	_, err = b.UploadBuffer(t.Context(), []byte("y"), nil)
	refused(t, "a fault", err, 503, bloberror.ServerBusy)
	f.account.Fail(blob.Fault{Method: "PUT", Count: 1, Lost: true})
	if _, err = b.UploadBuffer(t.Context(), []byte("z"), nil); err == nil {
		t.Error("a lost answer arrived")
	}
	if got := text(t, b.BlobClient(), nil); got != "z" {
		t.Errorf("after a lost answer: %q", got)
	}
	f.account.Fail(blob.Fault{Status: 500, Code: "InternalError"})
	f.account.Heal()
	if got := text(t, b.BlobClient(), nil); got != "z" {
		t.Errorf("healed: %q", got)
	}
	if last := f.account.Requests()[len(f.account.Requests())-1]; last.Path != "/artifacts/a" || last.Action != blob.ActionRead {
		t.Errorf("last request: %+v", last)
	}
	wrong := testenv.Must(azblob.NewClient(f.account.URL(), as{f.directory, entra.GraphAudience + "/.default"}, &azblob.ClientOptions{ClientOptions: f.options()}))(t)
	_, err = wrong.CreateContainer(t.Context(), "new", nil)
	refused(t, "a token for another resource", err, 401, bloberror.InvalidAuthenticationInfo)
	for name, config := range map[string]blob.Config{"beyond loopback": {Addr: "0.0.0.0:0"}, "a bad account": {Account: "A"}} {
		if _, err := f.open(t, config); err == nil {
			t.Errorf("%s: started", name)
		}
	}
}
