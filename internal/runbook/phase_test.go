package runbook

import (
	"strings"
	"testing"
	"time"
)

func TestGatesAreRead(t *testing.T) {
	t.Parallel()
	for gates, want := range map[string]Phase{
		"":                                         {},
		"approval: required,":                      {Approval: true},
		`approval: "required",`:                    {Approval: true},
		"require_success: 95%,":                    {RequireSuccess: 95},
		"require_success: 97.5%,":                  {RequireSuccess: 97.5},
		"require_success: 0.0001%,":                {RequireSuccess: 0.0001},
		"require_success: 100%,":                   {RequireSuccess: 100},
		`require_success: "100.0%",`:               {RequireSuccess: 100},
		"approval: required, require_success: 1%,": {Approval: true, RequireSuccess: 1},
	} {
		rb, found := Parse([]byte(smallest + "  - {name: q, offset: T-0, " + gates + " steps: [{name: s, worker_id: w, function: F}]}\n"))
		if len(found) > 0 {
			t.Errorf("%s: %v", gates, found)
			continue
		}
		if got := rb.Phases[1]; got.Approval != want.Approval || got.RequireSuccess != want.RequireSuccess {
			t.Errorf("%s: approval %v, success %v", gates, got.Approval, got.RequireSuccess)
		}
	}
}

func TestStopWhenIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]StopWhen{
		"{failed: 10%}":      {FailedPercent: 10},
		"{failed: 0.0001%}":  {FailedPercent: 0.0001},
		`{failed: "100%"}`:   {FailedPercent: 100},
		"{failed: 1}":        {Failed: 1},
		"{failed: 1000000}":  {Failed: 1000000},
		"&a {failed: &b 25}": {Failed: 25},
	} {
		rb, found := Parse([]byte(smallest + "  - {name: q, offset: T-0, stop_when: " + text + ", steps: [{name: s, worker_id: w, function: F}]}\n"))
		if len(found) > 0 {
			t.Errorf("%s: %v", text, found)
			continue
		}
		if got := rb.Phases[1].StopWhen; got == nil || *got != want {
			t.Errorf("%s: %+v", text, got)
		}
		if rb.Phases[0].StopWhen != nil {
			t.Errorf("%s: the first phase has it, too", text)
		}
	}
}

// The first phase may wait for a person, but not for a phase that is not there.
func TestGatesOfTheFirstPhase(t *testing.T) {
	t.Parallel()
	gated := func(offset, gate string) string { return "offset: " + offset + ", " + gate + "," }
	for name, tc := range map[string]struct {
		first, second string
		path          string // of the finding; empty when there is none
	}{
		"approval":                      {gated("T-1d", "approval: required"), "offset: T-0,", ""},
		"success":                       {gated("T-1d", "require_success: 90%"), "offset: T-0,", "phases[0].require_success"},
		"success of the second":         {"offset: T-1d,", gated("T-0", "require_success: 90%"), ""},
		"of two that are due at once":   {gated("T-0", "require_success: 90%"), "offset: T-0,", "phases[0].require_success"},
		"the other of the two":          {"offset: T-0,", gated("T-0", "require_success: 90%"), ""},
		"an offset that cannot be read": {"offset: soon,", gated("T-0", "require_success: 90%"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const steps = " steps: [{name: s, worker_id: w, function: F}]}\n"
			_, found := Parse([]byte("name: n\ndata_source: {type: csv, primary_key: K}\nphases:\n" +
				"  - {name: p, " + tc.first + steps + "  - {name: q, " + tc.second + steps))
			var path string
			for _, d := range found {
				if d.Code == CodeNoPhaseBefore {
					path += d.Path
				}
			}
			if path != tc.path {
				t.Errorf("found %v", found)
			}
		})
	}
}

func TestWaitsBetweenRetriesAreRead(t *testing.T) {
	t.Parallel()
	for retry, want := range map[string]Retry{
		"{max_retries: 0}":                               {},
		"{max_retries: 3, interval: 1m}":                 {MaxRetries: 3, Interval: time.Minute},
		"{max_retries: 3, interval: 24h}":                {MaxRetries: 3, Interval: MaxRetryWait},
		"{max_retries: 3, interval: 1m, backoff: fixed}": {MaxRetries: 3, Interval: time.Minute, Backoff: BackoffFixed},
		"{max_retries: 3, interval: 1m, jitter: 0%}":     {MaxRetries: 3, Interval: time.Minute},
		"{max_retries: 3, interval: 1m, jitter: 100%}":   {MaxRetries: 3, Interval: time.Minute, Jitter: 100},
		"{max_retries: 100, interval: 1h, backoff: exponential}": {
			MaxRetries: 100, Interval: time.Hour, Backoff: BackoffExponential,
		},
		"{max_retries: 3, interval: 1m, backoff: exponential, max_interval: 60s}": {
			MaxRetries: 3, Interval: time.Minute, Backoff: BackoffExponential, MaxInterval: time.Minute,
		},
		`{max_retries: 3, interval: 1m, backoff: exponential, max_interval: 1h, jitter: "5%"}`: {
			MaxRetries: 3, Interval: time.Minute, Backoff: BackoffExponential, MaxInterval: time.Hour, Jitter: 5,
		},
	} {
		rb, found := Parse([]byte(strings.Replace(smallest, "function: F", "function: F, retry: "+retry, 1)))
		if len(found) > 0 {
			t.Errorf("%s: %v", retry, found)
			continue
		}
		if got := rb.EffectiveRetry(rb.Phases[0].Steps[0]); got != want {
			t.Errorf("%s is read as %+v", retry, got)
		}
	}
}

// What an on_complete list and its rollbacks may use, and no more.
func TestOnCompleteIsAccepted(t *testing.T) {
	t.Parallel()
	rb, found := Parse([]byte(strings.TrimSuffix(smallest, "]}\n") + `], on_complete: [
      {name: a, worker_id: w, function: "New-{{_batch_id}}", output_params: {ReportId: Id}, retry: {max_retries: 1, interval: 1s}, poll: {interval: 1s, timeout: 1m}, timeout: 1m},
      {name: b, worker_id: w, function: F, on_failure: undo, params: {Own: "{{ReportId}}", Start: "{{_batch_start_time}}", All: ["{{_phase_members}}", "{{_phase_succeeded}}", "{{_phase_failed}}", "{{_phase_cancelled}}"]}, output_params: {Sent: At}},
      {name: c, worker_id: w, function: F, on_failure: undo, params: {Sent: "{{Sent}}"}}]}
  - {name: q, offset: T-0, steps: [{name: s, worker_id: w, function: F, on_failure: both}], on_complete: [
      {name: a, worker_id: w, function: F, output_params: {ReportId: Id}},
      {name: b, worker_id: w, function: F, on_failure: both}]}
rollbacks:
  undo:
    - {name: a, worker_id: w, function: F, params: {Report: "{{ReportId}}", Failed: "{{_phase_failed}}"}, output_params: {Ticket: Id}}
    - {name: b, worker_id: w, function: F, params: {Ticket: "{{Ticket}}"}}
  both:
    - {name: a, worker_id: w, function: F, params: {Batch: "{{_batch_id}}"}}
`))
	if len(found) > 0 {
		t.Fatal(found)
	}
	if got := rb.Columns(); len(got) != 1 || got[0] != "Mail" {
		t.Errorf("Columns = %v; what on_complete uses is no member's", got)
	}
	if a := rb.Phases[0].OnComplete[0]; a.Retry == nil || a.Poll == nil || a.Timeout != time.Minute || a.OutputParams["ReportId"] != "Id" {
		t.Errorf("the first step is read as %+v", a)
	}
}

// A rollback that nothing calls yet may be meant for on_complete.
func TestUnusedRollbackMayBeForOnComplete(t *testing.T) {
	t.Parallel()
	rb, found := Parse([]byte(strings.TrimSuffix(smallest, "}\n") + `, on_complete: [{name: a, worker_id: w, function: F, output_params: {ReportId: Id}}]}
rollbacks:
  later: [{name: a, worker_id: w, function: F, params: {Id: "{{ReportId}}", Of: "{{_phase_members}}"}}]
`))
	if len(found) != 1 || found[0].Code != CodeUnusedRollback {
		t.Fatal(found)
	}
	if got := rb.Columns(); len(got) != 1 {
		t.Errorf("Columns = %v", got)
	}
}
