package blob

import (
	"bytes"
	"crypto/md5" // a checksum of the protocol
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// readBody reads a body of at most Config.MaxBody and compares its checksum.
func (s *Server) readBody(r *http.Request) ([]byte, *refusal) {
	if r.ContentLength < 0 {
		return nil, &refusal{status: http.StatusLengthRequired, code: "MissingContentLengthHeader", message: "The Content-Length header was not specified."}
	}
	if r.ContentLength > s.config.MaxBody {
		return nil, &refusal{
			status: http.StatusRequestEntityTooLarge, code: "RequestBodyTooLarge", message: "The request body is too large and exceeds the maximum permissible limit.",
			details: []detail{{"MaxLimit", strconv.FormatInt(s.config.MaxBody, 10)}},
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, &refusal{status: http.StatusBadRequest, code: "InvalidInput", message: "The request body ended early: " + err.Error()}
	}
	if given := r.Header.Get("Content-MD5"); given != "" {
		want, err := base64.StdEncoding.DecodeString(given)
		if err != nil || len(want) != md5.Size {
			return nil, &refusal{status: http.StatusBadRequest, code: "InvalidMd5", message: "The MD5 value specified in the request is invalid."}
		}
		if got := md5.Sum(body); !bytes.Equal(got[:], want) {
			return nil, &refusal{status: http.StatusBadRequest, code: "Md5Mismatch", message: "The MD5 value specified in the request did not match with the MD5 value calculated by the server."}
		}
	}
	return body, nil
}

// defaultType is the content type of a blob without one.
const defaultType = "application/octet-stream"

// contentOf reads the content headers of a request. The checksum that it names is not compared.
func contentOf(h http.Header) (content map[string]string, sum []byte, refused *refusal) {
	content = map[string]string{"Content-Type": defaultType}
	for _, header := range contentHeaders {
		value := h.Get(header)
		if value == "" {
			continue
		}
		if header == "x-ms-blob-content-md5" {
			var err error
			if sum, err = base64.StdEncoding.DecodeString(value); err != nil || len(sum) != md5.Size {
				return nil, nil, &refusal{status: http.StatusBadRequest, code: "InvalidMd5", message: "The MD5 value specified in the request is invalid."}
			}
			continue
		}
		content[http.CanonicalHeaderKey(strings.TrimPrefix(header, "x-ms-blob-"))] = value
	}
	return content, sum, nil
}

// change is a request to write a blob, without the content.
type change struct {
	content    map[string]string
	md5        []byte
	metadata   map[string]string
	conditions conditions
}

func readChange(r *http.Request) (c change, refused *refusal) {
	if c.conditions, refused = readConditions(r.Header); refused != nil {
		return c, refused
	}
	if c.metadata, refused = metadata(r.Header); refused != nil {
		return c, refused
	}
	c.content, c.md5, refused = contentOf(r.Header)
	return c, refused
}

// current finds the container and the blob of a target; the blob is nil where there is none.
func (s *Server) current(t target) (*container, *stored, *refusal) {
	c := s.containers[t.container]
	if c == nil {
		return nil, nil, containerNotFound()
	}
	return c, c.blobs[t.blob], nil
}

func propertiesOf(b *stored) *properties {
	if b == nil {
		return nil
	}
	return &b.properties
}

func (s *Server) putBlob(w http.ResponseWriter, r *http.Request, t target) *refusal {
	switch kind := r.Header.Get("x-ms-blob-type"); kind {
	case "":
		return missingHeader("x-ms-blob-type")
	case "BlockBlob":
	default:
		return invalidHeader("x-ms-blob-type", kind, "Only block blobs are supported here.")
	}
	change, refused := readChange(r)
	if refused != nil {
		return refused
	}
	body, refused := s.readBody(r)
	if refused != nil {
		return refused
	}
	sum := md5.Sum(body)
	if change.md5 != nil && !bytes.Equal(change.md5, sum[:]) {
		return &refusal{status: http.StatusBadRequest, code: "Md5Mismatch", message: "The MD5 value specified in the request did not match with the MD5 value calculated by the server."}
	}
	change.md5 = sum[:]
	if change.content["Content-Type"] == defaultType && r.Header.Get("Content-Type") != "" {
		change.content["Content-Type"] = r.Header.Get("Content-Type")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, refused := s.commit(t, change, body, nil)
	if refused != nil {
		return refused
	}
	w.Header().Set("Content-MD5", base64Of(sum[:]))
	created(w, b.properties)
	return nil
}

// commit makes a blob of a content, if the conditions are met, and drops uncommitted blocks.
func (s *Server) commit(t target, change change, content []byte, blocks []block) (*stored, *refusal) {
	c, old, refused := s.current(t)
	if refused != nil {
		return nil, refused
	}
	if refused := change.conditions.forWrite(propertiesOf(old)); refused != nil {
		return nil, refused
	}
	etag, now := s.newETag()
	p := properties{
		Name: t.blob, ETag: etag, Created: now, Modified: now, Size: int64(len(content)), MD5: change.md5,
		Content: change.content, Metadata: change.metadata, Blocks: blocks,
	}
	if old != nil {
		p.Created = old.Created
	}
	b, err := s.keepBlob(c, p, content)
	if err != nil {
		return nil, internal(err)
	}
	delete(c.staged, t.blob)
	return b, nil
}

func created(w http.ResponseWriter, p properties) {
	writeVersion(w, p)
	w.Header().Set("x-ms-request-server-encrypted", "true")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusCreated)
}

// writeVersion writes what identifies the state of a blob.
func writeVersion(w http.ResponseWriter, p properties) {
	w.Header().Set("ETag", `"`+p.ETag+`"`)
	w.Header().Set("Last-Modified", p.Modified.Format(http.TimeFormat))
}

func (s *Server) setMetadata(w http.ResponseWriter, r *http.Request, t target) *refusal {
	change, refused := readChange(r)
	if refused != nil {
		return refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, old, refused := s.current(t)
	switch {
	case refused != nil:
		return refused
	case old == nil:
		return blobNotFound()
	}
	if refused := change.conditions.forWrite(&old.properties); refused != nil {
		return refused
	}
	content, err := old.read(0, old.Size)
	if err != nil {
		return internal(err)
	}
	p := old.properties
	p.Metadata = change.metadata
	p.ETag, p.Modified = s.newETag()
	b, err := s.keepBlob(c, p, content)
	if err != nil {
		return internal(err)
	}
	writeVersion(w, b.properties)
	w.Header().Set("x-ms-request-server-encrypted", "true")
	w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Server) deleteBlob(w http.ResponseWriter, r *http.Request, t target) *refusal {
	if v := r.Header.Get("x-ms-delete-snapshots"); v != "" && v != "include" {
		return invalidHeader("x-ms-delete-snapshots", v, "Only include is supported here.")
	}
	conditions, refused := readConditions(r.Header)
	if refused != nil {
		return refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, old, refused := s.current(t)
	switch {
	case refused != nil:
		return refused
	case old == nil:
		return blobNotFound()
	}
	if refused := conditions.forWrite(&old.properties); refused != nil {
		if refused.code == "BlobAlreadyExists" { // the answer of operations that create a blob
			return conditionNotMet(http.StatusPreconditionFailed)
		}
		return refused
	}
	if err := s.removeBlob(c, t.blob); err != nil {
		return internal(err)
	}
	w.Header().Set("x-ms-delete-type-permanent", "true")
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (s *Server) getBlob(w http.ResponseWriter, r *http.Request, t target) *refusal {
	conditions, refused := readConditions(r.Header)
	if refused != nil {
		return refused
	}
	p, content, from, refused := s.readBlob(r, t, conditions)
	if refused != nil {
		return refused
	}
	writeProperties(w, *p)
	h := w.Header()
	h.Set("Content-Length", strconv.Itoa(len(content)))
	status := http.StatusOK
	switch {
	case r.Method == http.MethodHead:
		h.Set("Content-Length", strconv.FormatInt(p.Size, 10))
	case from >= 0:
		status = http.StatusPartialContent
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+int64(len(content))-1, p.Size))
		if p.MD5 != nil {
			h.Set("x-ms-blob-content-md5", base64Of(p.MD5))
			h.Del("Content-MD5")
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(content) // the client is gone if this fails, or the request was a HEAD
	return nil
}

// readBlob reads the range that a request asks for; from is -1 without one.
func (s *Server) readBlob(r *http.Request, t target, conditions conditions) (p *properties, content []byte, from int64, refused *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, b, refused := s.current(t)
	if refused != nil {
		return nil, nil, 0, refused
	}
	if refused := conditions.forRead(propertiesOf(b)); refused != nil {
		return nil, nil, 0, refused
	}
	found := b.properties
	found.Metadata = maps.Clone(b.Metadata)
	from, size, refused := rangeOf(r.Header, b.Size)
	if refused != nil {
		return nil, nil, 0, refused
	}
	if r.Method == http.MethodHead {
		return &found, nil, from, nil
	}
	content, err := b.read(max(from, 0), size)
	if err != nil {
		return nil, nil, 0, internal(err)
	}
	return &found, content, from, nil
}

var rangeForm = regexp.MustCompile(`^bytes=(\d+)-(\d*)$`)

// rangeOf reads the range of a request, x-ms-range before Range; from is -1 without one.
func rangeOf(h http.Header, size int64) (from, length int64, refused *refusal) {
	name := "x-ms-range"
	text := h.Get(name)
	if text == "" {
		name = "Range"
		text = h.Get(name)
	}
	if text == "" {
		return -1, size, nil
	}
	parts := rangeForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, 0, invalidHeader(name, text, "Use bytes=FROM- or bytes=FROM-TO.")
	}
	from, err := strconv.ParseInt(parts[1], 10, 64)
	to := size - 1
	if parts[2] != "" {
		var badEnd error
		to, badEnd = strconv.ParseInt(parts[2], 10, 64)
		err = errors.Join(err, badEnd)
	}
	switch {
	case err != nil || parts[2] != "" && to < from:
		return 0, 0, invalidHeader(name, text, "The range is not one.")
	case from >= size:
		return 0, 0, &refusal{
			status: http.StatusRequestedRangeNotSatisfiable, code: "InvalidRange", message: "The range specified is invalid for the current size of the resource.",
		}
	}
	return from, min(to, size-1) - from + 1, nil
}

// writeProperties writes the headers of a blob.
func writeProperties(w http.ResponseWriter, p properties) {
	h := w.Header()
	writeVersion(w, p)
	for name, value := range p.Content {
		h.Set(name, value)
	}
	for name, value := range p.Metadata {
		setMetadata(h, name, value)
	}
	if p.MD5 != nil {
		h.Set("Content-MD5", base64Of(p.MD5))
	}
	h.Set("Accept-Ranges", "bytes")
	h.Set("x-ms-blob-type", "BlockBlob")
	h.Set("x-ms-creation-time", p.Created.Format(http.TimeFormat))
	h.Set("x-ms-lease-status", "unlocked")
	h.Set("x-ms-lease-state", "available")
	h.Set("x-ms-server-encrypted", "true")
}
