package adminhttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/signin"
)

// maxItemsBody is how many bytes a request with its items can have.
const maxItemsBody = 8 << 20

// pipelineRequest is a request whose items are counted before they are read.
type pipelineRequest struct {
	api.PipelineRequest
	Items items `json:"items"`
}

// items are at most as many as a runbook can allow: millions of small ones would take hundreds of MiB.
type items []map[string]json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (s *items) UnmarshalJSON(data []byte) error {
	var texts []json.RawMessage
	if err := json.Unmarshal(data, &texts); err != nil {
		return err
	}
	if len(texts) > runbook.MaxItems {
		return fmt.Errorf("it has %d items; at most %d are allowed", len(texts), runbook.MaxItems)
	}
	return json.Unmarshal(data, (*[]map[string]json.RawMessage)(s))
}

// startPipeline answers with 202 and the batch, or with 200 if an earlier batch has the result.
func (a *server) startPipeline(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	data, ok := optionalBody(c, maxItemsBody)
	if !ok {
		return
	}
	leave, ok := a.items.enter(c, int64(len(data))) // once it was read, which can take as long as the caller likes
	if !ok {
		return
	}
	defer leave()
	var given pipelineRequest
	if !decodeJSON(c, data, &given) {
		return
	}
	request := given.PipelineRequest
	request.Items = given.Items
	if !identityOf(c).MayFor(signin.RequestForAll, request.Owner) {
		refuseOwner(c, "request a batch for")
		return
	}
	view, err := a.Pipelines.StartPipeline(c.Request.Context(), callerOf(c), name, request)
	if err != nil {
		fail(c, err)
		return
	}
	c.Header("Location", view.StatusURL)
	replayed(c, view.Replayed)
	if view.Status == api.PipelineCached {
		write(c, http.StatusOK, view)
		return
	}
	write(c, http.StatusAccepted, view)
}

// requestedBatch reads the names of the runbook and of the batch in an address.
func requestedBatch(c *gin.Context) (name string, id int, ok bool) {
	if name, ok = runbookName(c); ok {
		id, ok = batchID(c)
	}
	return name, id, ok
}

func (a *server) getPipelineBatch(c *gin.Context) {
	name, id, ok := a.ownBatch(c)
	if !ok {
		return
	}
	view, err := a.Pipelines.PipelineBatch(c.Request.Context(), name, id)
	respond(c, view, err)
}

func (a *server) getPipelineResult(c *gin.Context) {
	name, id, ok := a.ownBatch(c)
	if !ok {
		return
	}
	view, err := a.Pipelines.PipelineResult(c.Request.Context(), callerOf(c), name, id)
	respond(c, view, err)
}

func (a *server) getLatestResult(c *gin.Context) {
	name, owner, ok := a.readableOwner(c, "read a result of")
	if !ok {
		return
	}
	view, err := a.Pipelines.LatestResult(c.Request.Context(), callerOf(c), name, owner)
	respond(c, view, err)
}

// readableOwner reads the names of the runbook and of an owner whose batches the caller may read. It says
// what the caller may not do otherwise.
func (a *server) readableOwner(c *gin.Context, to string) (name, owner string, ok bool) {
	if name, ok = runbookName(c); !ok {
		return "", "", false
	}
	owner = c.MustGet(keyQuery).(url.Values).Get("owner")
	if owner == "" {
		invalid(c, "the query parameter owner is missing: name who the result is for")
		return "", "", false
	}
	if !identityOf(c).MayFor(signin.Read, owner) {
		refuseOwner(c, to)
		return "", "", false
	}
	return name, owner, true
}

// refuseOwner refuses what a caller may do for themselves only.
func refuseOwner(c *gin.Context, to string) {
	if identityOf(c).Owner == "" {
		refuse(c, http.StatusForbidden, api.CodeForbidden, "%s may not %s any owner: the token has no sign-in name", callerOf(c).Name, to)
		return
	}
	refuse(c, http.StatusForbidden, api.CodeForbidden, "%s may not %s another owner: the role %s is for the owner %q, and %s for all", callerOf(c).Name, to, signin.RoleRequester, identityOf(c).Owner, signin.RoleRequesterForAll)
}

// ownBatch reads the id of a batch that the caller may read. To a caller who may read only their own it is as if there
// were no others.
func (a *server) ownBatch(c *gin.Context) (name string, id int, ok bool) {
	return a.batchFor(c, signin.Read)
}

// batchFor reads the id of a batch with which the caller may do what the permission allows for all owners.
func (a *server) batchFor(c *gin.Context, permission signin.Permission) (name string, id int, ok bool) {
	name, id, ok = requestedBatch(c)
	identity := identityOf(c)
	if !ok || identity.MayForAll(permission) {
		return name, id, ok
	}
	view, err := a.Pipelines.PipelineBatch(c.Request.Context(), name, id)
	switch {
	case err != nil && problem.CodeOf(err) != api.CodeNotFound:
		fail(c, err)
	case err != nil || !identity.MayFor(permission, view.Owner):
		refuse(c, http.StatusNotFound, api.CodeNotFound, "pipeline %q has no batch %d of the owner %q", name, id, identity.Owner)
	default:
		return name, id, true
	}
	return name, id, false
}
