package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apijson"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/internal/webhook"
	"github.com/matoolkit/matoolkit/local/receiver"
)

// webhookKey signs what the stages post.
const webhookKey = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// posting is a stage whose processes post notifications to a receiver.
func posting(t *testing.T, s *stage) *receiver.Receiver {
	t.Helper()
	key := must(webhook.ParseKey(webhookKey))(t)
	r := testenv.Started(receiver.Start(t.Context(), key))(t)
	c := s.config()
	c.Poster = posterTo(r)
	s.app, s.other = app.New(c), app.New(c)
	return r
}

// posterTo posts to a receiver.
func posterTo(r *receiver.Receiver) *webhook.Sender {
	return webhook.New(webhook.Config{
		Settings: []string{"HOOK_URL", "HOOK_KEY"}, Local: true,
		Getenv: func(name string) string { return map[string]string{"HOOK_URL": r.URL(), "HOOK_KEY": webhookKey}[name] },
	})
}

// notify adds a rule with a webhook.
func (s *stage) notify(name string, rule api.NotificationRequest, events ...string) {
	s.t.Helper()
	rule.Name, rule.Events = name, events
	if rule.Target.Type == "" {
		rule.Target = api.NotificationTarget{Type: api.TargetWebhook, URLSetting: "HOOK_URL", KeySetting: "HOOK_KEY"}
	}
	must(s.app.AddNotificationRule(s.ctx, ada, rule))(s.t)
}

// deliveries lists the deliveries of a rule, the oldest first, as event/status/attempts.
func (s *stage) deliveries(rule string) string {
	s.t.Helper()
	page := must(s.app.NotificationDeliveries(s.ctx, rule, api.ListOptions{Limit: 100}))(s.t)
	var all []string
	for _, d := range slices.Backward(page.Items) {
		all = append(all, fmt.Sprintf("%s/%s/%d", d.Event, d.Status, d.Attempts))
	}
	return strings.Join(all, " ")
}

// wantPosts compares the kinds of events that a receiver got, in order.
func wantPosts(t *testing.T, r *receiver.Receiver, want string) {
	t.Helper()
	var all []string
	for _, p := range r.Posts() {
		var body struct{ Type string }
		noError(t, json.Unmarshal(p.Body, &body))
		all = append(all, body.Type)
	}
	if got := strings.Join(all, " "); got != want || r.Refused() > 0 {
		t.Errorf("the receiver got %q and refused %d posts, want %q", got, r.Refused(), want)
	}
}

// waitingForApproval has a batch that waits for an approval.
func (s *stage) waitingForApproval(members int) int {
	s.t.Helper()
	return s.startBatch(gated("approval: required"), people(members)).ID
}

func TestAGateThatWaitsIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	for name, on := range map[string][]drivers{"in memory": nil, "over the protocols": {azure}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false, on...)
			r := posting(t, s)
			s.notify("gates", api.NotificationRequest{LinkURL: "https://console.example.com/"}, api.EventGateWaiting, api.EventBatchEnded)
			id := s.waitingForApproval(2)
			for range 3 {
				s.tickAfter(5 * time.Minute)
			}
			wantPosts(t, r, "gate_waiting")
			var body struct {
				Timestamp string
				Data      struct {
					Link, Phase, Text string
					BatchID           int
				}
			}
			noError(t, json.Unmarshal(r.Posts()[0].Body, &body))
			if at, err := time.Parse(apijson.TimeLayout, body.Timestamp); err != nil || at.Format(apijson.TimeLayout) != body.Timestamp {
				t.Errorf("the time %q is not as in the API: %v", body.Timestamp, err)
			}
			if d := body.Data; d.Link != fmt.Sprintf("https://console.example.com/batches/%d", id) || d.Phase != "second" || d.BatchID != id || !strings.Contains(d.Text, "it waits for an administrator's approval") {
				t.Errorf("%+v", d)
			}
			s.approve(id, "second")
			s.advance(id)
			for range 2 {
				s.tickAfter(5 * time.Minute)
			}
			wantPosts(t, r, "gate_waiting batch_ended")
			if got := s.deliveries("gates"); got != "gate_waiting/sent/1 batch_ended/sent/1" {
				t.Error(got)
			}
		})
	}
}

func TestBatchThatEndedBeforeTheRuleIsNotAnnounced(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	r := posting(t, s)
	id := s.waitingForApproval(1)
	must(s.app.Cancel(s.ctx, ada, id, "not now"))(t)
	s.deliverAll()
	s.pass(time.Minute)
	s.notify("ends", api.NotificationRequest{}, api.EventBatchEnded)
	s.tickAfter(5 * time.Minute)
	wantPosts(t, r, "")
}

func TestTwoTicksAtOnceAnnounceAnEventOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	r := posting(t, s)
	s.notify("gates", api.NotificationRequest{}, api.EventGateWaiting)
	s.waitingForApproval(1)
	var all sync.WaitGroup
	for _, process := range []*app.App{s.app, s.other, s.app, s.other} {
		all.Go(func() {
			if err := process.Tick(s.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	wantPosts(t, r, "gate_waiting")
}

func TestTargetThatDoesNotAnswerGetsTheNotificationAgainUnderOneID(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	r := posting(t, s)
	r.Answer(500, 302)
	s.notify("gates", api.NotificationRequest{}, api.EventGateWaiting)
	s.waitingForApproval(1)
	s.tick()
	if d := must(s.app.NotificationDeliveries(s.ctx, "gates", api.ListOptions{}))(t).Items[0]; d.Status != api.DeliveryPending || d.NextAt == nil || d.Error != "the address in HOOK_URL answered with the status 500" {
		t.Errorf("%+v", d)
	}
	for range 6 {
		s.tickAfter(6 * time.Minute)
	}
	wantPosts(t, r, "gate_waiting gate_waiting gate_waiting")
	for _, p := range r.Posts() {
		if p.ID != r.Posts()[0].ID || !p.Signed {
			t.Errorf("%+v", p)
		}
	}
	if got := s.deliveries("gates"); got != "gate_waiting/sent/3" {
		t.Error(got)
	}
}

func TestTargetThatNeverAnswersIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	r := posting(t, s)
	noError(t, r.Close())
	s.notify("gates", api.NotificationRequest{}, api.EventGateWaiting)
	s.waitingForApproval(1)
	s.tick()
	for range 15 {
		s.tickAfter(5 * time.Hour)
	}
	if got := s.deliveries("gates"); got != "gate_waiting/failed/10" {
		t.Error(got)
	}
	if d := must(s.app.NotificationDeliveries(s.ctx, "gates", api.ListOptions{}))(t).Items[0]; !strings.HasPrefix(d.Error, "no answer from the address in HOOK_URL") || strings.Contains(d.Error, "http://") {
		t.Errorf("%q", d.Error)
	}
}

// dieAt has a process die at the operation n of a partition: it is carried out if after is set, and no later operation is.
func (s *stage) dieAt(partition string, n int, after bool, die func()) (end func(), reached func() bool) {
	count := 0
	var mu sync.Mutex
	end = s.disturb(func(_ context.Context, op memory.Operation) memory.Fault {
		mu.Lock()
		defer mu.Unlock()
		if op.Partition == partition {
			count++
		}
		if count < n {
			return memory.Fault{}
		}
		if op.Partition != partition || count > n {
			return memory.Unavailable
		}
		die()
		if after {
			return memory.AnswerLost
		}
		return memory.Unavailable
	})
	return end, func() bool { return count >= n }
}

// A process that dies at any operation of the store within a tick leaves an event announced once, or
// twice under one id.
func TestEventIsAnnouncedOnceWhereverTheTickDies(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			s := newStage(t, false)
			r := posting(t, s)
			s.notify("gates", api.NotificationRequest{}, api.EventGateWaiting)
			s.waitingForApproval(1)
			dying, die := context.WithCancel(s.ctx)
			end, reached := s.dieAt("notifications", n, after, die)
			_ = s.app.Tick(dying)
			die()
			end()
			s.app = s.other
			for range 3 {
				s.tickAfter(6 * time.Minute)
			}
			ids := map[string]bool{}
			for _, p := range r.Posts() {
				ids[p.ID] = true
			}
			if len(ids) != 1 || len(r.Posts()) > 2 {
				t.Errorf("killed at operation %d: %d posts of %d deliveries", n, len(r.Posts()), len(ids))
			}
			if got := s.deliveries("gates"); !strings.HasPrefix(got, "gate_waiting/sent/") {
				t.Errorf("killed at operation %d: %s", n, got)
			}
			if !reached() {
				break
			}
			if n > 50 {
				t.Fatal("no end")
			}
		}
	}
}

func TestQuietHoursHoldNotificationsBack(t *testing.T) {
	t.Parallel()
	s := newStage(t, false) // it begins at 09:00 UTC
	r := posting(t, s)
	quiet := &api.NotificationQuietHours{TimeZone: "Europe/Berlin", From: "08:00", To: "12:00"}
	s.notify("calm", api.NotificationRequest{QuietHours: quiet}, api.EventGateWaiting)
	s.notify("eager", api.NotificationRequest{QuietHours: quiet, Urgent: []string{api.EventGateWaiting}}, api.EventGateWaiting)
	s.notify("test", api.NotificationRequest{QuietHours: quiet}, api.EventBatchEnded)
	s.waitingForApproval(1)
	s.tick()
	wantPosts(t, r, "gate_waiting")
	if got := s.deliveries("calm"); got != "gate_waiting/pending/0" {
		t.Error(got)
	}
	if d := must(s.app.TestNotificationRule(s.ctx, ada, "test"))(t); d.Status != api.DeliverySent {
		t.Errorf("%+v", d)
	}
	s.pass(3 * time.Hour)
	s.tick()
	wantPosts(t, r, "gate_waiting test gate_waiting")
}

func TestEventThatEndsInQuietHoursIsDropped(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	r := posting(t, s)
	s.notify("calm", api.NotificationRequest{QuietHours: &api.NotificationQuietHours{TimeZone: "UTC", From: "08:00", To: "12:00"}}, api.EventGateWaiting)
	id := s.waitingForApproval(1)
	s.tick()
	s.approve(id, "second")
	s.pass(4 * time.Hour)
	s.tick()
	wantPosts(t, r, "")
	if got := s.deliveries("calm"); got != "gate_waiting/dropped/0" {
		t.Error(got)
	}
	s.pass(31 * day)
	s.tick()
	if got := s.deliveries("calm"); got != "" {
		t.Errorf("after a month: %s", got)
	}
}

func TestWorkerThatStaysAwayIsAnnouncedOnceUntilItIsSeenAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	r := posting(t, s)
	s.notify("workers", api.NotificationRequest{}, api.EventWorkerSilent)
	s.script = script{"Do": fails(errLost)}
	first := s.replica("r1")
	first.Stopping = true
	first.beat()
	s.advance(s.createBatch(oneStep(", timeout: 5h"), people(2)).ID)
	s.tickAfter(9 * time.Minute)
	wantPosts(t, r, "")
	for range 3 {
		s.tickAfter(5 * time.Minute)
	}
	wantPosts(t, r, "worker_silent")
	var body struct {
		Data struct{ Text, WorkerID string }
	}
	noError(t, json.Unmarshal(r.Posts()[0].Body, &body))
	const want = "The worker worker-01 has given no sign of life since 2026-03-01 09:00 UTC. Jobs wait for it since 2026-03-01 09:00 UTC."
	if body.Data.Text != want || body.Data.WorkerID != "worker-01" {
		t.Errorf("%+v", body.Data)
	}
	s.replica("r2").beat()
	s.tick()
	wantPosts(t, r, "worker_silent")
	for range 4 {
		s.tickAfter(5 * time.Minute)
	}
	wantPosts(t, r, "worker_silent worker_silent")
}

func TestFailuresAreAnnouncedFromTheirShareOn(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	r := posting(t, s)
	s.notify("few", api.NotificationRequest{FailedPercent: 25}, api.EventFailures)
	s.notify("many", api.NotificationRequest{FailedPercent: 26}, api.EventFailures)
	s.notify("elsewhere", api.NotificationRequest{Runbook: "other"}, api.EventFailures)
	s.script = script{"New": only(fails(errNo), 1)}
	s.startBatch(twoSteps, people(4))
	s.tick()
	s.tick()
	wantPosts(t, r, "failures")
	if s.deliveries("few") != "failures/sent/1" || s.deliveries("many")+s.deliveries("elsewhere") != "" {
		t.Errorf("%s, %s, %s", s.deliveries("few"), s.deliveries("many"), s.deliveries("elsewhere"))
	}
}

func TestMailIsSentByAJobOfAWorkerAndItsFailureIsStored(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	posting(t, s)
	s.notify("mail", api.NotificationRequest{Target: api.NotificationTarget{Type: api.TargetMail, WorkerID: "worker-01", To: []string{"ada@example.com"}}}, api.EventGateWaiting)
	s.script = script{"Send-AdminAlert": func(j message.Job) (string, error) {
		if strings.HasSuffix(j.JobID, "-1") {
			return "", errNo
		}
		return "true", nil
	}}
	s.waitingForApproval(1)
	s.tickAfter(time.Minute)
	if got := s.deliveries("mail"); got != "gate_waiting/pending/1" {
		t.Error(got)
	}
	s.tickAfter(10 * time.Minute)
	if got := s.deliveries("mail"); got != "gate_waiting/sent/2" {
		t.Error(got)
	}
	mails := slices.DeleteFunc(slices.Clone(s.jobs), func(j message.Job) bool { return j.FunctionName != "Send-AdminAlert" })
	if len(mails) != 2 || mails[0].EffectID != mails[1].EffectID || mails[0].JobID == mails[1].JobID || !strings.Contains(string(mails[0].Parameters), `"To":["ada@example.com"]`) {
		t.Errorf("%+v", mails)
	}
	if open := must(s.app.UnprocessableMessages(s.ctx, api.ListOptions{}))(t).Items; len(open) > 0 {
		t.Errorf("%+v", open)
	}
}

func TestRemovedRuleSendsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	r := posting(t, s)
	r.Answer(500)
	s.notify("gates", api.NotificationRequest{}, api.EventGateWaiting)
	s.waitingForApproval(1)
	s.tick()
	must(s.app.RemoveNotificationRule(s.ctx, ada, "gates", "closed"))(t)
	s.tickAfter(10 * time.Minute)
	wantPosts(t, r, "gate_waiting")
	s.wantRefused(errorOf(s.app.NotificationDeliveries(s.ctx, "gates", api.ListOptions{})), api.CodeNotFound, `unknown notification rule "gates"`)
	records := auditText(must(s.app.Audit(s.ctx, api.AuditFilter{}, api.ListOptions{Limit: 1000}))(t).Items)
	if !strings.Contains(records, "add_notification") || !strings.Contains(records, "remove_notification") {
		t.Error(records)
	}
	s.notify("gates", api.NotificationRequest{}, api.EventGateWaiting) // a new rule announces anew
	s.tick()
	wantPosts(t, r, "gate_waiting gate_waiting")
}

func TestUnusableRulesAreRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	posting(t, s)
	hook := api.NotificationTarget{Type: "webhook", URLSetting: "HOOK_URL", KeySetting: "HOOK_KEY"}
	for want, change := range map[string]func(*api.NotificationRequest){
		`invalid name "A b"`:             func(r *api.NotificationRequest) { r.Name = "A b" },
		"events is empty":                func(r *api.NotificationRequest) { r.Events = nil },
		`unknown event "party"`:          func(r *api.NotificationRequest) { r.Events = []string{"party"} },
		"the event worker_silent has no": func(r *api.NotificationRequest) { r.Events, r.Runbook = []string{"worker_silent"}, "moves" },
		"urgent needs quietHours":        func(r *api.NotificationRequest) { r.Urgent = r.Events },
		`urgent has "failures"`:          func(r *api.NotificationRequest) { r.Urgent = []string{"failures"} },
		"failedPercent needs":            func(r *api.NotificationRequest) { r.FailedPercent = 5 },
		"failedPercent 101 is not":       func(r *api.NotificationRequest) { r.Events, r.FailedPercent = []string{"failures"}, 101 },
		"linkUrl is not a URL":           func(r *api.NotificationRequest) { r.LinkURL = "javascript:alert(1)" },
		`"Mars/Base" is not a time zone`: func(r *api.NotificationRequest) {
			r.QuietHours = &api.NotificationQuietHours{TimeZone: "Mars/Base", From: "20:00", To: "07:00"}
		},
		"cover the whole day": func(r *api.NotificationRequest) {
			r.QuietHours = &api.NotificationQuietHours{TimeZone: "UTC", From: "07:00", To: "07:00"}
		},
		`unknown type of target "pager"`:      func(r *api.NotificationRequest) { r.Target.Type = "pager" },
		"target.keySetting is missing":        func(r *api.NotificationRequest) { r.Target.KeySetting = "" },
		`"COSMOS_KEY" is not listed`:          func(r *api.NotificationRequest) { r.Target.KeySetting = "COSMOS_KEY" },
		"HOOK_URL: the key is not":            func(r *api.NotificationRequest) { r.Target.KeySetting = "HOOK_URL" },
		"HOOK_KEY does not contain an https":  func(r *api.NotificationRequest) { r.Target.URLSetting = "HOOK_KEY" },
		"a target of the type webhook has no": func(r *api.NotificationRequest) { r.Target.WorkerID = "worker-01" },
		`"ada" , which`:                       nil,
	} {
		request := api.NotificationRequest{Name: "a", Events: []string{"gate_waiting"}, Target: hook}
		if change == nil {
			want, request.Target = `"ada", which is not a mail address`, api.NotificationTarget{Type: "mail", WorkerID: "worker-01", To: []string{"ada"}}
		} else {
			change(&request)
		}
		_, err := s.app.AddNotificationRule(s.ctx, ada, request)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	same := api.NotificationRequest{Name: "a", Events: []string{"gate_waiting", "failures"}, Target: hook}
	must(s.app.AddNotificationRule(s.ctx, ada, same))(t)
	same.Events = []string{"failures", "gate_waiting"}
	if v := must(s.app.AddNotificationRule(s.ctx, grace, same))(t); !v.Unchanged || v.CreatedBy != "ada" {
		t.Errorf("%+v", v)
	}
	same.Owner = "grace"
	s.wantRefused(errorOf(s.app.AddNotificationRule(s.ctx, ada, same)), api.CodeConflict, `there is another notification rule "a"; remove it first, or choose another name`)
	if page := must(s.app.NotificationRules(s.ctx))(t); len(page.Items) != 1 {
		t.Errorf("%+v", page)
	}
}
