package adminhttp

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

const keyMark = "changeMark"

// following serves a GET of a batch, or of what it has, for callers who follow it: the answer has an
// ETag with the change mark of the batch, and 304 says that nothing has changed since the one in
// If-None-Match. The mark is read before the answer is made, so that a change in between shows as one
// later.
func (a *server) following(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	mark, err := a.Batches.ChangeMark(c.Request.Context(), id)
	if err != nil {
		fail(c, err)
		return
	}
	if mark == "" {
		return
	}
	if slices.Contains(marksOf(c.Request.Header.Values("If-None-Match")), mark) {
		c.Header("ETag", `W/"`+mark+`"`)
		c.AbortWithStatus(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return
	}
	c.Set(keyMark, mark)
}

// marksOf returns the change marks of the ETags in If-None-Match. An ETag that is for If-Match, too,
// has it behind a dot.
func marksOf(header []string) (marks []string) {
	for one := range strings.SplitSeq(strings.Join(header, ","), ",") {
		tag := strings.Trim(strings.TrimPrefix(strings.TrimSpace(one), "W/"), `"`)
		marks = append(marks, tag[strings.LastIndex(tag, ".")+1:])
	}
	return marks
}

// etagOf is the ETag of an answer: of a view with an ETag of its own, of a batch that may be followed,
// of both, or empty.
func etagOf(c *gin.Context, own string) string {
	mark := c.GetString(keyMark)
	switch {
	case own != "" && mark != "":
		return `"` + own + "." + mark + `"`
	case own != "":
		return `"` + own + `"`
	case mark != "":
		return `W/"` + mark + `"`
	}
	return ""
}
