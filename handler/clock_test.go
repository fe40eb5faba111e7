package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/clock"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/functionshost"
	machine "github.com/matoolkit/matoolkit/local/system"
)

// TestWithAMovedClock moves the clock of a whole system whose handler is the real
// one, and starts that system again.
func TestWithAMovedClock(t *testing.T) {
	t.Parallel()
	const days = 24 * time.Hour
	dist := filepath.Join(t.TempDir(), "dist")
	if err := functionshost.Stage("..", binary, dist); err != nil {
		t.Fatal(err)
	}
	var lines testenv.Buffer
	config := machine.Config{DataDir: t.TempDir(), Addresses: machine.FreeAddresses(), AppDir: dist, Output: &lines}
	s := testenv.Must(machine.Start(t.Context(), config))(t)
	defer func() { _ = s.Close() }() // closed before where all is well

	client := testenv.Connected(azservicebus.NewClientFromConnectionString(s.ServiceBusConnection(), nil))(t)
	sender := testenv.Must(client.NewSender(eventFunction, nil))(t)
	id := "scheduled"
	if _, err := sender.ScheduleMessages(t.Context(), []*azservicebus.Message{{MessageID: &id, Body: []byte("x"), ApplicationProperties: map[string]any{"MessageType": "no-such"}}}, time.Now().Add(3*days), nil); err != nil {
		t.Fatal(err)
	}

	var reading clock.Reading
	ask(t, http.MethodPost, s.Host.URL()+"/_local/clock", "", "application/json", `{"advance":"5d"}`, &reading)
	if reading.OffsetSeconds != int64(5*days/time.Second) {
		t.Errorf("the clock reads %+v", reading)
	}
	testenv.Eventually(t, "the message that was due on day 3", func() bool { return strings.Contains(lines.String(), `"MessageId":"scheduled"`) })

	// The handler goes by the moved clock, sign-in by the real one.
	runbook := testenv.Must(os.ReadFile("../examples/user-migration/runbook.yaml"))(t)
	token := testenv.Must(s.Entra.IssueUserToken(entra.DefaultAdminUPN, entra.DefaultAdminAPIScope))(t)
	var published struct{ CreatedAt time.Time }
	ask(t, http.MethodPost, s.Host.URL()+"/api/runbooks", token, "application/yaml", string(runbook), &published)
	if ahead := time.Until(published.CreatedAt); ahead < 4*days || ahead > 5*days {
		t.Errorf("a runbook is published %s ahead", ahead)
	}
	var ran functionshost.Run
	ask(t, http.MethodPost, s.Host.URL()+"/_local/functions/"+timerFunction, "", "application/json", "{}", &ran)
	if !strings.Contains(lines.String(), `"msg":"tick"`) || ran.Function != timerFunction {
		t.Errorf("answered %+v before the tick has ended", ran)
	}
	for _, topic := range []string{"orchestrator-events", "worker-results"} { // also by a clock that was moved
		if want := fmt.Sprintf(`"Topic":%q,"Subscription":"orchestrator","Event":"oldest-message","AgeSeconds":0,`, topic); !strings.Contains(lines.String(), want) {
			t.Errorf("the tick does not tell %s", want)
		}
	}

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = testenv.Must(machine.Start(t.Context(), config))(t)
	ask(t, http.MethodGet, s.Host.URL()+"/_local/clock", "", "", "", &reading)
	if s.Clock().Offset() != 5*days || reading.OffsetSeconds != int64(5*days/time.Second) {
		t.Errorf("started again, the clock is %s ahead and reads %+v", s.Clock().Offset(), reading)
	}
}

// ask sends a request that must succeed and reads the answer.
func ask(t testing.TB, method, url, token, kind, body string, into any) {
	t.Helper()
	request := testenv.Must(http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(body))))(t)
	request.Header.Set("Content-Type", kind)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response := testenv.Must(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 == 2 {
		err = json.Unmarshal(text, into)
	}
	if err != nil || response.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s %s, %v", method, url, response.Status, text, err)
	}
}
