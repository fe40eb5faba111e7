package graph

import (
	"context"
	"net/http"

	"github.com/microsoftgraph/msgraph-sdk-go/users"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Trial signs in and reads the id of one user, which takes the least of what the
// functions need. It does not repeat itself. Its error is a *catalog.Failure: of type
// FailureUnreachable where it may pass by itself, and else with what to do.
func (c *Client) Trial(ctx context.Context) error {
	_, err := c.graph.Users().Get(ctx, &users.UsersRequestBuilderGetRequestConfiguration{
		QueryParameters: &users.UsersRequestBuilderGetQueryParameters{Select: []string{"id"}, Top: new(int32(1))},
	})
	if err == nil {
		return nil
	}
	code, text, status := said(err)
	verdict := judge(err)
	switch {
	case status == http.StatusUnauthorized:
		text = "Microsoft Graph refuses the token: check that GRAPH_URL and the authority belong to the same cloud (" + text + ")"
	case status == http.StatusForbidden:
		text = "the app may not read users: give the app registration the application permissions that `worker functions` lists, " +
			"such as User.ReadWrite.All, and have an administrator of the target tenant consent to them (" + text + ")"
	case status == http.StatusNotFound:
		text = "no Microsoft Graph at GRAPH_URL (" + text + ")"
	case status == 0 && verdict.Outcome == throttle.Final && ctx.Err() == nil: // Entra ID refused
		code, text = "SignIn", err.Error()
	default:
		if status == 0 {
			text = err.Error()
		}
		return &catalog.Failure{Type: catalog.FailureUnreachable, Message: text, Throttled: verdict.Outcome == throttle.Throttled, Attempts: 1}
	}
	return &catalog.Failure{Type: code, Message: text, Attempts: 1}
}
