package dispatch_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// The results of jobs that end together come in one message, if the jobs say that their
// orchestrator reads it.
func TestResultsThatAreReadyTogetherTravelTogether(t *testing.T) {
	t.Parallel()
	for name, accepts := range map[string]bool{"in a group": true, "one by one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const jobs = 6
			release := make(chan struct{})
			f := until(release)
			b := start(t, f, options{config: dispatch.Config{MaxParallelism: jobs, Linger: time.Second}})
			var want []string
			for i := range jobs {
				j := job(i + 1)
				j.AcceptsGroups = accepts
				b.send(t, j)
				want = append(want, message.Result{JobID: j.JobID, CorrelationData: j.CorrelationData}.ID())
			}
			for range jobs {
				awaitStart(t, f)
			}
			close(release)
			messages := 1
			if !accepts {
				messages = jobs
			}
			_, received := b.receive(t, messages)
			var got []string
			for _, m := range received {
				if !accepts {
					got = append(got, m.MessageID)
					continue
				}
				if kind := m.ApplicationProperties[message.PropertyMessageType]; kind != message.TypeWorkerResults || m.ApplicationProperties[message.PropertyWorkerID] != workerID {
					t.Errorf("properties %v", m.ApplicationProperties)
				}
				results, err := message.Delivery{ID: m.MessageID, Body: m.Body}.Results()
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range results {
					var result message.Result
					if err := json.Unmarshal(r.Body, &result); err != nil || r.Err != nil || result.Status != message.StatusSuccess || result.ID() != r.ID || r.Properties["traceparent"] != "00-trace-01" {
						t.Errorf("%s, %v: %s %v", r.ID, r.Err, r.Body, r.Properties)
					}
					got = append(got, r.ID)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			b.jobsLeft(t, 0, nil)
		})
	}
}
