package adminhttp_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/time/rate"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/signin"
)

// byRole accepts the name of a role as the token of a caller with that role.
type byRole struct{}

func (byRole) Verify(_ context.Context, header string) (signin.Identity, error) {
	return signin.Identity{Name: "kim@contoso", Roles: []string{strings.TrimPrefix(header, "Bearer ")}}, nil
}

// A view shows an action as not allowed to a role exactly where the route of the action refuses the role,
// and for the reason that the route gives.
func TestAViewAllowsWhatTheRoutesAllowARole(t *testing.T) {
	t.Parallel()
	routes := map[string]string{
		"advance": "POST /api/batches/1/advance", "pause": "POST /api/batches/1/pause", "resume": "POST /api/batches/1/resume",
		"cancel": "POST /api/batches/1/cancel", "reschedule": "POST /api/batches/1/reschedule", "update_batch": "PATCH /api/batches/1",
		"add_members": "POST /api/batches/1/members", "check": "POST /api/batches/1/check", "approve": "POST /api/batches/1/approve",
		"retry": "POST /api/batches/1/retry", "skip_step": "POST /api/batches/1/steps/7/skip", "mark_done": "POST /api/batches/1/steps/7/done",
		"correct_member": "PATCH /api/batches/1/members/7", "remove_member": "DELETE /api/batches/1/members/7", "move_member": "POST /api/batches/1/move",
		"confirm_removals": "POST /api/batches/1/removals/confirm", "move_members": "POST /api/batches/1/removals/move",
		"discard_removals": "POST /api/batches/1/removals/discard",
	}
	names := adminhttp.ActionNames()
	if len(names) != len(routes) {
		t.Errorf("%d actions, and %d in this test", len(names), len(routes))
	}
	r := &recorder{}
	h := adminhttp.New(adminhttp.Config{UseCases: r.useCases(), Verifier: byRole{}, Log: slog.New(slog.DiscardHandler), Rate: rate.Inf})
	ask := func(role, route string, into any) int {
		method, path, _ := strings.Cut(route, " ")
		request := httptest.NewRequest(method, path, nil)
		request.Header.Set("Authorization", "Bearer "+role)
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, request)
		body, err := io.ReadAll(answer.Body)
		check(t, err)
		if _, problem := into.(*api.Problem); !problem || answer.Code == http.StatusForbidden {
			check(t, json.Unmarshal(body, into))
		}
		return answer.Code
	}
	for _, role := range signin.Roles {
		for _, view := range []string{"GET /api/batches/1", "GET /api/batches/1/members/7", "GET /api/batches/1/steps/7"} {
			var shown struct{ Actions []api.Action }
			if role == signin.RoleRequester || role == signin.RoleRequesterForAll {
				if status := ask(role, view, &shown); status != http.StatusForbidden {
					t.Errorf("%s for the role %s: %d", view, role, status)
				}
				continue
			}
			if status := ask(role, view, &shown); status != http.StatusOK || len(shown.Actions) != len(names) {
				t.Fatalf("%s: %d, %+v", view, status, shown)
			}
			for _, one := range shown.Actions {
				var refusal api.Problem
				forbidden := ask(role, routes[one.Name], &refusal) == http.StatusForbidden
				if one.Allowed == forbidden || forbidden && one.Reason != refusal.Detail {
					t.Errorf("%s in %s for the role %s: %+v, and the route says %+v", one.Name, view, role, one, refusal)
				}
			}
		}
	}
}
