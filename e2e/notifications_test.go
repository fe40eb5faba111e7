package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/internal/webhook"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/receiver"
	"github.com/matoolkit/matoolkit/local/tenant"

	schedulertimer "github.com/matoolkit/matoolkit/functions/scheduler-timer"
)

const (
	notificationKey = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	gatedRunbook    = `
name: gated
data_source: {type: csv, primary_key: Upn}
phases:
  - name: cut-over
    offset: T-0
    approval: required
    steps: [{name: find, worker_id: worker-01, function: Get-EntraUser, params: {UserId: "{{Upn}}"}}]
`
)

// TestAGateIsAnnouncedOnceWhileTheHandlerIsKilled kills the handler again and again while the scheduler
// announces a gate to a webhook. The receiver gets one delivery, which is signed, and the gate's batch.
func TestAGateIsAnnouncedOnceWhileTheHandlerIsKilled(t *testing.T) {
	t.Parallel()
	key, err := webhook.ParseKey(notificationKey)
	if err != nil {
		t.Fatal(err)
	}
	r := testenv.Started(receiver.Start(t.Context(), key))(t)
	m := newMachineWith(t, []byte(`{}`), environment{handler: map[string]string{"HOOK_URL": r.URL(), "HOOK_KEY": notificationKey}}, separate...)
	m.write("gated.yaml", []byte(gatedRunbook))
	m.write("people.csv", []byte("Upn\nada@fabrikam.onmicrosoft.com\n"))
	a := newAdminOf(m, "gated", m.path("gated.yaml"), m.path("people.csv"))
	a.must("notification", "add", "gates", "--event", "gate_waiting", "--webhook", "HOOK_URL", "--key", "HOOK_KEY", "--link", "https://console.example.com")
	for i := range 8 {
		ticked := make(chan error, 1)
		go func() { ticked <- m.askLocal(http.MethodPost, "functions/"+schedulertimer.Name, struct{}{}, nil) }()
		time.Sleep(time.Duration(10*i) * time.Millisecond) // the fault's own moment, not a wait for anything
		if err := m.kill("handler", 0); err != nil {
			t.Fatal(err)
		}
		<-ticked
		m.moveTo(m.clock().Add(6 * time.Minute))
	}
	var deliveries api.Page[api.NotificationDelivery]
	for end := time.Now().Add(patience); ; {
		if err := m.askLocal(http.MethodPost, "functions/"+schedulertimer.Name, struct{}{}, nil); err != nil {
			t.Log("the tick failed:", err)
		}
		a.ask(&deliveries, "notification", "deliveries", "gates")
		if len(deliveries.Items) > 0 && deliveries.Items[0].Status == api.DeliverySent {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%+v", deliveries.Items)
		}
		m.moveTo(m.clock().Add(6 * time.Minute))
	}
	posts := r.Posts()
	if len(deliveries.Items) != 1 || len(posts) == 0 || r.Refused() > 0 {
		t.Fatalf("%d deliveries, %d posts, %d refused", len(deliveries.Items), len(posts), r.Refused())
	}
	for _, p := range posts {
		var body struct {
			Type string
			Data struct{ Link string }
		}
		if err := json.Unmarshal(p.Body, &body); err != nil {
			t.Fatal(err)
		}
		if !p.Signed || p.ID != deliveries.Items[0].ID || body.Type != "gate_waiting" || body.Data.Link != "https://console.example.com/batches/"+a.batch {
			t.Errorf("%s %s", p.ID, p.Body)
		}
	}
	t.Logf("%d attempts, %d posts", deliveries.Items[0].Attempts, len(posts))
}

// TestARuleSendsMail tests a rule whose target is a worker: the worker sends one mail, and the broker
// keeps no job.
func TestARuleSendsMail(t *testing.T) {
	t.Parallel()
	const name = "a-rule-with-the-longest-name-of-them-all" // so that the ids of job and result have their greatest length
	m := newMachineWith(t, []byte(`{}`), environment{}, everything)
	a := signIn(m)
	a.must("notification", "add", name, "--event", "failures", "--mail", "worker-01")
	a.must("notification", "test", name)
	var mails []tenant.Mail
	for end := time.Now().Add(patience); len(mails) == 0; time.Sleep(a.every) {
		var kept api.Page[api.UnprocessableMessage]
		a.ask(&kept, "messages", "list")
		if len(kept.Items) > 0 || time.Now().After(end) {
			t.Fatalf("no mail; kept: %+v", kept.Items)
		}
		state, err := demo.State(t.Context(), m.endpoints.TenantURL)
		if err != nil {
			t.Fatal(err)
		}
		mails = state.Mails
	}
	if len(mails) != 1 || mails[0].Subject != "Test of the notification rule "+name {
		t.Errorf("the mails are %+v", mails)
	}
	var deliveries api.Page[api.NotificationDelivery]
	a.ask(&deliveries, "notification", "deliveries", name)
	if len(deliveries.Items) != 1 || deliveries.Items[0].Status != api.DeliverySent {
		t.Errorf("the deliveries are %+v", deliveries.Items)
	}
}
