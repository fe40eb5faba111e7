package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

const revoke = "POST /users/{user}/revokeSignInSessions"

func request(t *testing.T, w *world, again bool, params map[string]any) (any, *catalog.Failure) {
	t.Helper()
	ctx := catalog.WithJob(t.Context(), catalog.Job{ID: "job-1", Redelivered: again})
	answer, err := w.Call(ctx, "Invoke-GraphRequest", testenv.Must(json.Marshal(params))(t))
	var f *catalog.Failure
	if err != nil && !errors.As(err, &f) {
		t.Fatalf("failed with %T: %v, not with a *catalog.Failure", err, err)
	}
	return answer, f
}

func (w *world) made(op string) (n int) {
	for _, times := range w.Requests()["graph "+op] {
		n += times
	}
	return n
}

func TestAPostWithoutCheckIsMadeOnce(t *testing.T) {
	t.Parallel()
	post := map[string]any{"Method": "POST", "Path": "/v1.0/users/" + adaID + "/revokeSignInSessions"}
	for _, tc := range []struct {
		note  string
		fault tenant.Fault
		again bool
		made  int
		says  string // of the failure; empty for none
	}{
		{"answered", tenant.Fault{Op: "nothing", Status: 500}, false, 1, ""},
		{"throttled", tenant.Fault{Op: revoke, Status: 429, Count: 2}, false, 3, ""},
		{"refused for a while", tenant.Fault{Op: revoke, Status: 503}, false, 1, "may have been made"},
		{"cut off after the write", tenant.Fault{Op: revoke, Drop: true, AfterWrite: true}, false, 1, "may have been made"},
		{"redelivered", tenant.Fault{Op: "nothing", Status: 500}, true, 0, "repeats only with CheckPath"},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			w := start(t, tc.fault)
			answer, failure := request(t, w, tc.again, post)
			if tc.says == "" && (failure != nil || answer.(map[string]any)["value"] != true) {
				t.Errorf("got %v, %v", answer, failure)
			}
			if tc.says != "" && (failure == nil || !strings.Contains(failure.Message, tc.says)) {
				t.Errorf("got %v, %v, want a failure with %q", answer, failure, tc.says)
			}
			if n := w.made(revoke); n != tc.made {
				t.Errorf("it was made %d times, want %d", n, tc.made)
			}
		})
	}
}

// With a lag, a redelivery does not see at once what the first delivery did.
func TestAPostWithCheckWaitsForTheFirstDelivery(t *testing.T) {
	t.Parallel()
	const add = "POST /groups/{group}/members/$ref"
	w := start(t, tenant.Fault{Op: add, Drop: true, AfterWrite: true, Count: 1})
	params := map[string]any{
		"Method": "POST", "Path": "/v1.0/groups/" + groupID + "/members/$ref",
		"Body":      map[string]any{"@odata.id": "https://graph.microsoft.com/v1.0/directoryObjects/" + adaID},
		"CheckPath": "/v1.0/groups/" + groupID + "/members?$select=id", "CheckExpected": map[string]any{"value": []any{map[string]any{"id": adaID}}},
	}
	for _, again := range []bool{false, true, false} {
		if answer, failure := request(t, w, again, params); failure != nil || answer == true {
			t.Fatalf("got %v, %v", answer, failure)
		}
	}
	if n := w.made(add); n != 1 {
		t.Errorf("it was made %d times", n)
	}
}

func TestACheckThatNeverShowsTheResultFails(t *testing.T) {
	t.Parallel()
	w := start(t)
	_, failure := request(t, w, false, map[string]any{
		"Method": "PATCH", "Path": "/v1.0/users/" + adaID, "Body": map[string]any{"department": "Navy"},
		"CheckPath": "/v1.0/users/" + adaID + "?$select=department", "CheckExpected": map[string]any{"department": "Army"},
	})
	if failure == nil || failure.Type != catalog.FailureConflict || !strings.Contains(failure.Message, `department is "Navy", expected "Army"`) {
		t.Errorf("got %v", failure)
	}
}

// What a row puts into a path must not turn the request into another one that is allowed.
func TestAValueDoesNotCutAPathShort(t *testing.T) {
	t.Parallel()
	const ref, members = "/manager/$ref", "/members?$select=id"
	for _, tc := range []struct {
		note, method, path string
		kind, says         string
	}{
		{"a semicolon", "DELETE", "/v1.0/users/" + adaID + "?;" + ref, catalog.FailureParameters, "query"},
		{"a bad escape", "DELETE", "/v1.0/users/" + adaID + "?%zz" + ref, catalog.FailureParameters, "query"},
		{"a question mark", "DELETE", "/v1.0/users/" + adaID + "?" + ref, catalog.FailureNotConfigured, "query option /manager/$ref"},
		{"a question mark in an allowed write", "DELETE", "/v1.0/groups/" + groupID + "?$x=" + ref, catalog.FailureNotConfigured, "query"},
		{"a question mark in an allowed read", "GET", "/v1.0/groups/" + groupID + "?" + ref, catalog.FailureNotConfigured, "query option /manager/$ref"},
		{"a query in the place of a query", "GET", "/v1.0/groups/" + groupID + "?$select=id" + members, catalog.FailureParameters, "query"},
		{"a query before a path", "GET", "/v1.0/groups/" + groupID + "?$select=id/members", catalog.FailureParameters, "$select has a slash"},
		{"a query before a path in the second of two", "GET", "/v1.0/groups/" + groupID + "?$select=id&$select=id/members", catalog.FailureParameters, "$select is given twice"},
		{"a filter before a path", "GET", "/v1.0/groups/" + groupID + "?$filter=id/members", catalog.FailureNotConfigured, "query option $filter"},
		{"a list in the place of an object", "GET", "/v1.0/groups/delta", catalog.FailureNotConfigured, "GRAPH_REQUESTS"},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			other := w.allowing(t, graph.Requests{Setting: "GRAPH_REQUESTS", Allowed: []string{"DELETE /v1.0/groups/{id}", "GET /v1.0/groups/{id}"}})
			answer, failure := request(t, other, false, map[string]any{"Method": tc.method, "Path": tc.path})
			if failure == nil || failure.Type != tc.kind || !strings.Contains(failure.Message, tc.says) {
				t.Errorf("got %v, %v, want %s with %q", answer, failure, tc.kind, tc.says)
			}
			if made := w.Requests(); len(made) > 0 {
				t.Errorf("it made %v", made)
			}
		})
	}
	w := start(t)
	other := w.allowing(t, graph.Requests{Setting: "GRAPH_REQUESTS", Allowed: []string{"GET /v1.0/groups/{id}", "GET /v1.0/groups?$filter"}})
	if answer, failure := request(t, other, false, map[string]any{"Method": "GET", "Path": "/v1.0/groups?$select=id,displayName&$filter=displayName%20eq%20'none'"}); failure != nil {
		t.Errorf("a named option of an allowed read: got %v, %v", answer, failure)
	}
	if answer, failure := request(t, other, false, map[string]any{"Method": "GET", "Path": "/v1.0/groups/" + groupID + "?$select=displayName"}); failure != nil {
		t.Errorf("options of an allowed read: got %v, %v", answer, failure)
	}
}

// A replica that lags does not show the user who was just made: then the delete has not been made before.
func TestACheckForAbsenceDoesNotTrustTheFirstRead(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		clock := testenv.NewClock()
		server := testenv.Started(tenant.Start(t.Context(), tenant.Config{Lag: 5 * time.Second, Now: clock.Now, Seed: &tenant.Seed{}}))(t)
		policy := throttle.Default()
		policy.Now, policy.Sleep = clock.Now, func(_ context.Context, d time.Duration) error {
			clock.Advance(d)
			return nil
		}
		client := testenv.Must(graph.New(graph.Config{
			URL: server.URL(), Scope: "https://graph.microsoft.com/.default", Credential: &credential{}, Policy: policy, HTTP: &http.Client{},
			Requests: graph.Requests{Allowed: []string{"DELETE /v1.0/users/{id}"}},
		}))(t)
		w := &world{Server: server, Catalog: testenv.Must(catalog.New(client.Functions()...))(t)}
		made, failure := request(t, w, false, map[string]any{"Method": "POST", "Path": "/v1.0/users", "Body": map[string]any{
			"accountEnabled": true, "displayName": "Eve", "mailNickname": "eve", "userPrincipalName": "eve@contoso.example",
			"passwordProfile": map[string]any{"password": "Pa55word-Of-Eve"},
		}})
		if failure != nil {
			t.Fatal(failure)
		}
		path := "/v1.0/users/" + made.(map[string]any)["id"].(string)
		for range 2 { // the second finds no user
			answer, failure := request(t, w, again, map[string]any{"Method": "DELETE", "Path": path, "CheckPath": path + "?$select=id"})
			if failure != nil || answer != true {
				t.Errorf("redelivered %v: got %v, %v", again, answer, failure)
			}
			if n := w.made("DELETE /users/{user}"); n != 1 {
				t.Errorf("redelivered %v: it was made %d times", again, n)
			}
		}
	}
}

// allowing is the world of a worker that may make other requests.
func (w *world) allowing(t *testing.T, requests graph.Requests) *world {
	t.Helper()
	client := testenv.Must(graph.New(graph.Config{
		URL: w.URL(), Scope: "https://graph.microsoft.com/.default", Credential: w.credential, HTTP: &http.Client{}, Requests: requests,
		Policy: throttle.Policy{Sleep: func(context.Context, time.Duration) error { return nil }},
	}))(t)
	return &world{Server: w.Server, Catalog: testenv.Must(catalog.New(client.Functions()...))(t)}
}

func TestWorkersAllowMoreRequestsOrNone(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, tc := range []struct {
		requests graph.Requests
		says     string
	}{
		{graph.Requests{Setting: "GRAPH_REQUESTS"}, `to allow it, add it to the worker's setting GRAPH_REQUESTS, such as "GET /v1.0/groups/{id}"`},
		{graph.Requests{Setting: "GRAPH_REQUESTS", Allowed: []string{"DELETE /v1.0/groups/{id}", "GET /beta/groups/{id}"}}, "GRAPH_REQUESTS"},
		{graph.Requests{Setting: "GRAPH_REQUESTS", None: true}, "by its setting GRAPH_REQUESTS"},
		{graph.Requests{Setting: "GRAPH_REQUESTS", Allowed: []string{"GET /v1.0/groups/{id}"}}, ""},
	} {
		answer, failure := request(t, w.allowing(t, tc.requests), false, map[string]any{"Method": "GET", "Path": "/v1.0/groups/" + groupID})
		switch {
		case tc.says == "" && (failure != nil || answer.(map[string]any)["displayName"] != "Pilots"):
			t.Errorf("got %v, %v", answer, failure)
		case tc.says != "" && (failure == nil || failure.Type != catalog.FailureNotConfigured || !strings.Contains(failure.Message, tc.says)):
			t.Errorf("got %v, %v, want %q", answer, failure, tc.says)
		}
	}
	for _, described := range []string{"/v1.0/groups", "FETCH /v1.0/groups", "GET /groups", "GET /v1.0/groups?$top=1", "GET /v1.0/groups?;", "GET /v1.0//groups", "GET https://graph.microsoft.com/v1.0/groups"} {
		if graph.CheckRequest(described) == nil {
			t.Errorf("%q is taken for a request", described)
		}
	}
	if err := graph.CheckRequest("DELETE /v1.0/groups/{id}/members/{id}/$ref"); err != nil {
		t.Error(err)
	}
}

// What these reads answer, such as phone numbers, no function returns.
func TestReadsThatShowMoreThanTheirFunctionsAreNotMade(t *testing.T) {
	t.Parallel()
	w := start(t)
	for path, function := range map[string]string{
		"/v1.0/users/" + adaID + "/authentication/methods":                                  "Test-EntraUserAuthenticationMethods",
		"/v1.0/identity/conditionalAccess/policies?$select=id,displayName,state,conditions": "Test-EntraConditionalAccessExclusion",
	} {
		answer, failure := request(t, w.allowing(t, graph.Requests{Setting: "GRAPH_REQUESTS"}), false, map[string]any{"Method": "GET", "Path": path})
		if failure == nil || failure.Type != catalog.FailureNotConfigured || !strings.Contains(failure.Message, "only "+function) {
			t.Errorf("%s: got %v, %v, want %s named", path, answer, failure, function)
		}
	}
	if made := w.Requests(); len(made) > 0 {
		t.Errorf("it made %v", made)
	}
}
