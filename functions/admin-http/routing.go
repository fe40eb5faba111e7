package adminhttp

import (
	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/signin"
)

// maxReport is how many bytes a report of the old orchestrator can have: an error can be long.
const maxReport = 64 << 10

func (a *server) getPipelineRoute(c *gin.Context) {
	name, owner, ok := a.readableOwner(c, "read the route of")
	if !ok {
		return
	}
	view, err := a.Pipelines.Route(c.Request.Context(), name, owner)
	respond(c, view, err)
}

func (a *server) getRouting(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	view, err := a.Pipelines.Routing(c.Request.Context(), name)
	tagged(c, view, view.ETag, err)
}

// setRouting changes what the body has. If-Match changes the routing only if it still has that ETag.
func (a *server) setRouting(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	var request api.RoutingRequest
	data, ok := optionalBody(c, maxReason)
	if !ok || !withoutNull(c, data) || !decodeJSON(c, data, &request) {
		return
	}
	why, ok := reasonOf(c, request.ReasonRequest, false)
	if !ok {
		return
	}
	tags, ok := ifMatch(c)
	if !ok {
		return
	}
	view, err := a.Pipelines.SetRouting(c.Request.Context(), callerOf(c), name, why, request, tags...)
	tagged(c, view, view.ETag, err)
}

func (a *server) reportComparison(c *gin.Context) {
	name, id, ok := a.batchFor(c, signin.RequestForAll)
	if !ok {
		return
	}
	var report api.ComparisonRequest
	if data, ok := optionalBody(c, maxReport); !ok || !decodeJSON(c, data, &report) {
		return
	}
	view, err := a.Pipelines.ReportComparison(c.Request.Context(), callerOf(c), name, id, report)
	respond(c, view, err)
}

func (a *server) getComparisons(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	view, err := a.Pipelines.Comparisons(c.Request.Context(), name)
	respond(c, view, err)
}
