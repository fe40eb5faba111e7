package bench

import (
	"fmt"
	"slices"
	"time"
)

// Target is a goal of the project beside its measurement.
type Target struct {
	Name     string   `json:"name"`
	Limit    string   `json:"limit"`
	Measured *decimal `json:"measured,omitempty"` // nil: it was not measured
	River    *decimal `json:"river,omitempty"`    // in the same minutes
	Met      bool     `json:"met"`
	Why      string   `json:"why,omitempty"` // it was not measured
}

// figures are the subjects of the targets. A nil pointer was not measured.
type figures struct {
	sizes       []size
	step, poll  *amounts // nothing coincides
	member      *amounts // the same, with costPhases phases of costSteps steps
	pair        *pair
	unpaired    string // why there is no pair
	largest     *peak  // process of the run with batches side by side
	sideBySide  string // the batches of that run
	sideMembers int
	requested   time.Duration // p95 of the answers to requests that start batches; 0: not measured
	rate        int           // of those requests in a second
	bundles     *bundleTimes
	unbundled   string // why there are none
	rehearsed   *rehearsed
	difference  float64 // of predicted durations, in percent
	unpredicted string  // why there is none
	people      int     // in the tenant of that rehearsal, and
	wave        int     // members
}

// peak is the memory of a process in bytes.
type peak struct {
	process string
	bytes   int64
}

// The goals. A poll and a member are measured with nothing coinciding, a step under load.
const (
	timesRiver     = 2.2
	partOfRiverCPU = 0.6
	stepRU         = 26
	stepOperations = 3.6
	stepExecutions = 0.2
	pollRU         = 15
	pollOperations = 6
	pollExecutions = 1.05
	stepKB         = 7
	handlerMB      = 128
	handlerMembers = 100_000
	flatFrom       = 100
	flatTo         = 300_000
	flatAtMost     = 1.1 // times as much for the largest as for the smallest batch
	processMB      = 512
	manyMembers    = 1_000_000
	memberPolls    = 30
	requestMS      = 100
	requestRate    = 50  // per second
	firstSeconds   = 5   // until the bundle of ten repositories is complete
	cachedSeconds  = 0.5 // the same request again
	staleSeconds   = 8   // two of them have changed
	servedPeople   = 100_000
	serveSeconds   = 60
	serveMB        = 1024
	waveMembers    = 1000
	waveMinutes    = 10
	waveMB         = 2048
	differs        = 15   // percent
	membersUSD     = 3.05 // two thirds of the first version's, which took 1,343 RU, 361 bus operations and 75.5 executions
)

// List prices in USD, in a US region in November 2026. An execution is billed as a second of an instance
// with 2 GB, which is more than it takes.
const (
	executionUSD = 0.40/1e6 + 2*0.000026
	operationUSD = 0.80 / 1e6
	ruUSD        = 0.25 / 1e6 // serverless
)

func (a amounts) usd() float64 {
	return a.executions*executionUSD + a.operations*operationUSD + a.ru()*ruUSD
}

// targets compares the figures with the goals.
func (f figures) targets() []Target {
	var all []Target
	// A target compares the printed figure: the background of a run is no cost of a step.
	atMost := func(name string, limit, measured float64, digits int) *Target {
		d := &decimal{measured, digits}
		all = append(all, Target{Name: name, Limit: fmt.Sprintf("at most %v", limit), Measured: d, Met: d.rounded() <= limit})
		return &all[len(all)-1]
	}
	missing := func(name, limit, why string) { all = append(all, Target{Name: name, Limit: limit, Why: why}) }

	if p := f.pair; p != nil {
		all = append(all, Target{
			Name: "steps/s", Limit: fmt.Sprintf("at least %v x River", timesRiver), Measured: &decimal{p.ours.perSecond, 0}, River: &decimal{p.river.perSecond, 0},
			Met: p.ours.perSecond >= timesRiver*p.river.perSecond,
		}, Target{
			Name: "CPU ms per step", Limit: fmt.Sprintf("at most %v x River", partOfRiverCPU), Measured: &decimal{p.ours.cpu, 2}, River: &decimal{p.river.cpu, 2},
			Met: p.ours.cpu <= partOfRiverCPU*p.river.cpu,
		})
	} else {
		missing("steps/s", fmt.Sprintf("at least %v x River", timesRiver), f.unpaired)
		missing("CPU ms per step", fmt.Sprintf("at most %v x River", partOfRiverCPU), f.unpaired)
	}
	if len(f.sizes) == 0 {
		missing("costs of a step under load", "", "--members is 0")
	} else if s := f.sizes[len(f.sizes)-1]; s.steps < costSteps*s.members { // the most load
		missing("costs of a step under load", "", fmt.Sprintf("with fewer than %d steps, a step has too much of the cost of a run's start", costSteps))
	} else {
		atMost("RU per step under load", stepRU, s.ru, 1)
		atMost("bus operations per step under load", stepOperations, s.operations, 2)
		atMost("executions per step under load", stepExecutions, s.executions, 2)
		t := atMost("KB written to disk per step", stepKB, s.written, 1)
		if f.pair != nil {
			t.River = &decimal{f.pair.river.written, 1}
		}
	}
	if f.poll != nil {
		atMost("RU per poll, nothing coincides", pollRU, f.poll.ru(), 1)
		atMost("bus operations per poll, nothing coincides", pollOperations, f.poll.operations, 1)
		atMost("executions per poll, nothing coincides", pollExecutions, f.poll.executions, 2)
		atMost(fmt.Sprintf("USD per 1,000 members with %d steps and %d polls: Functions, Service Bus, Cosmos DB", costPhases*costSteps, memberPolls),
			membersUSD, 1000*(f.member.usd()+memberPolls*f.poll.usd()), 2)
	} else {
		missing("costs of a poll and of a member", "", "--cost-members is 0")
	}
	if i := slices.IndexFunc(f.sizes, func(s size) bool { return s.members >= handlerMembers }); i >= 0 {
		atMost(fmt.Sprintf("handler MB with %s members", grouped(f.sizes[i].members)), handlerMB, f.sizes[i].handlerMB, 0)
	} else {
		missing("handler MB with 100,000 members", fmt.Sprintf("at most %d", handlerMB), "make bench-long measures it")
	}
	if small, large, ok := f.ends(); ok {
		name := fmt.Sprintf("per step with %s members, of that with %s", grouped(large.members), grouped(small.members))
		atMost("CPU "+name, flatAtMost, large.cpu/small.cpu, 2)
		atMost("RU "+name, flatAtMost, large.ru/small.ru, 2)
	} else {
		missing("costs of a step with 300,000 members, of that with 100", fmt.Sprintf("at most %v", flatAtMost), "make bench-long measures it")
	}
	if f.largest != nil && f.sideMembers >= manyMembers {
		atMost(fmt.Sprintf("MB of the largest process (%s), %s", f.largest.process, f.sideBySide), processMB, float64(f.largest.bytes)/(1<<20), 0)
	} else {
		missing("MB of the largest process, 1,000,000 members in ten batches", fmt.Sprintf("at most %d", processMB), "make bench-long measures it")
	}
	if name := fmt.Sprintf("ms p95 of POST /pipelines/{name}/batches at %d requests/s", f.rate); f.rate >= requestRate {
		atMost(name, requestMS, f.requested.Seconds()*1000, 0)
	} else {
		missing(fmt.Sprintf("ms p95 of POST /pipelines/{name}/batches at %d requests/s", requestRate), fmt.Sprintf("at most %d", requestMS), fmt.Sprintf("--requests is less than %d", requestRate))
	}
	if b := f.bundles; b != nil {
		atMost("seconds until the first bundle of ten repositories", firstSeconds, b.first.Seconds(), 2)
		atMost("seconds until a cached bundle", cachedSeconds, b.cached.Seconds(), 2)
		atMost("seconds until a bundle with two stale repositories", staleSeconds, b.stale.Seconds(), 2)
	} else {
		missing("seconds until a bundle of ten repositories", fmt.Sprintf("at most %d", firstSeconds), f.unbundled)
	}
	served := "a tenant with " + grouped(servedPeople) + " people"
	if r := f.rehearsed; r != nil && f.people >= servedPeople && f.wave >= waveMembers {
		atMost("seconds until "+served+" is served, with a small one", serveSeconds, r.serve.elapsed.Seconds(), 1)
		atMost("MB of the process that serves them", serveMB, float64(r.serve.peak)/(1<<20), 0)
		atMost(fmt.Sprintf("minutes to rehearse a wave of %s of its people", grouped(waveMembers)), waveMinutes, r.rehearse.elapsed.Minutes(), 1)
		atMost("MB of that rehearsal", waveMB, float64(r.rehearse.peak)/(1<<20), 0)
	} else {
		missing("the rehearsal of a wave on "+served, "", "make bench-long measures it")
	}
	if name := "% between predicted and real durations of phases"; f.unpredicted == "" {
		atMost(name, differs, f.difference, 1)
	} else {
		missing(name, fmt.Sprintf("at most %d", differs), f.unpredicted)
	}
	return all
}

// ends returns the smallest and the largest size, if they are as far apart as the goal says.
func (f figures) ends() (small, large size, ok bool) {
	if len(f.sizes) == 0 {
		return small, large, false
	}
	small = slices.MinFunc(f.sizes, func(a, b size) int { return a.members - b.members })
	large = slices.MaxFunc(f.sizes, func(a, b size) int { return a.members - b.members })
	return small, large, small.members <= flatFrom && large.members >= flatTo
}

func targetTable(all []Target) Table {
	t := Table{Name: "Targets", Columns: []string{"target", "limit", "measured", "River in the same minutes", "met"}}
	text := func(d *decimal) string {
		if d == nil {
			return ""
		}
		return d.String()
	}
	for _, target := range all {
		measured, met := text(target.Measured), "no"
		switch {
		case target.Measured == nil:
			measured, met = "not measured: "+target.Why, ""
		case target.Met:
			met = "yes"
		}
		if target.Measured != nil && target.River != nil && target.River.value > 0 {
			measured += fmt.Sprintf(" (%.2f x)", target.Measured.value/target.River.value)
		}
		t.Rows = append(t.Rows, []any{target.Name, target.Limit, measured, text(target.River), met})
	}
	return t
}

// grouped writes a number with commas.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
