package session

import (
	"context"
	"errors"
	"net/http"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Trial signs in and asks for one recipient. It does not repeat itself. Its error is a
// *catalog.Failure: of type FailureUnreachable where it may pass by itself, and else
// with what to do. Without the permission Exchange Online answers 401, with it but
// without a role 403.
func (s *Session) Trial(ctx context.Context) error {
	_, err := s.invokeOnce(ctx, s.endpoint, "Get-Recipient", map[string]any{"ResultSize": 1})
	if err == nil {
		return nil
	}
	var r *Refusal
	verdict := Judge(err)
	switch answered := errors.As(err, &r); {
	case answered && r.Status == http.StatusUnauthorized:
		return &catalog.Failure{Type: r.kind, Attempts: 1, Message: "Exchange Online refuses the token: give the app registration the application permission " +
			"Exchange.ManageAsApp of Office 365 Exchange Online, and have an administrator of the target tenant consent to it (" + r.text + ")"}
	case answered && r.Status == http.StatusForbidden:
		return &catalog.Failure{Type: r.kind, Attempts: 1, Message: "the app has no role in Exchange Online: assign to its service principal an Entra ID role such as " +
			"Exchange Recipient Administrator in the target tenant (" + r.text + ")"}
	case answered && (verdict.Outcome == throttle.Final || r.Status == http.StatusNotFound):
		return &catalog.Failure{Type: r.kind, Attempts: 1, Message: r.text}
	case !answered && verdict.Outcome == throttle.Final && ctx.Err() == nil: // Entra ID refused
		return &catalog.Failure{Type: "SignIn", Attempts: 1, Message: err.Error()}
	}
	return &catalog.Failure{Type: catalog.FailureUnreachable, Message: err.Error(), Throttled: verdict.Outcome == throttle.Throttled, Attempts: 1}
}
