package blob

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Limits of the service.
const (
	maxBlockID = 64 // bytes, decoded
	maxBlocks  = 50_000
	maxStaged  = 100_000
)

func (s *Server) putBlock(w http.ResponseWriter, r *http.Request, t target) *refusal {
	id := r.URL.Query().Get("blockid")
	raw, err := base64.StdEncoding.DecodeString(id)
	switch {
	case err != nil || id == "":
		return invalidParameter("blockid", id, "Not a valid base64 string.")
	case len(raw) > maxBlockID:
		return &refusal{status: http.StatusBadRequest, code: "OutOfRangeInput", message: "One of the request inputs is out of range: a block id has at most 64 bytes."}
	}
	body, refused := s.readBody(r)
	if refused != nil {
		return refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, b, refused := s.current(t)
	if refused != nil {
		return refused
	}
	staged := c.staged[t.blob]
	// All block ids of a blob have one length.
	for other := range staged {
		if len(other) != len(id) {
			return invalidBlock()
		}
		break
	}
	if b != nil && len(b.Blocks) > 0 && len(b.Blocks[0].ID) != len(id) {
		return invalidBlock()
	}
	if len(staged) >= maxStaged {
		return &refusal{status: http.StatusConflict, code: "BlockCountExceedsLimit", message: "The uncommitted block count cannot exceed the maximum limit of 100,000 blocks."}
	}
	if staged == nil {
		staged = map[string][]byte{}
		c.staged[t.blob] = staged
	}
	staged[id] = body
	if sum := r.Header.Get("Content-MD5"); sum != "" {
		w.Header().Set("Content-MD5", sum)
	}
	w.Header().Set("x-ms-request-server-encrypted", "true")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusCreated)
	return nil
}

func invalidBlock() *refusal {
	return &refusal{status: http.StatusBadRequest, code: "InvalidBlobOrBlock", message: "The specified blob or block content is invalid."}
}

// entry of a block list says where to look for a block.
type entry struct{ from, id string }

// parseBlockList reads the body of Put Block List, in its order.
func parseBlockList(body []byte) ([]entry, *refusal) {
	var list struct {
		XMLName xml.Name `xml:"BlockList"`
		Entries []struct {
			XMLName xml.Name
			ID      string `xml:",chardata"`
		} `xml:",any"`
	}
	decoder := xml.NewDecoder(strings.NewReader(string(body)))
	err := decoder.Decode(&list)
	if err == nil {
		if _, next := decoder.Token(); !errors.Is(next, io.EOF) {
			err = errors.New("more than one element")
		}
	}
	if err != nil {
		return nil, &refusal{status: http.StatusBadRequest, code: "InvalidXmlDocument", message: "XML specified is not syntactically valid: " + err.Error()}
	}
	if len(list.Entries) > maxBlocks {
		return nil, &refusal{status: http.StatusBadRequest, code: "BlockListTooLong", message: "The block list may not contain more than 50,000 blocks."}
	}
	var all []entry
	for _, e := range list.Entries {
		if name := e.XMLName.Local; name != "Latest" && name != "Committed" && name != "Uncommitted" {
			return nil, &refusal{status: http.StatusBadRequest, code: "InvalidXmlNodeValue", message: "A block list has no element " + name + "."}
		}
		all = append(all, entry{e.XMLName.Local, e.ID})
	}
	return all, nil
}

func (s *Server) putBlockList(w http.ResponseWriter, r *http.Request, t target) *refusal {
	change, refused := readChange(r)
	if refused != nil {
		return refused
	}
	body, refused := s.readBody(r)
	if refused != nil {
		return refused
	}
	list, refused := parseBlockList(body)
	if refused != nil {
		return refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, old, refused := s.current(t)
	if refused != nil {
		return refused
	}
	content, blocks, refused := c.assemble(t.blob, old, list)
	if refused != nil {
		return refused
	}
	b, refused := s.commit(t, change, content, blocks)
	if refused != nil {
		return refused
	}
	created(w, b.properties)
	return nil
}

// assemble puts the content of a blob together.
func (c *container) assemble(name string, old *stored, list []entry) (content []byte, blocks []block, refused *refusal) {
	content = []byte{}
	for _, e := range list {
		part, staged := c.staged[name][e.id]
		if !staged || e.from == "Committed" {
			var found bool
			var err error
			part, found, err = old.block(e.id)
			switch {
			case err != nil:
				return nil, nil, internal(err)
			case !found || e.from == "Uncommitted":
				return nil, nil, &refusal{status: http.StatusBadRequest, code: "InvalidBlockList", message: "The specified block list is invalid."}
			}
		}
		content = append(content, part...)
		blocks = append(blocks, block{e.id, int64(len(part))})
	}
	return content, blocks, nil
}

// block reads a committed block.
func (b *stored) block(id string) (content []byte, found bool, err error) {
	if b == nil {
		return nil, false, nil
	}
	at := int64(0)
	for _, one := range b.Blocks {
		if one.ID == id {
			content, err = b.read(at, one.Size)
			return content, true, err
		}
		at += one.Size
	}
	return nil, false, nil
}

func (s *Server) getBlockList(w http.ResponseWriter, r *http.Request, t target) *refusal {
	kind := r.URL.Query().Get("blocklisttype")
	if kind != "" && kind != "committed" && kind != "uncommitted" && kind != "all" {
		return invalidParameter("blocklisttype", kind, "Use committed, uncommitted or all.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, b, refused := s.current(t)
	switch {
	case refused != nil:
		return refused
	case b == nil && c.staged[t.blob] == nil:
		return blobNotFound()
	}
	var out strings.Builder
	out.WriteString(xml.Header + "<BlockList>")
	writeBlocks := func(name string, blocks []block) {
		out.WriteString("<" + name + ">")
		for _, one := range blocks {
			out.WriteString("<Block>")
			element(&out, "Name", one.ID)
			element(&out, "Size", strconv.FormatInt(one.Size, 10))
			out.WriteString("</Block>")
		}
		out.WriteString("</" + name + ">")
	}
	if b != nil {
		writeVersion(w, b.properties)
		w.Header().Set("x-ms-blob-content-length", strconv.FormatInt(b.Size, 10))
	}
	if kind != "uncommitted" {
		var committed []block
		if b != nil {
			committed = b.Blocks
		}
		writeBlocks("CommittedBlocks", committed)
	}
	if kind == "uncommitted" || kind == "all" {
		var staged []block
		for _, id := range slices.Sorted(maps.Keys(c.staged[t.blob])) {
			staged = append(staged, block{id, int64(len(c.staged[t.blob][id]))})
		}
		writeBlocks("UncommittedBlocks", staged)
	}
	out.WriteString("</BlockList>")
	writeXML(w, out.String())
	return nil
}

func writeXML(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write([]byte(text)) // the client is gone if this fails
}
