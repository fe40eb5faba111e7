package runstate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

func TestStateOfEntry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	entry := &model.CacheEntry{ID: "a", Since: now.Add(-time.Hour), TTL: 600}
	fresh := &model.CacheEntry{ID: "a", Since: now.Add(-time.Second), TTL: 600}
	run := func(s model.Step, change func(*model.Run)) *model.Run {
		s.CacheID = "a"
		r := &model.Run{Status: model.RunRunning, Steps: []model.Step{{Status: model.StepSucceeded}, s}}
		if change != nil {
			change(r)
		}
		return r
	}
	for name, c := range map[string]struct {
		entry  *model.CacheEntry
		holder *model.Run
		want   CacheState
		step   int
		until  time.Time
	}{
		"no run":                     {entry, nil, CacheVoid, -1, time.Time{}},
		"no run yet":                 {fresh, nil, CacheWorking, -1, now.Add(10 * time.Minute)},
		"a run that knows nothing":   {entry, &model.Run{Steps: []model.Step{{}}}, CacheVoid, -1, time.Time{}},
		"a run that is written next": {fresh, &model.Run{Steps: []model.Step{{}}}, CacheWorking, -1, now.Add(10 * time.Minute)},
		"a job":                      {entry, run(model.Step{Status: model.StepDispatched}, nil), CacheWorking, 1, now.Add(10 * time.Minute)},
		"a poll":                     {entry, run(model.Step{Status: model.StepPolling}, nil), CacheWorking, 1, now.Add(10 * time.Minute)},
		"a retry":                    {entry, run(model.Step{Status: model.StepPending, RetryAfter: ago(-time.Minute)}, nil), CacheWorking, 1, now.Add(10 * time.Minute)},
		"paused":                     {entry, run(model.Step{Status: model.StepPending}, func(r *model.Run) { r.PausedAt = &now }), CacheVoid, 1, time.Time{}},
		"paused before a retry":      {entry, run(model.Step{Status: model.StepPending, RetryAfter: &now}, func(r *model.Run) { r.PausedAt = &now }), CacheVoid, 1, time.Time{}},
		"failed just now":            {fresh, run(model.Step{Status: model.StepFailed}, func(r *model.Run) { r.Status = model.RunFailed }), CacheVoid, 1, time.Time{}},
		"cancelled":                  {entry, run(model.Step{Status: model.StepCancelled}, func(r *model.Run) { r.Status = model.RunCancelled }), CacheVoid, 1, time.Time{}},
		"skipped":                    {entry, run(model.Step{Status: model.StepSkipped}, nil), CacheVoid, 1, time.Time{}},
		"done":                       {entry, run(model.Step{Status: model.StepSucceeded, CompletedAt: ago(time.Minute)}, nil), CacheDone, 1, now.Add(9 * time.Minute)},
		"done in a run that failed":  {entry, run(model.Step{Status: model.StepSucceeded, CompletedAt: ago(time.Minute)}, func(r *model.Run) { r.Status = model.RunFailed }), CacheDone, 1, now.Add(9 * time.Minute)},
		"done long ago":              {entry, run(model.Step{Status: model.StepSucceeded, CompletedAt: ago(10 * time.Minute)}, nil), CacheDone, 1, time.Time{}},
		"rolled back":                {entry, run(model.Step{Status: model.StepSucceeded, CompletedAt: ago(time.Minute)}, func(r *model.Run) { r.RolledBack = true }), CacheVoid, 1, time.Time{}},
		"marked as done":             {entry, run(model.Step{Status: model.StepSucceeded, CompletedAt: ago(time.Minute), Resolved: &model.Attribution{}}, nil), CacheVoid, 1, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, step := StateOfEntry(c.entry, c.holder, now); got != c.want || step != c.step {
				t.Errorf("state %d of step %d, want %d of %d", got, step, c.want, c.step)
			}
			if got := CacheEntryUntil(c.entry, c.holder, now); !got.Equal(c.until) {
				t.Errorf("of use until %s, want %s", got, c.until)
			}
		})
	}
}

func TestCacheIDs(t *testing.T) {
	t.Parallel()
	step := runbook.Step{WorkerID: "w", Function: "F", Params: map[string]any{"A": "{{A}}"}, Cache: &runbook.Cache{Key: "{{A}}/{{B?}}"}}
	change := func(f func(*runbook.Step)) runbook.Step { s := step; f(&s); return s }
	id := func(rb string, d runbook.Step, a, b string) string {
		run := &model.Run{Runbook: rb, Outputs: map[string]json.RawMessage{"A": json.RawMessage(a)}}
		if b != "" {
			run.Outputs["B"] = json.RawMessage(b)
		}
		got, err := (&transition{run: run}).cacheID(d)
		if err != nil {
			t.Fatal(err)
		}
		if got != "" && (len(got) != 32 || strings.Trim(got, "0123456789abcdef") != "") {
			t.Errorf("id %q", got)
		}
		return got
	}
	first := id("r", step, `"x"`, `"y"`)
	if id("r", step, `"x"`, `"y"`) != first {
		t.Error("the id differs from one call to the next")
	}
	if got := id("r", change(func(s *runbook.Step) { s.Name, s.Timeout = "other", time.Hour }), `"x"`, `"y"`); got != first {
		t.Error("the name and the timeout of a step are part of its id")
	}
	seen := map[string]string{first: "the first"}
	for name, got := range map[string]string{
		"another runbook":      id("s", step, `"x"`, `"y"`),
		"another key":          id("r", step, `"x"`, `"z"`),
		"another worker":       id("r", change(func(s *runbook.Step) { s.WorkerID = "v" }), `"x"`, `"y"`),
		"another function":     id("r", change(func(s *runbook.Step) { s.Function = "G" }), `"x"`, `"y"`),
		"other parameters":     id("r", change(func(s *runbook.Step) { s.Params = nil }), `"x"`, `"y"`),
		"a hostile name":       id("r", step, `"../\\?#\u0000"`, `"y"`),
		"a number":             id("r", step, `7`, `"y"`),
		"a slash in a value":   id("r", step, `"x/y"`, `"y"`),
		"a slash in the other": id("r", step, `"x"`, `"y/y"`),
	} {
		if seen[got] != "" || got == "" {
			t.Errorf("%s has the id %q of %s", name, got, seen[got])
		}
		seen[got] = name
	}
	for name, got := range map[string]string{"without a value": id("r", step, `"x"`, ""), "null": id("r", step, `"x"`, "null"), "empty": id("r", step, `"x"`, `""`), "a required one is empty": id("r", step, `""`, `"y"`)} {
		if got != "" {
			t.Errorf("%s: id %q", name, got)
		}
	}
	if got := id("r", change(func(s *runbook.Step) { s.Cache = &runbook.Cache{Key: `{{A}}/{{B | default('main')}}`} }), `"x"`, ""); got == "" {
		t.Error("a default gives no key")
	}
}
