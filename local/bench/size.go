package bench

import (
	"context"
	"fmt"
	"strings"
)

// size is the cost of a step under load in a batch of one size.
type size struct {
	members, steps             int
	seconds                    float64
	rate                               // of the steps
	reads, writes, messages    float64 // per step
	ru, operations, executions float64 // per step, as Azure bills them
	handlerMB                  float64
}

// ofEachSize measures each size with systems of its own: one batch is only created, so that the costs of
// a step leave out what the start of the system and the upload cost, and one goes through its phase.
func (c Config) ofEachSize(ctx context.Context) (all []size, err error) {
	t := Table{Name: "Batches under load", Columns: []string{
		"members", "steps", "seconds", "steps/s", "CPU ms/step", "reads/step", "writes/step", "messages/step",
		"RU/step", "bus operations/step", "executions/step", "KB written/step", "handler MB", "load average",
	}}
	var processes []string
	for _, n := range c.Members {
		if n == 0 {
			continue
		}
		created, err := measure(ctx, c, unstarted(n, c.Steps))
		if err != nil {
			return nil, fmt.Errorf("a batch of %d members that is not advanced: %w", n, err)
		}
		c.progress("created a batch of %s members", grouped(n))
		r, err := measure(ctx, c, straight(n, c.Steps))
		if err != nil {
			return nil, fmt.Errorf("%d members: %w", n, err)
		}
		s := sized(n, c.Steps, created, r)
		c.progress("measured %s members: %.0f steps/s, %.2f ms per step; %s", grouped(n), s.perSecond, s.cpu, r.processes())
		t.Rows = append(t.Rows, []any{
			n, s.steps, two(s.seconds), whole(s.perSecond), two(s.cpu), two(s.reads), two(s.writes), two(s.messages),
			one(s.ru), two(s.operations), two(s.executions), one(s.written), whole(s.handlerMB), loadAverage(),
		})
		all = append(all, s)
		processes = append(processes, fmt.Sprintf("%d members: %s", n, r.processes()))
	}
	if len(all) > 0 {
		c.add(t)
		c.note("CPU seconds and peak resident memory of each process:\n%s", strings.Join(processes, "\n"))
	}
	return all, nil
}

// sized computes the costs of a step.
func sized(members, steps int, created, r result) size {
	n := float64(members * steps)
	perStep := func(count func(counted) int64) float64 { return float64(count(r.stats)-count(created.stats)) / n }
	billed := created.amounts().per(r.amounts(), n)
	return size{
		members: members, steps: members * steps, seconds: r.elapsed.Seconds(), rate: r.rate(members * steps),
		reads: perStep(counted.reads), writes: perStep(counted.writes), messages: perStep(counted.sent),
		ru: billed.ru(), operations: billed.operations, executions: billed.executions,
		handlerMB: float64(r.of("handler").peak) / (1 << 20),
	}
}
