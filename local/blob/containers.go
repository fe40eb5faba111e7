package blob

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// maxPage is the number of entries that a page of a list has at most.
const maxPage = 5000

func (s *Server) createContainer(w http.ResponseWriter, r *http.Request, t target) *refusal {
	all, refused := metadata(r.Header)
	if refused != nil {
		return refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.containers[t.container] != nil {
		return &refusal{status: http.StatusConflict, code: "ContainerAlreadyExists", message: "The specified container already exists."}
	}
	c, err := s.addContainer(t.container, all)
	if err != nil {
		return internal(err)
	}
	c.writeVersion(w)
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusCreated)
	return nil
}

// EnsureContainer creates a container unless there is one of the name.
func (s *Server) EnsureContainer(name string) error {
	if !containerForm.MatchString(name) || len(name) < 3 || len(name) > 63 {
		return fmt.Errorf("local Blob Storage: invalid container %q", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.containers[name] != nil {
		return nil
	}
	_, err := s.addContainer(name, nil)
	return err
}

func (s *Server) addContainer(name string, metadata map[string]string) (*container, error) {
	c := newContainer(name)
	c.Metadata = metadata
	c.ETag, c.Modified = s.newETag()
	if err := s.keepContainer(c); err != nil {
		return nil, err
	}
	s.containers[name] = c
	return c, nil
}

func (c *container) writeVersion(w http.ResponseWriter) {
	writeVersion(w, properties{ETag: c.ETag, Modified: c.Modified})
}

func (s *Server) getContainer(w http.ResponseWriter, _ *http.Request, t target) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.containers[t.container]
	if c == nil {
		return containerNotFound()
	}
	c.writeVersion(w)
	h := w.Header()
	for name, value := range c.Metadata {
		setMetadata(h, name, value)
	}
	h.Set("x-ms-lease-status", "unlocked")
	h.Set("x-ms-lease-state", "available")
	h.Set("x-ms-has-immutability-policy", "false")
	h.Set("x-ms-has-legal-hold", "false")
	h.Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
	return nil
}

// deleteContainer deletes a container at once, where the service takes half a minute or more.
func (s *Server) deleteContainer(w http.ResponseWriter, _ *http.Request, t target) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.containers[t.container] == nil {
		return containerNotFound()
	}
	if s.config.DataDir != "" {
		if err := os.RemoveAll(s.dir(t.container)); err != nil {
			return internal(err)
		}
	}
	delete(s.containers, t.container)
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// listing has the parameters of a list.
type listing struct {
	prefix, from, delimiter string // from is the name that the page begins with
	max                     int
	metadata                bool
}

// markerPrefix begins the markers of lists, which name the first entry of the next page.
const markerPrefix = "2!"

func (s *Server) readListing(q url.Values) (l listing, refused *refusal) {
	l = listing{prefix: q.Get("prefix"), delimiter: q.Get("delimiter"), max: maxPage}
	if text := q.Get("maxresults"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return l, invalidParameter("maxresults", text, "Not a number.")
		}
		if n < 1 {
			return l, &refusal{status: http.StatusBadRequest, code: "OutOfRangeQueryParameterValue", message: "One of the query parameters specified in the request URI is outside the permissible range: maxresults."}
		}
		l.max = min(n, maxPage)
	}
	l.max = min(l.max, s.config.PageSize)
	if text := q.Get("marker"); text != "" {
		encoded, ok := strings.CutPrefix(text, markerPrefix)
		name, err := base64.URLEncoding.DecodeString(encoded)
		if err != nil || !ok {
			return l, invalidParameter("marker", text, "Not a marker of this server.")
		}
		l.from = string(name)
	}
	for _, what := range strings.Split(q.Get("include"), ",") {
		switch what {
		case "":
		case "metadata":
			l.metadata = true
		default:
			return l, invalidParameter("include", what, "Not supported here.")
		}
	}
	return l, nil
}

// page selects the names of a page, in their order; a name that ends the common part up to the delimiter stands for
// all with that part. next is the name that the next page begins with, empty at the end.
func (l listing) page(names []string) (page []string, next string) {
	slices.Sort(names)
	for _, name := range names {
		if name < l.from || !strings.HasPrefix(name, l.prefix) {
			continue
		}
		if l.delimiter != "" {
			if common, _, found := strings.Cut(name[len(l.prefix):], l.delimiter); found {
				group := l.prefix + common + l.delimiter
				if len(page) > 0 && page[len(page)-1] == group {
					continue
				}
				if len(page) < l.max {
					page = append(page, group)
					continue
				}
			}
		}
		if len(page) == l.max {
			return page, name
		}
		page = append(page, name)
	}
	return page, ""
}

// begin writes the head of a list.
func (l listing) begin(out *strings.Builder, endpoint, container string, q url.Values) {
	out.WriteString(xml.Header + `<EnumerationResults ServiceEndpoint="` + endpoint + `/"`)
	if container != "" {
		out.WriteString(` ContainerName="` + container + `"`)
	}
	out.WriteString(">")
	for _, e := range [][2]string{{"Prefix", "prefix"}, {"Marker", "marker"}, {"MaxResults", "maxresults"}, {"Delimiter", "delimiter"}} {
		if q.Has(e[1]) {
			name(out, e[0], q.Get(e[1]))
		}
	}
}

// end writes the end of a list.
func end(out *strings.Builder, next string) {
	if next != "" {
		next = markerPrefix + base64.URLEncoding.EncodeToString([]byte(next))
	}
	element(out, "NextMarker", next)
	out.WriteString("</EnumerationResults>")
}

// name writes the name of a blob, encoded if XML cannot hold it.
func name(out *strings.Builder, tag, text string) {
	if strings.ContainsFunc(text, notXML) {
		out.WriteString("<" + tag + ` Encoded="true">` + strings.ReplaceAll(url.QueryEscape(text), "+", "%20") + "</" + tag + ">")
		return
	}
	element(out, tag, text)
}

// notXML reports whether XML 1.0 lacks a character.
func notXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

func writeMetadata(out *strings.Builder, all map[string]string) {
	out.WriteString("<Metadata>")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		element(out, name, all[name])
	}
	out.WriteString("</Metadata>")
}

func (s *Server) listContainers(w http.ResponseWriter, r *http.Request, _ target) *refusal {
	l, refused := s.readListing(r.URL.Query())
	if refused != nil {
		return refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	page, next := l.page(slices.Collect(maps.Keys(s.containers)))
	var out strings.Builder
	l.begin(&out, s.URL(), "", r.URL.Query())
	out.WriteString("<Containers>")
	for _, one := range page {
		c := s.containers[one]
		out.WriteString("<Container>")
		element(&out, "Name", c.Name)
		out.WriteString("<Properties>")
		element(&out, "Last-Modified", c.Modified.Format(http.TimeFormat))
		element(&out, "Etag", `"`+c.ETag+`"`)
		out.WriteString("<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState><HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold></Properties>")
		if l.metadata {
			writeMetadata(&out, c.Metadata)
		}
		out.WriteString("</Container>")
	}
	out.WriteString("</Containers>")
	end(&out, next)
	writeXML(w, out.String())
	return nil
}

func (s *Server) listBlobs(w http.ResponseWriter, r *http.Request, t target) *refusal {
	l, refused := s.readListing(r.URL.Query())
	if refused != nil {
		return refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.containers[t.container]
	if c == nil {
		return containerNotFound()
	}
	page, next := l.page(slices.Collect(maps.Keys(c.blobs)))
	var out strings.Builder
	l.begin(&out, s.URL(), c.Name, r.URL.Query())
	out.WriteString("<Blobs>")
	for _, one := range page {
		if l.delimiter != "" && strings.HasSuffix(one, l.delimiter) && one != l.prefix {
			out.WriteString("<BlobPrefix>")
			name(&out, "Name", one)
			out.WriteString("</BlobPrefix>")
			continue
		}
		c.blobs[one].list(&out, l.metadata)
	}
	out.WriteString("</Blobs>")
	end(&out, next)
	writeXML(w, out.String())
	return nil
}

// list writes the entry of a blob.
func (b *stored) list(out *strings.Builder, metadata bool) {
	out.WriteString("<Blob>")
	name(out, "Name", b.Name)
	out.WriteString("<Properties>")
	element(out, "Creation-Time", b.Created.Format(http.TimeFormat))
	element(out, "Last-Modified", b.Modified.Format(http.TimeFormat))
	element(out, "Etag", b.ETag)
	element(out, "Content-Length", strconv.FormatInt(b.Size, 10))
	for _, header := range []string{"Content-Type", "Content-Encoding", "Content-Language"} {
		element(out, header, b.Content[header])
	}
	element(out, "Content-MD5", base64Of(b.MD5))
	for _, header := range []string{"Cache-Control", "Content-Disposition"} {
		element(out, header, b.Content[header])
	}
	out.WriteString("<BlobType>BlockBlob</BlobType><LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState><ServerEncrypted>true</ServerEncrypted></Properties>")
	if metadata {
		writeMetadata(out, b.Metadata)
	}
	out.WriteString("</Blob>")
}
