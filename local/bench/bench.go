// Package bench measures the whole local system: every part a process of its own,
// as in Azure, with state on disk, and a worker whose function does nothing. It
// measures the engine, the store and the bus alone.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/matoolkit/matoolkit/local/system"
)

// Config says what to measure and with which programs.
type Config struct {
	Matoolkit, Worker, App string        // the executables and the staged app
	River                  string        // bench/peers/river, built; where it is missing, no pair is measured
	PairMembers            int           // of the batches that are measured in turn with River; 0: none is
	PairRounds             int           // turns
	Members                []int         // one run for each size of batch; 0 is none
	Steps                  int           // of each member
	Batches, BatchMembers  int           // that go through one step at the same time; 0: none do
	ProtocolMembers        int           // of the batch that each protocol is measured with; 0: none is
	CostMembers            int           // of the batches that what Azure bills is counted with; 0: it is not
	TickMembers            int           // in the data source of the ticks that are measured; 0: none is
	Load                   Load          // on the admin API
	Requests               Requests      // that start batches
	Bundles                Bundles       // of repositories
	Rehearsal              Rehearsal     // on snapshots of tenants
	Predicted              Predicted     // durations of a rehearsal
	WorkerJobs             int           // that a worker alone is measured with; 0: it is not
	StoreLatency           time.Duration // of each request to Cosmos DB, beside its own
	HostCPU                time.Duration // CPU time of each invocation in the Functions host, beside its own
	Workers, Parallelism   int           // replicas of the worker, and the jobs of each at once; 0: one, 64
	Linger                 int           // RESULT_LINGER_MILLISECONDS of the worker
	Calls                  int           // maxConcurrentCalls of the Functions host; 0: as in host.json
	Token                  func(system.Endpoints) func(context.Context) (string, error)
	Out                    io.Writer // each part of the report when it is measured
	Log                    io.Writer // the progress of long runs; nil: none

	report *Report
}

// Run measures what the configuration names and compares it with the targets.
func Run(ctx context.Context, c Config) (*Report, error) {
	c.report = &Report{Notes: []string{}, Tables: []Table{}}
	c.note("Settings: %s.", c.settings())
	f, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	c.report.Targets = f.targets()
	targetTable(c.report.Targets).print(c.Out)
	return c.report, nil
}

// settings are those that the throughput depends on.
func (c Config) settings() string {
	calls := "maxConcurrentCalls as in host.json"
	if c.Calls > 0 {
		calls = fmt.Sprintf("maxConcurrentCalls %d", c.Calls)
	}
	return fmt.Sprintf("replicas of the worker %d, jobs of each at once %d, linger of its results %d ms, %s, added store latency %s, added CPU time of an invocation %s",
		cmp.Or(c.Workers, 1), cmp.Or(c.Parallelism, 64), c.Linger, calls, c.StoreLatency, c.HostCPU)
}

func (c Config) run(ctx context.Context) (f figures, err error) {
	if f.sizes, err = c.ofEachSize(ctx); err != nil {
		return f, err
	}
	f.unpaired = "--pair-members is 0"
	if c.PairMembers > 0 {
		if f.pair, err = c.paired(ctx); err != nil {
			if ctx.Err() != nil {
				return f, err
			}
			f.unpaired = err.Error()
		}
	}
	if c.ProtocolMembers > 0 {
		if err := protocols(ctx, c); err != nil {
			return f, err
		}
	}
	if c.CostMembers > 0 {
		if err := c.costs(ctx, &f); err != nil {
			return f, err
		}
	}
	if c.TickMembers > 0 {
		if err := ticks(ctx, c); err != nil {
			return f, err
		}
	}
	if c.Load.Readers > 0 {
		if err := MeasureLoad(ctx, c, c.Load); err != nil {
			return f, err
		}
	}
	if c.Requests.Rate > 0 {
		if f.requested, err = requests(ctx, c); err != nil {
			return f, err
		}
		f.rate = c.Requests.Rate
	}
	if c.Rehearsal.People > 0 {
		if f.rehearsed, err = rehearsals(ctx, c); err != nil {
			return f, fmt.Errorf("rehearsal: %w", err)
		}
		f.people, f.wave = c.Rehearsal.People, c.Rehearsal.Members
	}
	f.unpredicted = "--predicted-members is 0"
	if c.Predicted.Members > 0 {
		difference, err := predictions(ctx, c)
		if err != nil {
			return f, fmt.Errorf("predicted durations: %w", err)
		}
		f.difference, f.unpredicted = difference, ""
	}
	f.unbundled = "--bundle-owners is 0"
	if c.Bundles.Owners > 0 {
		if f.bundles, err = bundles(ctx, c); err != nil && !errors.Is(err, errNoBundle) {
			return f, fmt.Errorf("bundles: %w", err)
		} else if err != nil {
			f.unbundled = err.Error()
		}
	}
	if c.WorkerJobs > 0 {
		if err := workers(ctx, c); err != nil {
			return f, err
		}
	}
	if c.Batches > 0 && c.BatchMembers > 0 {
		largest, err := c.sideBySide(ctx)
		if err != nil {
			return f, fmt.Errorf("%d batches of %d members: %w", c.Batches, c.BatchMembers, err)
		}
		f.largest, f.sideMembers = &largest, c.Batches*c.BatchMembers
		f.sideBySide = fmt.Sprintf("%s members in %d batches", grouped(f.sideMembers), c.Batches)
	}
	ready, err := handlerReady(ctx, c)
	if err != nil {
		return f, err
	}
	c.note("The handler answers %d ms after its start (best of %d).", ready.Milliseconds(), readyTries)
	return f, nil
}
