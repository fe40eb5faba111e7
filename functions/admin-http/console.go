package adminhttp

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
)

// SignIn is how people get tokens for this API.
type SignIn struct {
	// Authority is where they sign in, such as https://login.microsoftonline.com/{tenant}.
	Authority string
	// Scope is the permission to ask for, such as api://{client id}/access_as_user.
	Scope string
	// ConsoleClientID is the app registration of pages that call the API; empty: there are none.
	ConsoleClientID string
}

// getConsoleConfig tells a page how to sign its user in. It needs no token, and tells no secret.
func (a *server) getConsoleConfig(c *gin.Context) {
	s := a.Config.SignIn
	if s.ConsoleClientID == "" {
		refuse(c, http.StatusNotFound, api.CodeNotFound, "no page can sign in: set CONSOLE_CLIENT_ID to the client id of the console's app registration")
		return
	}
	c.Header("Cache-Control", "no-cache")
	write(c, http.StatusOK, api.ConsoleConfig{Authority: s.Authority, ClientID: s.ConsoleClientID, Scope: s.Scope})
}
