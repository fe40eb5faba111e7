package adminhttp

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
)

func (a *server) listWorkers(c *gin.Context) {
	o, ok := options[string](c, nil)
	if !ok {
		return
	}
	p, err := a.Workers.Workers(c.Request.Context(), o)
	page(c, p, err)
}

func (a *server) getWorker(c *gin.Context) {
	id := c.Param("id")
	if len(id) > maxName {
		refuse(c, http.StatusNotFound, api.CodeNotFound, "unknown worker %q", clip(id))
		return
	}
	view, err := a.Workers.Worker(c.Request.Context(), id)
	respond(c, view, err)
}
