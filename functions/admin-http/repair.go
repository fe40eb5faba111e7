package adminhttp

import (
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
	if r.Selection, ok = a.selectionOf(c, id, which); !ok {
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
	accepted(c, view, err, "/api/batches/%d/members?status=%s", id, api.MemberFailed)
}

// selectionOf reads the fields that narrow a repair of a batch.
func (a *server) selectionOf(c *gin.Context, batch int, request *api.SelectionRequest) (which api.Selection, ok bool) {
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
			return which, false
		}
	}
	if request.Member != nil {
		which.Member, ok = a.findMember(c, batch, string(*request.Member))
		return which, ok
	}
	return which, true
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
