package adminhttp

import (
	"net/url"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
)

const (
	maxCorrection = 1 << 20 // bytes of a correction: the columns of one member and a reason
	maxMemberRef  = 4096    // bytes of a member's key or number
)

// memberOf reads the batch's number and the member's key or number from the address. It answers and
// returns false where the batch has no such member.
func (a *server) memberOf(c *gin.Context) (batch, member int, ok bool) {
	if batch, ok = batchID(c); !ok {
		return 0, 0, false
	}
	member, ok = a.findMember(c, batch, c.Param("member"))
	return batch, member, ok
}

// findMember finds a member by the key or the number. It answers and returns false where the batch has
// no such member.
func (a *server) findMember(c *gin.Context, batch int, ref string) (int, bool) {
	if len(ref) > maxMemberRef || !utf8.ValidString(ref) {
		invalid(c, "the member is longer than %d bytes or not UTF-8; give the member's key or number", maxMemberRef)
		return 0, false
	}
	member, err := a.Members.FindMember(c.Request.Context(), batch, ref)
	if err != nil {
		fail(c, err)
	}
	return member, err == nil
}

// findMembers searches the members of all batches.
func (a *server) findMembers(c *gin.Context) {
	o, ok := options(c, api.MemberStatuses)
	if !ok {
		return
	}
	text := c.MustGet(keyQuery).(url.Values).Get("text")
	if text == "" {
		invalid(c, "the query parameter text is missing: give a part of a member's key or name")
		return
	}
	p, err := a.Members.Find(c.Request.Context(), callerOf(c), text, o)
	page(c, p, err)
}

func (a *server) getMember(c *gin.Context) {
	batch, member, ok := a.memberOf(c)
	if !ok {
		return
	}
	view, err := a.Members.Member(c.Request.Context(), callerOf(c), batch, member)
	forCaller(c, view.Actions)
	tagged(c, view, view.ETag, err)
}

// correctMember takes the columns to change and those whose correction is withdrawn. With If-Match it
// changes the member only if they are still as the caller saw them.
func (a *server) correctMember(c *gin.Context) {
	batch, member, ok := a.memberOf(c)
	if !ok {
		return
	}
	var request api.CorrectionRequest
	if !optionalJSON(c, maxCorrection, &request) {
		return
	}
	if len(request.Data)+len(request.ClearOverrides) == 0 {
		invalid(c, `the correction has no columns; name them, as in {"data": {"Mail": "ada@contoso.com"}}`)
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
	view, err := a.Members.CorrectMember(c.Request.Context(), callerOf(c), batch, member, request, why, tags...)
	tagged(c, view, view.Member.ETag, err)
}

// updateMembers takes a form of one part: file, the CSV with the members' keys and the columns to
// change.
func (a *server) updateMembers(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	options, dry, ok := uploadOptions(c)
	if !ok {
		return
	}
	why := ""
	if values := c.MustGet(keyQuery).(url.Values); values.Has("reason") {
		if why, ok = trimmedReason(c, values.Get("reason")); !ok {
			return
		}
	}
	values, release, ok := a.form(c, part{name: "file", limit: a.MaxBody, is: csvOfMembers})
	if !ok {
		return
	}
	defer release()
	view, err := a.Members.UpdateMembersFrom(c.Request.Context(), callerOf(c), id, values["file"], dry, why, options...)
	respond(c, view, err)
}
