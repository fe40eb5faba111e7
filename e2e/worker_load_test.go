package e2e_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/local/bench"
)

// TestWorkerLoad gives a worker a small load, as "make bench" does a large one, by a
// tenant that refuses every twentieth call: no job is lost, fails or is done twice.
// Times are not looked at.
func TestWorkerLoad(t *testing.T) {
	t.Parallel()
	f, err := bench.MeasureWorker(t.Context(), bench.Config{Worker: program("worker")},
		bench.WorkerLoad{Jobs: 200, Parallelism: 16, Throttled: 0.05, RetryAfter: "0.05"})
	if err != nil {
		t.Fatal(err)
	}
	if f.Refused == 0 {
		t.Error("the tenant has refused no call")
	}
	const most = 80 << 20
	if f.Peak > most {
		t.Errorf("the worker held %d MB, at most 80 are allowed", f.Peak>>20)
	}
}
