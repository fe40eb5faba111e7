package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/store"
)

// moves is advanced by hand. The column Way determines each member's outcome.
const moves = `
name: moves
description: Mailboxes, by hand.
data_source: {type: csv, primary_key: Upn}
retry: {max_retries: 1, interval: 10m, backoff: exponential, max_interval: 2h, jitter: 10%}
init:
  - {name: group, worker_id: worker-01, function: Group, params: {Batch: "{{_batch_id}}"}, timeout: 20h}
phases:
  - name: prepare
    offset: T-1d
    steps:
      - {name: new, worker_id: worker-01, function: New, params: {Upn: "{{Upn}}", Way: "{{Way}}"}, output_params: {UserId: id}, on_failure: undo}
      - {name: join, worker_id: worker-01, function: Join, params: {User: "{{UserId}}", Way: "{{Way}}"}, timeout: 34m, retry: {max_retries: 2, interval: 15m}, poll: {interval: 5m, timeout: 60m}}
      - {name: copy, worker_id: worker-01, function: Copy, params: {User: "{{UserId}}", Way: "{{Way}}"}, poll: {interval: 10m, timeout: 60m}, output_params: {Size: size}}
    on_complete:
      - {name: tell, worker_id: worker-01, function: Tell, params: {Good: "{{_phase_succeeded}}", Bad: "{{_phase_failed}}", Batch: "{{_batch_id}}"}}
  - name: switch
    offset: T-0
    approval: required
    require_success: 50%
    stop_when: {failed: 95%}
    steps:
      - {name: greet, worker_id: worker-01, function: Greet, when: Way == "nobody"}
      - {name: check, worker_id: worker-01, function: Check, params: {User: "{{UserId}}", Size: "{{Size}}"}}
on_member_removed:
  - {name: leave, worker_id: worker-01, function: Leave, params: {Upn: "{{Upn}}", Way: "{{Way}}"}, timeout: 20h}
rollbacks:
  undo:
    - {name: stop, worker_id: worker-01, function: Stop, params: {Upn: "{{Upn}}", Way: "{{Way}}"}, timeout: 20h}
    - {name: delete, worker_id: worker-01, function: Delete, params: {Upn: "{{Upn}}"}}
`

// waves finds its members in a file, and is quiet from seven in the evening, UTC.
const waves = `
name: waves
data_source: {type: csv, connection: PEOPLE, primary_key: Upn, batch_time_column: Start, time_zone: UTC, removal_guard: 20%, addition_guard: {share: 100%}}
quiet_hours:
  time_zone: Europe/Berlin
  windows: [{days: [sun, mon], from: "20:00", to: "23:30"}]
phases:
  - name: early
    offset: T-2d
    steps: [{name: do, worker_id: worker-01, function: Do, params: {Upn: "{{Upn}}", Way: "{{Way}}"}, timeout: 20h}]
  - name: middle
    offset: T-47h
    steps: [{name: do, worker_id: worker-01, function: Do, params: {Upn: "{{Upn}}"}}]
  - name: late
    offset: T-0
    approval: required
    steps: [{name: done, worker_id: worker-01, function: Done, params: {Upn: "{{Upn}}"}}]
on_member_removed:
  - {name: leave, worker_id: worker-01, function: Leave, params: {Upn: "{{Upn}}"}}
`

// doubted finds the people of waves, and holds them all.
const doubted = `
name: doubted
data_source: {type: csv, connection: PEOPLE, primary_key: Upn, batch_time_column: Start, time_zone: UTC, addition_guard: {share: 1%, number: 1}}
phases:
  - name: early
    offset: T-0
    steps: [{name: do, worker_id: worker-01, function: Do, params: {Upn: "{{Upn}}"}}]
`

// throttledSource has a source that asks for a pause.
const throttledSource = `
name: throttled
data_source: {type: postgres, connection: PEOPLE, query: SELECT 1, primary_key: Upn, batch_time_column: Start, time_zone: UTC}
phases:
  - name: early
    offset: T-0
    steps: [{name: do, worker_id: worker-01, function: Do, params: {Upn: "{{Upn}}"}}]
`

// asked has its members from requests. They share one key, so that one of two waits for the other.
const asked = `
name: asked
trigger: request
items: {primary_key: Upn, expires: 300d}
phases:
  - name: do
    steps: [{name: do, worker_id: worker-01, function: Do, params: {Upn: "{{Upn}}", Way: "{{Way?}}"}, cache: {key: "{{_batch_owner}} {{Way?}}"}}]
`

// listing has its members from a function, which is at work at the upgrade.
const listing = `
name: listing
trigger: request
items: {primary_key: Upn, expires: 300d, source: {worker_id: worker-01, function: List, params: {Owner: "{{_batch_owner}}"}, output: people}}
phases:
  - name: do
    steps: [{name: do, worker_id: worker-01, function: Do, params: {Upn: "{{Upn}}"}}]
`

// moverOf is a worker that does to a member what their Way says: stuck:New is never
// heard of, flaky:New fails, until a later version takes over; broken:New fails for ever;
// slow copies until then, endless for ever, and waits joins until then. What it answers depends on nothing but
// the job.
func moverOf(late bool) worker {
	return func(j message.Job) (string, error) {
		var p struct{ Upn, User, Way, Batch any }
		if err := json.Unmarshal(j.Parameters, &p); err != nil {
			return "", err
		}
		way := fmt.Sprint(p.Way, " ")
		switch is := func(what string) bool { return strings.Contains(way, what+":"+j.FunctionName+" ") }; {
		case is("broken"):
			return "", errors.New("it is broken")
		case is("flaky") && !late:
			return "", errors.New("not today")
		case !late && (is("stuck") || j.FunctionName == "Group" && fmt.Sprint(p.Batch) == stuckInit || j.FunctionName == "Tell" && fmt.Sprint(p.Batch) == stuckTell):
			return "", errLost
		}
		switch j.FunctionName {
		case "List":
			return `{"people":[{"Upn":"ann@x"},{"Upn":"bob@x"}]}`, nil
		case "New":
			return fmt.Sprintf(`{"id":"id of %v"}`, p.Upn), nil
		case "Join":
			if strings.Contains(way, "waits") && !late {
				return unfinished, nil
			}
		case "Copy":
			switch {
			case strings.Contains(way, "endless") && strings.HasSuffix(j.JobID, "attempt-1"):
				return `{"complete":false,"reason":"no mailbox"}`, nil
			case strings.Contains(way, "endless"):
				return `{"complete":false,"reason":"copying"}`, nil
			case strings.Contains(way, "slow") && !late:
				return unfinished, nil
			}
			return `{"complete":true,"data":{"size":7}}`, nil
		}
		return "true", nil
	}
}

// stuckInit is the batch whose init steps are never heard of, stuckTell that whose steps
// at the end of a phase are not.
const (
	stuckInit = "4"
	stuckTell = "6"
)

// ways is a CSV with a member for each way.
func ways(prefix string, ways ...string) string {
	text := "Upn,Way\n"
	for i, way := range ways {
		text += fmt.Sprintf("%s%d@x,%s\n", prefix, i+1, way)
	}
	return text
}

// repeated is a request that its caller lost sight of half-way, and asks for again.
type repeated struct {
	By      string `json:"by"`
	Key     string `json:"key"`
	Runbook string `json:"runbook,omitempty"` // a batch of it is made
	Batch   int    `json:"batch,omitempty"`   // to which people are added
	CSV     string `json:"csv"`
}

func (r repeated) ask(ctx context.Context, a *app.App) (err error) {
	by := audit.Caller{Name: r.By, Key: r.Key}
	if r.Batch != 0 {
		return errorOf(a.AddMembers(ctx, by, r.Batch, []byte(r.CSV)))
	}
	return errorOf(a.CreateBatch(ctx, by, r.Runbook, []byte(r.CSV)))
}

// wavesCSV are the people of waves as they are at a time: in the evening of the first
// day some are gone and one has moved, on the next there are more.
func wavesCSV(at time.Time) string {
	text := "Upn,Start,Way\nodd@x,some day,fine\n" // which is no time
	evening := at.After(dawn)
	group := func(name string, start time.Duration, of, later int, ways ...string) {
		if evening {
			of = later
		}
		for i := range of {
			way := "fine"
			if i < len(ways) {
				way = ways[i]
			}
			text += fmt.Sprintf("%s%d@x,%s,%s\n", name, i+1, dawn.Add(start).Format(time.RFC3339), way)
		}
	}
	group("ann", 2*day+time.Hour, 3, 3, "fine", "stuck:Do", "broken:Do")
	group("bob", 2*day+10*time.Hour+15*time.Minute, 2, 2)
	group("eve", 5*day, 5, 2)
	group("joe", 6*day, 5, 2)
	group("kim", 7*day, 5, 2)
	group("lea", 8*day, 10, 8) // just so few leave that nobody asks
	if evening {
		text += fmt.Sprintf("eve3@x,%s,fine\n", dawn.Add(8*day).Format(time.RFC3339))
	}
	if at.Sub(dawn) >= day {
		group("new", 9*day, 10, 10)
	}
	return text
}

func (m *making) advance(id int) {
	m.t.Helper()
	must(m.app.Advance(m.ctx, ada, id, m.next(id)))(m.t)
}

// onward advances a batch, and lets all come that follows.
func (m *making) onward(id int) {
	m.t.Helper()
	m.advance(id)
	m.deliver()
}

// perform brings the system into the middle of things: there is something of every kind
// and in every status. It ends at half past seven in the evening.
func (m *making) perform() {
	m.t.Helper()
	s := m.stage
	m.publish(moves)
	m.source(wavesCSV(dawn))
	m.publish(waves)
	m.automate("waves")
	m.announces(dawn, "New", "Join", "Copy")
	m.reports(dawn)
	full := m.batch("moves", ways("full", "fine", "stuck:Join", "broken:New stuck:Stop", "broken:New", "endless", "stuck:Leave", "broken:Join", "broken:Join", "stuck:Join")).ID
	ended := m.batch("moves", ways("ended", "fine", "broken:New")).ID
	failed := m.batch("moves", ways("failed", "broken:New", "broken:Join")).ID
	stuck := m.batch("moves", ways("stuck", "fine")).ID // stuckInit
	stopped := m.batch("moves", ways("stopped", "fine", "stuck:Join")).ID
	told := m.batch("moves", ways("told", "fine")).ID // stuckTell
	broken := m.batch("moves", ways("broken", "broken:New")).ID
	for _, id := range []int{full, ended, failed, stuck, stopped, told, broken} {
		m.onward(id)
	}
	for _, id := range []int{ended, failed, stopped, broken} {
		m.onward(id)
	}
	m.pass(2 * time.Hour)
	for _, id := range []int{ended, broken} {
		must(m.app.Approve(m.ctx, ada, id, "switch", "the board agrees"))(s.t)
		m.onward(id)
	}
	must(m.app.Cancel(m.ctx, ada, stopped, "a test"))(s.t)
	must(m.app.UpdateBatch(m.ctx, ada, stopped, detailsOf("the stopped", "a test", "bea"), ""))(s.t)
	m.pass(6 * time.Hour) // 17:00

	m.publishNew(strings.Replace(moves, "name: check,", "name: look,", 1), api.PublishOptions{Overdue: api.OverdueRerun, RerunInit: true})
	mistaken := strings.Replace(moves, "name: moves", "name: mistaken", 1)
	m.publish(mistaken)
	must(m.app.Deactivate(m.ctx, ada, "mistaken", 1, "the wrong name"))(s.t)
	m.pass(time.Hour) // 18:00
	// One tick holds additions, at a time when nothing else of waves changes: two runbooks
	// are compared at once, in any order.
	m.publish(doubted)
	m.automate("doubted")
	m.publish(throttledSource)
	m.automate("throttled")
	m.tick()
	must(m.app.SetAutomation(m.ctx, ada, "doubted", false))(s.t)
	must(m.app.SetAutomation(m.ctx, ada, "throttled", false))(s.t)
	m.onward(full) // init, once more
	m.onward(full)
	fresh := m.batch("moves", ways("fresh", "fine", "fine")).ID
	last := m.batch("moves", ways("last", "fine", "flaky:Join", "slow", "fine", "flaky:New", "stuck:Join", "waits")).ID
	held := m.batch("moves", ways("held", "fine", "slow", "flaky:Join")).ID
	stopping := m.batch("moves", ways("stopping", "stuck:Join", "fine", "flaky:New")).ID
	resumed := m.batch("moves", ways("resumed", "fine")).ID
	for _, id := range []int{last, held, stopping, resumed, told} {
		m.onward(id)
	}
	m.pass(time.Hour + 10*time.Minute) // 19:10
	m.resolve(full)
	m.source(wavesCSV(dawn.Add(10 * time.Hour)))
	m.pass(10 * time.Minute) // 19:20
	m.shadows()
	m.publishNew(strings.Replace(moves, "name: check,", "name: look again,", 1), api.PublishOptions{})
	m.tick()
	m.upgradeComes(full, failed, fresh, told, last, held, stopping, resumed)
}

// shadows compares two shadows of an owner with the other orchestrator: one with a result, and one that failed after it.
func (m *making) shadows() {
	m.t.Helper()
	m.publish(asked)
	must(m.app.SetRouting(m.ctx, ada, "asked", "one owner in ten", api.RoutingRequest{Shadow: new(true), Percent: new(10)}))(m.t)
	for _, way := range []string{`"fine"`, `"broken:Do"`} {
		items := []map[string]json.RawMessage{{"Upn": json.RawMessage(`"dan@x"`), "Way": json.RawMessage(way)}}
		shadow := must(m.app.StartPipeline(m.ctx, ada, "asked", api.PipelineRequest{Owner: "dan", Items: items, Shadow: true}))(m.t)
		m.deliver()
		must(m.app.ReportComparison(m.ctx, ada, "asked", shadow.ID, api.ComparisonRequest{Fingerprint: "f1", Milliseconds: 1500}))(m.t)
	}
}

// scaled has the documents of the container scaler, with something of everything.
func scaled(at time.Time) scaler.Record {
	exit, started := 1, at.Add(-time.Minute)
	return scaler.Record{
		Tick: scaler.Tick{
			At: at, Error: "no more container groups can be created now: 429 TooManyRequests", Created: 1, Deleted: 1, Active: 2,
			Verdicts:   map[scaler.Verdict]int{scaler.Create: 1, scaler.CreateFailed: 1, scaler.SizeMissing: 1},
			Containers: []scaler.Container{{Name: "validator-a", MessageID: "m-1", Subscription: "north", SizeMB: "50", Ended: true, State: "Failed", ExitCode: &exit, StartedAt: &started, FinishedAt: &at, Detail: "Error"}},
			Skipped:    []scaler.Skipped{{Subscription: "north", MessageID: "m-2", Sequence: 7, Deliveries: 1, EnqueuedAt: started, Verdict: scaler.SizeMissing}},
			Failures:   []scaler.Failure{{Group: "validator-b", MessageID: "m-3", Reason: "429 TooManyRequests"}},
			Blocked:    []scaler.Blocked{{Subscription: "south", Reason: "its status is Disabled"}},
			Partial:    []string{"north"},
		},
		Attempts: []scaler.Attempt{{Group: "validator-a", Subscription: "north", MessageID: "m-1", Deliveries: 1, Open: true, Ended: []time.Time{at}, Lost: 1, Detail: "Error"}},
		Losses:   []scaler.Loss{{Subscription: "north", FirstAt: started, LastAt: at, Containers: 2}},
		Holder:   "tick", HeldUntil: at.Add(50 * time.Second),
	}
}

// resolve has an administrator help two members on, and the worker answer a job that
// was given up.
func (m *making) resolve(full int) {
	m.t.Helper()
	s := m.stage
	for _, v := range []struct {
		member int
		do     func(step int64) error
	}{
		{7, func(step int64) error {
			return errorOf(m.app.SkipStep(m.ctx, ada, full, step, "done by hand"))
		}},
		{8, func(step int64) error {
			return errorOf(m.app.MarkStepDone(m.ctx, ada, full, step, json.RawMessage(`{"by":"hand"}`), "done by hand"))
		}},
	} {
		noError(s.t, v.do(s.step(full, v.member, "join").ID))
	}
	noError(s.t, m.answer(m.abandoned, "true", nil))
	m.deliver()
}

// upgradeComes begins the work under way at the upgrade. The last messages are still in
// the queue then.
func (m *making) upgradeComes(full, failed, fresh, told, last, held, stopping, resumed int) {
	m.t.Helper()
	s := m.stage
	for _, id := range []string{"odd-1", "odd-2"} {
		noError(s.t, m.app.HandleEvent(m.ctx, message.Delivery{ID: id, Type: "odd", Body: []byte(`{"odd":true}`), Properties: map[string]any{message.PropertyMessageType: "odd"}, DeliveryCount: 1, EnqueuedAt: m.clock.Now()}))
	}
	m.die(1, func(ctx context.Context, a *app.App) error { // its attempt has been counted
		return a.HandleEvent(ctx, message.Delivery{ID: "suspect", Type: "odd", Body: []byte(`{"odd":true}`), DeliveryCount: 4, EnqueuedAt: m.clock.Now()})
	})
	m.onward(told)
	m.onward(last)
	for _, id := range []int{held, resumed} {
		m.advance(id)
		m.deliver(message.TopicOrchestratorEvents)
		must(m.app.Pause(m.ctx, ada, id, "the network is down"))(s.t)
	}
	m.deliver(message.TopicWorkerJobs, message.TopicWorkerResults)
	m.onward(stopping)
	m.clock.ns.Add(int64(90 * time.Second))
	must(m.app.RemoveMember(m.ctx, ada, full, 6, "left the company"))(s.t)
	jobs, due := m.batch("moves", ways("jobs", "fine", "flaky:New", "fine", "fine", "flaky:New")).ID, m.batch("moves", ways("due", "fine")).ID
	m.onward(jobs)
	m.onward(due)
	m.advance(jobs)
	m.deliver(message.TopicOrchestratorEvents)
	for range 2 { // one well, one not
		job, _ := m.queue.next(message.TopicWorkerJobs)
		noError(s.t, m.answered(job))
	}
	noError(s.t, m.answerTogether())

	m.advance(due)
	must(m.app.Approve(m.ctx, ada, last, "switch", "the board agrees"))(s.t)
	must(m.app.Resume(m.ctx, ada, resumed, "the network is back"))(s.t)
	must(m.app.Cancel(m.ctx, ada, stopping, "enough"))(s.t)
	must(m.app.Repair(m.ctx, ada, failed, api.Repair{Selection: api.Selection{Phase: "prepare"}, Reason: "the licence is there"}))(s.t)
	must(m.app.RemoveMember(m.ctx, ada, last, 4, "left the company"))(s.t)
	must(m.app.AddMembers(m.ctx, ada, last, []byte(ways("later", "fine"))))(s.t)
	keyed := ada
	keyed.Key = "once"
	for _, name := range []string{"alarm", "former"} {
		must(m.app.AddNotificationRule(m.ctx, ada, api.NotificationRequest{
			Name: name, Events: []string{api.EventFailures}, Runbook: "moves", Owner: "ada", LinkURL: "https://console.example.com", Urgent: []string{api.EventFailures},
			Target: api.NotificationTarget{Type: api.TargetMail, WorkerID: "worker-01", To: []string{"ada@x"}}, QuietHours: &api.NotificationQuietHours{TimeZone: "UTC", From: "20:00", To: "07:00"},
		}))(s.t)
	}
	must(m.app.TestNotificationRule(m.ctx, ada, "alarm"))(s.t)
	must(m.app.RemoveNotificationRule(m.ctx, keyed, "former", ""))(s.t)
	must(m.store.Apply(m.ctx, store.Writes{store.Create(store.ScalerKey(), scaled(m.clock.Now()))}))(s.t)
	must(m.app.Replay(m.ctx, keyed, s.listUnprocessable(api.ListOptions{})[0].ID, "once more"))(s.t)
	m.decideHold("joe", m.app.ConfirmRemovals)
	m.decideHold("kim", m.app.DiscardRemovals)
	request := must(m.app.StartPipeline(m.ctx, keyed, "asked", api.PipelineRequest{Owner: "ada", Items: []map[string]json.RawMessage{{"Upn": json.RawMessage(`"ann@x"`)}, {"Upn": json.RawMessage(`"bob@x"`)}}, Force: true}))(s.t)
	m.due(request.ID, 1)
	m.publish(listing)
	must(m.app.StartPipeline(m.ctx, ada, "listing", api.PipelineRequest{Owner: "ada"}))(s.t)
	for _, owner := range []string{"bob", "cid"} {
		shadow := must(m.app.StartPipeline(m.ctx, ada, "asked", api.PipelineRequest{Owner: owner, Items: []map[string]json.RawMessage{{"Upn": json.RawMessage(`"ann@x"`)}}, Shadow: true}))(s.t)
		if owner == "cid" {
			must(m.app.Cancel(m.ctx, ada, shadow.ID, "too early"))(s.t)
		}
		must(m.app.ReportComparison(m.ctx, ada, "asked", shadow.ID, api.ComparisonRequest{Fingerprint: "f1", Milliseconds: 1500}))(s.t)
	}
	m.advance(m.batch("moves", ways("again", "fine", "fine")).ID)
	m.announces(m.clock.Now(), "New", "Join", "Copy", "Tell")
	m.reports(m.clock.Now())
	m.repeat = []repeated{
		{By: "grace", Key: "add-1", Batch: fresh, CSV: ways("added", slices.Repeat([]string{"fine"}, 50)...) + "fresh1@x,fine\n"},
		{By: "grace", Key: "make-1", Runbook: "moves", CSV: ways("half", "fine", "fine")},
	}
	m.die(2, m.repeat[0].ask) // the members are written
	m.die(1, m.repeat[1].ask) // the number of the batch is reserved
	m.clock.ns.Add(int64(4 * time.Minute))
	m.source(wavesCSV(dawn.Add(day)))
	m.die(dyingTick, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) })
}

// dyingTick is the write after which the last tick dies: some of those who are new are
// members by then.
const dyingTick = 9

// decideHold decides on the held removals in a person's wave.
func (m *making) decideHold(name string, decide func(context.Context, audit.Caller, int, string, string) (api.Batch, error)) {
	m.t.Helper()
	b := m.wave(name)
	view := must(m.app.HeldRemovals(m.ctx, ada, b, api.ListOptions{}))(m.t)
	keyed := ada
	keyed.Key = name
	must(decide(m.ctx, keyed, b, view.Revision, "asked the source's owner"))(m.t)
}

// die has a process do something, and die after its n-th write.
func (m *making) die(write int, do func(context.Context, *app.App) error) {
	m.t.Helper()
	if !m.killOn(m.queue, write, do) {
		m.t.Fatal("it was not cut short")
	}
}

// wave returns a person's batch of the runbook waves.
func (m *making) wave(name string) int {
	m.t.Helper()
	page := must(m.app.Batches(m.ctx, api.ListOptions{Limit: 1000, Runbook: "waves"}))(m.t)
	for _, b := range page.Items {
		if _, there := m.members(b.ID)[name+"1@x"]; there {
			return b.ID
		}
	}
	m.t.Fatalf("%s is in no batch", name)
	return 0
}
