package bench

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
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

// print prints a table of the routes.
func (m *meter) print(out io.Writer, title string, took time.Duration) {
	t := table.NewWriter()
	t.SetOutputMirror(out)
	t.AppendHeader(table.Row{"route", "requests", "requests/s", "p50 ms", "p95 ms", "p99 ms", "max ms"})
	var all []time.Duration
	names := make([]string, 0, len(m.routes))
	for name, times := range m.routes {
		names = append(names, name)
		all = append(all, times...)
	}
	slices.Sort(names)
	row := func(name string, times []time.Duration) {
		slices.Sort(times)
		at := func(percent int) string {
			return fmt.Sprintf("%.0f", times[(len(times)-1)*percent/100].Seconds()*1000)
		}
		t.AppendRow(table.Row{name, len(times), fmt.Sprintf("%.0f", float64(len(times))/took.Seconds()), at(50), at(95), at(99), at(100)})
	}
	for _, name := range names {
		row(name, m.routes[name])
	}
	if len(all) > 0 {
		t.AppendSeparator()
		row("all, no error", all)
	}
	fmt.Fprintf(out, "\nThe admin API under load: %s, %.0f s.\n", title, took.Seconds())
	t.Render()
}
