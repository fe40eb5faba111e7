package apiclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Versions lists the versions of a runbook, the newest first.
func (c *Client) Versions(ctx context.Context, runbook string, o api.ListOptions) (api.Page[api.RunbookVersion], error) {
	return list[api.RunbookVersion](ctx, c, o, "runbooks", runbook, "versions")
}

// Version gets a version of a runbook, active or not.
func (c *Client) Version(ctx context.Context, runbook string, version int) (api.RunbookVersion, error) {
	return ask[api.RunbookVersion](ctx, c, get(versionPath(runbook, version)...))
}

// Deactivate leaves a runbook without an active version, where this one is. With a tag,
// only where the version still has it. Asking twice does what asking once does.
func (c *Client) Deactivate(ctx context.Context, runbook string, version int, why, tag string) (api.RunbookVersion, error) {
	k := call{method: http.MethodDelete, path: versionPath(runbook, version), ifMatch: tag, repeatable: true}
	if why != "" {
		k.query = url.Values{"reason": {why}}
	}
	return ask[api.RunbookVersion](ctx, c, k)
}

func versionPath(runbook string, version int) []string {
	return []string{"runbooks", runbook, "versions", strconv.Itoa(version)}
}
