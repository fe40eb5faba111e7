package adminhttp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/signin"
)

const keyIdentity = "identity"

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
	c.Set(keyIdentity, identity)
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

// needs lets a request pass only if its caller has the permission. To do says what the route is
// for; a refusal names it with the roles that grant it.
func (a *server) needs(p signin.Permission, to string) gin.HandlerFunc {
	return func(c *gin.Context) {
		if reason := forbidden(c, p, to); reason != "" {
			refuse(c, http.StatusForbidden, api.CodeForbidden, "%s", reason)
		}
	}
}

// forbidden says why the caller may not do something that requires a permission; empty if the caller may.
func forbidden(c *gin.Context, p signin.Permission, to string) string {
	if identityOf(c).May(p) {
		return ""
	}
	return fmt.Sprintf("%s may not %s: it requires the app role %s", callerOf(c).Name, to, strings.Join(signin.Granting(p), " or "))
}

func identityOf(c *gin.Context) signin.Identity {
	identity, _ := c.MustGet(keyIdentity).(signin.Identity)
	return identity
}

// getMe tells the caller who they are and what they may do.
func (a *server) getMe(c *gin.Context) {
	i, caller := identityOf(c), callerOf(c)
	me := api.Me{Name: caller.Name, Kind: caller.Kind, TenantID: i.TenantID, ObjectID: i.ObjectID, Roles: []string{}, Permissions: []string{}}
	for _, role := range signin.Roles {
		if slices.Contains(i.Roles, role) {
			me.Roles = append(me.Roles, role)
		}
	}
	for _, p := range i.Permissions() {
		me.Permissions = append(me.Permissions, string(p))
	}
	write(c, http.StatusOK, me)
}
