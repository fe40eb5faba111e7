package adminhttp

import (
	"net/url"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
)

// checkBatch makes the checks of all members, or of the one that the body names.
func (a *server) checkBatch(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	var request api.CheckRequest
	if !optionalJSON(c, maxReason+8*maxMemberRef, &request) {
		return
	}
	member := 0
	if request.Member != nil {
		if *request.Member == "" {
			invalid(c, "the member is empty; give the key or the number of a member, or leave it out to check all members")
			return
		}
		if member, ok = a.findMember(c, id, *request.Member); !ok {
			return
		}
	}
	why, ok := reasonOf(c, request.ReasonRequest, false)
	if !ok {
		return
	}
	if request.DryRun {
		a.foresee(c, id, api.ProposedAction{Name: api.ActionCheck, Member: member, Why: why})
		return
	}
	view, err := a.Batches.Check(c.Request.Context(), callerOf(c), id, member, why)
	if err == nil {
		replayed(c, view.Replayed)
	}
	accepted(c, view, err, "/api/batches/%d/checks", id)
}

func (a *server) listChecks(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	o, ok := options(c, api.CheckStatuses)
	if !ok {
		return
	}
	if ref := c.MustGet(keyQuery).(url.Values).Get("member"); ref != "" {
		if o.Member, ok = a.findMember(c, id, ref); !ok {
			return
		}
	}
	p, err := a.Batches.Checks(c.Request.Context(), callerOf(c), id, o)
	page(c, p, err)
}
