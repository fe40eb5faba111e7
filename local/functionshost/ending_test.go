package functionshost

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// How a host of 2024 was seen to take the end of its handler.

func TestEachExitStatusHasItsMeaning(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]ending{0: final, 200: restarted, 1: crashed, 7: crashed, 137: crashed, 143: crashed, -1: crashed} {
		if got := ends(status); got != want {
			t.Errorf("exit status %d: %d, want %d", status, got, want)
		}
	}
}

func TestTheThirdCrashOfThirtyMinutesStopsTheHost(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		minutes []int
		want    string // of each crash, whether the host stops
	}{
		"at once":               {[]int{0, 0, 0}, "--x"},
		"within thirty minutes": {[]int{0, 15, 29}, "--x"},
		"slower than that":      {[]int{0, 15, 30, 46, 61}, "-----"},
		"the first forgotten":   {[]int{0, 31, 32, 33}, "---x"},
	} {
		var h history
		var got strings.Builder
		for _, m := range tc.minutes {
			if h.crash(at.Add(time.Duration(m) * time.Minute)) {
				got.WriteString("x")
			} else {
				got.WriteString("-")
			}
		}
		if got.String() != tc.want {
			t.Errorf("%s: %s, want %s", name, &got, tc.want)
		}
	}
}

// deadLetters counts the subscription's dead letters.
func deadLetters(t *testing.T, b *servicebus.Server) int {
	t.Helper()
	receiver, err := client(t, b).NewReceiverForSubscription("orchestrator-events", "orchestrator", &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	if err != nil {
		t.Fatal(err)
	}
	messages := testenv.Must(receiver.PeekMessages(t.Context(), 100, nil))(t)
	for _, m := range messages {
		if m.DeadLetterReason == nil || *m.DeadLetterReason != "MaxDeliveryCountExceeded" {
			t.Errorf("%s: reason %v", m.MessageID, m.DeadLetterReason)
		}
	}
	return len(messages)
}

// ending starts a host over a handler that ends with the body of a call as its status.
func endingHost(t *testing.T, restart time.Duration, settings ...string) (*Server, *servicebus.Server) {
	t.Helper()
	b := broker(t, "127.0.0.1:0", time.Minute)
	c := Config{AppDir: app(t, map[string]string{"on-event": onEvent, "api": catchAll}), Logger: quietly, Restart: restart, Settings: map[string]string{"ServiceBusConnection": b.ConnectionString()}}
	for i := 0; i+1 < len(settings); i += 2 {
		c.Settings[settings[i]] = settings[i+1]
	}
	return run(t, c, func(w http.ResponseWriter, r *http.Request) { success(w) }), b
}

func exit(t *testing.T, s *Server, status string) {
	t.Helper()
	if err := s.Invoke(t.Context(), "exit", []byte(status)); err == nil {
		t.Error("the call that ended the process did not fail")
	}
}

func TestExitStatusZeroIsFinal(t *testing.T) {
	t.Parallel()
	s, b := endingHost(t, time.Millisecond)
	exit(t, s, "0")
	if err := s.Invoke(t.Context(), "tick", []byte("{}")); err == nil {
		t.Error("a call succeeds without a handler")
	}
	send(t, b, "a", "b", "c")
	testenv.Eventually(t, "three dead letters", func() bool { return deadLetters(t, b) == 3 })
	if n := b.Stats().Entities["orchestrator-events/Subscriptions/orchestrator"].Delivered; n < 30 {
		t.Errorf("%d deliveries of three messages", n)
	}
	began := time.Now()
	response := testenv.Must(http.Get(s.URL() + "/api/x"))(t)
	_ = response.Body.Close()
	if took := time.Since(began); response.StatusCode != http.StatusInternalServerError || took < time.Second {
		t.Errorf("a request is answered %d after %s, want a failure after two seconds", response.StatusCode, took)
	}
	if pid := s.HandlerPID(); pid != 0 {
		t.Errorf("another handler runs, as %d", pid)
	}
}

func TestExitStatus200IsARestartThatIsNotCounted(t *testing.T) {
	t.Parallel()
	s, b := endingHost(t, time.Hour)
	for range crashesToStop + 1 {
		exit(t, s, "200")
		if err := s.Invoke(t.Context(), "tick", []byte("{}")); err != nil {
			t.Fatalf("the next handler: %v", err)
		}
	}
	send(t, b, "a")
	testenv.Eventually(t, "an empty subscription", func() bool { return left(t, b) == 0 })
	if n := deadLetters(t, b); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}

func TestCrashesRestartTheHandlerAndStopTheHost(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"1", "143"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			s, b := endingHost(t, time.Hour)
			for range crashesToStop - 1 {
				exit(t, s, status)
				if err := s.Invoke(t.Context(), "tick", []byte("{}")); err != nil {
					t.Fatalf("the next handler: %v", err)
				}
			}
			exit(t, s, status)
			testenv.Eventually(t, "the end of the host", s.supervisor.stopped)
			response := testenv.Must(http.Get(s.URL() + "/api/x"))(t)
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("a request to a host that has stopped is answered %d", response.StatusCode)
			}
			send(t, b, "a", "b")
			if n := deadLetters(t, b); n != 0 {
				t.Errorf("%d dead letters", n)
			}
		})
	}
}

func TestThePlatformStartsAHostThatHasStopped(t *testing.T) {
	t.Parallel()
	s, b := endingHost(t, 50*time.Millisecond)
	for range 2 * crashesToStop {
		exit(t, s, "1")
		testenv.Eventually(t, "another handler", func() bool { return s.HandlerPID() != 0 })
	}
	send(t, b, "a")
	testenv.Eventually(t, "an empty subscription", func() bool { return left(t, b) == 0 })
}

// A handler that cannot start is a crash each time; the calls that wait for a start fail
// with it.
func TestAHandlerThatCannotStartStopsTheHost(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "broken")
	s, _ := endingHost(t, time.Hour, "FAKE_BROKEN", broken)
	write(t, broken, "a bad deployment")
	exit(t, s, "200")
	if err := s.Invoke(t.Context(), "tick", []byte("{}")); err == nil {
		t.Error("a call succeeds without a handler")
	}
	testenv.Eventually(t, "the end of the host", s.supervisor.stopped)
}
