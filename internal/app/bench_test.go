package app_test

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
)

// BenchmarkStep takes batches of 490 members through five steps, with broker,
// store, app and worker in one process: what a profile of it shows is where the
// time of a step goes. "make bench" measures the real processes.
func BenchmarkStep(b *testing.B) {
	w := newWorld(b, azure)
	w.publish(flat)
	const members = 490
	for b.Loop() {
		batch := w.batch("flat", people(members))
		view, err := w.app.Advance(w.ctx, audit.Caller{}, batch.ID, w.next(batch.ID))
		if err != nil {
			b.Fatal(err)
		}
		w.pump(1, func(message.Job) (string, error) { return "true", nil }, func() bool {
			time.Sleep(20 * time.Millisecond)
			return w.ended(batch.ID, view.Advanced)
		})
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*members*5), "µs/step")
}
