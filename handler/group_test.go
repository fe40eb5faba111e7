package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/matoolkit/matoolkit/internal/bus"
	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	contract "github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/functionshost"
)

// TestAGroupOfResultsIsOneInvocation sends all results of a batch in one message, with an entry that
// cannot be read, to the real handler under the host.
func TestAGroupOfResultsIsOneInvocation(t *testing.T) {
	t.Parallel()
	const members = 20
	s := newSystem(t)
	dist := filepath.Join(t.TempDir(), "dist")
	if err := functionshost.Stage("..", binary, dist); err != nil {
		t.Fatal(err)
	}
	h := testenv.Started(functionshost.Start(t.Context(), functionshost.Config{AppDir: dist, Addr: "127.0.0.1:0", Settings: s.settings(), Logger: slog.New(slog.DiscardHandler)}))(t)
	c := s.caller(t, h)
	c.begin(members)
	var results []bus.Message
	for _, job := range s.takeJobs(t, members) {
		if !job.AcceptsGroups {
			t.Errorf("the job %s does not accept groups", job.JobID)
		}
		r := contract.Result{JobID: job.JobID, Status: contract.StatusSuccess, Result: json.RawMessage("true"), CorrelationData: job.CorrelationData}
		results = append(results, bus.Message{ID: r.ID(), Body: testenv.Must(json.Marshal(r))(t)})
	}
	group := testenv.Group(results...)
	group.Body = append(group.Body[:len(group.Body)-len("]}")], `,{"MessageId":"odd"}]}`...)
	b := testenv.Connected(azbus.Dial(azbus.Config{ConnectionString: s.bus.ConnectionString()}))(t)
	if err := b.Send(t.Context(), contract.TopicWorkerResults, group); err != nil {
		t.Fatal(err)
	}
	var batch struct{ Status string }
	testenv.Eventually(t, "the end of the batch", func() bool {
		c.ask(http.MethodGet, "/api/batches/1", "", "", &batch)
		return batch.Status == "completed"
	})
	var open page
	testenv.Eventually(t, "the entry that cannot be read", func() bool {
		c.ask(http.MethodGet, "/api/messages/unprocessed", "", "", &open)
		return len(open.Items) == 1
	})
	stats := s.bus.Stats().Entities[contract.TopicWorkerResults+"/Subscriptions/orchestrator"]
	if stats.Delivered != 1 {
		t.Errorf("%d deliveries of results, want 1", stats.Delivered)
	}
}
