// Package graph answers the requests of Microsoft Graph that a tenant simulates.
package graph

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// Audience is the audience of tokens for Graph.
const Audience = "https://graph.microsoft.com"

// Service is Graph for one tenant.
type Service struct {
	Directory *directory.Directory
	TenantID  string

	VerifyToken func(token, audience string) error // nil accepts any token that is not empty
	Roles       func(token string) []string        // application permissions; nil lets every token do everything

	ProvisionDelay time.Duration // from a licence to its mailbox and provisioned plans
	NoAccessPass   bool          // the policy of Temporary Access Passes is off
	MoveDelay      time.Duration // of a move of content
	// Linked tells whether a tenant is another one of the system. Nil: none is.
	Linked func(tenantID string) bool
	// Mailbox is the recipient that a user with an Exchange plan becomes.
	Mailbox func(u directory.User, at time.Time) (directory.Recipient, *odata.Reply)

	Times    func() (now, asOf time.Time)                    // of a write, and up to which readers have seen writes
	CarryOut func(context.Context, *odata.Call) *odata.Reply // answers one step of a $batch
	Logger   *slog.Logger

	contents sync.Map // downloads that have been given out, by key
}

type (
	call  struct{ *odata.Call }
	reply = odata.Reply
)

// Authorize refuses a request without a good token.
func (s *Service) Authorize(r *http.Request) *odata.Reply {
	token := odata.Bearer(r)
	if token == "" {
		return odata.Error(http.StatusUnauthorized, "InvalidAuthenticationToken", "Access token is empty.")
	}
	if s.VerifyToken == nil {
		return nil
	}
	err := s.VerifyToken(token, Audience)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, odata.ErrMissingPermission), errors.Is(err, odata.ErrMissingRole):
		return odata.Error(http.StatusForbidden, "Authorization_RequestDenied", "Insufficient privileges to complete the operation.")
	default:
		return odata.Error(http.StatusUnauthorized, "InvalidAuthenticationToken", "Access token validation failure. %s", err)
	}
}

func badRequest(format string, args ...any) *reply {
	return odata.Error(http.StatusBadRequest, "Request_BadRequest", format, args...)
}

func notFound(id string) *reply {
	return odata.Error(http.StatusNotFound, "Request_ResourceNotFound",
		"Resource '%s' does not exist or one of its queried reference-property objects are not present.", id)
}

func conflict(property string) *reply {
	return badRequest("Another object with the same value for property %s already exists.", property)
}

func (s *Service) storageFailed(err error) *reply {
	s.Logger.Error("cannot save the tenant", "error", err)
	return odata.Error(http.StatusInternalServerError, "InternalServerError", "The service could not save the change.")
}
