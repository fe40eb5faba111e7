package adminhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// failing fails for the members whose mail is fail.
const failing = `name: failing
data_source: {type: csv, primary_key: UserId}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: check, worker_id: worker-01, function: Test-User, params: {Mail: "{{Mail}}"}}
      - {name: move, worker_id: worker-01, function: Move-User, params: {Mail: "{{Mail}}"}, output_params: {Id: Id}}
on_member_removed:
  - {name: tell, worker_id: worker-01, function: Send-Mail, params: {Mail: "{{Mail}}"}}
`

// runbooks are good ones, in more than one version, and bad ones.
var runbooks = []string{
	moves, gated, automated, failing, strings.Replace(moves, "T-0", "T-1h", 1), strings.Replace(gated, "T-1d", "T-2d", 1), strings.Replace(failing, "Test-User", "Check-User", 1),
	"", "name: x", "name: [", "- 1", "name: moves\nname: moves\n", strings.Replace(moves, "function", "fonction", 1), "a: &a [*a]", "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b, *b]", strings.Repeat("- ", 5000), "\xff", "name: moves\x00",
}

// run gives messages to the app and jobs to a worker until the test ends. The worker fails a job
// if its mail is fail.
func (r *real) run() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	var all sync.WaitGroup
	r.t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	worker := &testenv.Worker{ID: "worker-01", Bus: r.bus, Answer: func(j message.Job) (string, error) {
		if strings.Contains(string(j.Parameters), `"fail"`) {
			return "", errors.New("the mailbox is locked")
		}
		return `{"Id":"7"}`, nil
	}}
	all.Go(func() {
		if err := testenv.Run(ctx, r.bus, r.app, worker); err != nil {
			r.t.Error(err)
		}
	})
}

// tour lets every operation succeed at least once, so that generated requests find
// an item of every kind.
func tour(c *contract, r *real) {
	c.t.Helper()
	by := map[string]operation{}
	for _, o := range c.operations {
		by[o.OperationID] = o
	}
	do := func(id string, status int, w wanted) map[string]any {
		c.t.Helper()
		if w.caller == "" {
			w.caller = "admin"
		}
		if w.body != "" && w.media == "" {
			w.media = jsonMedia
		}
		s, err := c.send(by[id], w)
		if err != nil {
			c.t.Fatal(err)
		}
		if s.status != status {
			c.t.Fatalf("want %d\n%s", status, s)
		}
		var answer map[string]any
		_ = json.Unmarshal(s.answer, &answer) // a report is none
		return answer
	}
	of := func(pairs ...string) wanted {
		w := wanted{path: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			w.path[pairs[i]] = pairs[i+1]
		}
		return w
	}
	with := func(w wanted, body string) wanted {
		w.body = body
		return w
	}
	file := func(w wanted, parts ...string) wanted {
		w.media, w.body = form(c.t, parts...)
		return w
	}
	until := func(what string, done func() bool) {
		c.t.Helper()
		for !done() {
			if c.t.Context().Err() != nil {
				c.t.Fatalf("%s: not in time", what)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	one := of("id", "1")

	for _, yaml := range []string{moves, gated, automated, failing} {
		do("publishRunbook", http.StatusCreated, wanted{media: "application/yaml", body: yaml})
	}
	do("lintRunbook", http.StatusOK, wanted{body: fmt.Sprintf(`{"name":"gated","yamlContent":%q}`, gated)})
	do("simulateRunbook", http.StatusOK, wanted{body: fmt.Sprintf(`{"yamlContent":%q,"members":"UserId,Mail\ng1,a\n","start":"2026-03-01T18:00:00Z","approve":true}`, gated)})
	for _, id := range []string{"getHealth", "getConsoleConfig", "getDocument", "getMe", "getSummary", "listRunbooks", "listWorkers", "listAudit", "listMessageAudit"} {
		do(id, http.StatusOK, wanted{})
	}
	r.announce(badges(time.Now()))
	do("getWorker", http.StatusOK, of("id", "worker-01"))
	named := of("name", "failing")
	for _, id := range []string{"getRunbook", "listVersions", "getTemplate", "getAutomation", "listSyncs", "listRunbookAudit"} {
		do(id, http.StatusOK, named)
	}
	do("getVersion", http.StatusOK, of("name", "failing", "version", "1"))

	// A batch in which one fails, is retried, skipped, marked.
	do("createBatch", http.StatusCreated, file(wanted{}, "runbook", "failing", "file", "UserId,Mail\nf1,a\nf2,fail\nf3,fail\nf4,fail\n"))
	do("addMembers", http.StatusCreated, file(one, "file", "UserId,Mail\nu5,b\n"))
	member := of("id", "1", "member", "f2")
	tag := do("getMember", http.StatusOK, member)["etag"].(string)
	member.header = map[string]string{"If-Match": `"` + tag + `"`}
	do("correctMember", http.StatusOK, with(of("id", "1", "member", "f2"), `{"data":{"Mail":"fail again"},"dryRun":true}`))
	do("correctMember", http.StatusOK, with(member, `{"data":{"Mail":"fail again"},"reason":"a typo"}`))
	do("correctMember", http.StatusPreconditionFailed, with(member, `{"data":{"Mail":"fail"}}`))
	do("updateMembers", http.StatusOK, file(one, "file", "UserId,Mail\nf2,fail\n"))
	do("removeMember", http.StatusAccepted, of("id", "1", "member", "5")) // while the batch cannot end
	for _, id := range []string{"pauseBatch", "resumeBatch", "cancelBatch"} {
		do(id, http.StatusOK, with(one, `{"dryRun":true}`))
	}
	do("advanceBatch", http.StatusOK, with(one, `{"phase":"move","dryRun":true}`))
	removal := of("id", "1", "member", "4")
	removal.query = url.Values{"dryRun": {"true"}}
	do("removeMember", http.StatusOK, removal)
	do("pauseBatch", http.StatusOK, one)
	do("resumeBatch", http.StatusOK, one)
	do("advanceBatch", http.StatusAccepted, with(one, `{"phase":"move"}`))
	for _, id := range []string{"listBatches", "getBatch", "listMembers", "listPhases", "listSteps", "listBatchAudit", "getReport"} {
		do(id, http.StatusOK, one)
	}
	do("findMembers", http.StatusOK, wanted{query: url.Values{"text": {"u"}}})
	failed := func() []any {
		w := of("id", "1")
		w.query = url.Values{"status": {"failed"}}
		return do("listSteps", http.StatusOK, w)["items"].([]any)
	}
	until("three fail", func() bool { return len(failed()) == 3 })
	step := func(i int) string { return fmt.Sprintf("%.0f", failed()[i].(map[string]any)["id"]) }
	do("getErrors", http.StatusOK, one)
	do("getStep", http.StatusOK, of("id", "1", "stepId", step(0)))
	do("skipStep", http.StatusOK, with(of("id", "1", "stepId", step(0)), `{"dryRun":true}`))
	do("markStepDone", http.StatusOK, with(of("id", "1", "stepId", step(0)), `{"result":{"Id":"1"},"dryRun":true}`))
	do("skipStep", http.StatusOK, with(of("id", "1", "stepId", step(0)), `{"reason":"by hand"}`))
	do("markStepDone", http.StatusOK, with(of("id", "1", "stepId", step(0)), `{"reason":"by hand","result":{"Id":"1"}}`))
	do("markFailedDone", http.StatusOK, with(one, `{"reason":"all by hand","result":{"Id":"1"},"dryRun":true}`))
	do("skipFailed", http.StatusOK, with(one, `{"dryRun":true}`))
	do("retryFailed", http.StatusOK, with(one, fmt.Sprintf(`{"stepIds":[%s],"dryRun":true}`, step(0))))
	task := do("retryFailed", http.StatusAccepted, with(one, `{"reason":"again"}`))["task"].(string)
	do("getTask", http.StatusOK, of("id", "1", "task", task))

	do("createBatch", http.StatusCreated, file(wanted{}, "runbook", "gated", "file", "UserId,Mail\ng1,a\ng2,b\n"))
	do("approvePhase", http.StatusOK, with(of("id", "2"), `{"phase":"cut over","dryRun":true}`))
	do("approvePhase", http.StatusOK, with(of("id", "2"), `{"phase":"cut over"}`))
	do("checkBatch", http.StatusAccepted, with(of("id", "2"), `{"member":"g1","reason":"corrected"}`))
	do("checkBatch", http.StatusOK, with(of("id", "2"), `{"dryRun":true}`))
	do("checkBatch", http.StatusAccepted, of("id", "2"))
	do("listChecks", http.StatusOK, of("id", "2"))
	do("getBatch", http.StatusOK, of("id", "2"))
	do("removeMembers", http.StatusOK, with(of("id", "2"), `{"status":"active","search":"a","dryRun":true}`))
	do("removeMembers", http.StatusAccepted, with(of("id", "2"), `{"memberIds":["g2"],"reason":"left"}`))
	do("cancelBatch", http.StatusAccepted, of("id", "2"))

	// Automation, and removals that are held.
	start := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Hour).Format(time.RFC3339)
	everyone := []string{"w1,a," + start, "w2,b," + start, "w3,c," + start, "w4,d," + start}
	r.found(everyone...)
	waves := of("name", "waves")
	do("previewQuery", http.StatusOK, waves)
	do("setAutomation", http.StatusOK, with(waves, `{"enabled":true}`))
	check(c.t, r.app.Tick(c.t.Context()))
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprintf("m%d,a,%s", i, start))
	}
	r.found(append(many, everyone...)...)
	check(c.t, r.app.Tick(c.t.Context()))
	additions := do("getHeldAdditions", http.StatusOK, waves)
	do("discardAdditions", http.StatusOK, with(waves, fmt.Sprintf(`{"revision":%q,"dryRun":true}`, additions["revision"])))
	do("discardAdditions", http.StatusOK, with(waves, fmt.Sprintf(`{"revision":%q,"reason":"not yet"}`, additions["revision"])))
	do("getAutomation", http.StatusOK, waves)
	do("previewQuery", http.StatusOK, waves)
	do("confirmAdditions", http.StatusOK, with(waves, fmt.Sprintf(`{"revision":%q,"dryRun":true}`, additions["revision"])))
	do("confirmAdditions", http.StatusOK, with(waves, fmt.Sprintf(`{"revision":%q,"reason":"wave 1"}`, additions["revision"])))
	do("getHeldAdditions", http.StatusOK, waves)
	do("getAutomation", http.StatusOK, waves)
	do("previewQuery", http.StatusOK, waves)
	put := time.Now().Add(60 * time.Hour).UTC().Truncate(time.Hour).Format(time.RFC3339)
	later := time.Now().Add(72 * time.Hour).UTC().Truncate(time.Hour).Format(time.RFC3339)
	do("updateBatch", http.StatusOK, with(of("id", "3"), `{"name":"Wave 3","note":"last","owner":"Bea"}`))
	do("updateBatch", http.StatusOK, with(of("id", "3"), `{"note":"","reason":"no longer"}`))
	do("rescheduleBatch", http.StatusOK, with(of("id", "3"), fmt.Sprintf(`{"batchStartTime":%q,"dryRun":true}`, put)))
	do("rescheduleBatch", http.StatusOK, with(of("id", "3"), fmt.Sprintf(`{"batchStartTime":%q,"reason":"postponed"}`, put)))
	do("getBatch", http.StatusOK, of("id", "3"))
	for _, decide := range []string{"discardRemovals", "confirmRemovals"} {
		r.found(everyone...)
		check(c.t, r.app.Tick(c.t.Context()))
		r.found(everyone[0])
		check(c.t, r.app.Tick(c.t.Context()))
		if decide == "confirmRemovals" { // who was kept is asked about again once they were seen
			r.found(everyone[3])
			check(c.t, r.app.Tick(c.t.Context()))
		}
		held := do("listHeldRemovals", http.StatusOK, of("id", "3"))
		body := fmt.Sprintf(`{"revision":%q}`, held["revision"])
		do(decide, http.StatusOK, with(of("id", "3"), strings.Replace(body, "{", `{"dryRun":true,`, 1)))
		do(decide, map[string]int{"discardRemovals": 200, "confirmRemovals": 202}[decide], with(of("id", "3"), body))
	}

	wave := func(start string) []string { return []string{"v1,a," + start, "v2,b," + start, everyone[3]} }
	r.found(wave(later)...)
	check(c.t, r.app.Tick(c.t.Context()))
	r.found(wave(time.Now().Add(96 * time.Hour).UTC().Truncate(time.Hour).Format(time.RFC3339))...)
	check(c.t, r.app.Tick(c.t.Context()))
	moving := of("id", "4")
	held := do("listHeldRemovals", http.StatusOK, moving)
	do("getBatch", http.StatusOK, moving)
	do("moveMembers", http.StatusAccepted, with(moving, fmt.Sprintf(`{"revision":%q,"reason":"postponed"}`, held["revision"])))

	// Members move from one batch to another.
	gatedBatch := func(people string) string {
		made := do("createBatch", http.StatusCreated, file(wanted{}, "runbook", "gated", "file", "UserId,Mail\n"+people))
		return fmt.Sprintf("%.0f", made["id"])
	}
	from, to := gatedBatch("h1,a\nh2,b\n"), gatedBatch("h3,c\n")
	do("moveSelectedMembers", http.StatusOK, with(of("id", from), fmt.Sprintf(`{"search":"a","toBatchId":%s,"dryRun":true}`, to)))
	moved := do("moveSelectedMembers", http.StatusAccepted, with(of("id", from), fmt.Sprintf(`{"memberIds":["h1"],"toBatchId":%s,"reason":"on leave"}`, to)))["task"].(string)
	until("the member has moved", func() bool {
		return do("getTask", http.StatusOK, of("id", from, "task", moved))["status"] == "completed"
	})
	do("listMembers", http.StatusOK, of("id", from))
	do("getMember", http.StatusOK, of("id", to, "member", "h1"))

	// A request starts a batch.
	do("publishRunbook", http.StatusCreated, wanted{media: "application/yaml", body: pipelined})
	ask := with(of("name", "bundle"), `{"owner":"octo","items":[{"Repository":"a"},{"Repository":"b"}]}`)
	asked := of("name", "bundle", "id", fmt.Sprintf("%.0f", do("startPipeline", http.StatusAccepted, ask)["batchId"]))
	until("the requested batch has completed", func() bool {
		return do("getPipelineBatch", http.StatusOK, asked)["status"] == "completed"
	})
	do("startPipeline", http.StatusOK, ask)
	do("getPipelineResult", http.StatusOK, asked)
	latest := of("name", "bundle")
	latest.query = url.Values{"owner": {"octo"}}
	do("getLatestResult", http.StatusOK, latest)

	// The pipeline moves over from another orchestrator.
	do("setRouting", http.StatusOK, with(of("name", "bundle"), `{"shadow":true,"percent":10,"maxErrorPercent":2,"minRequests":50,"windowMinutes":30,"overdueSeconds":60,"fingerprintOutput":"Hash","reason":"the first"}`))
	do("getRouting", http.StatusOK, of("name", "bundle"))
	do("getPipelineRoute", http.StatusOK, latest)
	shadow := of("name", "bundle", "id", fmt.Sprintf("%.0f", do("startPipeline", http.StatusAccepted, with(of("name", "bundle"), `{"owner":"octo","items":[{"Repository":"a"}],"shadow":true}`))["batchId"]))
	until("the shadow has completed", func() bool {
		return do("getPipelineBatch", http.StatusOK, shadow)["status"] == "completed"
	})
	do("reportComparison", http.StatusOK, with(shadow, `{"fingerprint":"f1","milliseconds":1500}`))
	do("getComparisons", http.StatusOK, of("name", "bundle"))

	// Messages that cannot be processed.
	for i := range 5 {
		check(c.t, r.app.HandleEvent(c.t.Context(), message.Delivery{ID: fmt.Sprintf("bad-%d", i), Body: []byte(`{"a":`), DeliveryCount: 1}))
	}
	kept := do("listMessages", http.StatusOK, wanted{})["items"].([]any)
	about := func(i int) wanted { return of("id", kept[i].(map[string]any)["id"].(string)) }
	do("getMessage", http.StatusOK, about(0))
	do("replayMessage", http.StatusAccepted, about(0))
	do("discardMessage", http.StatusOK, about(1))

	r.azure.SendSize("a", "sized", 1536)
	r.azure.Send("b", "poison", "nonsense")
	do("planScaling", http.StatusOK, wanted{})
	check(c.t, r.app.ScaleContainers(c.t.Context()))
	r.azure.Settled()
	r.azure.Exit("a", "sized", 1)
	check(c.t, r.app.ScaleContainers(c.t.Context()))
	do("getScaler", http.StatusOK, wanted{})

	rule := of("name", "alarm")
	do("addNotification", http.StatusOK, with(wanted{}, `{"name":"alarm","events":["failures","worker_silent"],"failedPercent":20,"target":{"type":"mail","workerId":"worker-01","to":["a@example.com"]},
		"quietHours":{"timeZone":"UTC","from":"20:00","to":"07:00"},"urgent":["failures"],"linkUrl":"https://console.example.com"}`))
	do("listNotifications", http.StatusOK, wanted{})
	do("getNotification", http.StatusOK, rule)
	do("testNotification", http.StatusOK, rule)
	do("listDeliveries", http.StatusOK, rule)
	do("removeNotification", http.StatusOK, rule)
	do("deactivateVersion", http.StatusOK, of("name", "moves", "version", "1"))
	do("publishRunbook", http.StatusCreated, wanted{media: "application/yaml", body: moves})
}

// TestEveryAnswerIsDocumented has requests made from the document answered by the API
// over the real system while that carries batches out, and holds each answer to the
// document.
func TestEveryAnswerIsDocumented(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	r.run()
	c := newContract(t, r)
	tour(c, r)
	rapid.Check(t, func(rt *rapid.T) {
		for range 30 {
			o := rapid.SampledFrom(c.operations).Draw(rt, "operation")
			s, err := c.send(o, c.known.draw(rt, o))
			if err != nil {
				rt.Fatal(err)
			}
			// What a replayed answer tells of can be gone by now.
			if location := s.header.Get("Location"); location != "" && s.header.Get("Idempotency-Replayed") == "" {
				followed := request{"GET", location, c.token["admin"], "", ""}
				r.call(followed, http.StatusOK, nil)
			}
		}
	})
	c.summary()
}

// TestEveryAnswerOfABrokenSystemIsDocumented is the same with a store that fails, now
// in one way, now in another.
func TestEveryAnswerOfABrokenSystemIsDocumented(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	r.run()
	c := newContract(t, r)
	tour(c, r)
	unavailable := 0
	rapid.Check(t, func(rt *rapid.T) {
		fault := cosmos.Fault{RetryAfter: time.Millisecond, Skip: rapid.IntRange(0, 3).Draw(rt, "skip")}
		fault.Status = rapid.SampledFrom([]int{429, 449, 503, 500, 401, 403}).Draw(rt, "status")
		if rapid.Bool().Draw(rt, "writes only") || fault.Status == 449 { // which only writes are answered with
			fault.On = []cosmos.Operation{cosmos.Create, cosmos.Replace, cosmos.Upsert, cosmos.Delete, cosmos.Patch, cosmos.Batch}
		}
		if fault.Status == 449 {
			fault.Count = 3 // a write that was lost is written again, for as long as it takes
		}
		defer r.cosmos.Inject(fault)()
		for range 3 {
			o := rapid.SampledFrom(c.operations).Draw(rt, "operation")
			s, err := c.send(o, c.known.draw(rt, o))
			if err != nil {
				rt.Fatal(err)
			}
			if s.status == http.StatusServiceUnavailable {
				unavailable++
			}
		}
	})
	if unavailable == 0 {
		t.Error("nothing was unavailable")
	}
	t.Logf("%d of the answers were 503", unavailable)
}
