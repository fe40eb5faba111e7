package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

const (
	timerFunction  = "scheduler-timer"
	eventFunction  = "orchestrator-events"
	resultFunction = "worker-results"

	meta = `{"MessageReceiver":{},"DeliveryCount":"1","LockToken":"\"2f0c8f5e-0000-4000-8000-000000000000\"","MessageId":"\"m-1\"","ContentType":"\"application/json\"",
		"EnqueuedTimeUtc":"2026-01-02T03:04:05","EnqueuedTime":"2026-01-02T03:04:05+00:00","ApplicationProperties":{"MessageType":"poll-check"},"sys":{"MethodName":"x","UtcNow":"2026-01-02T03:04:05Z","RandGuid":"x"}}`
)

func encoded(body string) string {
	return `"` + base64.StdEncoding.EncodeToString([]byte(body)) + `"`
}

func TestReadyBeforeAnythingElseIs(t *testing.T) {
	p := start(t, nowhere())
	if took := p.ready(); took > 2*time.Second {
		t.Errorf("ready after %s", took)
	} else {
		t.Logf("ready after %s", took)
	}
}

// TestPayloads holds the handler to what the host sends.
func TestPayloads(t *testing.T) {
	t.Parallel()
	p := start(t, newSystem(t).settings())
	p.ready()
	kept := `{"BatchId":7,"StepExecutionId":1,"Count":1}`
	for name, tc := range map[string]struct {
		function, payload string
		header            []string
		want              int
	}{
		"timer":                      {timerFunction, `{"Data":{"timer":{"Schedule":{"AdjustForDST":true},"ScheduleStatus":{"Last":"2026-01-02T03:00:00.0105419+00:00","Next":"2026-01-02T03:05:00+00:00","LastUpdated":"2026-01-02T03:00:00.0105419+00:00"},"IsPastDue":false}},"Metadata":{"sys":{}}}`, nil, 200},
		"timer without a status":     {timerFunction, `{"Data":{"timer":{"Schedule":{},"ScheduleStatus":null,"IsPastDue":false}},"Metadata":{}}`, nil, 200},
		"timer past due":             {timerFunction, `{"Data":{"timer":{"ScheduleStatus":null,"IsPastDue":true}}}`, nil, 200},
		"timer that never ran":       {timerFunction, `{"Data":{"timer":{"ScheduleStatus":{"Last":"0001-01-01T00:00:00","Next":"2026-01-02T03:05:00","LastUpdated":"0001-01-01T00:00:00"},"IsPastDue":false}},"Metadata":{}}`, nil, 200},
		"timer retried by the host":  {timerFunction, `{"Data":{"timer":{"IsPastDue":false}},"Metadata":{"RetryContext":{"RetryCount":1,"MaxRetryCount":3,"Exception":null}}}`, nil, 200},
		"timer without its binding":  {timerFunction, `{"Data":{},"Metadata":{}}`, nil, 500},
		"event":                      {eventFunction, message(encoded(kept), meta), nil, 200},
		"event delivered ten times":  {eventFunction, message(encoded(kept), strings.Replace(meta, `"1"`, `"10"`, 1)), nil, 200},
		"event that is no JSON":      {eventFunction, message(encoded("x"), meta), nil, 200},
		"event that is no text":      {eventFunction, message(encoded("\xff\x00\xfe"), meta), nil, 200},
		"event without a body":       {eventFunction, message(`""`, meta), nil, 200},
		"event that looks encoded":   {eventFunction, message(encoded("eyJpZCI6N30="), meta), nil, 200},
		"event that is a string":     {eventFunction, message(encoded(`"text"`), meta), nil, 200},
		"event that forges metadata": {eventFunction, message(encoded(`{"MessageId":"x","DeliveryCount":99}`), `{"MessageId":{"x":1},"DeliveryCount":"many","EnqueuedTimeUtc":7,"ApplicationProperties":{"MessageType":"poll-check"}}`), nil, 200},
		"event without metadata":     {eventFunction, message(encoded(kept), `{}`), nil, 200},
		"event, string encoded once": {eventFunction, message(`"{\"id\":7}"`, meta), nil, 500},
		"event, string, twice":       {eventFunction, message(`"\"{\\\"id\\\":7}\""`, meta), nil, 500},
		"events, many":               {eventFunction, `{"Data":{"messages":"[\"{}\"]"},"Metadata":{"MessageIdArray":"[\"m-1\"]"}}`, nil, 500},
		"event, half an envelope":    {eventFunction, `{"Data":{`, nil, 500},
		"result":                     {resultFunction, message(encoded(`{"JobId":"step-1-attempt-1","Status":"Success","CorrelationData":{"BatchId":7,"StepExecutionId":1}}`), meta), nil, 200},
		"result that is no JSON":     {resultFunction, message(encoded("x"), meta), nil, 200},
		"unknown function":           {"OnOther", message(encoded("x"), meta), nil, 404},
		"another case":               {"Worker-Results", message(encoded("x"), meta), nil, 404},
		"proxied from outside":       {eventFunction, message(encoded(kept), meta), []string{"x-ms-invocation-id", "1"}, 404},
	} {
		t.Run(name, func(t *testing.T) {
			if got := p.call(tc.function, tc.payload, tc.header...); got != tc.want {
				t.Errorf("answered %d, want %d", got, tc.want)
			}
		})
	}
}

func TestTheSameMessageAtOnceAndAgain(t *testing.T) {
	t.Parallel()
	p := start(t, newSystem(t).settings())
	p.ready()
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if got := p.call(eventFunction, message(encoded(`no event`), meta)); got != 200 {
				t.Errorf("answered %d", got)
			}
		})
	}
	group.Wait()
	if n := strings.Count(p.stderr.String(), "panic"); n > 0 {
		t.Errorf("%d panics", n)
	}
}

func TestAnOutageEndsBeforeTheHostsPatience(t *testing.T) {
	t.Parallel()
	settings := nowhere()
	settings["AzureFunctionsJobHost__functionTimeout"] = "00:00:10" // of which the handler leaves a tenth
	p := start(t, settings)
	p.ready()
	began := time.Now()
	got := p.call(eventFunction, message(encoded(`{"BatchId":7,"StepExecutionId":1,"Count":1}`), meta))
	if took := time.Since(began); got != 500 || took > 10*time.Second {
		t.Errorf("answered %d after %s, want 500 within functionTimeout", got, took)
	}
	if got := p.call("none", "{}"); got != 404 {
		t.Errorf("afterwards it answers %d", got)
	}
}

// TestDrain ends the handler while a call waits for the store. That call gets its answer only after the handler has
// answered a probe and another call.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := start(t, s.settings())
	p.ready()
	event := func(id string) string { // the handler keeps it as unprocessable
		return message(encoded(`{"BatchId":7,"StepExecutionId":1,"Count":1}`), strings.Replace(meta, "m-1", id, 1))
	}
	reached, answered := make(chan struct{}), make(chan struct{})
	reach, release := sync.OnceFunc(func() { close(reached) }), sync.OnceFunc(func() { close(answered) })
	defer release()
	remove := s.cosmos.Inject(cosmos.Fault{Count: 1, Latency: time.Hour, Until: answered, Match: func(r cosmos.Request) bool {
		waits := r.PartitionKey == `["unprocessed"]`
		if waits {
			reach()
		}
		return waits
	}})
	defer remove()
	inFlight := make(chan int, 1)
	go func() { inFlight <- p.call(eventFunction, event("m-1")) }()
	select {
	case <-reached:
	case got := <-inFlight:
		t.Fatalf("the call did not wait for the store: it is answered %d", got)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the drain", func() bool { return strings.Contains(p.stdout.String(), `"draining"`) })
	response, err := http.Get(p.url + "/")
	if err != nil {
		t.Fatalf("the probe while draining: %v", err)
	}
	_ = response.Body.Close()
	if got := p.call(eventFunction, event("m-2")); got != 200 {
		t.Errorf("a call during the drain is answered %d", got)
	}
	release()
	if got := <-inFlight; got != 200 {
		t.Errorf("the call in flight is answered %d", got)
	}
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 200 {
		t.Errorf("exit status %d; every host starts another handler after 200 only", code)
	}
	if p.stderr.String() != "" && strings.Contains(p.stderr.String(), "cannot run") {
		t.Errorf("stderr: %s", p.stderr.String())
	}
}

// A person who ends the handler at a terminal has a shell, to which 200 is a failure.
func TestAnInterruptEndsWithSuccess(t *testing.T) {
	t.Parallel()
	p := start(t, nowhere())
	p.ready()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

func TestWhereTheLinesGo(t *testing.T) {
	t.Parallel()
	p := start(t, newSystem(t).settings())
	p.ready()
	p.call(eventFunction, message(`7`, meta))
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-p.ended // until then its output may be on the way
	lines := strings.Split(strings.TrimSpace(p.stdout.String()), "\n")
	for _, line := range lines {
		var entry struct{ Level string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Level == "" || entry.Level == "ERROR" {
			t.Errorf("on stdout: %s", line)
		}
	}
	if p.stderr.String() != "" {
		t.Errorf("on stderr: %s", p.stderr.String())
	}
	if strings.Contains(p.stdout.String(), "SAS_KEY_VALUE") || strings.Contains(p.stdout.String(), cosmos.DefaultKey) {
		t.Error("a key is in the log")
	}
}

func TestSettingsThatAreWrongAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]string{"COSMOS_ENDPOINT": "http://example.com", "LOG_LEVEL": "loud"})
	<-p.ended
	if p.cmd.ProcessState.ExitCode() != 1 || p.stdout.String() != "" {
		t.Errorf("exit status %d, stdout %q", p.cmd.ProcessState.ExitCode(), p.stdout.String())
	}
	line := strings.TrimSpace(p.stderr.String())
	if strings.Contains(line, "\n") {
		t.Errorf("more than one line, of which the host keeps three: %s", line)
	}
	for _, name := range []string{"COSMOS_ENDPOINT", "LOG_LEVEL", "ServiceBusConnection", "AzureAd__Instance", "AzureAd__TenantId", "AzureAd__ClientId"} {
		if !strings.Contains(line, name) {
			t.Errorf("%s is not named in %s", name, line)
		}
	}
}

func get(t *testing.T, url, token string) (int, http.Header, string) {
	t.Helper()
	request := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response := testenv.Must(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	body := testenv.Must(io.ReadAll(response.Body))(t)
	return response.StatusCode, response.Header, string(body)
}
