package simulation

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	oneSeed = flag.Uint64("simulation.seed", 0, "replay this seed, and print all that happens")
	soak    = flag.Duration("simulation.soak", -1, "for how long TestSoak runs; 0 is until it is told to stop")
	all     = flag.Bool("simulation.all", false, "go on after a seed that fails, and print of each only what is wrong")
	from    = flag.Uint64("simulation.from", 1, "the first seed")
	over    = flag.Bool("simulation.protocols", false, "run every seed over the real driver and the real protocol")

	rivalSeed = flag.Uint64("simulation.rivals", 0, "replay this seed of TestRivals, and print all that happens")
)

// seeds is how many a run of the tests takes, and patience for how long it goes on:
// the race detector makes everything ten times slower.
const (
	seeds      = 1000
	rivalSeeds = 1000
	patience   = 30 * time.Second
)

// TestMain makes garbage collections rarer: a seed needs little memory, and they would take a
// sixth of its time.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}

// protocolShare is the share of the seeds that run over the real driver and the real protocol:
// one in so many.
const protocolShare = 100

// overProtocols reports whether a seed runs over the real protocol.
func overProtocols(seed uint64) bool { return *over || seed%protocolShare == 0 }

// TestSimulation runs a thousand seeds.
func TestSimulation(t *testing.T) {
	t.Parallel()
	if *oneSeed != 0 {
		text, ok := simulate(t, *oneSeed, true)
		t.Log(text)
		if !ok {
			t.Fail()
		}
		return
	}
	next, begin := *from-1, time.Now()
	ran := many(t, func() (uint64, bool) {
		next++
		return next, next < *from+seeds && time.Since(begin) < patience
	}, func(uint64) trial { return runbooks })
	t.Logf("%d seeds from %d", ran, *from)
}

// seedsThatFailed are seeds that once found a fault, over the real protocol or in memory, with
// the fault.
var seedsThatFailed = []struct {
	seed      uint64
	protocols bool
	together  bool // the store committed Applies in groups
	fault     string
}{
	{1795376464485729613, false, false, "a deadline check read the record of a worker before a heartbeat changed it, and took the worker for gone"},
	{1795381394640044112, false, false, "of two deliveries of a result one process died as it ended the member's next run, and the other, which had loaded that run before, took the start of it for late"},
	{1795379936933421839, false, false, "a release of paused runs outlasted its invocation, and each try began at the start of the page"},
	{1795363751638274257, true, false, "a process died before it sent the job of an init step, the batch was cancelled, and no other process sent the job"},
	{1795384611077662477, false, false, "a process stored an init run and died before it sent the job, after another delivery of the message had read the batch, found no run and completed the message"},
	{1795384810667150705, true, false, "two steps with a short deadline had the same rollback, and the oracle took the first of them for the one that failed"},
	{1795387454769588131, false, false, "a page that was sent was announced again and released a paused run, its process stalled for a day before it sent the job, and neither the page nor the release of the batch sent it"},
	{1795391591200798705, false, false, "a deadline check had ended a run and came again, its process remembered the run as it was before, and left the check to a tick, which does not check a run that has ended"},
	{1795394890161512199, false, false, "the store was away after the end of a batch, and the commands that failed at it let no time pass (a fault of the simulation)"},
	{1795396216280609143, false, false, "a cancelled batch waited an hour for the retry of a rollback, longer than the simulation allowed (a fault of the simulation)"},
	{1795400158454760358, false, false, "a process released a run that it had paused and died before it sent the job, after another delivery of its message had completed the message, and the release of the batch came hours later and sent nothing"},
	{1795403278645524795, false, false, "a process died before it sent the job of the last retry, the message came again just before the deadline, and the step failed before its worker could answer that the job had expired"},
}

func TestSeedsThatFailed(t *testing.T) {
	t.Parallel()
	for _, tc := range seedsThatFailed {
		t.Run(fmt.Sprint(tc.seed), func(t *testing.T) {
			t.Parallel()
			if _, ok := simulateOver(t, tc.seed, tc.protocols, false); !ok {
				text, _ := simulateOver(t, tc.seed, tc.protocols, true)
				t.Errorf("it once failed because %s; replay it with\n  go test ./internal/app/simulation -run TestSimulation -simulation.protocols=%t -simulation.seed %d\n%s", tc.fault, tc.protocols, tc.seed, text)
			}
		})
	}
}

// trial is a test that runs seeds: it reports what happened and whether the seed succeeded.
type trial struct {
	test, flag string // that replay a seed
	run        func(t *testing.T, seed uint64, verbose bool) (text string, ok bool)
}

// The trials of this package.
var (
	runbooks = trial{"TestSimulation", "simulation.seed", simulate}
	rivals   = trial{"TestRivals", "simulation.rivals", compete}
)

// rivalShare is the share of the seeds of a soak that run rivals: one in so many. It has no
// factor in common with protocolShare, so that both trials run over the real protocol, too.
const rivalShare = 11

// soakTrial returns the trial that a soak runs with a seed.
func soakTrial(seed uint64) trial {
	if seed%rivalShare == 0 {
		return rivals
	}
	return runbooks
}

// many runs seeds on two cores until there are no more, or one fails.
func many(t *testing.T, seed func() (uint64, bool), trialOf func(seed uint64) trial) (ran int64) {
	var mu sync.Mutex
	var count atomic.Int64
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for *all || !t.Failed() {
				mu.Lock()
				s, ok := seed()
				mu.Unlock()
				if !ok {
					return
				}
				tried := trialOf(s)
				if text, ok := tried.run(t, s, false); !ok && *all {
					t.Errorf("seed %d of %s\n%s", s, tried.test, text)
				} else if !ok {
					text, _ := tried.run(t, s, true)
					t.Errorf("seed %d fails; replay it with\n  go test ./internal/app/simulation -run %s -%s %d\n%s", s, tried.test, tried.flag, s, text)
				}
				count.Add(1)
			}
		})
	}
	workers.Wait()
	return count.Load()
}

// simulate runs one seed and tells what happened, and whether all was well.
func simulate(t *testing.T, seed uint64, verbose bool) (text string, ok bool) {
	return simulateOver(t, seed, overProtocols(seed), verbose)
}

// simulateOver is simulate over the real protocol or in memory, where a seed goes another way.
func simulateOver(t *testing.T, seed uint64, protocols, verbose bool) (text string, ok bool) {
	return simulateWith(t, seed, protocols, verbose, linesToShow())
}

// simulateWith does so with the last lines of the history.
func simulateWith(t *testing.T, seed uint64, protocols, verbose bool, lines int) (text string, ok bool) {
	synctest.Test(t, func(*testing.T) {
		ctx := context.Background()
		p := draft(seed)
		for _, f := range seedsThatFailed {
			if f.seed == seed { // it was drawn before plans had checks and conditions
				p.chaos.together = f.together
				p.plain()
			}
		}
		w, err := newWorld(p, protocols, verbose)
		if err != nil {
			text = err.Error()
			return
		}
		if err := w.create(ctx); err != nil {
			w.problem("%v", err)
		} else {
			w.run(ctx)
			if !w.failed() {
				w.verify(ctx)
			}
		}
		text, ok = w.report(lines), !w.failed()
		if err := w.close(); err != nil {
			text, ok = text+err.Error(), false
		}
	})
	return text, ok
}

// TestAppliesShareTransactions: seeds commit Applies in groups, of which some count in one item and some lose.
func TestAppliesShareTransactions(t *testing.T) {
	t.Parallel()
	with := 0
	for seed := uint64(2000); seed < 2060; seed++ {
		if draft(seed).chaos.together {
			with++
		}
		if text, ok := simulateOver(t, seed, false, false); !ok {
			t.Errorf("seed %d fails: %s", seed, text)
		}
	}
	if with == 0 || with == 60 {
		t.Errorf("%d of 60 seeds have groups", with)
	}
	if groups, counts, losers := together.groups.Load(), together.counts.Load(), together.losers.Load(); groups < 100 || counts == 0 || losers == 0 {
		t.Errorf("%d groups, of which %d share counts, and %d Applies that lost", groups, counts, losers)
	}
}

// TestSoakRunsAllTrials: a soak draws seeds for each trial, in memory and over the real protocol.
func TestSoakRunsAllTrials(t *testing.T) {
	t.Parallel()
	drawn := map[string]int{}
	for seed := range uint64(rivalShare * protocolShare) {
		drawn[fmt.Sprintf("%s over protocols %t", soakTrial(seed).test, overProtocols(seed))]++
	}
	for _, want := range []string{"TestSimulation over protocols false", "TestSimulation over protocols true", "TestRivals over protocols false", "TestRivals over protocols true"} {
		if drawn[want] == 0 {
			t.Errorf("no seed runs %s: %v", want, drawn)
		}
	}
}

// TestSoak runs seeds that no run had before, for as long as the flag says.
func TestSoak(t *testing.T) {
	if *soak < 0 {
		return
	}
	first := uint64(time.Now().UnixNano())
	begin := time.Now()
	var done atomic.Int64
	shown := begin
	next := first
	ran := many(t, func() (uint64, bool) {
		if d := time.Since(begin); *soak > 0 && d > *soak {
			return 0, false
		}
		if time.Since(shown) > 10*time.Second {
			shown = time.Now()
			fmt.Printf("simulation: %d seeds from %d, %.1f a second\n", done.Load(), first, float64(done.Load())/time.Since(begin).Seconds())
		}
		done.Add(1)
		next++
		return next, true
	}, soakTrial)
	fmt.Printf("simulation: %d seeds from %d, %.1f a second\n", ran, first, float64(ran)/time.Since(begin).Seconds())
}
