package adminhttp

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/app"
)

// part is a part that a form has to have.
type part struct {
	name  string
	limit int64  // bytes
	is    string // what it does, for one who has left it out
}

const csvOfMembers = "holds the CSV of members"

// form reads a form of exactly these parts. It goes part by part, so that one that is
// too large or not expected is refused before the rest has been read. It answers and
// returns false when the form is not as it has to be.
func (a *api) form(c *gin.Context, parts ...part) (map[string][]byte, bool) {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	expected := map[bool]string{true: "the part ", false: "the parts "}[len(names) == 1] + strings.Join(names, " and ")
	media, params := mediaType(c)
	if media != "multipart/form-data" || params["boundary"] == "" {
		refuse(c, http.StatusUnsupportedMediaType, errUnsupportedMedia, "send multipart/form-data with %s", expected)
		return nil, false
	}
	const around = 4096 // what the parts' headers and short parts take
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, a.MaxBody+around)
	values, ok := a.parts(c, multipart.NewReader(c.Request.Body, params["boundary"]), parts, expected)
	if !ok {
		return nil, false
	}
	for _, p := range parts {
		if _, there := values[p.name]; !there {
			invalid(c, "the form has no part %s, which %s", p.name, p.is)
			return nil, false
		}
	}
	return values, true
}

func (a *api) parts(c *gin.Context, form *multipart.Reader, parts []part, expected string) (map[string][]byte, bool) {
	values := map[string][]byte{}
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
		var buf bytes.Buffer
		// The part is nearly all of a large request: room for it at once, in place of the
		// copies that a buffer makes as it grows.
		buf.Grow(int(min(limit+1, max(0, c.Request.ContentLength))) + bytes.MinRead)
		if _, err := buf.ReadFrom(io.LimitReader(next, limit+1)); err != nil {
			unreadable(c, err, a.MaxBody)
			return nil, false
		}
		data := buf.Bytes()
		if int64(len(data)) > limit {
			refuse(c, http.StatusRequestEntityTooLarge, string(app.CodeTooLarge), "the part %s is larger than the %d bytes allowed", field, limit)
			return nil, false
		}
		values[field] = data
	}
}
