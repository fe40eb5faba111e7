package adminhttp

import (
	"mime"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/report"
)

// getReport answers with a report as a file, as it is made. Where that goes wrong
// after the answer has begun, the connection is broken off: what arrived must not pass
// for the whole.
func (a *server) getReport(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	format := report.CSV
	if text := c.MustGet(keyQuery).(url.Values).Get("format"); text != "" {
		format = report.Format(text)
	}
	r, err := a.Reports.Report(c.Request.Context(), callerOf(c), id, format)
	if err != nil {
		fail(c, err)
		return
	}
	w := &reportAnswer{c: c, name: r.Name, media: r.Media}
	err = r.Write(c.Request.Context(), w)
	switch {
	case err == nil:
	case w.begun:
		_ = c.Error(err) // record logs it
		panic(http.ErrAbortHandler)
	default:
		fail(c, err)
	}
}

// reportAnswer sends the status with the first write and flushes each write at once: a
// gateway closes an answer that pauses.
type reportAnswer struct {
	c           *gin.Context
	name, media string
	begun       bool
}

func (w *reportAnswer) Write(p []byte) (int, error) {
	if !w.begun {
		w.begun = true
		w.c.Header("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": w.name}))
		w.c.Header("Content-Type", w.media)
		w.c.Status(http.StatusOK)
	}
	n, err := w.c.Writer.Write(p)
	if err == nil {
		w.c.Writer.Flush()
	}
	return n, err
}
