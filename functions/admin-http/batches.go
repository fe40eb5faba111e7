package adminhttp

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/engine"
)

// createBatch takes a form of two parts: runbookName and file, the CSV of members.
func (a *api) createBatch(c *gin.Context) {
	values, ok := a.form(c, part{"runbookName", maxName, "names the runbook"}, part{"file", a.MaxBody, csvOfMembers})
	if !ok {
		return
	}
	name := strings.TrimSpace(string(values["runbookName"]))
	if name == "" {
		invalid(c, "the part runbookName of the form is empty")
		return
	}
	view, err := a.App.CreateBatch(c.Request.Context(), callerOf(c), name, values["file"])
	if err != nil {
		fail(c, err)
		return
	}
	c.Header("Location", "/api/batches/"+strconv.Itoa(view.ID))
	replayed(c, view.Replayed)
	c.JSON(http.StatusCreated, view)
}

func (a *api) listBatches(c *gin.Context) {
	o, ok := options(c, engine.BatchStatuses)
	if !ok {
		return
	}
	p, err := a.App.Batches(c.Request.Context(), o)
	page(c, p, err)
}

func (a *api) getBatch(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	view, err := a.App.Batch(c.Request.Context(), id)
	respond(c, view, err)
}

func (a *api) listMembers(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	o, ok := options(c, engine.MemberStatuses)
	if !ok {
		return
	}
	p, err := a.App.Members(c.Request.Context(), callerOf(c), id, o)
	page(c, p, err)
}

func (a *api) listPhases(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	p, err := a.App.Phases(c.Request.Context(), id)
	page(c, p, err)
}

func (a *api) listSteps(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	o, ok := options(c, engine.StepStatuses)
	if !ok {
		return
	}
	p, err := a.App.Steps(c.Request.Context(), callerOf(c), id, o)
	page(c, p, err)
}

// advanceBatch takes no body, or an empty JSON object.
func (a *api) advanceBatch(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	if !optionalJSON(c, 1024, &struct{}{}) {
		return
	}
	view, err := a.App.Advance(c.Request.Context(), callerOf(c), id)
	accepted(c, view, err, "/api/batches/%d/phases", id)
}
