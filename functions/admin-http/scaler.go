package adminhttp

import "github.com/gin-gonic/gin"

func (a *server) getScaler(c *gin.Context) {
	view, err := a.Scaler.ScalerStatus(c.Request.Context())
	respond(c, view, err)
}

// planScaling answers with what a tick would do. It changes nothing, so that it may be repeated.
func (a *server) planScaling(c *gin.Context) {
	if data, ok := optionalBody(c, maxReason); !ok || len(data) > 0 && !decodeJSON(c, data, &struct{}{}) {
		return
	}
	view, err := a.Scaler.PlanScaling(c.Request.Context())
	respond(c, view, err)
}
