package apiclient_test

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
)

// controlCalls is every call that steers a batch.
var controlCalls = []sending{
	{"Cancel", true, func(ctx context.Context, c *apiclient.Client) error { _, err := c.Cancel(ctx, 7, ""); return err }, "POST /api/batches/7/cancel"},
	{"Pause", true, func(ctx context.Context, c *apiclient.Client) error { _, err := c.Pause(ctx, 7, ""); return err }, "POST /api/batches/7/pause"},
	{"Resume", true, func(ctx context.Context, c *apiclient.Client) error { _, err := c.Resume(ctx, 7, ""); return err }, "POST /api/batches/7/resume"},
	{"Approve", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Approve(ctx, 7, "cut over", "")
		return err
	}, `POST /api/batches/7/approve {"phase":"cut over"}`},
	{"Reschedule", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Reschedule(ctx, 7, "2026-03-09", "late", true)
		return err
	}, `POST /api/batches/7/reschedule {"batchStartTime":"2026-03-09","dryRun":true,"reason":"late"}`},
	{"Preview of an advance", true, preview(api.ProposedAction{Name: api.ActionAdvance, Phase: "move"}), `POST /api/batches/7/advance {"phase":"move","dryRun":true}`},
	{"Preview of a cancellation", true, preview(api.ProposedAction{Name: api.ActionCancel, Why: "x"}), `POST /api/batches/7/cancel {"dryRun":true,"reason":"x"}`},
	{"Preview of a confirmation", true, preview(api.ProposedAction{Name: api.ActionConfirmRemovals, Revision: "r1"}), `POST /api/batches/7/removals/confirm {"revision":"r1","dryRun":true}`},
	{"Preview of a move", true, preview(api.ProposedAction{Name: api.ActionMoveMembers}), `POST /api/batches/7/removals/move {"dryRun":true}`},
	{"Preview of a skipped step", true, preview(api.ProposedAction{Name: api.RepairSkip, Step: 20000002000}), `POST /api/batches/7/steps/20000002000/skip {"dryRun":true}`},
	{"PreviewCheck", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.PreviewCheck(ctx, 7, "ada@x")
		return err
	}, `POST /api/batches/7/check {"member":"ada@x","dryRun":true}`},
	{"PreviewAdditions", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.PreviewAdditions(ctx, "moves", "r1")
		return err
	}, `POST /api/runbooks/moves/additions/confirm {"revision":"r1","dryRun":true}`},
	{"Repair", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Repair(ctx, 7, api.Repair{})
		return err
	}, "POST /api/batches/7/retry {}"},
	{"SkipStep", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.SkipStep(ctx, 7, 20000002000, "x")
		return err
	}, `POST /api/batches/7/steps/20000002000/skip {"reason":"x"}`},
	{"MarkStepDone", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.MarkStepDone(ctx, 7, 20000002000, nil, "x")
		return err
	}, `POST /api/batches/7/steps/20000002000/done {"reason":"x"}`},
	{"AddMembers", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.AddMembers(ctx, 7, []byte("Key\n"))
		return err
	}, "POST /api/batches/7/members"},
	{"RemoveMember", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.RemoveMember(ctx, 7, "3", "has left & gone")
		return err
	}, "DELETE /api/batches/7/members/3?reason=has+left+%26+gone"},
}

func preview(action api.ProposedAction) func(context.Context, *apiclient.Client) error {
	return func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Preview(ctx, 7, action)
		return err
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		call        func(context.Context, *apiclient.Client) error
		media, body string
	}{
		"without a reason": {
			func(ctx context.Context, c *apiclient.Client) error { _, err := c.Cancel(ctx, 7, ""); return err },
			"", "",
		},
		"with a reason": {
			func(ctx context.Context, c *apiclient.Client) error { _, err := c.Pause(ctx, 7, "x"); return err },
			"application/json", `{"reason":"x"}`,
		},
		"a selection": {
			func(ctx context.Context, c *apiclient.Client) error {
				_, err := c.Repair(ctx, 7, api.Repair{Selection: api.Selection{Members: []int{3}, Phase: "move", Step: "copy", Error: "timeout"}, Reason: "x"})
				return err
			},
			"application/json", `{"memberIds":["id:3"],"phase":"move","step":"copy","error":"timeout","reason":"x"}`,
		},
		"a member by key": {
			func(ctx context.Context, c *apiclient.Client) error {
				_, err := c.Repair(ctx, 7, api.Repair{MemberRefs: []string{"ada@contoso.com"}, DryRun: true})
				return err
			},
			"application/json", `{"memberIds":["ada@contoso.com"],"dryRun":true}`,
		},
		"all failed members": {
			func(ctx context.Context, c *apiclient.Client) error {
				_, err := c.Repair(ctx, 7, api.Repair{})
				return err
			},
			"application/json", `{}`,
		},
		"a result": {
			func(ctx context.Context, c *apiclient.Client) error {
				_, err := c.MarkStepDone(ctx, 7, 5, json.RawMessage(`[1]`), "x")
				return err
			},
			"application/json", `{"result":[1],"reason":"x"}`,
		},
		"a runbook": {
			func(ctx context.Context, c *apiclient.Client) error {
				_, err := c.PublishRunbook(ctx, []byte("name: \xff"))
				return err
			},
			"application/yaml", "name: \xff",
		},
		"a runbook with options": {
			func(ctx context.Context, c *apiclient.Client) error {
				_, err := c.PublishWith(ctx, []byte("name: \xff"), api.PublishOptions{Overdue: api.OverdueRerun, RerunInit: true})
				return err
			},
			"application/yaml", "name: \xff",
		},
	} {
		var media, body string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			media, body = r.Header.Get("Content-Type"), string(data)
			answer(200, "application/json", "{}")(w)
		}))
		c, _ := client(t, s.URL)
		if err := tt.call(t.Context(), c); err != nil || media != tt.media || body != tt.body {
			t.Errorf("%s: sent %s %q (%v), want %s %q", name, media, body, err, tt.media, tt.body)
		}
		s.Close()
	}
}

func TestMembersAreSentAsAForm(t *testing.T) {
	t.Parallel()
	var parts map[string]string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts = map[string]string{}
		_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		form := multipart.NewReader(r.Body, params["boundary"])
		for part, err := form.NextPart(); err == nil; part, err = form.NextPart() {
			data, _ := io.ReadAll(part)
			parts[part.FormName()] = string(data)
		}
		answer(200, "application/json", "{}")(w)
	}))
	t.Cleanup(s.Close)
	c, _ := client(t, s.URL)
	if _, err := c.AddMembers(t.Context(), 7, []byte("Key\nu1\n")); err != nil || len(parts) != 1 || parts["file"] != "Key\nu1\n" {
		t.Errorf("sent %q, %v", parts, err)
	}
	if _, err := c.CreateBatch(t.Context(), "moves", []byte("Key\n")); err != nil || len(parts) != 2 || parts["runbook"] != "moves" || parts["file"] != "Key\n" {
		t.Errorf("sent %q, %v", parts, err)
	}
}
