package functionshost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
)

// timerTrigger fires one function on its schedule, one firing at a time.
type timerTrigger struct {
	server  *Server
	name    string
	binding *timerBinding
	file    string          // of the status; "" keeps it in memory
	manual  chan struct{}   // a request to run now; one can wait
	asked   chan chan error // requests to run and to tell how that ended
	status  *scheduleStatus
}

// scheduleStatus is the state of a timer that the host keeps between runs.
type scheduleStatus struct {
	Last        time.Time // zero: never
	Next        time.Time
	LastUpdated time.Time
}

func newTimer(s *Server, name string, b *timerBinding) (*timerTrigger, error) {
	t := &timerTrigger{server: s, name: name, binding: b, manual: make(chan struct{}, 1), asked: make(chan chan error)}
	if !b.UseMonitor || b.schedule.subMinute(s.clock.Now()) {
		return t, nil
	}
	if s.dataDir != "" {
		t.file = filepath.Join(s.dataDir, "timers", name+".json")
		if err := os.MkdirAll(filepath.Dir(t.file), 0o700); err != nil {
			return nil, fmt.Errorf("save the schedule status: %w", err)
		}
		raw, err := os.ReadFile(t.file)
		if err == nil {
			err = json.Unmarshal(raw, &t.status)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("read the schedule status: %w", err)
		}
	}
	return t, t.begin(s.clock.Now())
}

// begin makes the status of a timer that starts at now: a new one, or the one that
// was kept, whose next occurrence follows from when it last ran by the schedule as
// it is now.
func (t *timerTrigger) begin(now time.Time) error {
	if t.status == nil {
		t.status = &scheduleStatus{Next: t.binding.schedule.next(now), LastUpdated: now}
		return t.save()
	}
	since := t.status.Last
	if since.IsZero() {
		since = t.status.LastUpdated
	}
	t.status.Next = t.binding.schedule.next(since)
	return nil
}

// runNow asks for a firing at once; asking again before it began adds nothing.
func (t *timerTrigger) runNow() {
	select {
	case t.manual <- struct{}{}:
	default:
	}
}

// runToItsEnd runs the function and gives the error of the run. It waits for a firing
// that is under way.
func (t *timerTrigger) runToItsEnd(ctx context.Context) error {
	ended := make(chan error, 1)
	select {
	case t.asked <- ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run fires the function until running ends. An occurrence that the clock was moved
// over is made up, once, however many there were.
func (t *timerTrigger) run(running, life context.Context) {
	now, offset := t.server.clock.Read()
	switch {
	case t.status != nil && now.After(t.status.Next):
		t.fire(life, true)
	case t.binding.RunOnStartup:
		t.fire(life, false)
	}
	for {
		moved := t.server.clock.Moved()
		now, ahead := t.server.clock.Read()
		if jump := ahead - offset; jump > 0 { // while the function ran
			offset = ahead
			if !t.binding.schedule.next(now.Add(-jump)).After(now) {
				t.fire(life, true)
				continue
			}
		}
		next := t.binding.schedule.next(now)
		wait := time.NewTimer(next.Sub(now))
		select {
		case <-running.Done():
			wait.Stop()
			return
		case <-moved:
			wait.Stop()
			if now, offset = t.server.clock.Read(); !now.Before(next) {
				t.fire(life, true)
			}
		case <-t.manual:
			wait.Stop()
			_ = t.invoke(life, false) // it is logged
		case ended := <-t.asked:
			wait.Stop()
			ended <- t.invoke(life, false)
		case <-wait.C:
			if !t.server.clock.Now().Before(next) { // the clock may differ from the timer's
				t.fire(life, false)
			}
		}
	}
}

// fire runs one occurrence and remembers it, whether it succeeded or not: a timer
// that failed runs again at its next occurrence.
func (t *timerTrigger) fire(life context.Context, pastDue bool) {
	began := t.server.clock.Now()
	_ = t.invoke(life, pastDue) // it is logged
	if t.status == nil {
		return
	}
	*t.status = scheduleStatus{Last: began, Next: t.binding.schedule.next(t.server.clock.Now()), LastUpdated: began}
	if err := t.save(); err != nil {
		t.server.log.Error("cannot save the schedule status", "function", t.name, "error", err)
	}
}

func (t *timerTrigger) invoke(life context.Context, pastDue bool) error {
	payload, err := t.payload(pastDue)
	if err == nil {
		err = t.server.invoke(life, t.name, payload, "")
	}
	if err != nil {
		t.server.log.Error("a timer run failed", "function", t.name, "error", err)
	}
	return err
}

func (t *timerTrigger) save() error {
	if t.file == "" {
		return nil
	}
	raw, err := json.Marshal(t.status)
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.file+".new", raw, 0o600); err != nil {
		return err
	}
	return os.Rename(t.file+".new", t.file)
}

func (t *timerTrigger) payload(pastDue bool) ([]byte, error) {
	type object = map[string]any
	var status any
	if t.status != nil {
		updated := t.status.LastUpdated
		if t.status.Last.IsZero() { // of a timer that never fired the host gives neither
			updated = time.Time{}
		}
		status = object{"Last": stamp(t.status.Last), "Next": stamp(t.status.Next), "LastUpdated": stamp(updated)}
	}
	return json.Marshal(object{
		"Data": object{t.binding.Name: object{
			"Schedule":       object{"AdjustForDST": true},
			"ScheduleStatus": status,
			"IsPastDue":      pastDue,
		}},
		"Metadata": object{"sys": object{
			"MethodName": t.name,
			"UtcNow":     t.server.clock.Now().UTC().Format("2006-01-02T15:04:05.999999Z"),
			"RandGuid":   uuid.NewString(),
		}},
	})
}

// stamp writes a time of the status.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.9999999-07:00") }
