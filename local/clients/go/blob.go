package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

var blobs = map[string]func(run){
	"upload": func(r run) {
		b := r.blobs("upload").NewBlockBlobClient("a folder/größe.txt")
		_, err := b.Upload(r, streaming.NopCloser(strings.NewReader("hello")), &blockblob.UploadOptions{
			HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("text/plain")}, Metadata: map[string]*string{"generation": to.Ptr("7")},
		})
		r.must(err)
		r.equal(r.download(b), "hello")
		p, err := b.GetProperties(r, nil)
		r.must(err)
		r.equal([]any{*p.ContentType, *p.ContentLength, *p.Metadata["Generation"]}, []any{"text/plain", int64(5), "7"})
	},
	"conditions": func(r run) {
		b := r.blobs("conditions").NewBlockBlobClient("a")
		absent := &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}
		etag, err := r.put(b, "one", absent)
		r.must(err)
		_, err = r.put(b, "two", absent)
		r.status(err, http.StatusConflict)
		_, err = r.put(b, "two", &blob.ModifiedAccessConditions{IfMatch: etag})
		r.must(err)
		_, err = r.put(b, "three", &blob.ModifiedAccessConditions{IfMatch: etag})
		r.status(err, http.StatusPreconditionFailed)
		r.equal(r.download(b), "two")
	},
	"list": func(r run) {
		c := r.blobs("list")
		for _, name := range []string{"a/1", "a/2", "a/3", "b/1"} {
			_, err := c.NewBlockBlobClient(name).Upload(r, streaming.NopCloser(strings.NewReader("x")), &blockblob.UploadOptions{Metadata: map[string]*string{"name": to.Ptr(name[2:])}})
			r.must(err)
		}
		var all [][]string
		pager := c.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: to.Ptr("a/"), Include: container.ListBlobsInclude{Metadata: true}, MaxResults: to.Ptr(int32(2))})
		for pager.More() {
			page, err := pager.NextPage(r)
			r.must(err)
			var names []string
			for _, item := range page.Segment.BlobItems {
				names = append(names, *item.Name+" "+*item.Metadata["name"])
			}
			all = append(all, names)
		}
		r.equal(all, [][]string{{"a/1 1", "a/2 2"}, {"a/3 3"}})
	},
	"delete": func(r run) {
		b := r.blobs("delete").NewBlockBlobClient("a")
		etag, err := r.put(b, "one", nil)
		r.must(err)
		_, err = r.put(b, "two", nil)
		r.must(err)
		_, err = b.Delete(r, &blob.DeleteOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: etag}}})
		r.status(err, http.StatusPreconditionFailed)
		_, err = b.Delete(r, nil)
		r.must(err)
		_, err = b.Delete(r, nil)
		r.status(err, http.StatusNotFound)
		_, err = b.GetProperties(r, nil)
		r.status(err, http.StatusNotFound)
	},
	"container": func(r run) {
		c := r.blobs("container")
		_, err := c.Create(r, nil)
		r.status(err, http.StatusConflict)
		_, err = r.put(c.NewBlockBlobClient("a"), "one", nil)
		r.must(err)
		_, err = c.Delete(r, nil)
		r.must(err)
		_, err = r.put(c.NewBlockBlobClient("a"), "one", nil)
		r.status(err, http.StatusNotFound)
	},
	"append-blob": func(r run) {
		_, err := r.blobs("append").NewAppendBlobClient("a").Create(r, nil)
		r.must(err)
	},
	"shared-key": func(r run) {
		key, err := service.NewSharedKeyCredential("local", "a2V5")
		r.must(err)
		client, err := service.NewClientWithSharedKeyCredential(os.Getenv("BLOB_ENDPOINT"), key, r.blobOptions())
		r.must(err)
		_, err = client.CreateContainer(r, "shared-key", nil)
		r.must(err)
	},
}

func (r run) blobOptions() *service.ClientOptions {
	return &service.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: &http.Client{Transport: r.transport()}, Retry: policy.RetryOptions{MaxRetries: -1},
	}}
}

// blobs creates a container.
func (r run) blobs(name string) *container.Client {
	client, err := service.NewClient(os.Getenv("BLOB_ENDPOINT"), r.credential(), r.blobOptions())
	r.must(err)
	c := client.NewContainerClient(name)
	_, err = c.Create(r, nil)
	r.must(err)
	return c
}

// put uploads a text and returns its ETag.
func (r run) put(b *blockblob.Client, text string, when *blob.ModifiedAccessConditions) (*azcore.ETag, error) {
	answer, err := b.Upload(r, streaming.NopCloser(bytes.NewReader([]byte(text))), &blockblob.UploadOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: when}})
	return answer.ETag, err
}

func (r run) download(b *blockblob.Client) string {
	answer, err := b.DownloadStream(r, nil)
	r.must(err)
	text, err := io.ReadAll(answer.Body)
	r.must(err)
	r.must(answer.Body.Close())
	return string(text)
}
