package schedule_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

const (
	benchRows    = 100_000
	benchBatches = 50
)

// large is an answer of many rows for many batches.
func large(b *testing.B, rb *runbook.Runbook) *schedule.Result {
	b.Helper()
	r := answer(b, rb)
	for i := range benchRows {
		start := starts["mon"].AddDate(0, 0, i%benchBatches).Format(time.RFC3339)
		r.Add(encode(b, fmt.Sprintf("User.%06d@contoso.com", i), fmt.Sprintf("user%06d@fabrikam.com", i), "Sales;Europe;All Employees", start))
	}
	return r
}

// BenchmarkResult reads rows. Its bytes per row are those that stay in memory.
func BenchmarkResult(b *testing.B) {
	rb := parse(b, scheduled)
	row := encode(b, "", "user000000@fabrikam.com", "Sales;Europe;All Employees", "2026-03-02T00:00:00Z")
	for b.Loop() {
		r := answer(b, rb)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range benchRows {
			row[0] = fmt.Appendf(row[0][:0], `"User.%06d@contoso.com"`, i)
			r.Add(row)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/benchRows, "bytes/row")
		if problems, _ := r.Problems(); len(problems) > 0 || r.Len() != benchRows {
			b.Fatal(problems)
		}
	}
}

// BenchmarkMake plans for many members: on the first day, when all are new, on all the
// others, when nearly nothing has changed, and when everything has.
func BenchmarkMake(b *testing.B) {
	rb := parse(b, scheduled)
	r := large(b, rb)
	s := schedule.Situation{Now: now, Automation: true}
	first := schedule.Make(rb, r, s)
	same := s
	for i, g := range first.New {
		batch := schedule.Batch{ID: i + 1, Start: g.Start}
		for n, row := range g.Rows {
			batch.Members = append(batch.Members, schedule.Member{ID: i*benchRows + n + 1, Key: row.Key, Hash: row.Hash})
		}
		same.Batches = append(same.Batches, batch)
	}
	moved := same
	moved.Batches = nil
	for _, batch := range same.Batches {
		batch.Start = batch.Start.AddDate(0, 0, 1)
		batch.Filling = true
		moved.Batches = append(moved.Batches, batch)
	}
	for _, c := range []struct {
		name string
		s    schedule.Situation
	}{{"new", s}, {"unchanged", same}, {"moved", moved}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if plan := schedule.Make(rb, r, c.s); plan.Counts.Rows != benchRows {
					b.Fatal(plan.Counts)
				}
			}
		})
	}
}
