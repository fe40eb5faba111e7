package adminhttp_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/problem"
)

func (r fakeBatches) Cancel(_ context.Context, by audit.Caller, batch int, why string) (api.Batch, error) {
	return api.Batch{ID: batch, Status: "cancelling"}, r.note("Cancel %s %d %q", by.Name, batch, why)
}

func (r fakeBatches) Pause(_ context.Context, by audit.Caller, batch int, why string) (api.Batch, error) {
	return api.Batch{ID: batch, Paused: &api.Attribution{By: by.Name, Why: why}}, r.note("Pause %s %d %q", by.Name, batch, why)
}

func (r fakeBatches) Resume(_ context.Context, by audit.Caller, batch int, why string) (api.Batch, error) {
	return api.Batch{ID: batch, Status: "active"}, r.note("Resume %s %d %q", by.Name, batch, why)
}

func (r fakeBatches) Approve(_ context.Context, by audit.Caller, batch int, phase, why string) (api.Phase, error) {
	return api.Phase{Name: phase, Approved: &api.Attribution{By: by.Name}}, r.note("Approve %s %d %q %q", by.Name, batch, phase, why)
}

func (r fakeBatches) Repair(_ context.Context, by audit.Caller, batch int, repair api.Repair) (api.RepairResult, error) {
	return api.RepairResult{BatchID: batch, Action: repair.Action, Task: "t1", Selection: repair.Selection}, r.note("Repair %s %d %+v", by.Name, batch, repair)
}

func (r fakeBatches) Preview(_ context.Context, by audit.Caller, batch int, action api.ProposedAction) (api.Preview, error) {
	return api.Preview{BatchID: batch, Action: action.Name, Phases: []api.PhasePreview{}}, r.note("Preview %s %d %+v", by.Name, batch, action)
}

func (r fakeBatches) Task(_ context.Context, batch int, id string) (api.Task, error) {
	return api.Task{ID: id, BatchID: batch, Status: api.TaskRunning}, r.note("Task %d %q", batch, id)
}

func (r fakeBatches) Check(_ context.Context, by audit.Caller, batch, member int, why string) (api.CheckResult, error) {
	return api.CheckResult{BatchID: batch, MemberID: member, Checks: []string{"free"}}, r.note("Check %s %d %d %q", by.Name, batch, member, why)
}

func (r fakeBatches) Checks(_ context.Context, by audit.Caller, id int, o api.ListOptions) (api.Page[api.Check], error) {
	return api.Page[api.Check]{}, r.note("Checks %s %d %s", by.Name, id, shown(o))
}

func (r fakeSteps) SkipStep(_ context.Context, by audit.Caller, batch int, stepID int64, why string) (api.Step, error) {
	return api.Step{ID: stepID, Status: "skipped"}, r.note("SkipStep %s %d %d %q", by.Name, batch, stepID, why)
}

func (r fakeSteps) MarkStepDone(_ context.Context, by audit.Caller, batch int, stepID int64, result json.RawMessage, why string) (api.Step, error) {
	return api.Step{ID: stepID, Status: "succeeded"}, r.note("MarkStepDone %s %d %d %q %q", by.Name, batch, stepID, result, why)
}

func (r fakeMembers) AddMembersFrom(_ context.Context, by audit.Caller, batch int, csv membercsv.File, options ...api.UploadOption) (api.AddResult, error) {
	r.noteCaller(by)
	view := api.AddResult{Batch: api.Batch{ID: batch}, Added: strings.Count(content(csv), "new")}
	return view, r.note("AddMembers %s %d %q%s", by.Name, batch, content(csv), shownOptions(options))
}

func (r fakeMembers) CheckMembers(_ context.Context, batch int, csv membercsv.File, options ...api.UploadOption) (api.UploadCheck, error) {
	return api.UploadCheck{DryRun: true, BatchID: batch, Delimiter: "comma"}, r.note("CheckMembers %d %q%s", batch, content(csv), shownOptions(options))
}

func (r fakeMembers) RemoveMember(_ context.Context, by audit.Caller, batch, member int, why string) (api.Member, error) {
	return api.Member{ID: member, Status: "removed"}, r.note("RemoveMember %s %d %d %q", by.Name, batch, member, why)
}

func (r fakeMembers) FindMember(_ context.Context, _ int, ref string) (int, error) {
	if ref == "ada@contoso.com" {
		return 3, nil
	}
	if number, err := strconv.Atoi(strings.TrimPrefix(ref, "id:")); err == nil && number > 0 && number < 1<<31 {
		return number, nil
	}
	return 0, problem.New(api.CodeNotFound, "there is no member %q", ref)
}

func (r fakeMembers) Member(_ context.Context, _ audit.Caller, batch, member int) (api.Member, error) {
	return api.Member{ID: member, ETag: "m1", Actions: allActions()}, r.note("Member %d %d", batch, member)
}

func (r fakeMembers) CorrectMember(_ context.Context, by audit.Caller, batch, member int, request api.CorrectionRequest, why string, tags ...string) (api.MemberCorrection, error) {
	view := api.MemberCorrection{Member: api.Member{ID: member, ETag: "m2"}, Changes: []api.ColumnChange{}}
	return view, r.note("CorrectMember %s %d %d %q %q %q %q", by.Name, batch, member, request.Data, request.ClearOverrides, why, tags)
}

func (r fakeMembers) UpdateMembersFrom(_ context.Context, by audit.Caller, batch int, csv membercsv.File, dry bool, why string, _ ...api.UploadOption) (api.MembersUpdate, error) {
	return api.MembersUpdate{BatchID: batch, DryRun: dry}, r.note("UpdateMembers %s %d %q %t %q", by.Name, batch, content(csv), dry, why)
}

// controlRoutes is every route that steers a batch.
func controlRoutes(t *testing.T) []route {
	media, csv := form(t, "file", "Key\nnew\n")
	mediaOld, csvOld := form(t, "file", "Key\nold\n")
	post := func(path, body string) request {
		media := ""
		if body != "" {
			media = jsonMedia
		}
		return request{"POST", "/api/batches/7" + path, "", media, body}
	}
	// The largest reason, in characters and in what JSON makes of them.
	reason := strings.Repeat("ä", api.MaxReason)
	escaped := `{"reason":"` + strings.Repeat(`\uD83D\uDE00`, api.MaxReason) + `"}`
	return []route{
		{post("/cancel", ""), true, 202, `Cancel avery@contoso 7 ""`, `"status":"cancelling"`},
		{post("/cancel", `{"reason":" the merger is off "}`), true, 202, `Cancel avery@contoso 7 "the merger is off"`, `"status":"cancelling"`},
		{post("/pause", `{"reason":"`+reason+`"}`), true, 200, `Pause avery@contoso 7 "` + reason + `"`, `"paused":{"by":"avery@contoso"`},
		{post("/pause", escaped), true, 200, `Pause avery@contoso 7 "` + strings.Repeat("😀", api.MaxReason) + `"`, `"reason":"😀`},
		{post("/pause", `{"dryRun":true}`), true, 200, `Preview avery@contoso 7 {Name:pause Phase: Step:0 Result:[] Member:0 Revision: Why:}`, `"action":"pause"`},
		{post("/cancel", `{"dryRun":true,"reason":"x"}`), true, 200, `Preview avery@contoso 7 {Name:cancel Phase: Step:0 Result:[] Member:0 Revision: Why:x}`, `"action":"cancel"`},
		{post("/advance", `{"phase":"cut","dryRun":true}`), true, 200, `Preview avery@contoso 7 {Name:advance Phase:cut Step:0 Result:[] Member:0 Revision: Why:}`, `"action":"advance"`},
		{post("/approve", `{"phase":"cut","dryRun":true}`), true, 200, `Preview avery@contoso 7 {Name:approve Phase:cut Step:0 Result:[] Member:0 Revision: Why:}`, `"action":"approve"`},
		{post("/steps/20000007001/skip", `{"dryRun":true}`), true, 200, `Preview avery@contoso 7 {Name:skip_step Phase: Step:20000007001 Result:[] Member:0 Revision: Why:}`, `"action":"skip_step"`},
		{post("/steps/20000007001/done", `{"dryRun":true,"result":{}}`), true, 200, `Preview avery@contoso 7 {Name:mark_done Phase: Step:20000007001 Result:[123 125] Member:0 Revision: Why:}`, `"action":"mark_done"`},
		{post("/removals/confirm", `{"dryRun":true,"revision":"r1"}`), true, 200, `Preview avery@contoso 7 {Name:confirm_removals Phase: Step:0 Result:[] Member:0 Revision:r1 Why:}`, `"action":"confirm_removals"`},
		{request{"DELETE", "/api/batches/7/members/3?dryRun=true", "", "", ""}, true, 200, `Preview avery@contoso 7 {Name:remove_member Phase: Step:0 Result:[] Member:3 Revision: Why:}`, `"action":"remove_member"`},
		{post("/resume", "{}"), true, 200, `Resume avery@contoso 7 ""`, `"status":"active"`},
		{post("/reschedule", `{"batchStartTime":"2026-03-09","dryRun":true,"reason":"x"}`), true, 200, `Reschedule avery@contoso 7 "2026-03-09" "x" true`, `"dryRun":true`},
		{request{"PATCH", "/api/batches/7", "", jsonMedia, `{"name":"Wave 3","reason":"x"}`}, true, 200, `UpdateBatch avery@contoso 7 name="Wave 3" "x" []`, `"id":7`},
		{request{"PATCH", "/api/batches/7", "", jsonMedia, `{"note":""}`}, true, 200, `UpdateBatch avery@contoso 7 note="" "" []`, `"etag":"b2"`},
		{post("/approve", `{"phase":"cut / over","reason":"x"}`), true, 200, `Approve avery@contoso 7 "cut / over" "x"`, `"name":"cut / over"`},
		{post("/retry", ""), true, 202, `Repair avery@contoso 7 {Action:retry Selection:{Members:[] Steps:[] Status: Phase: Step: Error: ErrorGroup: Search:} MemberRefs:[] Version: From: Result:[] To:0 Reason: DryRun:false}`, `"task":"t1","selection":{}`},
		{
			post("/retry", `{"memberIds":[3],"status":"failed","phase":"move","step":"copy","error":"Timed out","errorGroup":"g","version":"active","from":"new","reason":"x"}`),
			true, 202,
			`Repair avery@contoso 7 {Action:retry Selection:{Members:[3] Steps:[] Status:failed Phase:move Step:copy Error:Timed out ErrorGroup:g Search:} MemberRefs:[] Version:active From:new Result:[] To:0 Reason:x DryRun:false}`, `"selection":{"memberIds":[3],`,
		},
		{
			post("/retry", `{"memberIds":["ada@contoso.com"]}`),
			true, 202,
			`Repair avery@contoso 7 {Action:retry Selection:{Members:[3] Steps:[] Status: Phase: Step: Error: ErrorGroup: Search:} MemberRefs:[] Version: From: Result:[] To:0 Reason: DryRun:false}`, `"selection":{"memberIds":[3]}`,
		},
		{
			post("/remove", `{"memberIds":["ada@contoso.com",3],"status":"active","search":"a","reason":"x"}`),
			true, 202,
			`Repair avery@contoso 7 {Action:remove_member Selection:{Members:[3 3] Steps:[] Status:active Phase: Step: Error: ErrorGroup: Search:a} MemberRefs:[] Version: From: Result:[] To:0 Reason:x DryRun:false}`, `"action":"remove_member"`,
		},
		{
			post("/move", `{"memberIds":["ada@contoso.com"],"toBatchId":8,"search":"a","reason":"x"}`),
			true, 202,
			`Repair avery@contoso 7 {Action:move_member Selection:{Members:[3] Steps:[] Status: Phase: Step: Error: ErrorGroup: Search:a} MemberRefs:[] Version: From: Result:[] To:8 Reason:x DryRun:false}`, `"action":"move_member"`,
		},
		{post("/skip", `{"stepIds":[20000007001],"dryRun":true}`), true, 200, `Repair avery@contoso 7 {Action:skip_step Selection:{Members:[] Steps:[20000007001] Status: Phase: Step: Error: ErrorGroup: Search:} MemberRefs:[] Version: From: Result:[] To:0 Reason: DryRun:true}`, `"stepIds":[20000007001]`},
		{request{"GET", "/api/batches/7/tasks/t1", "", "", ""}, false, 200, `Task 7 "t1"`, `"status":"running"`},
		{post("/retry", `{"dryRun":true}`), true, 200, `Repair avery@contoso 7 {Action:retry Selection:{Members:[] Steps:[] Status: Phase: Step: Error: ErrorGroup: Search:} MemberRefs:[] Version: From: Result:[] To:0 Reason: DryRun:true}`, `"action":"retry"`},
		{post("/skip", `{"step":"copy","reason":"x"}`), true, 202, `Repair avery@contoso 7 {Action:skip_step Selection:{Members:[] Steps:[] Status: Phase: Step:copy Error: ErrorGroup: Search:} MemberRefs:[] Version: From: Result:[] To:0 Reason:x DryRun:false}`, `"action":"skip_step"`},
		{post("/skip", `{"dryRun":true}`), true, 200, `Repair avery@contoso 7 {Action:skip_step Selection:{Members:[] Steps:[] Status: Phase: Step: Error: ErrorGroup: Search:} MemberRefs:[] Version: From: Result:[] To:0 Reason: DryRun:true}`, `"action":"skip_step"`},
		{
			post("/mark-done", `{"errorGroup":"g","result":{"id":1},"reason":"x"}`),
			true, 202,
			`Repair avery@contoso 7 {Action:mark_done Selection:{Members:[] Steps:[] Status: Phase: Step: Error: ErrorGroup:g Search:} MemberRefs:[] Version: From: Result:[123 34 105 100 34 58 49 125] To:0 Reason:x DryRun:false}`, `"action":"mark_done"`,
		},
		{post("/check", `{"member":"3","dryRun":true}`), true, 200, `Preview avery@contoso 7 {Name:check Phase: Step:0 Result:[] Member:3 Revision: Why:}`, `"action"`},
		{post("/check", ""), true, 202, `Check avery@contoso 7 0 ""`, `"checks":["free"]`},
		{post("/check", `{"member":"3","reason":"corrected"}`), true, 202, `Check avery@contoso 7 3 "corrected"`, `"memberId":3`},
		{post("/steps/20000002000/skip", `{"reason":"x"}`), true, 200, `SkipStep avery@contoso 7 20000002000 "x"`, `"id":20000002000`},
		{post("/steps/9007199254740991/done", `{"reason":"x"}`), true, 200, `MarkStepDone avery@contoso 7 9007199254740991 "" "x"`, `"status":"succeeded"`},
		{
			post("/steps/5/done", `{"result":{"id": [1, null]},"reason":"x"}`),
			true, 200,
			`MarkStepDone avery@contoso 7 5 "{\"id\": [1, null]}" "x"`, `"id":5`,
		},
		{request{"POST", "/api/batches/7/members", "", media, csv}, true, 201, `AddMembers avery@contoso 7 "Key\nnew\n"`, `"added":1`},
		{request{"POST", "/api/batches/7/members?allowInOtherBatches=true", "", media, csv}, true, 201, `AddMembers avery@contoso 7 "Key\nnew\n" in other batches`, `"added":1`},
		{request{"POST", "/api/batches/7/members?dryRun=true&delimiter=bar", "", media, csv}, true, 200, `CheckMembers 7 "Key\nnew\n" by bar`, `"dryRun":true`},
		{request{"POST", "/api/batches/7/members", "", mediaOld, csvOld}, true, 200, `AddMembers avery@contoso 7 "Key\nold\n"`, `"added":0`},
		{request{"DELETE", "/api/batches/7/members/3", "", "", ""}, true, 202, `RemoveMember avery@contoso 7 3 ""`, `"status":"removed"`},
		{request{"DELETE", "/api/batches/7/members/3?reason=has%20left", "", "", ""}, true, 202, `RemoveMember avery@contoso 7 3 "has left"`, `"status":"removed"`},
		{request{"GET", "/api/batches/7/members/3", "", "", ""}, false, 200, `Member 7 3`, `"etag":"m1"`},
		{
			request{"PATCH", "/api/batches/7/members/3", "", jsonMedia, `{"data":{"Mail":"a@x"},"clearOverrides":["Name"],"reason":"x"}`},
			true, 200,
			`CorrectMember avery@contoso 7 3 map["Mail":"\"a@x\""] ["Name"] "x" []`, `"changes":[]`,
		},
		{request{"PATCH", "/api/batches/7/members", "", media, csv}, true, 200, `UpdateMembers avery@contoso 7 "Key\nnew\n" false ""`, `"batchId":7`},
		{request{"PATCH", "/api/batches/7/members?dryRun=true&reason=x", "", media, csv}, true, 200, `UpdateMembers avery@contoso 7 "Key\nnew\n" true "x"`, `"dryRun":true`},
	}
}

func TestControlLeadsOn(t *testing.T) {
	t.Parallel()
	f := newFixture()
	media, csv := form(t, "file", "Key\n")
	for _, tt := range []struct {
		request
		want string
	}{
		{request{"POST", "/api/batches/7/retry", "admin", "", ""}, "/api/batches/7/tasks/t1"},
		{request{"POST", "/api/batches/7/members", "admin", media, csv}, "/api/batches/7/members"},
		{request{"POST", "/api/batches/7/advance", "admin", jsonMedia, `{"phase":"move"}`}, "/api/batches/7/phases"},
		{request{"POST", "/api/batches/7/cancel", "admin", "", ""}, "/api/batches/7"},
		{request{"DELETE", "/api/batches/7/members/3", "admin", "", ""}, "/api/batches/7/steps?member=3"},
		{request{"POST", "/api/batches/7/removals/confirm", "admin", jsonMedia, `{"revision":"x"}`}, "/api/batches/7"},
		{request{"POST", "/api/messages/unprocessed/abc/replay", "admin", "", ""}, "/api/messages/unprocessed/abc"},
	} {
		if got := f.send(tt.request).Header().Get("Location"); got != tt.want {
			t.Errorf("%s: Location %q, want %q", tt.path, got, tt.want)
		}
	}
}

func TestRefusedControl(t *testing.T) {
	t.Parallel()
	post := func(path, body string) request {
		return request{"POST", "/api/batches/7" + path, "admin", jsonMedia, body}
	}
	upload := func(parts ...string) request {
		media, body := form(t, parts...)
		return request{"POST", "/api/batches/7/members", "admin", media, body}
	}
	remove := func(path string) request { return request{"DELETE", "/api/batches/7/members/" + path, "admin", "", ""} }
	long := strings.Repeat("x", api.MaxReason+1)
	tests := []struct {
		name string
		request
		status int
		code   string
		says   string
	}{
		{"batch that is no number", request{"POST", "/api/batches/seven/cancel", "admin", "", ""}, 404, "not_found", "number"},
		{"a way of its own", request{"POST", "/api/batches/7/stop", "admin", "", ""}, 404, "not_found", ""},
		{"GET", request{"GET", "/api/batches/7/cancel", "admin", "", ""}, 405, "method_not_allowed", "use POST"},
		{"unknown parameter", request{"POST", "/api/batches/7/cancel?reason=x", "admin", "", ""}, 400, "invalid", "this route has none"},
		{"unknown field", post("/cancel", `{"why":"x"}`), 400, "invalid", `unknown field "why"`},
		{"a body that is no JSON", request{"POST", "/api/batches/7/pause", "admin", "text/plain", "x"}, 415, "unsupported_media_type", "application/json"},
		{"a reason of nothing", post("/pause", `{"reason":" "}`), 400, "invalid", "the reason has 0 characters"},
		{"a reason that is too long", post("/pause", `{"reason":"`+long+`"}`), 400, "invalid", "the reason has 1001 characters"},
		{"a reason that is a number", post("/resume", `{"reason":7}`), 400, "invalid", "reason is a number"},
		{"a body that is too large", post("/resume", strings.Repeat(" ", 40<<10)), 413, "too_large", ""},
		{"phase name too long", post("/approve", `{"phase":"`+strings.Repeat("x", 101)+`"}`), 400, "invalid", "has 1 to 100"},
		{"phase name not UTF-8", post("/approve", "{\"phase\":\"\xff\"}"), 400, "invalid", "UTF-8"},
		{"details null", request{"PATCH", "/api/batches/7", "admin", jsonMedia, `{"owner":null}`}, 400, "invalid", "owner is null; leave it out"},
		{"unknown detail", request{"PATCH", "/api/batches/7", "admin", jsonMedia, `{"title":"x"}`}, 400, "invalid", `unknown field "title"`},
		{"no start", post("/reschedule", `{"reason":"x"}`), 400, "invalid", "the start is missing"},
		{"empty start", post("/reschedule", `{"batchStartTime":""}`), 400, "invalid", "has 1 to 100"},
		{"approval of no phase", post("/approve", `{"reason":"x"}`), 400, "invalid", "the phase is missing"},

		{"member 0", post("/retry", `{"memberIds":[0]}`), 400, "invalid", "the member is 0; give the key as a text, or the number, from 1"},
		{"member beyond any", post("/retry", `{"memberIds":[2147483648]}`), 400, "invalid", "the number, from 1"},
		{"no members", post("/retry", `{"memberIds":[]}`), 400, "invalid", "memberIds has 0 elements; give 1 to 1000"},
		{"no steps", post("/skip", `{"stepIds":[],"reason":"x"}`), 400, "invalid", "stepIds has 0 elements"},
		{"removal by nothing", post("/remove", `{"search":"","reason":"x"}`), 400, "invalid", "search has 0 characters"},
		{"removal without a reason", post("/remove", `{"status":"active"}`), 400, "invalid", "the reason is missing"},
		{"member true", post("/retry", `{"memberIds":[true]}`), 400, "invalid", "the member is true"},
		{"empty member", post("/retry", `{"memberIds":[""]}`), 400, "invalid", "the member is empty"},
		{"unknown member", post("/skip", `{"memberIds":["u1"],"reason":"x"}`), 404, "not_found", `no member "u1"`},
		{"no phase", post("/retry", `{"phase":""}`), 400, "invalid", "phase has 0 characters"},
		{"blank step", post("/retry", `{"step":"  "}`), 400, "invalid", "step has 2 characters"},
		{"error too long", post("/retry", `{"error":"`+long+`"}`), 400, "invalid", "error has 1001 characters"},
		{"member null", post("/retry", `{"reason":"x","memberIds":null}`), 400, "invalid", "memberIds is null; leave it out"},
		{"nothing but null", post("/retry", `null`), 400, "invalid", "the request body is null"},
		{"a list", post("/retry", `[3]`), 400, "invalid", "array where an object belongs"},
		{"unknown filter", post("/retry", `{"member":3}`), 400, "invalid", `unknown field "member"`},

		{"step that is no number", post("/steps/copy/skip", `{"reason":"x"}`), 404, "not_found", "number"},
		{"step beyond any", post("/steps/9007199254740992/done", `{"reason":"x"}`), 404, "not_found", ""},
		{"check of no member", post("/check", `{"member":"nobody"}`), 404, "not_found", `no member "nobody"`},
		{"check of an empty member", post("/check", `{"member":""}`), 400, "invalid", "the member is empty"},
		{"skip without a reason", request{"POST", "/api/batches/7/steps/5/skip", "admin", "", ""}, 400, "invalid", "the reason is missing"},
		{"done without a reason", post("/steps/5/done", `{"result":1}`), 400, "invalid", "the reason is missing"},
		{"skip with a result", post("/steps/5/skip", `{"reason":"x","result":1}`), 400, "invalid", `unknown field "result"`},
		{"result too large", post("/steps/5/done", `{"reason":"x","result":"`+strings.Repeat("x", 200<<10)+`"}`), 413, "too_large", "at most 196608 are allowed"},

		{"members as JSON", post("/members", "{}"), 415, "unsupported_media_type", "with the part file"},
		{"members with a runbook", upload("runbook", "rb", "file", "Key\n"), 400, "invalid", `part "runbook"; it can have the part file`},
		{"members without file", upload(), 400, "invalid", "no part file, which holds the CSV"},
		{"members twice", upload("file", "x", "file", "y"), 400, "invalid", "twice"},
		{"members too large", upload("file", strings.Repeat("x", 1001)), 413, "too_large", "1000 bytes"},

		{"remove of no member", remove("u1"), 404, "not_found", "u1"},
		{"correct nothing", request{"PATCH", "/api/batches/7/members/3", "admin", jsonMedia, `{}`}, 400, "invalid", "no columns"},
		{"correct an unknown field", request{"PATCH", "/api/batches/7/members/3", "admin", jsonMedia, `{"status":"failed"}`}, 400, "invalid", "status"},
		{"remove member 0", remove("0"), 404, "not_found", ""},
		{"remove for a reason too long", remove("3?reason=" + long), 400, "invalid", "1001 characters"},
		{"remove for a blank reason", remove("3?reason=%20"), 400, "invalid", "0 characters"},
		{"remove by force", remove("3?force=1"), 400, "invalid", "this route has reason"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused(t, tt.request, tt.status, tt.code, tt.says)
		})
	}
}
