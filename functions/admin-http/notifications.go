package adminhttp

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
)

// maxNotification is the size of a notification rule, in bytes.
const maxNotification = 32 << 10

func (a *server) listNotifications(c *gin.Context) {
	p, err := a.Notifications.NotificationRules(c.Request.Context())
	page(c, p, err)
}

func (a *server) getNotification(c *gin.Context) {
	view, err := a.Notifications.NotificationRule(c.Request.Context(), c.Param("name"))
	respond(c, view, err)
}

// addNotification answers the same where the rule existed: the request can be a repetition.
func (a *server) addNotification(c *gin.Context) {
	data, ok := optionalBody(c, maxNotification)
	if !ok {
		return
	}
	if len(data) == 0 {
		invalid(c, `the request has no body: send a rule, such as {"name": "cut-over", "events": ["gate_waiting"], "target": {"type": "teams", "urlSetting": "TEAMS_URL"}}`)
		return
	}
	var request api.NotificationRequest
	if !withoutNull(c, data) || !decodeJSON(c, data, &request) {
		return
	}
	view, err := a.Notifications.AddNotificationRule(c.Request.Context(), callerOf(c), request)
	if err != nil {
		fail(c, err)
		return
	}
	c.Header("Location", "/api/notifications/"+view.Name)
	write(c, http.StatusOK, view)
}

func (a *server) removeNotification(c *gin.Context) {
	why, ok := queryReason(c)
	if !ok {
		return
	}
	view, err := a.Notifications.RemoveNotificationRule(c.Request.Context(), callerOf(c), c.Param("name"), why)
	respond(c, view, err)
}

func (a *server) testNotification(c *gin.Context) {
	if data, ok := optionalBody(c, maxReason); !ok || len(data) > 0 && !decodeJSON(c, data, &struct{}{}) {
		return
	}
	view, err := a.Notifications.TestNotificationRule(c.Request.Context(), callerOf(c), c.Param("name"))
	respond(c, view, err)
}

func (a *server) listDeliveries(c *gin.Context) {
	o, ok := options[string](c, nil)
	if !ok {
		return
	}
	p, err := a.Notifications.NotificationDeliveries(c.Request.Context(), c.Param("name"), o)
	page(c, p, err)
}
