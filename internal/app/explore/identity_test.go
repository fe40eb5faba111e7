package explore

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

// identity tells states apart. Two states with the same identity go on in the same way, so
// that one of them is enough.
//
// It consists of the stored documents without ETags and audit records, the messages in
// any order, the jobs at the worker and the events that may still happen. Times count relative
// to the clock, in documents as well as in the ids of messages, and times that nothing decides
// by do not count at all.
type identity [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func (w *world) identity() identity {
	var b builder
	b.now = w.clock
	live := w.look(w.store)
	versions := make(map[store.Key]string, len(live))
	for _, d := range live {
		versions[d.key] = d.etag
		if d.batch != nil && d.batch.ID == theBatch {
			b.revision = int64(d.batch.Revision)
		}
	}
	for _, d := range live {
		b.text([]byte(d.key.String()))
		b.template(d.template)
	}
	for _, q := range append(slices.Clone(orchestrated), jobs, controls) {
		b.messages(w, q)
	}
	for _, topic := range []string{message.TopicOrchestratorEvents, message.TopicWorkerJobs, message.TopicWorkerResults, message.TopicWorkerControl} {
		ids, err := w.bus.Remembered(topic)
		if err != nil {
			w.problem("%v", err)
		}
		var all [][]byte
		for id := range ids {
			t := templateOf("", []byte(id))
			if len(t.revisions) > 0 && t.revisions[0] < b.revision {
				continue // it is never sent again
			}
			all = append(all, b.part(func(p *builder) { p.template(t) }))
		}
		b.set(all)
	}
	var running [][]byte
	for _, e := range w.running {
		running = append(running, b.part(func(p *builder) { p.text([]byte(e.message)); p.bool(e.again) }))
	}
	b.set(running)
	for _, id := range slices.Sorted(maps.Keys(w.ended)) {
		b.text([]byte(id))
		b.bool(w.ended[id])
	}
	for _, effect := range slices.Sorted(maps.Keys(w.begun)) {
		b.text([]byte(effect))
		b.number(int64(w.begun[effect]))
	}
	var waiting [][]byte
	for _, p := range w.parked {
		waiting = append(waiting, b.part(func(b *builder) {
			b.text([]byte(p.what))
			b.time(p.since)
			for _, v := range p.views {
				b.time(v.now)
				for _, d := range v.documents {
					b.text([]byte(d.key.String()))
					b.template(d.template)
					b.bool(versions[d.key] == d.etag)
				}
				b.bool(v.err != nil)
			}
		}))
	}
	b.set(waiting)
	fmt.Fprint(&b.bytes, w.called, w.left, w.open, w.tries, w.stopped, w.paused)
	return identity{maphash.Bytes(seeds[0], b.bytes.Bytes()), maphash.Bytes(seeds[1], b.bytes.Bytes())}
}

// viewed is a document of a store.
type viewed struct {
	key      store.Key
	etag     string
	template *template
	batch    *model.Batch // nil of any other
}

func (v *view) describe(w *world) {
	if v.documents == nil {
		v.documents = w.look(v.store)
	}
}

// look returns the documents of a store that count.
func (w *world) look(s *memory.Store) []viewed {
	all, err := s.Dump(context.Background(), "")
	if err != nil {
		w.problem("%v", err)
	}
	fannedOut := map[string]bool{} // by partition and phase execution
	found := make([]viewed, 0, len(all))
	for _, d := range all { // the batch comes before its shards
		if d.Type == "audit" || d.Type == "worker" && !w.system.deadlines {
			continue
		}
		v, kind := viewed{key: d.Key, etag: d.ETag}, d.Type
		switch {
		case d.Type == "batch":
			v.batch = decoded[model.Batch](w, d)
			for _, p := range v.batch.Phases {
				fannedOut[fmt.Sprint(d.PK, p.ID)] = p.FannedOut
			}
		case d.Type == "shard" && fannedOut[fmt.Sprint(d.PK, decoded[model.Shard](w, d).Phase)]:
			kind = fannedOutShard
		}
		v.template = templateOf(kind, d.Doc)
		found = append(found, v)
	}
	return found
}

// fannedOutShard is the type of a shard whose phase has been fanned out to the end.
const fannedOutShard = "fanned-out shard"

// plain returns a document without what nothing decides by: when what has ended was begun, and
// the revision of the batch, which only tells the ids of messages apart. The worker's record
// counts only where deadlines do: see system.
func plain(kind string, doc []byte) []byte {
	var err error
	encode := func(v any) {
		if err == nil {
			doc, err = json.Marshal(v)
		}
	}
	some := &time.Time{}
	switch kind {
	case "run":
		var r model.Run
		err = json.Unmarshal(doc, &r)
		for i := range r.Steps {
			if s := &r.Steps[i]; s.Status.Terminal() && s.DispatchedAt != nil {
				s.DispatchedAt = some
			}
		}
		encode(r)
	case "batch":
		var b model.Batch
		err = json.Unmarshal(doc, &b)
		if b.ID == theBatch {
			b.Revision = 0
		}
		for i := range b.Phases {
			if p := &b.Phases[i]; p.DispatchedAt != nil && (p.FannedOut || p.Status.Terminal()) {
				p.DispatchedAt = some
			}
		}
		encode(b)
	case fannedOutShard:
		var s model.Shard
		err = json.Unmarshal(doc, &s)
		s.MadeAt, s.YieldedAt = time.Time{}, nil
		encode(s)
	}
	if err != nil {
		panic(err) // the store has what was encoded before
	}
	return doc
}

// builder collects the text of an identity.
type builder struct {
	bytes    bytes.Buffer
	now      time.Time
	revision int64 // of the batch
}

func (b *builder) number(n int64) {
	var raw [8]byte
	binary.LittleEndian.PutUint64(raw[:], uint64(n))
	b.bytes.Write(raw[:])
}

func (b *builder) bool(v bool) {
	b.bytes.WriteByte(map[bool]byte{true: 1}[v])
}

func (b *builder) time(t time.Time) { b.number(int64(t.Sub(b.now))) }

// part builds one element of a set.
func (b *builder) part(add func(*builder)) []byte {
	p := builder{now: b.now, revision: b.revision}
	add(&p)
	return p.bytes.Bytes()
}

// set adds elements in any order.
func (b *builder) set(all [][]byte) {
	slices.SortFunc(all, bytes.Compare)
	b.number(int64(len(all)))
	for _, e := range all {
		b.bytes.Write(e)
		b.bytes.WriteByte(0)
	}
}

// text adds a text with its times relative to the clock.
func (b *builder) text(text []byte) { b.template(templateOf("", text)) }

func (b *builder) template(t *template) {
	b.number(int64(t.hash[0]))
	b.number(int64(t.hash[1]))
	for _, at := range t.times {
		b.number(at - b.now.UnixNano())
	}
	for _, n := range t.revisions {
		b.number(n - b.revision)
	}
}

// messages adds the messages of a queue, and those that its topic has scheduled.
func (b *builder) messages(w *world, q queue) {
	all, err := w.bus.Messages(q.topic, q.subscription)
	if err != nil {
		w.problem("%v", err)
	}
	var set [][]byte
	for _, m := range all {
		set = append(set, b.part(func(p *builder) {
			p.text([]byte(m.ID))
			p.text(m.Body)
			p.bool(m.Locked)
			p.bool(m.Properties[message.PropertyRedelivered] == true)
			p.number(int64(m.DeliveryCount))
			if q == controls {
				p.time(m.EnqueuedAt)
			}
		}))
	}
	b.set(set)
	scheduled, err := w.bus.Scheduled(q.topic)
	if err != nil {
		w.problem("%v", err)
	}
	set = nil
	for _, m := range scheduled {
		set = append(set, b.part(func(p *builder) {
			p.text([]byte(m.ID))
			p.text(m.Body)
			p.time(m.At)
		}))
	}
	b.set(set)
}

// template is a text without its times.
type template struct {
	hash      [2]uint64
	times     []int64 // in nanoseconds
	revisions []int64 // of the batch
}

// cache remembers the results for texts that occur in many states.
type cache[T any] struct {
	mu   sync.RWMutex
	made map[string]T
}

func (c *cache[T]) get(text []byte, make_ func() T) T {
	c.mu.RLock()
	v, ok := c.made[string(text)]
	c.mu.RUnlock()
	if ok {
		return v
	}
	v = make_()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil || len(c.made) > 50_000 {
		c.made = map[string]T{}
	}
	c.made[string(text)] = v
	return v
}

var (
	templates cache[*template]
	documents cache[any]
)

// templateOf is the template of a text, or of a document of a type.
func templateOf(kind string, text []byte) *template {
	return templates.get(append([]byte(kind), text...), func() *template { return parseTemplate(string(plain(kind, text))) })
}

// decoded decodes a document; callers must not change it.
func decoded[T any](w *world, d store.Document) *T {
	v, ok := documents.get(append([]byte(d.Type), d.Doc...), func() any {
		v := new(T)
		if err := json.Unmarshal(d.Doc, v); err != nil {
			return err
		}
		return v
	}).(*T)
	if !ok {
		w.problem("%s cannot be read", d.Key)
		return new(T)
	}
	return v
}

// told are the fields that only people read.
var told = []string{`"createdAt":`, `"endedAt":`, `"failedAt":`, `"removedAt":`, `"addedAt":`, `"completedAt":`, `"initDispatchedAt":`, `"Timestamp":`}

// parseTemplate takes the times out of a text: those of JSON, and the numbers of seconds,
// milliseconds and ticks in the ids of messages.
func parseTemplate(text string) *template {
	t := &template{}
	var rest strings.Builder
	for i := 0; i < len(text); {
		if at, n, ok := timeAt(text[i:]); ok {
			before := text[:i]
			if !slices.ContainsFunc(told, func(field string) bool { return strings.HasSuffix(before, field) }) {
				t.times = append(t.times, at.UnixNano())
			}
			rest.WriteByte(0)
			i += n
			continue
		}
		if at, n, ok := numberAt(text, i); ok {
			t.times = append(t.times, at.UnixNano())
			rest.WriteByte(1)
			i += n
			continue
		}
		if number, n, ok := revisionAt(text, i); ok {
			t.revisions = append(t.revisions, number)
			rest.WriteByte(2)
			i += n
			continue
		}
		rest.WriteByte(text[i])
		i++
	}
	t.hash = [2]uint64{maphash.String(seeds[0], rest.String()), maphash.String(seeds[1], rest.String())}
	return t
}

// timeAt reads a time in quotes at the beginning of a text.
func timeAt(text string) (at time.Time, length int, ok bool) {
	if !strings.HasPrefix(text, `"20`) {
		return at, 0, false
	}
	end := strings.IndexByte(text[1:], '"')
	if end < 20 || end > 40 {
		return at, 0, false
	}
	at, err := time.Parse(time.RFC3339Nano, text[1:end+1])
	return at, end + 2, err == nil
}

// revisionAt reads a revision of the batch: one that an id ends with, or that of a summary.
func revisionAt(text string, i int) (n int64, length int, ok bool) {
	if !strings.HasSuffix(text[:i], "rev-") && !strings.HasSuffix(text[:i], `"revision":`) {
		return 0, 0, false
	}
	end := i
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(text[i:end], 10, 64)
	return n, end - i, err == nil
}

// numberAt reads a time that stands as a number behind a hyphen.
func numberAt(text string, i int) (at time.Time, length int, ok bool) {
	if i == 0 || text[i-1] != '-' {
		return at, 0, false
	}
	end := i
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(text[i:end], 10, 64)
	if err != nil {
		return at, 0, false
	}
	switch {
	case strings.HasSuffix(text[:i], "tick-"):
		at = time.Unix(n*300, 0)
	case end-i == 10:
		at = time.Unix(n, 0)
	case end-i == 13:
		at = time.UnixMilli(n)
	default:
		return at, 0, false
	}
	return at, end - i, at.Sub(epoch).Abs() < 1000*time.Hour
}
