package adminhttp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
)

func (r fakeAutomation) Automation(_ context.Context, by audit.Caller, name string) (api.Automation, error) {
	return api.Automation{RunbookName: name, ETag: "e1"}, r.note("Automation %s %q", by.Name, name)
}

func (r fakeAutomation) SetAutomation(_ context.Context, by audit.Caller, name string, enabled bool, tags ...string) (api.Automation, error) {
	return api.Automation{RunbookName: name, Enabled: enabled, ETag: "e2"}, r.note("SetAutomation %s %q %t %q", by.Name, name, enabled, tags)
}

func (r fakeAutomation) EnableAutomation(_ context.Context, by audit.Caller, name, revision string, tags ...string) (api.Automation, error) {
	return api.Automation{RunbookName: name, Enabled: true, ETag: "e2"}, r.note("EnableAutomation %s %q %q %q", by.Name, name, revision, tags)
}

func (r fakeAutomation) PreviewQuery(_ context.Context, by audit.Caller, name string, sample int) (api.QueryPreview, error) {
	view := api.QueryPreview{RunbookName: name, Sample: []map[string]json.RawMessage{{"Due": json.RawMessage("null")}}}
	return view, r.note("PreviewQuery %s %q %d", by.Name, name, sample)
}

func (r fakeMembers) HeldRemovals(_ context.Context, by audit.Caller, batch int, o api.ListOptions) (api.RemovalHold, error) {
	return api.RemovalHold{RemovalHoldSummary: api.RemovalHoldSummary{BatchID: batch, Since: time.Unix(0, 0)}, Revision: "r1"}, r.note("HeldRemovals %s %d %s", by.Name, batch, shown(o))
}

func (r fakeAutomation) HeldAdditions(_ context.Context, by audit.Caller, name string, o api.ListOptions) (api.AdditionHold, error) {
	return api.AdditionHold{RunbookName: name, AdditionHoldSummary: api.AdditionHoldSummary{Revision: "r1"}}, r.note("HeldAdditions %s %q %s", by.Name, name, shown(o))
}

func (r fakeAutomation) PreviewAdditions(_ context.Context, name, revision, why string) (api.Preview, error) {
	return api.Preview{Runbook: name, Action: api.ActionConfirmAdditions, Phases: []api.PhasePreview{}}, r.note("PreviewAdditions %q %q %q", name, revision, why)
}

func (r fakeAutomation) ConfirmAdditions(_ context.Context, by audit.Caller, name, revision, why string) (api.AdditionsConfirmation, error) {
	view := api.AdditionsConfirmation{RunbookName: name, Revision: revision, Confirmed: &api.Attribution{By: by.Name}}
	return view, r.note("ConfirmAdditions %s %q %q %q", by.Name, name, revision, why)
}

func (r fakeAutomation) PreviewDiscard(_ context.Context, name, revision, why string) (api.Preview, error) {
	return api.Preview{Runbook: name, Action: api.ActionDiscardAdditions, Phases: []api.PhasePreview{}}, r.note("PreviewDiscard %q %q %q", name, revision, why)
}

func (r fakeAutomation) DiscardAdditions(_ context.Context, by audit.Caller, name, revision, why string) (api.AdditionsDiscard, error) {
	view := api.AdditionsDiscard{RunbookName: name, Revision: revision, People: 3, Discarded: api.Attribution{By: by.Name}}
	return view, r.note("DiscardAdditions %s %q %q %q", by.Name, name, revision, why)
}

func (r fakeMembers) ConfirmRemovals(_ context.Context, by audit.Caller, batch int, revision, why string) (api.Batch, error) {
	view := api.Batch{ID: batch, Held: &api.RemovalHoldSummary{BatchID: batch, Confirmed: &api.Attribution{By: by.Name}}}
	return view, r.note("ConfirmRemovals %s %d %q %q", by.Name, batch, revision, why)
}

func (r fakeMembers) MoveMembers(_ context.Context, by audit.Caller, batch int, revision, why string) (api.Batch, error) {
	return api.Batch{ID: batch}, r.note("MoveMembers %s %d %q %q", by.Name, batch, revision, why)
}

func (r fakeMembers) DiscardRemovals(_ context.Context, by audit.Caller, batch int, revision, why string) (api.Batch, error) {
	return api.Batch{ID: batch, DiscardedRemovals: 3}, r.note("DiscardRemovals %s %d %q %q", by.Name, batch, revision, why)
}

// automationRoutes is every route about batches that are made by themselves.
func automationRoutes() []route {
	send := func(method, path, body string) request {
		media := ""
		if body != "" {
			media = jsonMedia
		}
		return request{method, "/api/" + path, "", media, body}
	}
	return []route{
		{send("GET", "runbooks/my%20moves/automation", ""), false, 200, `Automation CALLER "my moves"`, `"automationEnabled":false`},
		{send("PUT", "runbooks/rb/automation", `{"enabled":true}`), true, 200, `SetAutomation avery@contoso "rb" true []`, `"automationEnabled":true`},
		{send("PUT", "runbooks/rb/automation", `{"enabled":false}`), true, 200, `SetAutomation avery@contoso "rb" false []`, `"automationEnabled":false`},
		{send("PUT", "runbooks/rb/automation", `{"enabled":true,"revision":"r1"}`), true, 200, `EnableAutomation avery@contoso "rb" "r1" []`, `"automationEnabled":true`},
		{send("POST", "runbooks/rb/query/preview", ""), true, 200, `PreviewQuery avery@contoso "rb" 0`, `"sample":[{"Due":null}]`},
		{send("POST", "runbooks/rb/query/preview", "{}"), true, 200, `PreviewQuery avery@contoso "rb" 0`, `"runbook":"rb"`},
		{send("POST", "runbooks/rb/query/preview", `{"limit":1000}`), true, 200, `PreviewQuery avery@contoso "rb" 1000`, `"runbook":"rb"`},
		{send("GET", "runbooks/rb/additions", ""), false, 200, `HeldAdditions CALLER "rb" {}`, `"revision":"r1"`},
		{send("GET", "runbooks/rb/additions?limit=2&continuationToken=l-2", ""), false, 200, `HeldAdditions CALLER "rb" {Limit:2 Continuation:l-2}`, `"revision":"r1"`},
		{
			send("POST", "runbooks/rb/additions/confirm", `{"reason":"wave 1","revision":"r1"}`),
			true, 200,
			`ConfirmAdditions avery@contoso "rb" "r1" "wave 1"`, `"confirmed":{"by":"avery@contoso"`,
		},
		{send("POST", "runbooks/rb/additions/confirm", `{"revision":"r1","dryRun":true}`), true, 200, `PreviewAdditions "rb" "r1" ""`, `"action":"confirm_additions"`},
		{send("POST", "runbooks/rb/additions/discard", `{"reason":"a broken query","revision":"r1"}`), true, 200, `DiscardAdditions avery@contoso "rb" "r1" "a broken query"`, `"discarded":{"by":"avery@contoso"`},
		{send("POST", "runbooks/rb/additions/discard", `{"revision":"r1","dryRun":true}`), true, 200, `PreviewDiscard "rb" "r1" ""`, `"action":"discard_additions"`},
		{send("POST", "runbooks/rb/additions/confirm", ""), true, 200, `ConfirmAdditions avery@contoso "rb" "" ""`, `"runbook":"rb"`},
		{
			send("GET", "batches/7/removals?limit=2&continuationToken=2", ""),
			false, 200,
			"HeldRemovals CALLER 7 {Limit:2 Continuation:2}", `"revision":"r1"`,
		},
		{send("POST", "batches/7/removals/confirm", ""), true, 202, `ConfirmRemovals avery@contoso 7 "" ""`, `"confirmed":{"by":"avery@contoso"`},
		{
			send("POST", "batches/7/removals/confirm", `{"reason":" they have left ","revision":"r1"}`),
			true, 202,
			`ConfirmRemovals avery@contoso 7 "r1" "they have left"`, `"confirmed":`,
		},
		{send("POST", "batches/7/removals/move", `{"revision":"r1","reason":"postponed"}`), true, 202, `MoveMembers avery@contoso 7 "r1" "postponed"`, `"id":7`},
		{send("POST", "batches/7/removals/discard", `{"revision":"r1"}`), true, 200, `DiscardRemovals avery@contoso 7 "r1" ""`, `"discardedRemovals":3`},
	}
}

func TestConfirmedRemovalsLeadToTheBatch(t *testing.T) {
	t.Parallel()
	w := newFixture().send(request{"POST", "/api/batches/7/removals/confirm", "admin", "", ""})
	if got := w.Header().Get("Location"); got != "/api/batches/7" {
		t.Errorf("Location %q", got)
	}
}

func TestRefusedAutomation(t *testing.T) {
	t.Parallel()
	put := func(body string) request {
		return request{"PUT", "/api/runbooks/rb/automation", "admin", jsonMedia, body}
	}
	preview := func(body string) request {
		return request{"POST", "/api/runbooks/rb/query/preview", "admin", jsonMedia, body}
	}
	decide := func(body string) request {
		return request{"POST", "/api/batches/7/removals/confirm", "admin", jsonMedia, body}
	}
	long := strings.Repeat("x", 101)
	for _, tt := range []struct {
		name string
		request
		status int
		code   string
		says   string
	}{
		{"nothing said", put(""), 400, "invalid", `enabled is missing; the body is {"enabled": true}`},
		{"neither on nor off", put("{}"), 400, "invalid", "enabled is missing"},
		{"null", put(`{"enabled":null}`), 400, "invalid", "enabled is missing"},
		{"a word", put(`{"enabled":"yes"}`), 400, "invalid", "enabled is a string"},
		{"as the answer has it", put(`{"automationEnabled":true}`), 400, "invalid", `unknown field "automationEnabled"`},
		{"with a reason", put(`{"enabled":true,"reason":"x"}`), 400, "invalid", `unknown field "reason"`},
		{"off with a revision", put(`{"enabled":false,"revision":"r1"}`), 400, "invalid", "leave it out when you disable automation"},
		{"twice", put(`{"enabled":true}{"enabled":false}`), 400, "invalid", "data after"},
		{"as a form", request{"PUT", "/api/runbooks/rb/automation", "admin", "application/x-www-form-urlencoded", "enabled=true"}, 415, "unsupported_media_type", "application/json"},
		{"too large", put(strings.Repeat(" ", 2000)), 413, "too_large", "the request has 2000 bytes; at most 1024 are allowed"},
		{"a long name", request{"GET", "/api/runbooks/" + long + "/automation", "reader", "", ""}, 404, "not_found", "at most 100 bytes"},
		{"a long name to set", request{"PUT", "/api/runbooks/" + long + "/automation", "admin", jsonMedia, `{"enabled":true}`}, 404, "not_found", ""},
		{"a long name to preview", request{"POST", "/api/runbooks/" + long + "/query/preview", "admin", "", ""}, 404, "not_found", ""},
		{"POST", request{"POST", "/api/runbooks/rb/automation", "admin", jsonMedia, `{"enabled":true}`}, 405, "method_not_allowed", "method not allowed"},

		{"no rows", preview(`{"limit":0}`), 400, "invalid", "invalid limit 0: use 1 to 1000"},
		{"too many rows", preview(`{"limit":1001}`), 400, "invalid", "invalid limit 1001"},
		{"half a row", preview(`{"limit":1.5}`), 400, "invalid", "limit is a number 1.5"},
		{"rows that are null", preview(`{"limit":null}`), 400, "invalid", "limit is null; leave it out"},
		{"another query", preview(`{"query":"SELECT 1"}`), 400, "invalid", `unknown field "query"`},
		{"GET", request{"GET", "/api/runbooks/rb/query/preview", "admin", "", ""}, 405, "method_not_allowed", "use POST"},

		{"additions of a long name", request{"GET", "/api/runbooks/" + long + "/additions", "reader", "", ""}, 404, "not_found", "at most 100 bytes"},
		{"additions confirmed for a long name", request{"POST", "/api/runbooks/" + long + "/additions/confirm", "admin", "", ""}, 404, "not_found", ""},
		{"additions discarded for a long name", request{"POST", "/api/runbooks/" + long + "/additions/discard", "admin", "", ""}, 404, "not_found", ""},
		{"additions discarded by a batch", request{"POST", "/api/runbooks/rb/additions/discard", "admin", jsonMedia, `{"batch":1}`}, 400, "invalid", `unknown field "batch"`},
		{"additions of an empty revision", request{"POST", "/api/runbooks/rb/additions/confirm", "admin", jsonMedia, `{"revision":""}`}, 400, "invalid", "the revision has 0 bytes"},
		{"removals of no batch", request{"GET", "/api/batches/seven/removals", "reader", "", ""}, 404, "not_found", "number"},
		{"removals by status", request{"GET", "/api/batches/7/removals?status=active", "reader", "", ""}, 400, "invalid", "this route has limit, continuationToken"},
		{"a decision on no batch", request{"POST", "/api/batches/0/removals/discard", "admin", "", ""}, 404, "not_found", ""},
		{"an empty revision", decide(`{"revision":""}`), 400, "invalid", "the revision has 0 bytes"},
		{"a revision that is null", decide(`{"revision":null}`), 400, "invalid", "revision is null; leave it out"},
		{"a long revision", decide(`{"revision":"` + long + `"}`), 400, "invalid", "the revision has 101 bytes"},
		{"an empty reason", decide(`{"revision":"r1","reason":" "}`), 400, "invalid", "the reason has 0 characters"},
		{"members of one's own choice", decide(`{"members":[1]}`), 400, "invalid", `unknown field "members"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused(t, tt.request, tt.status, tt.code, tt.says)
		})
	}
}
