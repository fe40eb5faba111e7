package graph

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/microsoftgraph/msgraph-sdk-go/models"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// removeUser deletes a user by object id, also when only the name is given: a
// repeated request then cannot delete another user with the same name.
func (c *Client) removeUser(ctx context.Context, p catalog.Params) (any, error) {
	id, name := p.String("UserId"), p.String("Upn")
	if id == "" && name == "" {
		return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "give UserId, Upn or both"}
	}
	if name != "" {
		var found models.Userable
		err := c.userUntil(ctx, cmp.Or(id, name), []string{"id", "userPrincipalName", "createdDateTime"}, func(user models.Userable) error {
			if found = user; !strings.EqualFold(value(user.GetUserPrincipalName()), name) {
				return &staleError{"the name of the user"} // which an earlier step may have given back
			}
			return nil
		})
		switch {
		case absent(err):
			return true, nil
		case found != nil && failed(err, "not visible yet"):
			catalog.JobOf(ctx).Log.InfoContext(ctx, "the user has another name and is kept")
			return true, nil
		case err != nil:
			return nil, err
		case id == "" && madeAfter(found, catalog.JobOf(ctx)):
			return true, nil
		}
		id = value(found.GetId())
	}
	err := c.do(ctx, c.paces.writes, func(ctx context.Context) error {
		err := c.graph.Users().ByUserId(id).Delete(ctx, nil)
		if _, _, status := said(err); status != http.StatusNotFound {
			return err
		}
		// Deleted before, or not visible yet: only the first can be confirmed.
		if _, deleted := c.graph.Directory().DeletedItems().ByDirectoryObjectId(id).Get(ctx, nil); deleted == nil {
			return nil
		}
		return err
	})
	if err != nil && !absent(err) {
		return nil, err
	}
	return true, nil
}

// madeAfter tells whether the user cannot be the one that a job meant which has come
// again: an earlier delivery removed that one, and this one got the name since.
func madeAfter(user models.Userable, job catalog.Job) bool {
	made := user.GetCreatedDateTime()
	return made != nil && job.SentBefore(*made)
}

// absent tells whether a call failed because there is no such object, also after
// what may be lag was waited out.
func absent(err error) bool {
	var f *catalog.Failure
	return errors.As(err, &f) && f.Type == "Request_ResourceNotFound"
}
