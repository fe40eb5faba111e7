package app_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
)

// TestAnOlderSummaryDoesNotReplaceANewerOne: a process that is late writes the summary of a batch
// after another process has changed the batch and written its own.
func TestAnOlderSummaryDoesNotReplaceANewerOne(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(s *stage, id int){
		"resumed":                  func(s *stage, id int) { s.resume(id) },
		"cancelled":                func(s *stage, id int) { s.cancel(id) },
		"resumed and paused again": func(s *stage, id int) { s.resume(id); s.pause(id) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for write := 1; ; write++ {
				s := newStage(t, false)
				s.script = script{"New": fails(errLost)}
				b := s.startBatch(twoSteps, people(2))
				process, reached := s.slow(write, func() { meanwhile(s, b.ID) })
				must(process.Pause(s.ctx, ada, b.ID, ""))(t)
				s.wantListed(b.ID)
				if page := must(s.app.Batches(s.ctx, api.ListOptions{}))(t); len(page.Items) != 1 || page.Items[0].Status != s.batchOf(b.ID).Status {
					t.Fatalf("after write %d the list has %+v", write, page.Items)
				}
				if !reached() {
					break
				}
			}
		})
	}
}
