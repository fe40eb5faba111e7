package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	schedulertimer "github.com/matoolkit/matoolkit/functions/scheduler-timer"
	"github.com/matoolkit/matoolkit/local/clock"
)

// clock returns the system's time.
func (m *machine) clock() time.Time {
	m.t.Helper()
	var r clock.Reading
	m.local(http.MethodGet, "clock", nil, &r)
	return r.Now
}

// moveTo moves the system's clock forward. Where a tick was due in between, the
// scheduler's timer fires by itself after that.
func (m *machine) moveTo(to time.Time) {
	m.t.Helper()
	m.local(http.MethodPost, "clock", map[string]string{"to": to.Format(time.RFC3339)}, nil)
	m.t.Logf("%s: the clock is at %s", time.Since(m.began).Round(time.Millisecond), to.Format(time.RFC3339))
}

// tick has the scheduler look now, and returns when it has.
func (m *machine) tick() {
	m.t.Helper()
	m.local(http.MethodPost, "functions/"+schedulertimer.Name, struct{}{}, nil)
}

// local asks the Functions host for what no Azure host has.
func (m *machine) local(method, path string, body, into any) {
	m.t.Helper()
	if err := m.askLocal(method, path, body, into); err != nil {
		m.t.Fatal(err)
	}
}

// store has the store fail, or be as it should again.
func (m *machine) store(method string, fault any) {
	m.t.Helper()
	request, err := http.NewRequest(method, "http://"+m.addresses.Cosmos+"/_local/faults", bytes.NewReader(encode(fault)))
	if err != nil {
		m.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusNoContent {
		m.t.Fatalf("the store answered %s: %s", response.Status, text)
	}
}

func (m *machine) askLocal(method, path string, body, into any) error {
	request, err := http.NewRequest(method, "http://"+m.addresses.Host+"/_local/"+path, bytes.NewReader(encode(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: the host answered %s: %s", method, path, response.Status, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
