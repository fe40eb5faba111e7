package bench

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// meter takes the time of requests. It is safe for concurrent use.
type meter struct {
	mu       sync.Mutex
	routes   map[string][]time.Duration // of those that were answered well
	failed   int
	failures []error // the first few
}

func newMeter() *meter { return &meter{routes: map[string][]time.Duration{}} }

// timed makes a request and notes what it took, or how it failed.
func timed[V any](m *meter, route string, ask func() (V, error)) (V, error) {
	began := time.Now()
	v, err := ask()
	took := time.Since(began)
	if err != nil {
		return v, m.fail(fmt.Errorf("%s after %v: %w", route, took, err))
	}
	m.mu.Lock()
	m.routes[route] = append(m.routes[route], took)
	m.mu.Unlock()
	return v, nil
}

func (m *meter) fail(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed++
	if len(m.failures) < 10 {
		m.failures = append(m.failures, err)
	}
	return err
}

// table is a table of the routes.
func (m *meter) table(title string, took time.Duration) Table {
	t := Table{
		Name:    fmt.Sprintf("The admin API under load: %s, %.0f s", title, took.Seconds()),
		Columns: []string{"route", "requests", "requests/s", "p50 ms", "p95 ms", "p99 ms", "max ms"},
	}
	var all []time.Duration
	row := func(name string, times []time.Duration) {
		slices.Sort(times)
		at := func(percent int) decimal { return whole(times[(len(times)-1)*percent/100].Seconds() * 1000) }
		t.Rows = append(t.Rows, []any{name, len(times), whole(float64(len(times)) / took.Seconds()), at(50), at(95), at(99), at(100)})
	}
	for _, name := range slices.Sorted(maps.Keys(m.routes)) {
		row(name, m.routes[name])
		all = append(all, m.routes[name]...)
	}
	if len(all) > 0 {
		row("all, no error", all)
	}
	return t
}
