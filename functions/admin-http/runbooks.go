package adminhttp

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// publishRunbook accepts a runbook as JSON that contains the YAML, or as the
// YAML itself. The JSON, or the query string beside the YAML, says how the new
// version treats batches under way and under which conditions to publish it.
func (a *server) publishRunbook(c *gin.Context) {
	var request api.PublishRequest
	var yaml []byte
	switch media, _ := mediaType(c); media {
	case "application/json":
		data, ok := body(c, maxRunbookJSON)
		if !ok || !withoutNull(c, data) || !decodeJSON(c, data, &request) {
			return
		}
		if values := c.MustGet(keyQuery).(url.Values); len(values) > 0 {
			invalid(c, "with application/json, put overdueBehavior, rerunInit, strict and dryRun into the body, not into the query")
			return
		}
		if request.YAML == "" {
			invalid(c, "yamlContent, the runbook's YAML, is missing")
			return
		}
		yaml = []byte(request.YAML)
	case "application/yaml":
		data, ok := body(c, runbook.MaxBytes)
		if !ok {
			return
		}
		yaml = data
		values := c.MustGet(keyQuery).(url.Values)
		request.Overdue = values.Get("overdueBehavior")
		if !flag(c, "rerunInit", &request.RerunInit) || !flag(c, "strict", &request.Strict) || !flag(c, "dryRun", &request.DryRun) {
			return
		}
	default:
		refuse(c, http.StatusUnsupportedMediaType, api.CodeUnsupportedMedia, "send the runbook as application/yaml or as application/json, in UTF-8")
		return
	}
	if o := request.Overdue; o != "" && o != api.OverdueIgnore && o != api.OverdueRerun {
		invalid(c, "invalid overdueBehavior %q: use %s or %s", clip(o), api.OverdueIgnore, api.OverdueRerun)
		return
	}
	o := api.PublishOptions{Overdue: request.Overdue, RerunInit: request.RerunInit, Strict: request.Strict, DryRun: request.DryRun}
	view, err := a.Runbooks.PublishRunbook(c.Request.Context(), callerOf(c), request.Name, yaml, o)
	if err != nil {
		fail(c, err)
		return
	}
	status := http.StatusCreated
	if view.Unchanged || view.DryRun {
		status = http.StatusOK
	}
	if !view.DryRun { // which made nothing that could be looked at
		c.Header("Location", "/api/runbooks/"+url.PathEscape(view.Name))
	}
	replayed(c, view.Replayed)
	write(c, status, view)
}

// lintRunbook answers with the findings of a runbook's text.
func (a *server) lintRunbook(c *gin.Context) {
	var request api.LintRequest
	if media, _ := mediaType(c); media != "application/json" {
		refuse(c, http.StatusUnsupportedMediaType, api.CodeUnsupportedMedia, "send the runbook as application/json, in UTF-8")
		return
	}
	data, ok := body(c, maxRunbookJSON)
	if !ok || !withoutNull(c, data) || !decodeJSON(c, data, &request) {
		return
	}
	view, err := a.Runbooks.Lint(c.Request.Context(), request.Name, []byte(request.YAML))
	respond(c, view, err)
}

// simulateRunbook answers with what would happen if the members of a CSV went through a runbook.
func (a *server) simulateRunbook(c *gin.Context) {
	var request api.SimulationRequest
	if media, _ := mediaType(c); media != "application/json" {
		refuse(c, http.StatusUnsupportedMediaType, api.CodeUnsupportedMedia, "send the runbook and the members as application/json, in UTF-8")
		return
	}
	data, ok := body(c, maxSimulation)
	if !ok || !withoutNull(c, data) || !decodeJSON(c, data, &request) {
		return
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), simulationTime)
	defer cancel()
	view, err := a.Simulator.Simulate(ctx, request)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = problem.New(api.CodeTooLarge, "the simulation takes longer than %s: use fewer members, or matoolkit runbook simulate", simulationTime)
	}
	respond(c, view, err)
}

// The limits of a simulation.
const (
	maxSimulation  = maxRunbookJSON + 4<<20
	simulationTime = 30 * time.Second
)

// flag reads a query parameter that is true or false. It answers and returns false when
// it is something else.
func flag(c *gin.Context, name string, into *bool) bool {
	switch value := c.MustGet(keyQuery).(url.Values).Get(name); value {
	case "", "false":
	case "true":
		*into = true
	default:
		invalid(c, "invalid %s %q: use true or false", name, clip(value))
		return false
	}
	return true
}

func (a *server) listRunbooks(c *gin.Context) {
	o, ok := options[string](c, nil)
	if !ok {
		return
	}
	p, err := a.Runbooks.Runbooks(c.Request.Context(), o)
	page(c, p, err)
}

func (a *server) getRunbook(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	view, err := a.Runbooks.Runbook(c.Request.Context(), name)
	respond(c, view, err)
}

func (a *server) getTemplate(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	delimiter, ok := delimiterOf(c)
	if !ok {
		return
	}
	csv, err := a.Runbooks.CSVTemplate(c.Request.Context(), name, delimiter)
	if err != nil {
		fail(c, err)
		return
	}
	c.Header("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name + "-template.csv"}))
	c.Data(http.StatusOK, "text/csv; charset=utf-8", csv)
}
