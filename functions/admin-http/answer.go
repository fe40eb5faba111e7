package adminhttp

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/matoolkit/matoolkit/internal/api"
)

// timeLayout is how answers have all times: RFC 3339 in UTC with milliseconds, so that texts sort as
// times do.
const timeLayout = `"2006-01-02T15:04:05.000Z"`

// answers are the options that all answers in JSON are written with.
var answers = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.WithMarshalers(json.MarshalFunc(func(t time.Time) ([]byte, error) {
	return []byte(t.UTC().Format(timeLayout)), nil
})))

// write answers with a view in JSON.
func write(c *gin.Context, status int, view any) {
	body, err := json.Marshal(view, answers)
	if err != nil {
		fail(c, err)
		return
	}
	if tag := etagOf(c, ""); tag != "" && c.Writer.Header().Get("ETag") == "" {
		c.Header("ETag", tag)
	}
	c.Data(status, "application/json; charset=utf-8", body)
}

// respond answers with a view, or with why there is none.
func respond[V any](c *gin.Context, view V, err error) {
	if err != nil {
		fail(c, err)
		return
	}
	write(c, http.StatusOK, view)
}

// page answers with one page of a list, whose items are never null.
func page[V any](c *gin.Context, p api.Page[V], err error) {
	if p.Items == nil {
		p.Items = []V{}
	}
	respond(c, p, err)
}
