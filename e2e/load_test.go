package e2e_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/bench"
)

// TestLoad puts a small load on the admin API, as "make bench" does a large one: no
// request fails, and all confirmed changes are stored afterwards. The test measures
// no times.
func TestLoad(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := bench.MeasureLoad(t.Context(), bench.Config{Matoolkit: program("matoolkit"), Worker: program("worker"), App: dist, Out: &out},
		bench.Load{Readers: 20, Writers: 4, Members: 500, For: 2 * time.Second})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, route := range []string{"GET batches", "GET members", "GET phases", "GET steps", "POST batches", "POST runbooks", "DELETE member", "all, no error"} {
		if !strings.Contains(out.String(), "| "+route+" ") {
			t.Errorf("no %s in the results:\n%s", route, out.String())
		}
	}
}
