package adminhttp

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// part is a part that a form has to have.
type part struct {
	name  string
	limit int64  // bytes
	is    string // what it does, for one who has left it out

	optional bool
}

const csvOfMembers = "holds the CSV of members"

// errNoRoom says that the temporary folder does not take an upload.
var errNoRoom = &problem.Error{Code: api.CodeUnavailable, Message: "the file cannot be stored while it is read; try again"}

// form reads a form of these parts and no others. It goes part by part, so that one that is
// too large or not expected is refused before the rest has been read. The parts are kept in
// a temporary file, which release closes. It answers and returns false when the form is not
// as it has to be.
func (a *server) form(c *gin.Context, parts ...part) (values map[string]*io.SectionReader, release func(), ok bool) {
	var names []string
	for _, p := range parts {
		if !p.optional {
			names = append(names, p.name)
		}
	}
	expected := map[bool]string{true: "the part ", false: "the parts "}[len(names) == 1] + strings.Join(names, " and ")
	media, params := mediaType(c)
	if media != "multipart/form-data" || params["boundary"] == "" {
		refuse(c, http.StatusUnsupportedMediaType, api.CodeUnsupportedMedia, "send multipart/form-data with %s", expected)
		return nil, nil, false
	}
	const around = 4096 // what the parts' headers and short parts take
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, a.MaxBody+around)
	file, err := a.temporary()
	if err != nil {
		_ = c.Error(err)
		fail(c, errNoRoom)
		return nil, nil, false
	}
	defer func() {
		if !ok {
			file.close()
		}
	}()
	values, ok = a.parts(c, multipart.NewReader(c.Request.Body, params["boundary"]), file, parts, expected)
	if !ok {
		return nil, nil, false
	}
	for _, p := range parts {
		if _, there := values[p.name]; !there && !p.optional {
			invalid(c, "the form has no part %s, which %s", p.name, p.is)
			return nil, nil, false
		}
	}
	return values, file.close, true
}

// parts writes the parts of a form into a file, one after the other.
func (a *server) parts(c *gin.Context, form *multipart.Reader, file *temporary, parts []part, expected string) (map[string]*io.SectionReader, bool) {
	values := map[string]*io.SectionReader{}
	for {
		next, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return values, true
		}
		if err != nil {
			unreadable(c, err, a.MaxBody)
			return nil, false
		}
		field := next.FormName()
		at := slices.IndexFunc(parts, func(p part) bool { return p.name == field })
		if at < 0 {
			invalid(c, "the form has a part %q; it can have %s", clip(field), expected)
			return nil, false
		}
		if _, twice := values[field]; twice {
			invalid(c, "the form has the part %s twice", field)
			return nil, false
		}
		limit := parts[at].limit
		begin := file.size
		size, err := io.Copy(file, io.LimitReader(next, limit+1))
		switch {
		case file.failed != nil:
			_ = c.Error(file.failed)
			fail(c, errNoRoom)
			return nil, false
		case err != nil:
			unreadable(c, err, a.MaxBody)
			return nil, false
		case size > limit:
			refuse(c, http.StatusRequestEntityTooLarge, api.CodeTooLarge, "the part %s has more than the %d bytes allowed", field, limit)
			return nil, false
		}
		values[field] = io.NewSectionReader(file.file, begin, size)
	}
}

// temporary is a file without a name where the system allows that: the system deletes it when
// the process ends, however that happens.
type temporary struct {
	file   *os.File
	named  bool // Windows keeps the name of an open file
	size   int64
	failed error // of the disk
}

func (a *server) temporary() (*temporary, error) {
	file, err := os.CreateTemp(a.TempDir, "upload-")
	if err != nil {
		return nil, err
	}
	return &temporary{file: file, named: os.Remove(file.Name()) != nil}, nil
}

func (t *temporary) Write(p []byte) (int, error) {
	n, err := t.file.Write(p)
	t.size += int64(n)
	t.failed = err
	return n, err
}

func (t *temporary) close() {
	_ = t.file.Close() // nobody reads it again
	if t.named {
		_ = os.Remove(t.file.Name()) // a file that stays costs space in the temporary folder
	}
}
