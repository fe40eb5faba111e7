package adminhttp

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
)

// retryFailed takes the fields that narrow the retry beside the reason. One that is
// given and empty, or null, is refused rather than taken for all members.
func (a *server) retryFailed(c *gin.Context) {
	var request api.RetryRequest
	a.repair(c, &request, func() (api.Repair, *api.SelectionRequest, bool) {
		r := api.Repair{Action: api.RepairRetry}
		ok := nonEmpty(c, "version", request.Version, &r.Version) && nonEmpty(c, "from", request.From, &r.From)
		return r, &request.SelectionRequest, ok
	})
}

// skipFailed needs a reason, as skipStep does.
func (a *server) skipFailed(c *gin.Context) {
	var request api.SelectionRequest
	a.repair(c, &request, func() (api.Repair, *api.SelectionRequest, bool) {
		return api.Repair{Action: api.RepairSkip}, &request, true
	})
}

// markFailedDone needs a reason, as markStepDone does.
func (a *server) markFailedDone(c *gin.Context) {
	var request api.MarkDoneRequest
	a.repair(c, &request, func() (api.Repair, *api.SelectionRequest, bool) {
		return api.Repair{Action: api.RepairDone, Result: request.Result}, &request.SelectionRequest, true
	})
}

// removeMembers needs members or a filter, and a reason.
func (a *server) removeMembers(c *gin.Context) {
	var request api.RemovalRequest
	var which api.SelectionRequest
	a.repair(c, &request, func() (api.Repair, *api.SelectionRequest, bool) {
		r := api.Repair{Action: api.RepairRemove}
		which = api.SelectionRequest{Members: request.Members, Status: request.Status, DryRun: request.DryRun, ReasonRequest: request.ReasonRequest}
		return r, &which, nonEmpty(c, "search", request.Search, &r.Selection.Search)
	})
}

// moveSelected needs members or a filter, the batch to move to, and a reason.
func (a *server) moveSelected(c *gin.Context) {
	var request api.MoveRequest
	var which api.SelectionRequest
	a.repair(c, &request, func() (api.Repair, *api.SelectionRequest, bool) {
		r := api.Repair{Action: api.RepairMove}
		which = api.SelectionRequest{Members: request.Members, Status: request.Status, DryRun: request.DryRun, ReasonRequest: request.ReasonRequest}
		if request.To != nil {
			r.To = *request.To
		}
		return r, &which, nonEmpty(c, "search", request.Search, &r.Selection.Search)
	})
}

// getTask tells how far a repair or a removal is.
func (a *server) getTask(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	task := c.Param("task")
	if len(task) > maxName {
		refuse(c, http.StatusNotFound, api.CodeNotFound, "there is no task %q", clip(task))
		return
	}
	view, err := a.Batches.Task(c.Request.Context(), id, task)
	respond(c, view, err)
}

// repair reads a body into request, of which made makes a repair and its selection, and carries the
// repair out.
func (a *server) repair(c *gin.Context, request any, made func() (api.Repair, *api.SelectionRequest, bool)) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	data, ok := optionalBody(c, maxRepair)
	if !ok || len(data) > 0 && !(withoutNull(c, data) && decodeJSON(c, data, request)) {
		return
	}
	r, which, ok := made()
	if !ok {
		return
	}
	r.DryRun = which.DryRun
	if !a.readSelection(c, id, which, &r.Selection) {
		return
	}
	if r.Reason, ok = reasonOf(c, which.ReasonRequest, r.Action != api.RepairRetry && !r.DryRun); !ok {
		return
	}
	view, err := a.Batches.Repair(c.Request.Context(), callerOf(c), id, r)
	if r.DryRun {
		respond(c, view, err)
		return
	}
	replayed(c, view.Replayed)
	accepted(c, view, err, "/api/batches/%d/tasks/%s", id, view.Task)
}

// readSelection reads the fields that narrow a repair of a batch. A list that is given has elements.
func (a *server) readSelection(c *gin.Context, batch int, request *api.SelectionRequest, which *api.Selection) bool {
	for _, f := range []struct {
		name  string
		given *string
		into  *string
	}{
		{"status", request.Status, &which.Status},
		{"phase", request.Phase, &which.Phase},
		{"step", request.Step, &which.Step},
		{"error", request.Error, &which.Error},
		{"errorGroup", request.ErrorGroup, &which.ErrorGroup},
	} {
		if !nonEmpty(c, f.name, f.given, f.into) {
			return false
		}
	}
	if request.Steps != nil {
		if !lengthOK(c, "stepIds", len(*request.Steps)) {
			return false
		}
		which.Steps = *request.Steps
	}
	if request.Members == nil {
		return true
	}
	if !lengthOK(c, "memberIds", len(*request.Members)) {
		return false
	}
	for _, ref := range *request.Members {
		id, ok := a.findMember(c, batch, string(ref))
		if !ok {
			return false
		}
		which.Members = append(which.Members, id)
	}
	return true
}

// lengthOK answers and returns false when a list that is given is empty or too long.
func lengthOK(c *gin.Context, name string, n int) bool {
	if n < 1 || n > api.MaxSelected {
		invalid(c, "%s has %d elements; give 1 to %d, or select by a filter", name, n, api.MaxSelected)
		return false
	}
	return true
}

// nonEmpty takes a text that is given, and answers and returns false where it is empty or too long.
func nonEmpty(c *gin.Context, name string, given, into *string) bool {
	if given == nil {
		return true
	}
	if n := utf8.RuneCountInString(*given); strings.TrimSpace(*given) == "" || n > api.MaxReason {
		invalid(c, "%s has %d characters; use 1 to %d that are not all spaces, or leave it out", name, n, api.MaxReason)
		return false
	}
	*into = *given
	return true
}
