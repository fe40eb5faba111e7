package adminhttp

import (
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
)

// What the list of messages can be narrowed to.
var (
	messageStatuses = []api.UnprocessableStatus{api.UnprocessableOpen, api.UnprocessableReplayed, api.UnprocessableDiscarded}
	messageTopics   = []string{message.TopicOrchestratorEvents, message.TopicWorkerResults, message.TopicWorkerJobs}
)

func (a *server) listMessages(c *gin.Context) {
	o, ok := options(c, messageStatuses)
	if !ok {
		return
	}
	if o.Topic != "" && !slices.Contains(messageTopics, o.Topic) {
		invalid(c, "invalid query parameter topic %q: use one of %s", clip(c.MustGet(keyQuery).(url.Values).Get("topic")), listed(messageTopics))
		return
	}
	p, err := a.Messages.UnprocessableMessages(c.Request.Context(), o)
	page(c, p, err)
}

func (a *server) getMessage(c *gin.Context) {
	view, err := a.Messages.UnprocessableMessage(c.Request.Context(), callerOf(c), c.Param("id"))
	respond(c, view, err)
}

func (a *server) replayMessage(c *gin.Context) {
	why, ok := reasonGiven(c)
	if !ok {
		return
	}
	view, err := a.Messages.Replay(c.Request.Context(), callerOf(c), c.Param("id"), why)
	accepted(c, view, err, "/api/messages/unprocessed/%s", view.ID)
}

func (a *server) discardMessage(c *gin.Context) {
	why, ok := reasonGiven(c)
	if !ok {
		return
	}
	view, err := a.Messages.Discard(c.Request.Context(), callerOf(c), c.Param("id"), why)
	respond(c, view, err)
}

// reasonGiven reads why something is asked for, from the optional body
// {"reason": "…"}.
func reasonGiven(c *gin.Context) (string, bool) {
	var given api.ReasonRequest
	if !optionalJSON(c, maxReason, &given) {
		return "", false
	}
	return reasonOf(c, given, false)
}
