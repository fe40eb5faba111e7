package adminhttp

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apijson"
)

// write answers with a view in JSON.
func write(c *gin.Context, status int, view any) {
	body, err := apijson.Marshal(view)
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
