package adminhttp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
)

// The limits of what steers a batch, in bytes of the body.
const (
	maxReason = 12*api.MaxReason + 1024            // a character takes at most twelve bytes, as two escapes
	maxRepair = 8*maxReason + maxResult + maxNamed // the reason, the filters, the members and steps, and a result
	maxNamed  = 256 * 2 * api.MaxSelected          // keys and numbers
	maxResult = api.MaxResult + 64<<10             // a result, which may be spaced out a little, and a reason
	maxDetail = 4*api.MaxBatchNote + 1024
	maxStepID = 1<<53 - 1 // not bytes: the largest id, as in package engine
)

// reasonOf gives the reason of a request. It answers and returns false when a reason that
// is given is empty or too long, or when one is needed and missing.
func reasonOf(c *gin.Context, r api.ReasonRequest, needed bool) (string, bool) {
	switch {
	case r.Reason == nil && needed:
		invalid(c, "the reason is missing; it goes into the audit record")
		return "", false
	case r.Reason == nil:
		return "", true
	}
	return trimmedReason(c, *r.Reason)
}

func trimmedReason(c *gin.Context, reason string) (string, bool) {
	reason = strings.TrimSpace(reason)
	if n := utf8.RuneCountInString(reason); n < 1 || n > api.MaxReason {
		invalid(c, "the reason has %d characters; use 1 to %d, without surrounding spaces", n, api.MaxReason)
		return "", false
	}
	return reason, true
}

// accepted answers that something was set going which goes on by itself, or why it was
// not. Location is where it can be followed.
func accepted[V any](c *gin.Context, view V, err error, location string, args ...any) {
	if err != nil {
		fail(c, err)
		return
	}
	c.Header("Location", fmt.Sprintf(location, args...))
	write(c, http.StatusAccepted, view)
}

// foresee answers with the effect of an action that is not taken.
func (a *server) foresee(c *gin.Context, batch int, action api.ProposedAction) {
	view, err := a.Batches.Preview(c.Request.Context(), callerOf(c), batch, action)
	respond(c, view, err)
}

// steer makes a route that takes one action on a batch, with a body that is empty or
// {"reason": "…", "dryRun": true}.
func (a *server) steer(action string, take func(c *gin.Context, batch int, why string)) gin.HandlerFunc {
	return func(c *gin.Context) {
		id, ok := batchID(c)
		if !ok {
			return
		}
		var request api.ActionRequest
		if !optionalJSON(c, maxReason, &request) {
			return
		}
		why, ok := reasonOf(c, request.ReasonRequest, false)
		switch {
		case !ok:
		case request.DryRun:
			a.foresee(c, id, api.ProposedAction{Name: action, Why: why})
		default:
			take(c, id, why)
		}
	}
}

func (a *server) cancelBatch(c *gin.Context, batch int, why string) {
	view, err := a.Batches.Cancel(c.Request.Context(), callerOf(c), batch, why)
	accepted(c, view, err, "/api/batches/%d", batch)
}

func (a *server) pauseBatch(c *gin.Context, batch int, why string) {
	view, err := a.Batches.Pause(c.Request.Context(), callerOf(c), batch, why)
	respond(c, view, err)
}

func (a *server) resumeBatch(c *gin.Context, batch int, why string) {
	view, err := a.Batches.Resume(c.Request.Context(), callerOf(c), batch, why)
	respond(c, view, err)
}

// rescheduleBatch takes the body {"batchStartTime": "…"}, with dryRun and a reason or without.
func (a *server) rescheduleBatch(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	var request api.RescheduleRequest
	data, ok := optionalBody(c, maxReason)
	if !ok || len(data) > 0 && !(withoutNull(c, data) && decodeJSON(c, data, &request)) {
		return
	}
	switch {
	case request.Start == nil:
		invalid(c, `the start is missing: give the new start, as in {"batchStartTime": "2026-03-01T18:00:00+01:00"}`)
		return
	case *request.Start == "" || len(*request.Start) > maxName:
		invalid(c, "the start has %d bytes; a time has 1 to %d", len(*request.Start), maxName)
		return
	}
	why, ok := reasonOf(c, request.ReasonRequest, false)
	if !ok {
		return
	}
	view, err := a.Batches.Reschedule(c.Request.Context(), callerOf(c), id, *request.Start, why, request.DryRun)
	respond(c, view, err)
}

// approvePhase takes the body {"phase": "…"}, with a reason or without. The name of a phase
// can have characters that do not arrive in a path as they were sent.
func (a *server) approvePhase(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	var request api.ApproveRequest
	if !optionalJSON(c, maxReason, &request) {
		return
	}
	if !phaseNamed(c, request.Phase, `name the phase to approve, as in {"phase": "cut-over"}`) {
		return
	}
	why, ok := reasonOf(c, request.ReasonRequest, false)
	if !ok {
		return
	}
	if request.DryRun {
		a.foresee(c, id, api.ProposedAction{Name: api.ActionApprove, Phase: *request.Phase, Why: why})
		return
	}
	view, err := a.Batches.Approve(c.Request.Context(), callerOf(c), id, *request.Phase, why)
	respond(c, view, err)
}

// phaseNamed answers and returns false when a request has no phase, or one that no phase
// can be named.
func phaseNamed(c *gin.Context, phase *string, hint string) bool {
	switch {
	case phase == nil:
		invalid(c, "the phase is missing: %s", hint)
		return false
	case *phase == "" || len(*phase) > maxName:
		invalid(c, "the phase has %d bytes; the name of a phase has 1 to %d", len(*phase), maxName)
		return false
	}
	return true
}

// skipStep needs a reason: a person is taken past a step that their runbook has.
func (a *server) skipStep(c *gin.Context) {
	id, step, ok := stepID(c)
	if !ok {
		return
	}
	var request api.ActionRequest
	if !optionalJSON(c, maxReason, &request) {
		return
	}
	why, ok := reasonOf(c, request.ReasonRequest, !request.DryRun)
	if !ok {
		return
	}
	if request.DryRun {
		a.foresee(c, id, api.ProposedAction{Name: api.RepairSkip, Step: step, Why: why})
		return
	}
	view, err := a.Steps.SkipStep(c.Request.Context(), callerOf(c), id, step, why)
	respond(c, view, err)
}

// markStepDone needs a reason, as skipStep does. The result takes the place of
// the function's result; without one the step has none.
func (a *server) markStepDone(c *gin.Context) {
	id, step, ok := stepID(c)
	if !ok {
		return
	}
	var request api.DoneRequest
	if !optionalJSON(c, maxResult, &request) {
		return
	}
	why, ok := reasonOf(c, request.ReasonRequest, !request.DryRun)
	if !ok {
		return
	}
	if request.DryRun {
		a.foresee(c, id, api.ProposedAction{Name: api.RepairDone, Step: step, Result: request.Result, Why: why})
		return
	}
	view, err := a.Steps.MarkStepDone(c.Request.Context(), callerOf(c), id, step, request.Result, why)
	respond(c, view, err)
}

// addMembers takes a form of one part: file, the CSV of members.
func (a *server) addMembers(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	options, dry, ok := uploadOptions(c)
	if !ok {
		return
	}
	values, release, ok := a.form(c, part{name: "file", limit: a.MaxBody, is: csvOfMembers})
	if !ok {
		return
	}
	defer release()
	members := fmt.Sprintf("/api/batches/%d/members", id)
	if dry {
		view, err := a.Members.CheckMembers(c.Request.Context(), id, values["file"], options...)
		if err == nil {
			c.Header("Location", members)
		}
		respond(c, view, err)
		return
	}
	view, err := a.Members.AddMembersFrom(c.Request.Context(), callerOf(c), id, values["file"], options...)
	if err != nil {
		fail(c, err)
		return
	}
	status := http.StatusCreated
	if view.Added == 0 {
		status = http.StatusOK
	}
	c.Header("Location", members)
	replayed(c, view.Replayed)
	write(c, status, view)
}

// removeMember takes its reason from the address: many clients send no body with a
// DELETE. What undoes the member's part goes on after the answer.
func (a *server) removeMember(c *gin.Context) {
	id, member, ok := a.memberOf(c)
	if !ok {
		return
	}
	why, ok := queryReason(c)
	if !ok {
		return
	}
	dry := false
	switch {
	case !flag(c, "dryRun", &dry):
		return
	case dry:
		a.foresee(c, id, api.ProposedAction{Name: api.RepairRemove, Member: member, Why: why})
		return
	}
	view, err := a.Members.RemoveMember(c.Request.Context(), callerOf(c), id, member, why)
	accepted(c, view, err, "/api/batches/%d/steps?member=%d", id, member)
}

// queryReason reads the optional query parameter reason.
func queryReason(c *gin.Context) (string, bool) {
	values := c.MustGet(keyQuery).(url.Values)
	if !values.Has("reason") {
		return "", true
	}
	return trimmedReason(c, values.Get("reason"))
}

// stepID reads the numbers of the batch and of the step from the address.
func stepID(c *gin.Context) (batch int, step int64, ok bool) {
	if batch, ok = batchID(c); !ok {
		return 0, 0, false
	}
	n, ok := number(c.Param("stepId"), maxStepID)
	if !ok {
		refuse(c, http.StatusNotFound, api.CodeNotFound, "there is no step %q; use the step's number in the list of steps", clip(c.Param("stepId")))
	}
	return batch, int64(n), ok
}

// optionalJSON reads a body that may be left out. It answers and returns false when
// the body is not the JSON expected.
func optionalJSON(c *gin.Context, limit int64, into any) bool {
	data, ok := optionalBody(c, limit)
	return ok && (len(data) == 0 || decodeJSON(c, data, into))
}

func optionalBody(c *gin.Context, limit int64) ([]byte, bool) {
	data, ok := body(c, limit)
	if !ok || len(data) == 0 {
		return nil, ok
	}
	if media, _ := mediaType(c); media != "application/json" {
		refuse(c, http.StatusUnsupportedMediaType, api.CodeUnsupportedMedia, "send the body as application/json in UTF-8, or send no body")
		return nil, false
	}
	return data, true
}

// withoutNull answers and returns false when the object, or one of its fields, is null.
func withoutNull(c *gin.Context, data []byte) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return true // decodeJSON tells what is wrong
	}
	if fields == nil {
		invalid(c, "the request body is null; send an object")
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if string(fields[name]) == "null" {
			invalid(c, "%s is null; leave it out", clip(name))
			return false
		}
	}
	return true
}
