package adminhttp

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/signin"
)

const keyAdmin = "admin"

// signIn refuses a request without a valid token.
func (a *server) signIn(c *gin.Context) {
	identity, err := a.Verifier.Verify(c.Request.Context(), c.GetHeader("Authorization"))
	if err != nil {
		_ = c.Error(err) // record logs it with its cause
		refuseToken(c, err)
		return
	}
	caller := audit.Caller{Name: identity.Name, Kind: api.ActorUser, TenantID: identity.TenantID, ObjectID: identity.ObjectID}
	if identity.IsApp {
		caller.Kind = api.ActorApplication
	}
	c.Set(keyCaller, caller)
	c.Set(keyAdmin, identity.Admin())
}

// refuseToken tells why a token is not taken, as far as its owner may know.
func refuseToken(c *gin.Context, err error) {
	var e *signin.Error
	if !errors.As(err, &e) {
		fail(c, err)
		return
	}
	if challenge := e.Challenge(); challenge != "" {
		c.Header("WWW-Authenticate", challenge)
	}
	switch {
	case errors.Is(e, signin.ErrMissing), errors.Is(e, signin.ErrInvalid):
		refuse(c, http.StatusUnauthorized, api.CodeUnauthenticated, "sign in: %s", e.Reason)
	case errors.Is(e, signin.ErrForbidden):
		refuse(c, http.StatusForbidden, api.CodeForbidden, "%s", e.Reason)
	case errors.Is(e, signin.ErrUnavailable):
		refuse(c, http.StatusServiceUnavailable, api.CodeUnavailable, "%s", e.Reason)
	default:
		fail(c, err)
	}
}

// adminReads lets a request pass only if its caller may see what workers and sources
// sent, which can hold anything. What that is, a refusal tells.
func (a *server) adminReads(what string) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !c.GetBool(keyAdmin) {
			refuse(c, http.StatusForbidden, api.CodeForbidden, "%s may not read %s: the app role %s is required", callerOf(c).Name, what, signin.RoleAdmin)
		}
	}
}

// admin lets a request pass only if its caller may change things.
func (a *server) admin(c *gin.Context) {
	if !c.GetBool(keyAdmin) {
		refuse(c, http.StatusForbidden, api.CodeForbidden, "%s may only read: changes require the app role %s", callerOf(c).Name, signin.RoleAdmin)
	}
}
