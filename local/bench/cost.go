package bench

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/message"
)

// The runbook that is counted for costs: its members go through three phases of five
// steps. What a poll costs is counted apart, with members who poll for a shorter and for
// a longer while: the rest of what they do is the same.
const (
	costPhases = 3
	costSteps  = 5
	pollsFew   = 4
	pollsMany  = 12
)

// amounts are the quantities of one run that Azure would bill.
type amounts struct {
	jobs       float64 // sent to the worker
	writes     float64 // RU of writes
	reads      float64 // RU of reads and queries; a bill has twice that
	operations float64 // of Service Bus
	executions float64 // of the Functions app, by messages
	handler    float64 // seconds of processor time
	worker     float64 // the same, without what its functions do, which is nothing here
	stored     float64 // bytes
	logged     float64 // bytes that handler, host and worker wrote to their logs
}

func (r result) amounts() amounts {
	a := amounts{
		reads: r.stats.Cosmos.ReadRU, writes: r.stats.Cosmos.RU - r.stats.Cosmos.ReadRU, stored: float64(r.stats.Cosmos.Stored),
		handler: r.of("handler").cpu.Seconds(), worker: r.of("worker").cpu.Seconds(), logged: float64(r.logged),
	}
	for path, e := range r.stats.ServiceBus.Entities {
		a.operations += float64(e.Sent + e.Delivered + e.Completed + e.Abandoned + e.DeadLettered + e.Renewed + e.Peeked)
		if strings.HasSuffix(path, "/"+message.SubscriptionOrchestrator) {
			a.executions += float64(e.Delivered)
		}
	}
	a.jobs = float64(r.stats.ServiceBus.Entities[message.TopicWorkerJobs].Sent)
	return a
}

// per divides what b has more than a by n.
func (a amounts) per(b amounts, n float64) amounts {
	return amounts{
		jobs: (b.jobs - a.jobs) / n, writes: (b.writes - a.writes) / n, reads: (b.reads - a.reads) / n, operations: (b.operations - a.operations) / n,
		executions: (b.executions - a.executions) / n, handler: (b.handler - a.handler) / n, worker: (b.worker - a.worker) / n,
		stored: (b.stored - a.stored) / n, logged: (b.logged - a.logged) / n,
	}
}

func (a amounts) row(name string) table.Row {
	return table.Row{
		name, fmt.Sprintf("%.2f", a.jobs), fmt.Sprintf("%.1f", a.writes), fmt.Sprintf("%.2f", a.reads), fmt.Sprintf("%.2f", a.operations),
		fmt.Sprintf("%.2f", a.executions), fmt.Sprintf("%.2f", a.handler*1000), fmt.Sprintf("%.2f", a.worker*1000),
		fmt.Sprintf("%.2f", a.stored/1000), fmt.Sprintf("%.2f", a.logged/1000),
	}
}

// costs counts what Azure bills for a member, for each step without polls, and for a poll.
func costs(ctx context.Context, c Config) error {
	n := c.CostMembers
	straight, err := measure(ctx, c, phased(n))
	if err != nil {
		return fmt.Errorf("%d members and %d steps: %w", n, costPhases*costSteps, err)
	}
	var polled [2]amounts
	for i, polls := range []int{pollsFew, pollsMany} {
		r, err := measure(ctx, c, polledFor(n, polls))
		if err != nil {
			return fmt.Errorf("%d polling members: %w", n, err)
		}
		polled[i] = r.amounts()
	}
	t := table.NewWriter()
	t.SetOutputMirror(c.Out)
	t.AppendHeader(table.Row{"cost of", "jobs", "RU written", "RU read", "bus operations", "executions", "handler CPU ms", "worker CPU ms", "KB stored", "KB logged"})
	all := straight.amounts()
	t.AppendRow(amounts{}.per(all, float64(n)).row(fmt.Sprintf("a member, %d steps, of %d", costPhases*costSteps, n)))
	t.AppendRow(amounts{}.per(all, float64(n*costPhases*costSteps)).row("a step"))
	t.AppendRow(polled[0].per(polled[1], polled[1].jobs-polled[0].jobs).row("a poll"))
	fmt.Fprintln(c.Out)
	t.Render()
	return nil
}

func phased(members int) load {
	y := head + "phases:\n"
	for p := range costPhases {
		y += fmt.Sprintf("  - name: phase-%d\n    offset: T-0\n    steps:\n", p+1)
		for s := range costSteps {
			y += "    - " + call(fmt.Sprintf("step-%d-%d", p+1, s+1), "true", "") + "\n"
		}
	}
	return load{members: members, succeed: members, drive: advanceAll, runbook: y, logs: true}
}

func polledFor(members, polls int) load {
	l := polling(members)
	l.runbook = strings.Replace(l.runbook, "timeout: 4s", fmt.Sprintf("timeout: %ds", polls), 1)
	l.logs = true
	return l
}

// logged returns the size of the processes' logs in bytes.
func (b *bed) logged() (total int64, err error) {
	for _, name := range []string{"host", "worker"} {
		info, err := os.Stat(b.file(name + ".log"))
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, nil
}

// advanceAll moves a batch on, one phase after the other, to its end.
func advanceAll(ctx context.Context, client *apiclient.Client, batch int) error {
	for phase := range costPhases {
		if _, err := client.Advance(ctx, batch, fmt.Sprintf("phase-%d", phase+1), ""); err != nil {
			return err
		}
		ended := func(b api.Batch) bool {
			phases, err := client.Phases(ctx, batch)
			return b.CompletedAt != nil || err == nil && phases.Items[phase].CompletedAt != nil
		}
		if err := await(ctx, client, batch, ended); err != nil {
			return err
		}
	}
	return await(ctx, client, batch, func(b api.Batch) bool { return b.CompletedAt != nil })
}
