package blob

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// container has its blobs by name. Server.mu guards all of it.
type container struct {
	Name     string
	ETag     string
	Modified time.Time
	Metadata map[string]string

	blobs  map[string]*stored
	staged map[string]map[string][]byte // uncommitted blocks by id, by the name of their blob
}

// block is a committed block.
type block struct {
	ID   string
	Size int64
}

// properties of a blob, as its file begins with them.
type properties struct {
	Name              string
	ETag              string
	Created, Modified time.Time
	Size              int64
	MD5               []byte            `json:",omitempty"`
	Content           map[string]string // content headers, such as Content-Type
	Metadata          map[string]string `json:",omitempty"`
	Blocks            []block           `json:",omitempty"`
}

// stored is a committed blob. Its content is in memory, or in a file after the line of the properties.
type stored struct {
	properties
	content []byte
	file    string
	offset  int64
}

// read returns a part of the content.
func (b *stored) read(from, size int64) ([]byte, error) {
	if b.file == "" {
		return b.content[from : from+size], nil
	}
	f, err := os.Open(b.file)
	if err != nil {
		return nil, err
	}
	part := make([]byte, size)
	_, err = f.ReadAt(part, b.offset+from)
	if errors.Is(err, io.EOF) && size == 0 {
		err = nil
	}
	return part, errors.Join(err, f.Close())
}

const (
	containerFile = "container.json"
	blobSuffix    = ".blob"
)

// dir is the directory of a container.
func (s *Server) dir(container string) string { return filepath.Join(s.config.DataDir, container) }

// load reads the state of DataDir.
func (s *Server) load() error {
	if s.config.DataDir == "" {
		return nil
	}
	entries, err := os.ReadDir(s.config.DataDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(s.dir(e.Name()), containerFile))
		if errors.Is(err, os.ErrNotExist) || !e.IsDir() {
			continue // a lock, or a container whose deletion did not end
		}
		c := newContainer(e.Name())
		if err == nil {
			err = json.Unmarshal(text, c)
		}
		if err == nil {
			err = s.loadBlobs(c)
		}
		if err != nil {
			return fmt.Errorf("container %s: %w", e.Name(), err)
		}
		s.containers[c.Name] = c
		s.noteETag(c.ETag)
	}
	return nil
}

func (s *Server) loadBlobs(c *container) error {
	files, err := filepath.Glob(filepath.Join(s.dir(c.Name), "*"+blobSuffix))
	if err != nil {
		return err
	}
	for _, name := range files {
		b, err := loadBlob(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.blobs[b.Name] = b
		s.noteETag(b.ETag)
	}
	return nil
}

func loadBlob(name string) (*stored, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(f).ReadBytes('\n')
	b := &stored{file: name, offset: int64(len(line))}
	if err == nil {
		err = json.Unmarshal(line, &b.properties)
	}
	return b, errors.Join(err, f.Close())
}

func newContainer(name string) *container {
	return &container{Name: name, blobs: map[string]*stored{}, staged: map[string]map[string][]byte{}}
}

// keepContainer stores the properties of a container.
func (s *Server) keepContainer(c *container) error {
	if s.config.DataDir == "" {
		return nil
	}
	if err := os.MkdirAll(s.dir(c.Name), 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return replace(filepath.Join(s.dir(c.Name), containerFile), text)
}

// keepBlob stores a blob and makes it the current one of its name.
func (s *Server) keepBlob(c *container, p properties, content []byte) (*stored, error) {
	b := &stored{properties: p, content: content}
	if s.config.DataDir != "" {
		line, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		line = append(line, '\n')
		b.file, b.offset, b.content = s.file(c, p.Name), int64(len(line)), nil
		if err := replace(b.file, line, content); err != nil {
			return nil, err
		}
	}
	c.blobs[p.Name] = b
	return b, nil
}

// removeBlob removes a blob with its uncommitted blocks.
func (s *Server) removeBlob(c *container, name string) error {
	if s.config.DataDir != "" {
		if err := os.Remove(s.file(c, name)); err != nil {
			return err
		}
	}
	delete(c.blobs, name)
	delete(c.staged, name)
	return nil
}

// file is the path of a blob's file. The name of a blob can be longer than that of a file, and hold any character.
func (s *Server) file(c *container, name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(s.dir(c.Name), hex.EncodeToString(sum[:])+blobSuffix)
}

// replace writes a file so that a crash leaves the old one or the new one.
func replace(name string, parts ...[]byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(bytes.Join(parts, nil))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// ticksAtEpoch is 1970-01-01 in units of 100 ns since the year 1, which the ETags of the service count.
const ticksAtEpoch = 621355968000000000

// newETag returns an ETag that no earlier one is equal to, and the time of the change.
func (s *Server) newETag() (string, time.Time) {
	now := s.config.Now()
	s.lastTicks = max(s.lastTicks+1, ticksAtEpoch+now.UnixNano()/100)
	return fmt.Sprintf("0x%X", s.lastTicks), now.UTC().Truncate(time.Second)
}

// noteETag makes later ETags differ from one of an earlier start.
func (s *Server) noteETag(etag string) {
	var ticks int64
	if _, err := fmt.Sscanf(etag, "0x%X", &ticks); err == nil {
		s.lastTicks = max(s.lastTicks, ticks)
	}
}

// maxMetadata limits names and values of metadata together, in bytes.
const maxMetadata = 8 << 10

// metadata reads the metadata of a request. HTTP does not keep the case of names, so that they are lower case here.
func metadata(headers http.Header) (map[string]string, *refusal) {
	all := map[string]string{}
	size := 0
	for header, values := range headers {
		name, ok := cutPrefixFold(header, "x-ms-meta-")
		if !ok {
			continue
		}
		name = strings.ToLower(name)
		value := strings.Join(values, ",")
		size += len(name) + len(value)
		switch {
		case name == "":
			return nil, &refusal{status: http.StatusBadRequest, code: "EmptyMetadataKey", message: "The key for one of the metadata key-value pairs is empty."}
		case !metadataForm(name):
			return nil, &refusal{status: http.StatusBadRequest, code: "InvalidMetadata", message: "The metadata specified is invalid. It has characters that are not permitted."}
		}
		all[name] = value
	}
	if size > maxMetadata {
		return nil, &refusal{status: http.StatusBadRequest, code: "MetadataTooLarge", message: "The metadata specified exceeds the maximum size limit (8 KB)."}
	}
	return all, nil
}

// metadataForm reports whether a lower-case name is an identifier of C#, in ASCII.
func metadataForm(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// setMetadata writes a header of metadata. The service keeps the case of names, which clients in Python and Java
// take as they come over HTTP/1.1.
func setMetadata(h http.Header, name, value string) { h["x-ms-meta-"+name] = []string{value} }
