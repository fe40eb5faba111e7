// Package csvfile is the data source that is a CSV file (RFC 4180, UTF-8, a header
// first, whose delimiter is that of the rows): on this machine, in Azure Blob Storage, or wherever an https URL leads to.
// All values are text.
//
// A file that was cut off is an error as far as it can be told: an HTTP body that is
// shorter than announced, a quoted field that is not closed, a row of fewer fields, a
// file that changes while it is read. The rows that are missing would otherwise be
// taken for members who left.
package csvfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/loopback"
)

// Open makes a source of the file that spec.Connection names: a path (one that is not
// absolute begins in the working directory), a file: URL, or an https URL; http is only
// for this machine itself. A blob without a shared access signature is asked for as
// spec.Credential. All rows of a file are its result, so spec.Query says nothing. It is a
// [datasource.Open].
func Open(spec datasource.Spec) (datasource.Source, error) {
	c := spec.Connection
	if !strings.Contains(c, "://") && !strings.HasPrefix(strings.ToLower(c), "file:") {
		return file(c, spec.Columns)
	}
	u, err := url.Parse(c)
	if err != nil {
		return nil, errors.New("the URL is invalid") // err quotes it
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" && u.Host != "localhost" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Opaque != "" {
			return nil, errors.New("a file URL must be file:/// and an absolute path only")
		}
		return file(filepath.FromSlash(u.Path), spec.Columns)
	case "http", "https":
		return remote(u, spec)
	}
	return nil, fmt.Errorf("unsupported URL scheme %q; use a path, or a URL with https or file", u.Scheme)
}

func remote(u *url.URL, spec datasource.Spec) (datasource.Source, error) {
	switch {
	case u.Hostname() == "":
		return nil, errors.New("the URL has no host")
	case u.Scheme == "http" && !loopback.Is(u.Hostname()):
		return nil, errors.New("http is allowed only for this machine; use https")
	}
	u.Fragment = ""
	client := spec.HTTPClient
	if client == nil {
		client = http.DefaultClient
	}
	return newDownload(u, spec.Columns, client, spec.Credential), nil
}

// begin makes the rows of the text in body, of which it reads the header. columns are those that the
// header should name. ctx bounds the reading of all rows. stop ends a read that is under way; whole says, after the
// last row, whether that was all.
func begin(ctx context.Context, body io.ReadCloser, columns []string, stop func(), whole func() error) (datasource.Rows, error) {
	r := &rows{text: newText(body, columns), body: body, bound: ctx.Err, stop: stop, whole: whole}
	if err := r.during(ctx, func() (err error) { r.columns, err = r.text.header(); return err }); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}
