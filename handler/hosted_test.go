package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/env"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/functionshost"
)

// TestUnderTheHost runs the app's Azure package under the local host.
func TestUnderTheHost(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	dist := filepath.Join(t.TempDir(), "dist")
	if err := functionshost.Stage("..", binary, dist); err != nil {
		t.Fatal(err)
	}
	var lines testenv.Buffer
	host := testenv.Must(functionshost.Start(t.Context(), functionshost.Config{AppDir: dist, Addr: "127.0.0.1:0", Settings: s.settings(), Output: &lines}))(t)
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(lines.String())
		}
	})

	t.Run("HTTP", func(t *testing.T) {
		status, _, body := get(t, host.URL()+"/api/health", "")
		var health struct{ Status string }
		if err := json.Unmarshal([]byte(body), &health); status != 200 || err != nil || health.Status != "ok" {
			t.Errorf("health: %d %s", status, body)
		}
		if status, header, _ := get(t, host.URL()+"/api/runbooks", ""); status != 401 || header.Get("WWW-Authenticate") == "" {
			t.Errorf("without a token: %d, challenge %q", status, header.Get("WWW-Authenticate"))
		}
		token := testenv.Must(s.entra.IssueUserToken(entra.DefaultAdminUPN, entra.DefaultAdminAPIScope))(t)
		if status, _, body := get(t, host.URL()+"/api/runbooks", token); status != 200 || !strings.Contains(body, "items") {
			t.Errorf("with a token: %d %s", status, body)
		}
		status, header, body := get(t, host.URL()+"/api/runbooks/a%2Fb", token)
		if status < 400 || status > 404 || !strings.Contains(header.Get("Content-Type"), "json") {
			t.Errorf("an escaped name: %d %s", status, body)
		}
		for _, path := range []string{"/" + eventFunction, "/api/" + eventFunction, "//" + eventFunction} {
			response := testenv.Must(http.Post(host.URL()+path, "application/json", strings.NewReader(message(encoded("{}"), meta))))(t)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusNotFound && response.StatusCode != http.StatusMethodNotAllowed && response.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s from outside is answered %d", path, response.StatusCode)
			}
		}
	})

	t.Run("timer", func(t *testing.T) {
		response, err := http.Post(host.URL()+"/admin/functions/"+timerFunction+"?code="+functionshost.DefaultMasterKey, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusAccepted {
			t.Errorf("by hand: %d", response.StatusCode)
		}
		testenv.Eventually(t, "the tick", func() bool { return strings.Contains(lines.String(), `"msg":"tick"`) })
	})

	t.Run("messages", func(t *testing.T) {
		client := testenv.Connected(azservicebus.NewClientFromConnectionString(s.bus.ConnectionString(), nil))(t)
		for topic, reason := range map[string]string{eventFunction: "no handler for messages of type", resultFunction: "JSON"} {
			sender := testenv.Must(client.NewSender(topic, nil))(t)
			id := "m-" + topic
			if err := sender.SendMessage(t.Context(), &azservicebus.Message{MessageID: &id, Body: []byte("x"), ApplicationProperties: map[string]any{"MessageType": "no-such"}}, nil); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, "the message on "+topic+" being kept", func() bool {
				return strings.Contains(lines.String(), `"MessageId":"`+id+`"`) && strings.Contains(lines.String(), reason)
			})
			receiver := testenv.Must(client.NewReceiverForSubscription(topic, "orchestrator", nil))(t)
			testenv.Eventually(t, "an empty subscription of "+topic, func() bool {
				left, err := receiver.PeekMessages(t.Context(), 1, nil)
				return err == nil && len(left) == 0
			})
		}
	})

	t.Run("memory", func(t *testing.T) {
		flood(t, s, 2000)
		if runtime.GOOS != "linux" {
			return // only Linux tells
		}
		status := testenv.Must(os.ReadFile("/proc/" + strconv.Itoa(host.HandlerPID()) + "/status"))(t)
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		kilobytes, err := strconv.Atoi(strings.Fields(rest + " -")[0])
		// Below the floor Go collects no garbage, so that the heap has that size.
		if most := (heapFloor + 44<<20) >> 10; err != nil || kilobytes > most {
			t.Errorf("the handler took up to %d KB, want at most %d, %v", kilobytes, most, err)
		}
		t.Logf("the handler took up to %d KB", kilobytes)
	})
}

// flood sends n messages that are kept as unprocessable and waits until they are.
func flood(t *testing.T, s *system, n int) {
	t.Helper()
	client := testenv.Must(azservicebus.NewClientFromConnectionString(s.bus.ConnectionString(), nil))(t)
	defer client.Close(context.Background())
	sender := testenv.Must(client.NewSender(eventFunction, nil))(t)
	receiver := testenv.Must(client.NewReceiverForSubscription(eventFunction, "orchestrator", nil))(t)
	body := []byte(strings.Repeat("x", 1000))
	for sent := 0; sent < n; {
		batch := testenv.Must(sender.NewMessageBatch(t.Context(), nil))(t)
		for ; sent < n && batch.NumMessages() < 100; sent++ {
			id := "flood-" + strconv.Itoa(sent)
			if err := batch.AddMessage(&azservicebus.Message{MessageID: &id, Body: body}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := sender.SendMessageBatch(t.Context(), batch, nil); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, "the flood being kept", func() bool {
		left, err := receiver.PeekMessages(t.Context(), 1, nil)
		return err == nil && len(left) == 0
	})
}

// TestTheFilesAgree checks that host.json and the function.json files configure what the handler assumes.
func TestTheFilesAgree(t *testing.T) {
	t.Parallel()
	raw := testenv.Must(os.ReadFile("../host.json"))(t)
	var host struct {
		FunctionTimeout string
		Extensions      struct {
			ServiceBus struct {
				MaxConcurrentCalls         int
				MaxAutoLockRenewalDuration string
			}
			HTTP struct{ RoutePrefix string }
		}
	}
	if err := json.Unmarshal(raw, &host); err != nil {
		t.Fatal(err)
	}
	r := reader{env.New(func(string) string { return host.FunctionTimeout })}
	if got := r.timeout("x", 0); got != defaultFunctionTimeout {
		t.Errorf("functionTimeout is %s, the handler takes it for %s", got, defaultFunctionTimeout)
	}
	if host.Extensions.ServiceBus.MaxAutoLockRenewalDuration != host.FunctionTimeout {
		t.Error("a lock is not kept for as long as an invocation may take")
	}
	if 2*host.Extensions.ServiceBus.MaxConcurrentCalls != connections {
		t.Errorf("%d calls at once for each of two subscriptions, %d connections", host.Extensions.ServiceBus.MaxConcurrentCalls, connections)
	}
	if host.Extensions.HTTP.RoutePrefix != "api" {
		t.Error("the admin API is at /api")
	}
	if d := (settings{functionTimeout: defaultFunctionTimeout}).deadline(); d >= defaultFunctionTimeout || d < defaultFunctionTimeout-time.Minute {
		t.Errorf("an invocation may take %s", d)
	}
	raw = testenv.Must(os.ReadFile("../local.settings.json.example"))(t)
	var example struct{ Values map[string]string }
	if err := json.Unmarshal(raw, &example); err != nil {
		t.Fatal(err)
	}
	example.Values["FUNCTIONS_CUSTOMHANDLER_PORT"] = "1"
	if _, err := readSettings(func(name string) string { return example.Values[name] }); err != nil {
		t.Errorf("the example's settings: %v", err)
	}
}
