//go:build browser

package browser

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/internal/webhook"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/receiver"
)

// TestConsoleWorkers: a worker that runs is alive, with its functions; one that was killed while jobs wait for
// it becomes silent.
func TestConsoleWorkers(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "--worker-id", "worker-01,exo-01")
	i.startWorker("worker-01")
	other := i.startWorker("exo-01")

	b := i.signedIn("workers", entra.DefaultReaderUPN)
	b.shows("2 alive. 0 jobs are queued and 0 in flight.")
	b.press("exo-01")
	b.arrives("workers/exo-01")
	b.shows("0 of 8 in flight")
	b.shows("New-EntraUser")
	b.fillFilter("Filter functions", "Test-Exchange")
	b.hides(".side-panel", "New-EntraUser")

	_ = other.Process.Kill()
	_ = other.Wait()
	i.publish(`name: move
data_source: {type: csv, primary_key: UserId}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: move, worker_id: exo-01, function: Set-EntraUserEnabled, params: {UserId: "{{UserId}}", Enabled: true}, timeout: 2h}
`)
	members := write(t, "members.csv", "UserId\n7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01\n7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b02\n")
	i.run("batch", "create", "move", members)
	i.run("batch", "advance", "1", "--phase", "move")
	i.run("local", "clock", "--advance", "3m")
	b.shows("exo-01 has sent no heartbeat since")
	b.shows("2 jobs wait for it")
	b.await(`[...document.querySelectorAll("tbody tr")].some((r) => r.innerText.includes("exo-01") && /Silent|Gone/.test(r.innerText))`)
}

// TestConsoleActivity: the records are filtered by the address and exported as a file, new ones appear by
// themselves, and a record shows what it changed.
func TestConsoleActivity(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.run("runbook", "publish", "--force", filepath.Join(example, "runbook.yaml"))
	i.run("batch", "create", "user-migration", filepath.Join(example, "members.csv"))
	i.run("batch", "pause", "1", "--reason", "=the change is not approved")

	b := i.signedIn("activity", entra.DefaultAdminUPN)
	saved := b.downloads()
	b.shows("Created wave 1")
	b.shows("Paused wave 1")
	i.run("batch", "resume", "1", "--reason", "approved")
	b.shows("Resumed wave 1")

	b.open("activity?action=pause", "Activity")
	b.shows("1 record")
	b.hides("main", "Created wave 1")
	b.press("Export CSV")
	b.shows("Exported 1 record to")
	rows := testenv.Must(csv.NewReader(strings.NewReader(saved("activity-*.csv"))).ReadAll())(t)
	if rows[1][1] != entra.DefaultAdminUPN || rows[1][3] != "pause" || rows[1][8] != "'=the change is not approved" {
		t.Errorf("exported %q", rows)
	}
	b.press("JSON")
	var records []api.AuditRecord
	if err := json.Unmarshal([]byte(saved("activity-*.json")), &records); err != nil || len(records) != 1 || records[0].Action != "pause" || records[0].Why != "=the change is not approved" {
		t.Errorf("exported %v: %+v", err, records)
	}
	b.press("Paused wave 1")
	b.shows("the change is not approved")
	b.press("Open wave 1")
	b.arrives("waves/1")
	b.press("All, with export") // of this wave alone
	b.shows("Created wave 1")
	b.hides("main", "Published user-migration")
	b.press("Wave 1")
	b.shows("Published user-migration")
	b.open("activity?by=nobody", "Activity")
	b.shows("Nothing fits this filter.")
}

// sendUnprocessable sends a message that the handler cannot process, and waits until it is kept.
func (i *installation) sendUnprocessable() {
	i.t.Helper()
	client := testenv.Must(azservicebus.NewClientFromConnectionString(i.at.Worker["ServiceBusConnection"], nil))(i.t)
	i.t.Cleanup(func() { _ = client.Close(context.Background()) })
	sender := testenv.Must(client.NewSender(message.TopicOrchestratorEvents, nil))(i.t)
	if err := sender.SendMessage(i.t.Context(), &azservicebus.Message{Body: []byte(`{"BatchId":`), ApplicationProperties: map[string]any{message.PropertyMessageType: "phase-due"}}, nil); err != nil {
		i.t.Fatal(err)
	}
	i.await("phase-due", "messages", "list")
}

// TestConsoleUnprocessableMessages: an administrator reads a message that could not be processed, replays it,
// which fails again, and discards it.
func TestConsoleUnprocessableMessages(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.sendUnprocessable()

	b := i.signedIn("now", entra.DefaultAdminUPN)
	b.press("Open messages") // from what needs a person
	b.press("phase-due")
	b.press("Show the body")
	b.showsIn("dialog", `{"BatchId":`)
	b.press("Replay…")
	b.shows("is sent to orchestrator-events again")
	b.press("Replay 1 message")
	b.shows("Replayed the phase-due")
	b.shows("1 replay")
	b.press("Discard…")
	b.fill("Reason", "a test")
	b.press("Discard 1 message")
	b.shows("Discarded the phase-due")
	b.shows("Every message was processed.")
	b.press("Discarded")
	b.shows("phase-due")
	b.press("Replays and discards")
	b.shows("Discarded an unprocessable message")
	b.shows("a test")
}

// TestConsoleNotifications: an administrator adds a rule, sends a test, which arrives signed, sees the notifications sent,
// and removes the rule.
func TestConsoleNotifications(t *testing.T) {
	t.Parallel()
	const key = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	receives := testenv.Must(receiver.Start(t.Context(), testenv.Must(webhook.ParseKey(key))(t)))(t)
	t.Cleanup(func() { _ = receives.Close() })
	i := newInstallation(t, "--setting", "ALARM_URL="+receives.URL(), "--setting", "ALARM_KEY="+key)

	b := i.signedIn("notifications", entra.DefaultAdminUPN)
	b.press("New rule…")
	b.fill("Name", "alarm")
	b.fill("Setting of the handler with the URL", "ALARM_URLS")
	b.fill("Setting of the handler with the key", "ALARM_KEY")
	b.press("Add the rule")
	b.shows("ALARM_URLS") // the API says that the setting is not listed, and the form keeps what was typed
	b.await(`document.querySelector("dialog [role=alert]") !== null`)
	b.fill("Setting of the handler with the URL", "ALARM_URL")
	b.press("Add the rule")
	b.arrives("notifications/alarm")
	b.shows("Nothing was sent by this rule yet.")

	b.press("Send a test…")
	b.press("Send 1 test")
	b.shows("The test was sent")
	b.await(`document.querySelector("#deliveries").closest("section").innerText.includes("Sent")`)
	if posts := receives.Posts(); len(posts) != 1 || !posts[0].Signed || receives.Refused() != 0 {
		t.Errorf("received %d posts, refused %d", len(posts), receives.Refused())
	}
	b.press("Remove…")
	b.press("Remove 1 rule")
	b.shows("There is no rule")
	if out := i.run("notification", "list"); strings.Contains(out, "alarm") {
		t.Errorf("%s", out)
	}
}

// TestConsoleReader: a reader sees every action of these views, disabled, with the reason.
func TestConsoleReader(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "--setting", "PEOPLE=sqlite:"+filepath.Join(t.TempDir(), "none.db"), "--setting", "ALARM_URL=http://127.0.0.1:9", "--setting", "ALARM_KEY=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	i.publish(`name: waves
data_source: {type: sql, connection: PEOPLE, query: select * from people, primary_key: UserId, batch_time_column: Start}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: move, worker_id: worker-01, function: Move-User, params: {UserId: "{{UserId}}"}}
`)
	i.sendUnprocessable()
	i.run("notification", "add", "alarm", "--event", "failures", "--webhook", "ALARM_URL", "--key", "ALARM_KEY")
	const reason = "This needs the app role Admin; you have Reader."
	b := i.signedIn("runbooks", entra.DefaultReaderUPN)
	b.refuses("New runbook", reason)
	b.open("runbooks/waves", "waves")
	b.refuses("Publish v2", reason)
	b.refuses("Deactivate v1", reason)
	b.shows("move")
	b.open("sources/waves", "waves")
	b.refuses("Preview the next sync", reason)
	b.refuses("Turn automation on", reason)
	b.open("notifications", "Notifications")
	b.refuses("New rule", reason)
	b.open("notifications/alarm", "alarm")
	b.refuses("Send a test", reason)
	b.refuses("Remove", reason)
	b.open("activity", "Activity")
	b.shows(reason)
	b.press("Unprocessable messages")
	b.refuses("Replay…", reason)
	b.refuses("Discard…", reason)
	b.press("phase-due")
	b.refuses("Show the body", reason)
}
