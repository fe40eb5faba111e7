package dispatch

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/matoolkit/matoolkit/internal/message"
)

// memory knows the jobs that run and what those were answered that ended lately,
// so that a job that comes again is neither run beside itself nor run anew.
type memory struct {
	mu      sync.Mutex
	running map[string]*call
	ended   *simplelru.LRU[string, *call]
	size    int // bytes of the results in ended, about
	limit   int
}

// call is one run of a job. The result may be read once done is closed.
type call struct {
	done   chan struct{}
	result message.Result
}

func newMemory(limit int) *memory {
	m := &memory{running: make(map[string]*call), limit: limit}
	m.ended, _ = simplelru.NewLRU(1<<20, func(_ string, c *call) { m.size -= weight(c.result) })
	return m
}

// begin returns the job's run. When it is the first, the caller must run it and
// call finish or forget.
func (m *memory) begin(id string) (c *call, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.running[id]; ok {
		return c, false
	}
	if c, ok := m.ended.Get(id); ok {
		return c, false
	}
	c = &call{done: make(chan struct{})}
	m.running[id] = c
	return c, true
}

// finish records the result and tells those who wait for it. The oldest results
// are dropped for it when there are too many.
func (m *memory) finish(id string, c *call, result message.Result) {
	c.result = result
	close(c.done)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.running, id)
	m.ended.Add(id, c)
	m.size += weight(result)
	for m.size > m.limit && m.ended.Len() > 0 {
		m.ended.RemoveOldest()
	}
}

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
