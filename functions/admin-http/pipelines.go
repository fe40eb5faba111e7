package adminhttp

import (
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
)

// maxItemsBody is how many bytes a request with its items can have.
const maxItemsBody = 8 << 20

// startPipeline answers with 202 and the batch, or with 200 if an earlier batch has the result.
func (a *server) startPipeline(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	var request api.PipelineRequest
	if data, ok := optionalBody(c, maxItemsBody); !ok || !decodeJSON(c, data, &request) {
		return
	}
	view, err := a.Pipelines.StartPipeline(c.Request.Context(), callerOf(c), name, request)
	if err != nil {
		fail(c, err)
		return
	}
	c.Header("Location", view.StatusURL)
	replayed(c, view.Replayed)
	if view.Status == api.PipelineCached {
		write(c, http.StatusOK, view)
		return
	}
	write(c, http.StatusAccepted, view)
}

// requestedBatch reads the names of the runbook and of the batch in an address.
func requestedBatch(c *gin.Context) (name string, id int, ok bool) {
	if name, ok = runbookName(c); ok {
		id, ok = batchID(c)
	}
	return name, id, ok
}

func (a *server) getPipelineBatch(c *gin.Context) {
	name, id, ok := requestedBatch(c)
	if !ok {
		return
	}
	view, err := a.Pipelines.PipelineBatch(c.Request.Context(), callerOf(c), name, id)
	respond(c, view, err)
}

func (a *server) getPipelineResult(c *gin.Context) {
	name, id, ok := requestedBatch(c)
	if !ok {
		return
	}
	view, err := a.Pipelines.PipelineResult(c.Request.Context(), callerOf(c), name, id)
	respond(c, view, err)
}

func (a *server) getLatestResult(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	owner := c.MustGet(keyQuery).(url.Values).Get("owner")
	if owner == "" {
		invalid(c, "the query parameter owner is missing: name who the result is for")
		return
	}
	view, err := a.Pipelines.LatestResult(c.Request.Context(), callerOf(c), name, owner)
	respond(c, view, err)
}
