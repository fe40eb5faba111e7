package apiclient_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
)

// versionCalls is every call about versions of runbooks.
var versionCalls = []sending{
	{"Versions", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Versions(ctx, "my moves", api.ListOptions{Limit: 5, Continuation: "t"})
		return err
	}, "GET /api/runbooks/my%20moves/versions?continuationToken=t&limit=5"},
	{"Version", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Version(ctx, "moves", 3)
		return err
	}, "GET /api/runbooks/moves/versions/3"},
	{"Deactivate", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Deactivate(ctx, "moves", 3, "", "")
		return err
	}, "DELETE /api/runbooks/moves/versions/3"},
	{"Deactivate with a reason", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Deactivate(ctx, "moves", 3, "a & b", "")
		return err
	}, "DELETE /api/runbooks/moves/versions/3?reason=a+%26+b"},
}

func TestATagIsAskedForInQuotes(t *testing.T) {
	t.Parallel()
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("If-Match"))
		answer(412, "application/problem+json", `{"status":412,"detail":"look again","error":"changed"}`)(w)
	}))
	t.Cleanup(s.Close)
	c, _ := client(t, s.URL)
	for _, tag := range []string{"", "v1"} {
		if _, err := c.Deactivate(t.Context(), "moves", 3, "", tag); err == nil {
			t.Error("no error")
		}
	}
	if len(got) != 2 || got[0] != "" || got[1] != `"v1"` {
		t.Errorf("If-Match %q", got)
	}
}
