package explore

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

// invocation is one run of a handler or a command in a process.
type invocation struct {
	what     string
	topic    string // of the message that is delivered; empty of a command and a tick
	sequence int64
	command  int // its place in the system; -1 of a message and a tick
}

// parked is an invocation that waits before one of its writes, while others go on.
//
// A handler is a function of the answers that it gets. So the explorer keeps no
// goroutine of it, but the answers: the store as it was at its reads, and the answers to its
// writes. To go on, it runs once more from its beginning, gets the same answers up to
// the point where it waits, and from there on those of the store as it is then.
type parked struct {
	invocation
	since time.Time
	views []view
}

// view is the store and the clock of an invocation between two of its writes, and what the
// write at the end was answered.
type view struct {
	store     *memory.Store
	now       time.Time
	applied   store.Applied
	err       error
	documents []viewed // for the identity of a state
}

// process runs one invocation against a world: it counts the effects, and can die after any
// of them or wait before any write. The process has just started: its caches are empty.
type process struct {
	store.Store // answers the reads
	world       *world
	cancel      context.CancelFunc
	past        []view // of an invocation that was parked
	dieAfter    int    // effects; 0: never
	parkBefore  int    // the number of a write; 0: none

	turns   *turns // of the parts of a group of results; nil of any other invocation
	mu      sync.Mutex
	at      int // writes so far
	effects int
	views   []view
	ended   bool // it died, or is parked
	parked  bool
	ids     int
	name    string
	story   []string
}

// start makes a process for an invocation. The world is the one that it acts on.
func (w *world) start(name string, past []view, dieAfter, parkBefore int) (context.Context, *process) {
	ctx, cancel := context.WithTimeout(context.Background(), invocationTime)
	p := &process{world: w, cancel: cancel, past: past, dieAfter: dieAfter, parkBefore: parkBefore, name: name}
	if p.live() {
		p.read(w.store)
		p.look()
	} else {
		p.read(past[0].store)
	}
	return ctx, p
}

// live reports whether the invocation is past the point at which it was parked.
func (p *process) live() bool { return p.at >= len(p.past) }

// look remembers the store as it is, where the invocation may be parked.
func (p *process) look() {
	if p.parkBefore > 0 {
		p.views = append(p.views, view{store: p.world.store.Clone(), now: p.world.clock})
	}
}

// now is the clock as the invocation sees it.
func (p *process) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.live() {
		return p.past[p.at].now
	}
	return p.world.clock
}

// newID makes ids that depend only on the invocation and on how many it made before.
func (p *process) newID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids++
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d", p.name, p.ids)
	text := strconv.FormatUint(h.Sum64(), 36)
	return (text + "0000000000000000")[:16]
}

// ApplyEach implements store.Documents: one after the other.
func (p *process) ApplyEach(ctx context.Context, all []store.Writes) []store.Outcome {
	outcomes := make([]store.Outcome, len(all))
	for i, writes := range all {
		outcomes[i].Applied, outcomes[i].Err = p.Apply(ctx, writes)
	}
	return outcomes
}

// Apply is an effect: see process.
func (p *process) Apply(ctx context.Context, writes store.Writes) (store.Applied, error) {
	p.await(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, context.Canceled
	}
	if p.at+1 == len(p.past) { // the write that it waited before
		p.read(p.world.store)
		p.views = slices.Clone(p.past)
	} else if !p.live() {
		v := p.past[p.at]
		p.at++
		p.read(p.past[p.at].store)
		return v.applied, v.err
	}
	p.at++
	if p.at == p.parkBefore {
		p.parked = true
		p.end()
		return nil, context.Canceled
	}
	if change := p.world.system.rewrites; change != nil {
		writes = change(writes)
	}
	applied, err := p.world.store.Apply(ctx, writes)
	if err != nil {
		p.tell("the store refuses to write %s: %v", keys(writes), err)
	} else if text := keys(writes); text != "" {
		p.tell("writes %s", text)
		p.effects++
	}
	if p.parkBefore > 0 {
		last := &p.views[len(p.views)-1]
		last.applied, last.err = applied, err
		p.look()
	}
	p.dies()
	return applied, err
}

// Send is an effect for each message, because a broker can have accepted only the first of
// several.
func (p *process) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	p.await(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
		return context.Canceled
	case !p.live():
		return nil // they are sent
	}
	for _, m := range messages {
		if p.ended {
			return context.Canceled
		}
		if err := p.world.send(ctx, topic, m); err != nil {
			return err
		}
		p.effects++
		p.tell("sends %s", p.world.describe(topic, m))
		p.dies()
	}
	return nil
}

// Ping implements bus.Sender and store.Store.
func (p *process) Ping(context.Context) error { return nil }

func (p *process) dies() {
	if p.dieAfter > 0 && p.effects >= p.dieAfter {
		p.end()
	}
}

func (p *process) end() {
	p.ended = true
	p.cancel()
}

func (p *process) tell(format string, args ...any) {
	if p.world.verbose {
		p.story = append(p.story, fmt.Sprintf(format, args...))
	}
}

func keys(writes store.Writes) string {
	var all []string
	for _, w := range writes {
		name := strings.ReplaceAll(w.Key.ID, "-000000", " ")
		if w.Op != store.OpGet && w.Key.Type != "audit" && (len(all) == 0 || all[len(all)-1] != name) {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", ")
}
