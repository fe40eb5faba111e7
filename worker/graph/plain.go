package graph

import (
	"context"
	"encoding/json"
	"net/url"

	abstractions "github.com/microsoft/kiota-abstractions-go"

	"github.com/matoolkit/matoolkit/worker/throttle"
)

// send makes a request whose body the SDK has no type for, or whose null values it would leave out, and
// ignores what comes back. A nil body is none. path begins with the version of the API.
func (c *Client) send(ctx context.Context, pace throttle.Policy, method abstractions.HttpMethod, path string, body any) error {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return err
		}
	}
	target, err := url.Parse(c.url + path)
	if err != nil {
		return err
	}
	return c.do(ctx, pace, func(ctx context.Context) error {
		request := abstractions.NewRequestInformation()
		request.Method = method
		request.SetUri(*target)
		if raw != nil {
			request.SetStreamContentAndContentType(raw, "application/json")
		}
		return c.graph.SendNoContent(ctx, request, graphErrors)
	})
}
