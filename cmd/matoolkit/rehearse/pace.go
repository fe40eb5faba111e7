package rehearse

import (
	"container/heap"
	"net/http"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Assumptions are the numbers behind a prediction of durations.
type Assumptions struct {
	Parallelism int `json:"parallelism"` // jobs of a worker at once: replicas times MAX_PARALLELISM
	// GraphSeconds and ExchangeSeconds are how long a request of Graph takes, and a command of Exchange Online.
	GraphSeconds    float64 `json:"graphSeconds"`
	ExchangeSeconds float64 `json:"exchangeSeconds"`
	// DispatchSeconds pass from a step's result to the next step's job at its worker.
	DispatchSeconds float64 `json:"dispatchSeconds"`
	// CopySeconds are how long Microsoft copies a mailbox, and again how long its completion takes.
	CopySeconds float64 `json:"copySeconds"`
	// ProvisionSeconds pass from a licence to the mailbox.
	ProvisionSeconds float64 `json:"provisionSeconds"`

	// PollSeconds is the least interval of polls. Shorter ones of the runbook are lengthened.
	PollSeconds float64 `json:"pollSeconds"`

	// The limits of each tenant for its worker's app registration.
	Writes      throttle.Rate `json:"graphWrites"`
	Invitations throttle.Rate `json:"graphInvitations"`
	Commands    int           `json:"exchangeCommands"` // at once
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// kind is the kind of a call for the limits of a tenant.
type kind int

const (
	read       kind = iota // of Graph
	write                  // of Graph
	invitation             // of Graph, and a write
	command                // of Exchange Online
	wait                   // no call: the function waits before it repeats one
)

var kindNames = []string{"Graph reads", "Graph writes", "Graph invitations", "Exchange commands"}

// part is one thing that a function does, in order.
type part struct {
	kind kind
	wait time.Duration
}

// kindOf is the kind of a request to a tenant.
func kindOf(r *http.Request) kind {
	switch path := strings.ToLower(r.URL.Path); {
	case strings.Contains(path, "/adminapi/"):
		return command
	case r.Method == http.MethodGet:
		return read
	case strings.HasSuffix(path, "/invitations"):
		return invitation
	}
	return write
}

// budget keeps a worker within the limits of its tenant, by the clock of a rehearsal.
type budget struct {
	assumed             Assumptions
	writes, invitations *rate.Limiter
	commands            int    // that run
	waiting             []*job // for one to end
	minutes             map[minute]int
}

// minute is a minute of a kind of calls.
type minute struct {
	kind kind
	at   time.Time
}

func newBudget(a Assumptions) *budget {
	return &budget{assumed: a, writes: bucket(a.Writes), invitations: bucket(a.Invitations), minutes: map[minute]int{}}
}

// bucket is the limiter of a worker for a limit: what may be used at once and what flows in during a period are the limit
// together.
func bucket(r throttle.Rate) *rate.Limiter {
	if r.Calls <= 0 || r.Per <= 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	burst := max(r.Calls/10, 1)
	return rate.NewLimiter(rate.Limit(float64(max(r.Calls-burst, 1))/r.Per.Seconds()), burst)
}

// reserve is when a request that is made now is answered.
func (b *budget) reserve(k kind, now time.Time) time.Time {
	begins := now
	draw := func(l *rate.Limiter) {
		if at := now.Add(l.ReserveN(now, 1).DelayFrom(now)); at.After(begins) {
			begins = at
		}
	}
	if k == invitation {
		draw(b.invitations)
	}
	if k == invitation || k == write {
		draw(b.writes)
	}
	b.count(k, begins)
	if k == command {
		return begins.Add(seconds(b.assumed.ExchangeSeconds))
	}
	return begins.Add(seconds(b.assumed.GraphSeconds))
}

func (b *budget) count(k kind, at time.Time) { b.minutes[minute{k, at.Truncate(time.Minute)}]++ }

// event is something that happens to a job.
type event struct {
	at  time.Time
	seq int // of two at one moment the one that was planned first
	do  func(now time.Time) error
}

// agenda has the planned events, soonest first.
type agenda struct {
	events []event
	seq    int
}

func (a *agenda) Len() int      { return len(a.events) }
func (a *agenda) Swap(i, j int) { a.events[i], a.events[j] = a.events[j], a.events[i] }
func (a *agenda) Push(x any)    { a.events = append(a.events, x.(event)) }
func (a *agenda) Less(i, j int) bool {
	x, y := a.events[i], a.events[j]
	return x.at.Before(y.at) || x.at.Equal(y.at) && x.seq < y.seq
}

func (a *agenda) Pop() any {
	last := a.events[len(a.events)-1]
	a.events[len(a.events)-1] = event{}
	a.events = a.events[:len(a.events)-1]
	return last
}

func (a *agenda) plan(at time.Time, do func(now time.Time) error) {
	a.seq++
	heap.Push(a, event{at, a.seq, do})
}

// DefaultAssumptions are those of a worker with its default settings. The times of calls are estimates: a worker's own are
// in its metrics.
func DefaultAssumptions() Assumptions {
	return Assumptions{
		Parallelism: 2, GraphSeconds: 0.3, ExchangeSeconds: 1, DispatchSeconds: 0.2, CopySeconds: 3600, ProvisionSeconds: 300, PollSeconds: 60,
		Writes: graph.PublishedWrites, Invitations: graph.PublishedInvitations, Commands: session.Concurrency,
	}
}
