package bench

import (
	"context"
	"fmt"
	"os"
	"strings"

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
	reads      float64 // RU of reads and queries; see ru
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

// ru is the request units on a bill: a read with the consistency that the handler needs costs twice what
// the store counts.
func (a amounts) ru() float64 { return a.writes + 2*a.reads }

func (a amounts) row(name string) []any {
	return []any{
		name, two(a.jobs), one(a.ru()), two(a.operations), two(a.executions), two(a.handler * 1000), two(a.worker * 1000),
		two(a.stored / 1000), two(a.logged / 1000),
	}
}

// costs counts what Azure bills for a member, for each step without polls, and for a poll: under load,
// and when nothing coincides.
func (c Config) costs(ctx context.Context, f *figures) error {
	t := Table{Name: "Costs in Azure", Columns: []string{
		"cost of", "jobs", "RU", "bus operations", "executions", "handler CPU ms", "worker CPU ms", "KB stored", "KB logged",
	}}
	for _, with := range []struct {
		members int
		alone   bool
		name    string
	}{{c.CostMembers, false, "under load"}, {max(c.CostMembers/10, 10), true, "nothing coincides"}} {
		member, step, poll, err := c.cost(ctx, with.members, with.alone)
		if err != nil {
			return fmt.Errorf("costs, %s: %w", with.name, err)
		}
		t.Rows = append(t.Rows,
			member.row(fmt.Sprintf("a member, %d steps, of %d, %s", costPhases*costSteps, with.members, with.name)),
			step.row("a step, "+with.name), poll.row("a poll, "+with.name))
		f.member, f.step, f.poll = &member, &step, &poll
	}
	c.add(t)
	return nil
}

func (c Config) cost(ctx context.Context, members int, alone bool) (member, step, poll amounts, err error) {
	l := phased(members)
	l.alone = alone
	straight, err := measure(ctx, c, l)
	if err != nil {
		return member, step, poll, fmt.Errorf("%d members and %d steps: %w", members, costPhases*costSteps, err)
	}
	var polled [2]amounts
	for i, polls := range []int{pollsFew, pollsMany} {
		l := polledFor(members, polls)
		l.alone = alone
		r, err := measure(ctx, c, l)
		if err != nil {
			return member, step, poll, fmt.Errorf("%d polling members: %w", members, err)
		}
		polled[i] = r.amounts()
	}
	all := straight.amounts()
	return amounts{}.per(all, float64(members)), amounts{}.per(all, float64(members*costPhases*costSteps)),
		polled[0].per(polled[1], polled[1].jobs-polled[0].jobs), nil
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
	l.drive = func(ctx context.Context, client *apiclient.Client, batch int) error {
		if _, err := client.Advance(ctx, batch, "only", ""); err != nil {
			return err
		}
		return awaitSeldom(ctx, client, batch, func(b api.Batch) bool { return b.CompletedAt != nil })
	}
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
		if err := awaitSeldom(ctx, client, batch, ended); err != nil {
			return err
		}
	}
	return awaitSeldom(ctx, client, batch, func(b api.Batch) bool { return b.CompletedAt != nil })
}
