// Package console serves the operations console: a page in the browser that uses the admin API. Its
// TypeScript is in src; "make build" bundles it into dist, which this package embeds.
//
// It knows nothing of migrations, and checks no token: the page asks the admin API for all that it shows.
package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

//go:embed dist
var dist embed.FS

// Prefix is the path of the console on the origin of the admin API.
const Prefix = "/api/console/"

// Files are the bundled files, each compressed with gzip; none if the handler was built without them.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil { // the folder is embedded
		panic(err)
	}
	return files
}

// Handler serves the console below Prefix: its assets, and for the address of each view the page. The page
// may connect to this origin and to authority, where its users sign in.
func Handler(files fs.FS, authority string) http.Handler {
	policy := policy(authority)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			header.Set("Allow", "GET, HEAD")
			http.Error(w, "the console's files can only be read", http.StatusMethodNotAllowed)
			return
		}
		name, below := strings.CutPrefix(r.URL.Path, Prefix)
		if !below {
			http.Redirect(w, r, Prefix, http.StatusPermanentRedirect)
			return
		}
		// The hash in the name of an asset stands for its content.
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
		if !strings.HasPrefix(name, "assets/") {
			header.Set("Cache-Control", "no-cache")
			if name != "licences.txt" {
				name = "index.html"
			}
		}
		serve(w, r, files, name)
	})
}

// policy allows scripts and styles of this origin alone, and connections to it and to the authority. A
// browser does not trust the certificate of the authority on this machine, so there the page talks HTTP.
func policy(authority string) string {
	connect := "'self'"
	if u, err := url.Parse(authority); err == nil && u.Host != "" {
		connect += " " + u.Scheme + "://" + u.Host
		if loopback.Is(u.Hostname()) {
			connect += " http://" + u.Host
		}
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src " + connect +
		"; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
}

func serve(w http.ResponseWriter, r *http.Request, files fs.FS, name string) {
	data, err := fs.ReadFile(files, name+".gz")
	if err != nil {
		w.Header().Set("Cache-Control", "no-store")
		reason := "the console has no file " + path.Base(name)
		if name == "index.html" {
			reason = "this handler was built without the console: build it with make build"
		}
		http.Error(w, reason, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", contentType(name))
	w.Header().Add("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
	} else if data, err = expand(data); err != nil {
		http.Error(w, "the file is damaged", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(data) //nolint:gosec // a file of the console, whose type and policy the headers name; the caller is gone if this fails
	}
}

func expand(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// contentType does not depend on the machine, as mime.TypeByExtension does.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}
