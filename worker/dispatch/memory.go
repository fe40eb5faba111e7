package dispatch

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/matoolkit/matoolkit/internal/message"
)

// memory knows the jobs that run and what those were answered that ended lately,
// so that a job that comes again is neither run beside itself nor run anew.
type memory struct {
	mu      sync.Mutex
	running map[string]*call // until the result is sent
	kept    *simplelru.LRU[string, *call]
	size    int // bytes of the results in kept, about
	limit   int
}

// identity identifies a job by its id, function and parameters. A restored or new store
// assigns ids a second time, and the result for one person must not become the result
// for another. Parameters are compared as values, because a store may write them
// differently.
func identity(job message.Job) string {
	parameters := []byte(job.Parameters)
	var value any
	if json.Unmarshal(parameters, &value) == nil {
		if same, err := json.Marshal(value); err == nil {
			parameters = same
		}
	}
	digest := sha256.Sum256(parameters)
	return job.ID() + " " + job.FunctionName + " " + string(digest[:])
}

// call is one run of a job. The result may be read once ended is closed; sent is
// closed when the broker has it.
type call struct {
	ended, sent chan struct{}
	result      message.Result
	answered    []int64 // messages, by sequence number, that the broker has a result for
}

func (c *call) end(result message.Result) {
	c.result = result
	close(c.ended)
}

// part is the role of a delivery in the run of its job.
type part int

const (
	first    part = iota // the job must be run for it
	joins                // the job runs for another, which answers
	asks                 // the job was answered, but to another message: this one is answered too
	repeated             // it was answered, and only not settled
)

func newMemory(limit int) *memory {
	m := &memory{running: make(map[string]*call), limit: limit}
	m.kept, _ = simplelru.NewLRU(1<<20, func(_ string, c *call) { m.size -= weight(c.result) })
	return m
}

// knows reports whether a job runs, or is answered from memory.
func (m *memory) knows(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running[id] != nil || m.kept.Contains(id)
}

// begin returns the job's run for a delivery of a message. When the delivery is the first
// there is none, unless it may run: then the caller must run the job, end the run and have
// it kept, or forget it.
func (m *memory) begin(id string, sequence int64, mayRun bool) (*call, part) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.running[id]; ok {
		return c, joins
	}
	if c, ok := m.kept.Get(id); ok {
		if sequence != 0 && slices.Contains(c.answered, sequence) {
			return c, repeated
		}
		return c, asks
	}
	if !mayRun {
		return nil, first
	}
	c := &call{ended: make(chan struct{}), sent: make(chan struct{})}
	m.running[id] = c
	return c, first
}

// keep notes that a message is answered, remembers the result and tells those who
// wait for it. The oldest results are dropped for it when there are too many.
func (m *memory) keep(id string, c *call, sequence int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(c.answered) < mostAnswered {
		c.answered = append(c.answered, sequence)
	}
	if m.running[id] != c {
		return
	}
	close(c.sent)
	delete(m.running, id)
	m.kept.Add(id, c)
	m.size += weight(c.result)
	for m.size > m.limit && m.kept.Len() > 0 {
		m.kept.RemoveOldest()
	}
}

// mostAnswered bounds the messages that are known of one job: beyond that a
// repeated one is answered again, which does no harm.
const mostAnswered = 32

// forget drops a run that ended without a result.
func (m *memory) forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.running, id)
}

// weight counts what varies, and a share for what does not.
func weight(r message.Result) int {
	w := 400 + len(r.JobID) + len(r.Result)
	if r.Error != nil {
		w += len(r.Error.Message)
	}
	return w
}
