package adminhttp

import (
	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
)

// The limits of requests about a runbook's automation.
const (
	maxSetting = 1024 // bytes of the body
	maxSample  = 1000 // rows that a preview shows
)

func (a *server) getAutomation(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	view, err := a.Automation.Automation(c.Request.Context(), callerOf(c), name)
	tagged(c, view, view.ETag, err)
}

// setAutomation takes the body {"enabled": true} or {"enabled": false}. The field is
// required: without it a request could mean either. If-Match changes the setting only
// if it still has that ETag. {"enabled": true, "revision": "…"} also
// confirms the additions of a preview.
func (a *server) setAutomation(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	var request api.AutomationRequest
	if !optionalJSON(c, maxSetting, &request) {
		return
	}
	if request.Enabled == nil {
		invalid(c, `enabled is missing; the body is {"enabled": true} or {"enabled": false}`)
		return
	}
	if request.Revision != nil && !*request.Enabled {
		invalid(c, "a revision confirms additions; leave it out when you disable automation")
		return
	}
	tags, ok := ifMatch(c)
	if !ok {
		return
	}
	if request.Revision != nil {
		view, err := a.Automation.EnableAutomation(c.Request.Context(), callerOf(c), name, *request.Revision, tags...)
		tagged(c, view, view.ETag, err)
		return
	}
	view, err := a.Automation.SetAutomation(c.Request.Context(), callerOf(c), name, *request.Enabled, tags...)
	tagged(c, view, view.ETag, err)
}

// previewQuery takes a body that is empty or {"limit": 1 to 1000}: how many rows are
// shown. All of them are read in any case.
func (a *server) previewQuery(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	var request api.PreviewRequest
	data, ok := optionalBody(c, maxSetting)
	if !ok || len(data) > 0 && !(withoutNull(c, data) && decodeJSON(c, data, &request)) {
		return
	}
	limit := 0
	if request.Limit != nil {
		if limit = *request.Limit; limit < 1 || limit > maxSample {
			invalid(c, "invalid limit %d: use 1 to %d", limit, maxSample)
			return
		}
	}
	view, err := a.Automation.PreviewQuery(c.Request.Context(), callerOf(c), name, limit)
	respond(c, view, err)
}

func (a *server) getAdditions(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	o, ok := options[string](c, nil)
	if !ok {
		return
	}
	view, err := a.Automation.HeldAdditions(c.Request.Context(), callerOf(c), name, o)
	respond(c, view, err)
}

// confirmAdditions takes the body {"revision": "…"}, with a reason or without.
func (a *server) confirmAdditions(c *gin.Context) {
	d, ok := additionsDecision(c)
	if !ok {
		return
	}
	if d.dry {
		view, err := a.Automation.PreviewAdditions(c.Request.Context(), d.runbook, d.revision, d.why)
		respond(c, view, err)
		return
	}
	view, err := a.Automation.ConfirmAdditions(c.Request.Context(), callerOf(c), d.runbook, d.revision, d.why)
	respond(c, view, err)
}

// discardAdditions takes the body of confirmAdditions.
func (a *server) discardAdditions(c *gin.Context) {
	d, ok := additionsDecision(c)
	if !ok {
		return
	}
	if d.dry {
		view, err := a.Automation.PreviewDiscard(c.Request.Context(), d.runbook, d.revision, d.why)
		respond(c, view, err)
		return
	}
	view, err := a.Automation.DiscardAdditions(c.Request.Context(), callerOf(c), d.runbook, d.revision, d.why)
	respond(c, view, err)
}

// onAdditions is an administrator's decision on held additions.
type onAdditions struct {
	runbook, revision, why string
	dry                    bool
}

// additionsDecision reads a decision on held additions.
func additionsDecision(c *gin.Context) (d onAdditions, ok bool) {
	if d.runbook, ok = runbookName(c); !ok {
		return d, false
	}
	var request api.ConfirmRequest
	if !decided(c, &request) || !revisionOf(c, request.Revision, &d.revision) {
		return d, false
	}
	d.dry = request.DryRun
	d.why, ok = reasonOf(c, request.ReasonRequest, false)
	return d, ok
}

func (a *server) listSyncs(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	p, err := a.Automation.Syncs(c.Request.Context(), name)
	page(c, p, err)
}

func (a *server) listRemovals(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	o, ok := options[string](c, nil)
	if !ok {
		return
	}
	view, err := a.Members.HeldRemovals(c.Request.Context(), callerOf(c), id, o)
	respond(c, view, err)
}

func (a *server) confirmRemovals(c *gin.Context) {
	d, ok := a.decision(c, api.ActionConfirmRemovals)
	if !ok {
		return
	}
	view, err := a.Members.ConfirmRemovals(c.Request.Context(), callerOf(c), d.batch, d.revision, d.why)
	accepted(c, view, err, "/api/batches/%d", d.batch)
}

func (a *server) moveMembers(c *gin.Context) {
	d, ok := a.decision(c, api.ActionMoveMembers)
	if !ok {
		return
	}
	view, err := a.Members.MoveMembers(c.Request.Context(), callerOf(c), d.batch, d.revision, d.why)
	accepted(c, view, err, "/api/batches/%d", d.batch)
}

func (a *server) discardRemovals(c *gin.Context) {
	d, ok := a.decision(c, api.ActionDiscardRemovals)
	if !ok {
		return
	}
	view, err := a.Members.DiscardRemovals(c.Request.Context(), callerOf(c), d.batch, d.revision, d.why)
	respond(c, view, err)
}

// decision is an administrator's decision on held removals.
type decision struct {
	batch         int
	revision, why string
}

// decision reads a decision on held removals: a body that is empty or {"reason": "…", "revision": "…"}.
// It answers a dry run itself, and returns false.
func (a *server) decision(c *gin.Context, action string) (d decision, ok bool) {
	if d.batch, ok = batchID(c); !ok {
		return d, false
	}
	var request api.DecisionRequest
	if !decided(c, &request) || !revisionOf(c, request.Revision, &d.revision) {
		return d, false
	}
	if d.why, ok = reasonOf(c, request.ReasonRequest, false); ok && request.DryRun {
		a.foresee(c, d.batch, api.ProposedAction{Name: action, Revision: d.revision, Why: d.why})
		return d, false
	}
	return d, ok
}

// decided reads the body of a decision, which can be absent.
func decided(c *gin.Context, request any) bool {
	data, ok := optionalBody(c, maxReason)
	return ok && (len(data) == 0 || withoutNull(c, data) && decodeJSON(c, data, request))
}

// revisionOf reads the revision of a decision. It refuses an empty one, because an absent one means all
// members held at that time.
func revisionOf(c *gin.Context, given *string, into *string) bool {
	if given == nil {
		return true
	}
	if *into = *given; *into == "" || len(*into) > maxName {
		invalid(c, "the revision has %d bytes; use the revision of the held changes", len(*into))
		return false
	}
	return true
}
