package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// rate has the metrics of one run of steps.
type rate struct {
	perSecond float64
	cpu       float64 // ms per step
	written   float64 // KB per step
}

// pair is the medians of runs of ours and of River, taken in turn.
type pair struct{ ours, river, later rate }

// riverResult is the last line of bench/peers/river.
type riverResult struct {
	River          string  `json:"river"`
	PostgreSQL     string  `json:"postgresql"`
	StepsPerSecond float64 `json:"stepsPerSecond"`
	CPU            float64 `json:"cpuMsPerStep"`
	Written        float64 `json:"kbWrittenPerStep"`
}

var errNoRiver = errors.New("bench/peers/river is not built: make bench-river builds it")

// paired measures the system and River in turn, so that both have the same share of a machine that
// others use, too. A second run of River each time completes jobs in batches after their
// transactions, which is fewer statements, and not what the targets compare with.
func (c Config) paired(ctx context.Context) (*pair, error) {
	if _, err := os.Stat(c.River); err != nil {
		return nil, errNoRiver
	}
	t := Table{
		Name:    fmt.Sprintf("In turn with River: %s members, %d steps", grouped(c.PairMembers), c.Steps),
		Columns: []string{"run", "steps/s", "CPU ms/step", "KB written/step", "load average"},
	}
	var ours, river, later []rate
	row := func(name string, all *[]rate, r rate) {
		*all = append(*all, r)
		t.Rows = append(t.Rows, []any{name, whole(r.perSecond), two(r.cpu), one(r.written), loadAverage()})
	}
	var versions riverResult
	for range c.PairRounds {
		took, err := measure(ctx, c, straight(c.PairMembers, c.Steps))
		if err != nil {
			return nil, err
		}
		row("matoolkit", &ours, took.rate(c.PairMembers*c.Steps))
		for _, variant := range []struct {
			name string
			all  *[]rate
			args []string
		}{{"River", &river, nil}, {"River, completing later", &later, []string{"-complete-later"}}} {
			if versions, err = c.runRiver(ctx, variant.args...); err != nil {
				return nil, err
			}
			row(variant.name, variant.all, rate{perSecond: versions.StepsPerSecond, cpu: versions.CPU, written: versions.Written})
		}
	}
	p := &pair{ours: median(ours), river: median(river), later: median(later)}
	for _, m := range []struct {
		name string
		rate rate
	}{{"matoolkit", p.ours}, {"River", p.river}, {"River, completing later", p.later}} {
		t.Rows = append(t.Rows, []any{m.name + ", median", whole(m.rate.perSecond), two(m.rate.cpu), one(m.rate.written), ""})
	}
	t.Name += fmt.Sprintf("; River %s, PostgreSQL %s", versions.River, versions.PostgreSQL)
	c.add(t)
	return p, nil
}

// runRiver runs the program once.
func (c Config) runRiver(ctx context.Context, args ...string) (r riverResult, err error) {
	cmd := exec.CommandContext(ctx, c.River, append([]string{"-members", fmt.Sprint(c.PairMembers), "-steps", fmt.Sprint(c.Steps)}, args...)...)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 10*time.Second // it ends PostgreSQL
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("%w: %s", err, strings.TrimSpace(failure.String()))
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	err = json.Unmarshal([]byte(lines[len(lines)-1]), &r)
	return r, err
}

// median takes the median of each figure on its own.
func median(all []rate) rate {
	middle := func(of func(rate) float64) float64 {
		values := make([]float64, len(all))
		for i, r := range all {
			values[i] = of(r)
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	return rate{
		perSecond: middle(func(r rate) float64 { return r.perSecond }), cpu: middle(func(r rate) float64 { return r.cpu }),
		written: middle(func(r rate) float64 { return r.written }),
	}
}
