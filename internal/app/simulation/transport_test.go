package simulation

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing/synctest"

	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/group"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

// operation is one step of a task at the store or at the bus. The task waits at it
// until the scheduler has decided its outcome.
type operation struct {
	task    *task
	part    string // of the task: each result of a group is processed by one
	text    string
	write   bool // changes the store
	sends   int  // messages, to the bus
	verdict chan verdict

	// Of an Apply that can be carried out with others: its outcome.
	apply   *group.Apply
	store   *memory.Store
	applied store.Applied
	err     error
}

// verdict is the outcome of an operation: how much of it is carried out, and the
// task's answer.
type verdict struct {
	carriedOut int // of a store's operation 0 or 1, of a send the number of messages
	status     int // the store's answer, where it is not its own; 0 for that
	lost       bool
	unsent     bool // lost before it left
	odd        bool // it fails as nothing that the app knows; only in memory
	retried    bool // repeated by the driver in memory; over the protocol the SDK decides
}

// park has the task wait for its verdict.
func (w *world) park(ctx context.Context, o *operation) (verdict, error) {
	if o.task.process.dead.Load() {
		return verdict{}, context.Canceled
	}
	o.verdict = make(chan verdict, 1)
	o.part = trace.SpanContextFromContext(ctx).TraceID().String()
	w.mu.Lock()
	w.parked = append(w.parked, o)
	w.mu.Unlock()
	select {
	case v := <-o.verdict:
		return v, nil
	case <-ctx.Done():
		w.unpark(o)
		return verdict{}, ctx.Err()
	}
}

func (w *world) unpark(o *operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parked = slices.DeleteFunc(w.parked, func(p *operation) bool { return p == o })
}

// waiting lists the parked operations in an order independent of their arrival.
func (w *world) waiting() []*operation {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(w.parked, func(a, b *operation) int {
		return cmp.Or(cmp.Compare(a.task.id, b.task.id), cmp.Compare(a.part, b.part), cmp.Compare(a.text, b.text))
	})
	return slices.Clone(w.parked)
}

// grant has a verdict carried out on an operation, or on a group of Applies.
func (w *world) grant(v verdict, operations ...*operation) {
	for _, o := range operations {
		w.unpark(o)
	}
	if v.carriedOut > 0 && operations[0].apply != nil {
		w.commit(operations)
	}
	for i, o := range operations {
		if i > 0 {
			synctest.Wait() // two tasks that ran at once would log in any order
		}
		if w.verbose {
			note := ""
			if v != o.plain() {
				note = fmt.Sprintf(" FAULT %+v", v)
			}
			w.trace("  task %d: %s%s", o.task.id, o.text, note)
		}
		o.verdict <- v
	}
}

// plain is the verdict without a fault.
func (o *operation) plain() verdict { return verdict{carriedOut: max(o.sends, 1)} }

// decide lets one operation go on, or go wrong.
func (w *world) decide(o *operation) {
	c := w.plan.chaos
	v := o.plain()
	switch {
	case o.sends == 0 && w.now().Before(w.outage):
		w.grant(verdict{status: http.StatusServiceUnavailable}, o)
		return
	case w.mayFail(o.task.process) && w.chance(c.kill):
		v.carriedOut = w.rng.IntN(v.carriedOut + 1)
		v.lost = true
		p := o.task.process
		p.dead.Store(true)
		w.grant(v, w.gather(o)...)
		w.kill(p, fmt.Sprintf("in task %d, at %s", o.task.id, o.text))
		return
	case o.sends > 0 && w.mayFail(o.task.process) && w.chance(c.bus): // a message that is not requeued is delivered again
		v = verdict{carriedOut: w.rng.IntN(o.sends + 1), lost: true}
	case o.sends == 0 && w.mayBeOdd(o.task) && w.chance(c.odd):
		v = verdict{odd: true} // of one task alone
		for _, name := range o.task.message.families() {
			w.broker.oddities[name]++
		}
		w.grant(v, o)
		return
	case o.sends == 0 && w.chance(c.store):
		v = w.storeFault(o)
		if _, inMemory := w.back.(*inMemory); inMemory {
			v.retried = w.rng.IntN(4) > 0
		}
	}
	w.grant(v, w.gather(o)...)
}

// mayBeOdd reports whether an operation of a task can fail as nothing that the app knows: such a
// failure counts as an attempt, as does each delivery of a suspect, of which gentle allows three.
func (w *world) mayBeOdd(t *task) bool {
	_, inMemory := w.back.(*inMemory)
	return inMemory && t.message != nil && t.message.topic == message.TopicWorkerResults && w.mayFail(t.process) &&
		!slices.ContainsFunc(t.message.families(), func(name string) bool { return w.broker.oddities[name] >= mostOddities })
}

// mostOddities is how often the processing of one result fails as nothing that the app knows.
const mostOddities = 1

func (w *world) storeFault(o *operation) verdict {
	refusals := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusRequestTimeout}
	if o.write {
		refusals = append(refusals, 449)
	}
	switch n := w.rng.IntN(6); {
	case n == 0:
		return verdict{lost: true, unsent: true}
	case n == 1:
		return verdict{lost: true}
	case n == 2:
		return verdict{carriedOut: 1, lost: true}
	case n == 3:
		return verdict{carriedOut: 1, status: []int{http.StatusServiceUnavailable, http.StatusRequestTimeout}[w.rng.IntN(2)]}
	default:
		return verdict{status: refusals[w.rng.IntN(len(refusals))]}
	}
}

// transport carries a process's requests to the store. It is a
// policy.Transporter.
type transport struct {
	w       *world
	backend *overProtocol
	process *process // nil for the test itself
}

// Do lets each request on a document wait for its verdict.
func (t *transport) Do(req *http.Request) (*http.Response, error) {
	on, ok := req.Context().Value(taskKey{}).(*task)
	if t.process == nil || !ok || !strings.Contains(req.URL.Path, "/docs") {
		return t.serve(req), nil
	}
	v, err := t.w.park(req.Context(), describe(on, req))
	if err != nil {
		return nil, err
	}
	var answer *http.Response
	if v.carriedOut > 0 {
		answer = t.serve(req)
		if req.Method != http.MethodGet && !strings.Contains(req.Header.Get("Content-Type"), "query+json") && answer.StatusCode < 300 {
			t.backend.written++
		}
	}
	switch {
	case v.unsent:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case v.lost:
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	case v.status != 0:
		return refusal(req, v.status), nil
	}
	return answer, nil
}

func describe(on *task, req *http.Request) *operation {
	kind := req.Method
	if req.Header.Get("X-Ms-Cosmos-Is-Batch-Request") != "" {
		kind = "BATCH"
	}
	if strings.Contains(req.Header.Get("Content-Type"), "query+json") {
		kind = "QUERY"
	}
	_, id, _ := strings.Cut(req.URL.Path, "/docs")
	return &operation{
		task: on, write: kind != http.MethodGet && kind != "QUERY",
		text: fmt.Sprintf("%s %s%s", kind, req.Header.Get("X-Ms-Documentdb-Partitionkey"), id),
	}
}

// serve answers a request, also when its task no longer waits.
func (t *transport) serve(req *http.Request) *http.Response {
	answer, err := t.backend.server.Do(req.WithContext(context.WithoutCancel(req.Context())))
	if err != nil {
		panic(err) // it fails only with its context
	}
	answer.Request = req
	return answer
}

func refusal(req *http.Request, status int) *http.Response {
	a := &answer{header: http.Header{"Content-Type": {"application/json"}}, status: status}
	if status == http.StatusTooManyRequests || status == 449 {
		a.header.Set("X-Ms-Retry-After-Ms", "20")
	}
	a.body.WriteString(`{"code":"Injected","message":"a fault of the simulation"}`)
	return a.response(req)
}

// answer collects a response.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
func (a *answer) WriteHeader(status int)      { a.status = status }

func (a *answer) response(req *http.Request) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: a.header, Request: req,
		Body: io.NopCloser(bytes.NewReader(a.body.Bytes())), ContentLength: int64(a.body.Len()),
	}
}
