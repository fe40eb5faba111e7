package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestTargetsCompareWhatWasMeasured checks both sides of each kind of limit.
func TestTargetsCompareWhatWasMeasured(t *testing.T) {
	t.Parallel()
	f := figures{
		sizes: []size{
			{members: 100, rate: rate{cpu: 1}, ru: 20},
			{members: 300_000, steps: 1_500_000, rate: rate{cpu: 1.2, written: 7.04}, ru: 26, operations: 3.7, executions: 0.1, handlerMB: 129},
		},
		pair:   &pair{ours: rate{perSecond: 2200, cpu: 0.7}, river: rate{perSecond: 1000, cpu: 1, written: 9}},
		member: &amounts{writes: 300, reads: 50, operations: 45, executions: 15}, step: &amounts{},
		poll:    &amounts{writes: 13, reads: 1, operations: 6.01, executions: 1.06},
		largest: &peak{"cosmos", 400 << 20}, sideMembers: 1_000_000, sideBySide: "1,000,000 members in 10 batches",
		requested: 101 * time.Millisecond, rate: 50, bundles: &bundleTimes{first: 5004 * time.Millisecond, cached: 510 * time.Millisecond, stale: 3 * time.Second},
		rehearsed: &rehearsed{serve: usageOf{elapsed: time.Minute, peak: 1025 << 20}, rehearse: usageOf{elapsed: 610 * time.Second, peak: 2 << 30}}, people: 100_000, wave: 1000, difference: 15.04,
	}
	want := map[string]bool{
		"steps/s": true, "CPU ms per step": false, "RU per step under load": true, "bus operations per step under load": false,
		"executions per step under load": true, "KB written to disk per step": true,
		"RU per poll, nothing coincides": true, "bus operations per poll, nothing coincides": true, "executions per poll, nothing coincides": false,
		"USD per 1,000 members with 15 steps and 30 polls: Functions, Service Bus, Cosmos DB": true,
		"handler MB with 300,000 members":                     false,
		"CPU per step with 300,000 members, of that with 100": false, "RU per step with 300,000 members, of that with 100": false,
		"MB of the largest process (cosmos), 1,000,000 members in 10 batches": true,
		"ms p95 of POST /pipelines/{name}/batches at 50 requests/s":           false,
		"seconds until the first bundle of ten repositories":                  true, "seconds until a cached bundle": false,
		"seconds until a bundle with two stale repositories":                     true,
		"seconds until a tenant with 100,000 people is served, with a small one": true,
		"MB of the process that serves them":                                     false,
		"minutes to rehearse a wave of 1,000 of its people":                      false,
		"MB of that rehearsal":                                                   true, "% between predicted and real durations of phases": true,
	}
	for _, target := range f.targets() {
		met, known := want[target.Name]
		if !known || target.Measured == nil || target.Met != met {
			t.Errorf("%+v, measured %v, want met: %t", target, target.Measured, met)
		}
		delete(want, target.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// TestTargetsOfAStepNeedSeveralSteps: a batch with one step does not say what a step costs.
func TestTargetsOfAStepNeedSeveralSteps(t *testing.T) {
	t.Parallel()
	for steps, want := range map[int]bool{1: false, 5: true} {
		measured := false
		for _, target := range (figures{sizes: []size{{members: 100, steps: 100 * steps, ru: 40}}}).targets() {
			measured = measured || target.Name == "RU per step under load" && target.Measured != nil
		}
		if measured != want {
			t.Errorf("with %d steps: measured %t", steps, measured)
		}
	}
}

// TestTargetsSayWhyTheyWereNotMeasured checks that nothing is met that was not measured.
func TestTargetsSayWhyTheyWereNotMeasured(t *testing.T) {
	t.Parallel()
	all := figures{unpaired: errNoRiver.Error(), unbundled: errNoBundle.Error(), unpredicted: "--predicted-members is 0"}.targets()
	for _, target := range all {
		if target.Met || target.Measured != nil || target.Why == "" {
			t.Errorf("%+v", target)
		}
	}
	var out bytes.Buffer
	targetTable(all).print(&out)
	for _, want := range []string{"not measured: bench/peers/river is not built", "make bench-long"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestMedianTakesEachFigureOnItsOwn(t *testing.T) {
	t.Parallel()
	if got, want := median([]rate{{1, 9, 5}, {3, 7, 6}}), (rate{2, 8, 5.5}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := median([]rate{{1, 9, 5}, {30, 7, 6}, {2, 100, 1}}), (rate{2, 9, 5}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReportAsJSONHasNumbers(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Report{Tables: []Table{{Name: "a", Columns: []string{"b"}, Rows: [][]any{{two(1.5), 3}}}}, Targets: []Target{{Name: "c", Measured: &decimal{2.25, 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"tables":[{"name":"a","columns":["b"],"rows":[[1.50,3]]}],"targets":[{"name":"c","limit":"","measured":2.2,"met":false}],"notes":null}`
	if string(text) != want {
		t.Errorf("got %s\nwant %s", text, want)
	}
}
